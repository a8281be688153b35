//! `allod token …`: the file of tokens that `allod serve --auth tokens` reads.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use allod_edge::Role;
use allod_edge::auth::{Secret, TokenEntry, parse_tokens};
use allod_edge::time;
use anyhow::{Context, Result, anyhow, bail};
use clap::{Args, Subcommand};
use serde_json::json;

use super::table::{Side, Table};
use super::{Form, json as json_form, print, say};
use crate::failed::Failed;
use crate::security::SCOPE_WORD;

pub const EXAMPLES: &str = "\
Examples:
  allod token new --name ci --role writer --file tokens.toml
  allod token new --name tenant-a --role admin --pools tenant-a/ --file tokens.toml
  allod serve --auth tokens --tokens tokens.toml
";

#[derive(Debug, Subcommand)]
pub enum TokenCommand {
    /// Draw a new token; it is printed once, and what is kept is its hash
    #[command(after_help = EXAMPLES)]
    New(NewArguments),
    /// Show the tokens of a file
    List(ListArguments),
}

#[derive(Debug, Args)]
pub struct NewArguments {
    /// Whose it is: shown in the access log, and another for each token
    #[arg(long)]
    name: String,

    /// What it may do: reader, writer or admin
    #[arg(long)]
    role: Role,

    /// Only for pools whose names begin with this, as in tenant-a/ [default: all pools]
    #[arg(long, value_name = "PREFIX")]
    pools: Option<String>,

    /// When it ends, as in 2027-01-01T00:00:00Z [default: never]
    #[arg(long, value_name = "TIME", value_parser = time::read_rfc3339)]
    expires: Option<u64>,

    /// Append it to this file; otherwise what belongs there is printed on stderr
    #[arg(long)]
    file: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct ListArguments {
    /// The file that the server reads
    #[arg(long, env = "ALLOD_TOKENS", hide_env_values = true)]
    file: PathBuf,

    /// A table for people, or JSON for scripts
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
}

pub fn run(command: TokenCommand) -> Result<(), Failed> {
    match command {
        TokenCommand::New(arguments) => make(arguments),
        TokenCommand::List(arguments) => list(&arguments.file, arguments.output),
    }
}

fn make(arguments: NewArguments) -> Result<(), Failed> {
    let secret = Secret::generate().map_err(|why| Failed::Running(anyhow!(why)))?;
    let NewArguments { name, role, pools, expires, file } = arguments;
    let digest = secret.digest();
    let entry = TokenEntry { name, role, scope: pools, expires_ms: expires, digest };
    entry.check(SCOPE_WORD).map_err(|why| Failed::Asked(anyhow!(why)))?;
    match &file {
        Some(path) => {
            append(path, &entry).map_err(Failed::Running)?;
            let (name, path) = (&entry.name, path.display());
            say(&format!("added '{name}' to {path}; this is the token, keep it:"));
        }
        None => say(&format!(
            "# this belongs into the tokens file; the token itself is on stdout, keep it\n{}",
            entry.table(SCOPE_WORD)
        )),
    }
    print(&format!("{}\n", secret.reveal()))
}

/// Writes the token behind those that are there. A new file is for its owner only.
fn append(path: &Path, entry: &TokenEntry) -> Result<()> {
    let text = match std::fs::read_to_string(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
        read => read.with_context(|| format!("{} cannot be read", path.display()))?,
    };
    let wrong = |why| anyhow!("the tokens file {}: {why}", path.display());
    let known = parse_tokens(&text, SCOPE_WORD).map_err(wrong)?;
    if known.iter().any(|known| known.name == entry.name) {
        bail!("{} has a token '{}' already; choose another name", path.display(), entry.name);
    }
    let gap = match text.as_str() {
        "" => "",
        text if text.ends_with("\n\n") => "",
        text if text.ends_with('\n') => "\n",
        _ => "\n\n",
    };
    let written = OpenOptions::new().create(true).append(true).mode(0o600).open(path);
    let written = written.and_then(|mut file| {
        // In one piece, so that a server that looks at the same moment finds all of it or none.
        file.write_all(format!("{gap}{}", entry.table(SCOPE_WORD)).as_bytes())?;
        file.sync_all()
    });
    written.with_context(|| format!("{} cannot be written", path.display()))
}

fn list(path: &Path, form: Form) -> Result<(), Failed> {
    let entries = read(path).map_err(Failed::Running)?;
    let now_ms = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
    let expired = |entry: &TokenEntry| entry.expires_ms.is_some_and(|ms| u128::from(ms) <= now_ms);
    if form == Form::Json {
        let row = |entry: &TokenEntry| {
            json!({
                "name": entry.name,
                "role": entry.role.name(),
                "pools": entry.scope,
                "expires": entry.expires_ms.map(time::rfc3339_s),
                "expired": expired(entry),
            })
        };
        let rows: Vec<_> = entries.iter().map(row).collect();
        return json_form::print(serde_json::Value::from(rows).to_string().as_bytes());
    }
    let columns = ["NAME", "ROLE", "POOLS", "EXPIRES"].map(|name| (name, Side::Left));
    let mut table = Table::new(&columns);
    for entry in entries {
        let over = if expired(&entry) { " (over)" } else { "" };
        let expires = entry.expires_ms.map_or("never".to_owned(), time::rfc3339_s);
        let pools = entry.scope.unwrap_or_else(|| "(all)".to_owned());
        table.row([entry.name, entry.role.name().to_owned(), pools, format!("{expires}{over}")]);
    }
    table.print()
}

fn read(path: &Path) -> Result<Vec<TokenEntry>> {
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("{} cannot be read", path.display()))?;
    parse_tokens(&text, SCOPE_WORD)
        .map_err(|why| anyhow!("the tokens file {}: {why}", path.display()))
}
