//! `allod import placement`: copies a running Placement into a running allod, through the public interface of both.
//!
//! - `version`, `wire`, `id`, `members`: what a Placement says, and in which version
//! - `side`: asking one of the two; `target`: writing to the other; `words`, `patience`: when one of them says no
//! - `plan`: what to do about a thing; `walk`: every consumer once; `parallel`: several at a time
//! - `copy`: doing it; `verify`: comparing afterwards; `progress` and `report`: telling
//!
//! Nothing is ever written to the source, and nothing is kept between two runs: what is there and equal is left alone.

mod copy;
mod id;
mod members;
mod parallel;
mod patience;
mod plan;
mod progress;
mod report;
mod side;
mod target;
mod verify;
mod version;
mod walk;
mod wire;
mod words;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use anyhow::anyhow;
use clap::{Args, Subcommand, ValueEnum};

use crate::cli::{Connection, Form, block_on, say};
use crate::client::Server;
use crate::failed::{Failed, advised};
use report::{End, Report};
use side::{Side, Which};
use target::Target;
use version::{TYPES, Version};

pub const EXAMPLES: &str = "\
Examples:
  allod import placement --from http://controller/placement --from-token-file token
  allod import placement --from http://127.0.0.1:8000 --from-token admin --to http://127.0.0.1:8778
  allod import placement --from http://controller/placement --verify --output json

Exit code 0 says that both sides agree, 4 that they do not.";

#[derive(Debug, Subcommand)]
pub enum ImportCommand {
    /// Copy a running OpenStack Placement into this server, and compare the two
    #[command(after_help = EXAMPLES)]
    Placement(Box<PlacementArguments>),
}

/// What becomes of providers that only the target has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum Others {
    /// Nothing is written if there are any
    #[default]
    Refuse,
    /// They stay, and are passed over
    Keep,
    /// They are removed, with their allocations; needs --replace
    Delete,
}

#[derive(Debug, Args)]
pub struct PlacementArguments {
    /// The Placement to read: the address of its version document
    #[arg(long, value_name = "URL", env = "ALLOD_FROM", hide_env_values = true)]
    from: Server,

    /// Proves to it who you are; sent as X-Auth-Token
    #[arg(long, value_name = "TOKEN", env = "ALLOD_FROM_TOKEN", hide_env_values = true)]
    from_token: Option<String>,

    /// The file that has this token
    #[arg(long, value_name = "FILE", env = "ALLOD_FROM_TOKEN_FILE", hide_env_values = true)]
    from_token_file: Option<PathBuf>,

    /// The certificate, or several, that vouches for it [default: those of this machine]
    #[arg(long, value_name = "FILE", env = "ALLOD_FROM_CA", hide_env_values = true)]
    from_ca: Option<PathBuf>,

    /// Speak no newer version with it than this
    #[arg(long, value_name = "VERSION", hide_short_help = true)]
    from_version: Option<Version>,

    /// Where to write; the same as --server
    #[arg(long, value_name = "URL")]
    to: Option<Server>,

    /// Compare only, and write nothing
    #[arg(long)]
    verify: bool,

    /// Overwrite what is there and differs
    #[arg(long, conflicts_with = "verify")]
    replace: bool,

    /// Providers that only the target has
    #[arg(long, value_enum, default_value_t)]
    others: Others,

    /// How many requests at a time
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..=256))]
    jobs: u16,

    /// How to show the report
    #[arg(
        long,
        short,
        value_enum,
        value_name = "FORM",
        env = "ALLOD_OUTPUT",
        hide_env_values = true,
        default_value_t
    )]
    output: Form,

    #[command(flatten)]
    connection: Connection,
}

/// The two sides of an import, and what was said about how to treat them.
#[derive(Debug)]
struct Ends {
    source: Side,
    target: Target,
    jobs: usize,
    others: Others,
}

impl Ends {
    /// Whether both sides can tell types of consumers.
    fn typed(&self) -> bool {
        self.source.version >= TYPES && self.target.side.version >= TYPES
    }
}

pub fn run(command: ImportCommand) -> Result<(), Failed> {
    let ImportCommand::Placement(arguments) = command;
    if arguments.others == Others::Delete && !arguments.replace && !arguments.verify {
        return Err(Failed::Asked(anyhow!("--others delete needs --replace")));
    }
    let output = arguments.output;
    block_on(import(*arguments))??.show(output)
}

async fn import(arguments: PlacementArguments) -> Result<Report, Failed> {
    let began = Instant::now();
    let PlacementArguments { from, from_version, to, verify, replace, others, jobs, .. } =
        arguments;
    let mut connection = arguments.connection;
    let source = Connection {
        server: from,
        token: arguments.from_token,
        token_file: arguments.from_token_file,
        ca: arguments.from_ca,
        ..connection.clone()
    };
    connection.server = to.unwrap_or(connection.server);
    if source.server.to_string() == connection.server.to_string() {
        return Err(Failed::Asked(advised(
            format!("source and target are the same: {}", source.server),
            "--from names the source, --to or --server the target",
        )));
    }
    let source = Side::open(Which::Source, source.client()?, from_version, version::OLDEST).await?;
    let side = Side::open(Which::Target, connection.client()?, None, target::OLDEST).await?;
    let lost = version::lost(source.version.min(side.version));
    let ends = Arc::new(Ends { source, target: Target { side }, jobs: jobs.into(), others });
    let copied = if verify {
        None
    } else {
        let found = copy::Found::read(&ends).await?;
        found.check(others)?;
        say(&format!("{} has {} providers", ends.source, found.source.len()));
        Some(copy::run(&ends, replace, found).await?)
    };
    let compared = verify::run(&ends).await?;
    let refused = copied.iter().flat_map(|copied| copied.kinds.values()).any(|of| of.refused > 0);
    let end = |side: &Side| End { url: side.url(), version: side.version.to_string() };
    Ok(Report {
        agrees: compared.differences_total == 0 && !refused,
        source: end(&ends.source),
        target: end(&ends.target.side),
        lost,
        copied,
        compared,
        took_s: began.elapsed().as_secs_f64(),
    })
}
