//! `allod token`: creates and lists the tokens in the file that `allod serve --auth tokens` reads.

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

use crate::error::CommandError;
use crate::output::table::Table;
use crate::output::{OutputFormat, json as json_output, message, print};
use crate::security::SCOPE_WORD;

pub const EXAMPLES: &str = "\
Examples:
  allod token new --name ci --role writer --file tokens.toml
  allod token new --name tenant-a --role admin --pools tenant-a/ --file tokens.toml
  allod serve --auth tokens --tokens tokens.toml
";

#[derive(Debug, Subcommand)]
pub enum TokenCommand {
    /// Create a token; it is printed once, and only its hash is stored
    #[command(after_help = EXAMPLES)]
    New(TokenNewArguments),
    /// List the tokens of a file
    List(TokenListArguments),
}

#[derive(Debug, Args)]
pub struct TokenNewArguments {
    /// Unique name of the token, shown in the access log
    #[arg(long)]
    name: String,

    /// Role: reader, allocator, writer or admin
    #[arg(long)]
    role: Role,

    /// Only for pools whose names start with this, such as tenant-a/ [default: all pools]
    #[arg(long, value_name = "PREFIX")]
    pools: Option<String>,

    /// When the token expires, such as 2027-01-01T00:00:00Z [default: never]
    #[arg(long, value_name = "TIME", value_parser = time::read_rfc3339)]
    expires: Option<u64>,

    /// Append the token to this file [default: print the entry to stderr]
    #[arg(long)]
    file: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct TokenListArguments {
    /// Tokens file of the server
    #[arg(long, env = "ALLOD_TOKENS", hide_env_values = true)]
    file: PathBuf,

    /// Output format: a table for people, or JSON for scripts
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
}

pub fn run(command: TokenCommand) -> Result<(), CommandError> {
    match command {
        TokenCommand::New(arguments) => make(arguments),
        TokenCommand::List(arguments) => list(&arguments.file, arguments.output),
    }
}

fn make(arguments: TokenNewArguments) -> Result<(), CommandError> {
    let secret = Secret::generate().map_err(|why| CommandError::Failed(anyhow!(why)))?;
    let TokenNewArguments { name, role, pools, expires, file } = arguments;
    let digest = secret.digest();
    let entry = TokenEntry { name, role, scope: pools, expires_ms: expires, digest };
    entry.check(SCOPE_WORD).map_err(|why| CommandError::Usage(anyhow!(why)))?;
    match &file {
        Some(path) => {
            append(path, &entry).map_err(CommandError::Failed)?;
            let (name, path) = (&entry.name, path.display());
            message(&format!("added '{name}' to {path}; the token is shown only once:"));
        }
        None => {
            message("# append this to the tokens file; the token on stdout is shown only once");
            entry.table(SCOPE_WORD).split('\n').for_each(message);
        }
    }
    print(&format!("{}\n", secret.reveal()))
}

/// Appends the token to the file. A new file can be read only by its owner.
fn append(path: &Path, entry: &TokenEntry) -> Result<()> {
    let text = match std::fs::read_to_string(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
        read => read.with_context(|| format!("cannot read {}", path.display()))?,
    };
    let invalid = |why| anyhow!("the tokens file {}: {why}", path.display());
    let known = parse_tokens(&text, SCOPE_WORD).map_err(invalid)?;
    if known.iter().any(|known| known.name == entry.name) {
        bail!("{} already has a token '{}'; choose another name", path.display(), entry.name);
    }
    let gap = match text.as_str() {
        "" => "",
        text if text.ends_with("\n\n") => "",
        text if text.ends_with('\n') => "\n",
        _ => "\n\n",
    };
    let written = OpenOptions::new().create(true).append(true).mode(0o600).open(path);
    let written = written.and_then(|mut file| {
        // In one write, so that a server that reloads the file now sees all of the entry or nothing.
        file.write_all(format!("{gap}{}", entry.table(SCOPE_WORD)).as_bytes())?;
        file.sync_all()
    });
    written.with_context(|| format!("cannot write {}", path.display()))
}

fn list(path: &Path, output: OutputFormat) -> Result<(), CommandError> {
    let entries = read(path).map_err(CommandError::Failed)?;
    let now_ms = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
    let expired = |entry: &TokenEntry| entry.expires_ms.is_some_and(|ms| u128::from(ms) <= now_ms);
    if output == OutputFormat::Json {
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
        return json_output::print(serde_json::Value::from(rows).to_string().as_bytes());
    }
    let mut table = Table::new(&["NAME", "ROLE", "POOLS", "EXPIRES"]);
    for entry in entries {
        let over = if expired(&entry) { " (expired)" } else { "" };
        let expires = entry.expires_ms.map_or("never".to_owned(), time::rfc3339_s);
        let pools = entry.scope.unwrap_or_else(|| "(all)".to_owned());
        table.row([entry.name, entry.role.name().to_owned(), pools, format!("{expires}{over}")]);
    }
    table.print()
}

fn read(path: &Path) -> Result<Vec<TokenEntry>> {
    let text =
        std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    parse_tokens(&text, SCOPE_WORD)
        .map_err(|why| anyhow!("the tokens file {}: {why}", path.display()))
}
