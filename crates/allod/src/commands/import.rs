//! `allod import placement`: copies a running Placement into a running allod, through the public interface of both.

mod report_text;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use allod_import_placement::progress::{ImportProgress, PhaseDisplay};
use allod_import_placement::report::ImportReport;
use allod_import_placement::{
    ExtraProviders, ImportError, ImportErrorKind, ImportOptions, PlacementServer, PlacementVersion,
};
use allod_outbound::BaseUrl;
use anyhow::anyhow;
use clap::{Args, Subcommand, ValueEnum};

use crate::connection::{ConnectionArguments, block_on, read_token};
use crate::error::{AdvisedError, CommandError, Result, with_advice};
use crate::output::progress::Progress;
use crate::output::{OutputFormat, format, json, message, print, style};

pub const EXAMPLES: &str = "\
Examples:
  allod import placement --from http://controller/placement --from-token-file token
  allod import placement --from http://127.0.0.1:8000 --from-token admin --to http://127.0.0.1:8778
  allod import placement --from http://controller/placement --verify --output json

The exit code is 0 if both servers agree, and 4 if they differ.";

#[derive(Debug, Subcommand)]
pub enum ImportCommand {
    /// Copy a running OpenStack Placement into this server, and compare the two
    #[command(after_help = EXAMPLES)]
    Placement(Box<PlacementArguments>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum OthersFlag {
    /// Stop before writing anything
    #[default]
    Refuse,
    /// Leave them as they are, and do not compare them
    Keep,
    /// Delete them and their allocations; needs --replace
    Delete,
}

#[derive(Debug, Args)]
pub struct PlacementArguments {
    /// URL of the Placement to copy: the address of its version document
    #[arg(long, value_name = "URL", env = "ALLOD_FROM", hide_env_values = true)]
    from: BaseUrl,

    /// Token for the source, sent as X-Auth-Token
    #[arg(long, value_name = "TOKEN", env = "ALLOD_FROM_TOKEN", hide_env_values = true)]
    from_token: Option<String>,

    /// File with the token for the source
    #[arg(long, value_name = "FILE", env = "ALLOD_FROM_TOKEN_FILE", hide_env_values = true)]
    from_token_file: Option<PathBuf>,

    /// File with the CA certificates to trust for the source [default: the system's certificates]
    #[arg(long, value_name = "FILE", env = "ALLOD_FROM_CA", hide_env_values = true)]
    from_ca: Option<PathBuf>,

    /// Newest API version to use with the source
    #[arg(long, value_name = "VERSION", hide_short_help = true)]
    from_version: Option<PlacementVersion>,

    /// URL of the server to write to; the same as --server
    #[arg(long, value_name = "URL")]
    to: Option<BaseUrl>,

    /// Compare only, and write nothing
    #[arg(long)]
    verify: bool,

    /// Overwrite items of the target that differ
    #[arg(long, conflicts_with = "verify")]
    replace: bool,

    /// What to do with providers that only the target has
    #[arg(long, value_enum, default_value_t)]
    others: OthersFlag,

    /// Number of requests to send at a time
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..=256))]
    jobs: u16,

    /// Output format of the report
    #[arg(
        long,
        short,
        value_enum,
        value_name = "FORMAT",
        env = "ALLOD_OUTPUT",
        hide_env_values = true,
        default_value_t
    )]
    output: OutputFormat,

    #[command(flatten)]
    connection: ConnectionArguments,
}

pub fn run(command: ImportCommand) -> Result<()> {
    let ImportCommand::Placement(arguments) = command;
    let PlacementArguments { others, verify, replace, output, .. } = *arguments;
    if others == OthersFlag::Delete && !replace && !verify {
        return Err(CommandError::Usage(anyhow!("--others delete needs --replace")));
    }
    let connection = arguments.connection;
    let target = PlacementServer {
        url: arguments.to.unwrap_or(connection.server),
        token: read_token(connection.token, connection.token_file)?,
        ca: connection.ca,
        timeout: connection.timeout,
        patience: connection.patience,
    };
    let source = PlacementServer {
        url: arguments.from,
        token: read_token(arguments.from_token, arguments.from_token_file)?,
        ca: arguments.from_ca,
        ..target.clone()
    };
    if source.url == target.url {
        return Err(CommandError::Usage(with_advice(
            format!("source and target are the same: {}", source.url),
            "--from is the source, --to or --server the target",
        )));
    }
    let options = ImportOptions {
        verify_only: verify,
        replace,
        extra_providers: match others {
            OthersFlag::Refuse => ExtraProviders::Refuse,
            OthersFlag::Keep => ExtraProviders::Keep,
            OthersFlag::Delete => ExtraProviders::Delete,
        },
        jobs: arguments.jobs.into(),
        source_version_max: arguments.from_version,
    };
    let import = allod_import_placement::run(source, target, options, Arc::new(StderrProgress));
    show(&block_on(import)?.map_err(to_command_error)?, output)
}

fn to_command_error(error: ImportError) -> CommandError {
    let kind = match error.kind {
        ImportErrorKind::Usage => CommandError::Usage,
        ImportErrorKind::Refused => CommandError::Refused,
        ImportErrorKind::Denied => CommandError::Denied,
        ImportErrorKind::Unavailable => CommandError::Unavailable,
        ImportErrorKind::Failed => CommandError::Failed,
    };
    let what = style::escape_controls(&error.what);
    let advice = error.advice.into_iter().map(str::to_owned).collect();
    kind(AdvisedError { what, advice, body: None }.into())
}

/// Prints the report. It is an error if the servers differ.
fn show(report: &ImportReport, output: OutputFormat) -> Result<()> {
    match output {
        OutputFormat::Json => {
            let bytes = serde_json::to_vec(report).map_err(CommandError::failed)?;
            json::print(&bytes)?;
        }
        OutputFormat::Table => print(&report_text::text(report))?,
    }
    if report.agrees {
        return Ok(());
    }
    let refused = report.copied.as_ref().map_or(0, |copied| copied.refused_total());
    let differences = format::count(report.compared.differences_total, "difference");
    let mut what = format!("the servers differ: {differences}");
    if refused > 0 {
        what.push_str(&format!(", {} refused by the target", format::count(refused, "write")));
    }
    Err(CommandError::Refused(with_advice(
        what,
        "run it again if the source changed meanwhile; --replace overwrites what differs",
    )))
}

/// Shows the progress of an import on stderr.
struct StderrProgress;

impl ImportProgress for StderrProgress {
    fn message(&self, text: &str) {
        message(text);
    }

    fn phase(&self, what: &'static str, providers: u64) -> Box<dyn PhaseDisplay> {
        let unit = |count| format::count(count, "provider");
        Box::new(PhaseBar(Mutex::new(Progress::new(what, unit, Some(providers)))))
    }
}

struct PhaseBar(Mutex<Progress>);

impl PhaseDisplay for PhaseBar {
    fn update(&self, done: u64) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).at(done);
    }
}
