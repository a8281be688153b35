//! `allod token …`: the file of tokens that `allod serve --auth tokens` reads.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use allod_edge::Role;
use allod_edge::auth::{Secret, TokenEntry, expiry, parse_tokens};
use anyhow::{Context, Result, anyhow, bail};
use clap::{Args, Subcommand};

use crate::Failed;
use crate::journal::Output;
use crate::security::SCOPE_WORD;

#[derive(Debug, Subcommand)]
pub enum TokenCommand {
    /// Draw a new token. It is printed once; what is kept is its hash.
    New(New),
    /// Show the tokens of a file.
    List {
        /// The file that the server reads.
        #[arg(long, env = "ALLOD_TOKENS")]
        file: PathBuf,
        #[arg(long, default_value = "text")]
        output: Output,
    },
}

#[derive(Debug, Args)]
pub struct New {
    /// Whose it is; shown in the access log, and its own for each token.
    #[arg(long)]
    name: String,
    /// What it may do: reader, writer or admin.
    #[arg(long)]
    role: Role,
    /// Only for pools whose names begin with this, as in tenant-a/ [default: all pools]
    #[arg(long, value_name = "PREFIX")]
    pools: Option<String>,
    /// When it ends, as in 2027-01-01T00:00:00Z [default: never]
    #[arg(long, value_name = "TIME", value_parser = expiry::read)]
    expires: Option<u64>,
    /// Append it to this file; otherwise what belongs there is printed on stderr.
    #[arg(long)]
    file: Option<PathBuf>,
}

pub fn run(command: TokenCommand) -> Result<(), Failed> {
    match command {
        TokenCommand::New(new) => make(new),
        TokenCommand::List { file, output } => list(&file, output).map_err(Failed::Running),
    }
}

fn make(new: New) -> Result<(), Failed> {
    let secret = Secret::draw().map_err(|why| Failed::Running(anyhow!(why)))?;
    let New { name, role, pools, expires, file } = new;
    let digest = secret.digest();
    let entry = TokenEntry { name, role, scope: pools, expires_ms: expires, digest };
    entry.check(SCOPE_WORD).map_err(|why| Failed::Asked(anyhow!(why)))?;
    match &file {
        Some(path) => {
            append(path, &entry).map_err(Failed::Running)?;
            eprintln!("added '{}' to {}; this is the token, keep it:", entry.name, path.display());
        }
        None => eprint!(
            "# this belongs into the tokens file; the token itself is on stdout, keep it\n{}",
            entry.table(SCOPE_WORD)
        ),
    }
    let printed = writeln!(std::io::stdout(), "{}", secret.reveal());
    printed.context("the token could not be printed").map_err(Failed::Running)
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

fn list(path: &Path, output: Output) -> Result<()> {
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("{} cannot be read", path.display()))?;
    let entries = parse_tokens(&text, SCOPE_WORD)
        .map_err(|why| anyhow!("the tokens file {}: {why}", path.display()))?;
    let now_ms = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
    let expired = |entry: &TokenEntry| entry.expires_ms.is_some_and(|ms| u128::from(ms) <= now_ms);
    let mut out = std::io::stdout().lock();
    match output {
        Output::Json => {
            let row = |entry: &TokenEntry| {
                serde_json::json!({
                    "name": entry.name,
                    "role": entry.role.name(),
                    "pools": entry.scope,
                    "expires": entry.expires_ms.map(expiry::show),
                    "expired": expired(entry),
                })
            };
            let rows: Vec<_> = entries.iter().map(row).collect();
            writeln!(out, "{}", serde_json::Value::from(rows))?;
        }
        Output::Text => {
            let width = |of: fn(&TokenEntry) -> &str, least: usize| {
                entries.iter().map(|entry| of(entry).chars().count()).fold(least, usize::max)
            };
            let names = width(|entry| &entry.name, "NAME".len());
            let pools = width(shown_pools, "POOLS".len());
            writeln!(out, "{:names$}  {:6}  {:pools$}  EXPIRES", "NAME", "ROLE", "POOLS")?;
            for entry in &entries {
                let ended = if expired(entry) { " (over)" } else { "" };
                let expires = entry.expires_ms.map_or("never".to_owned(), expiry::show);
                let (name, role) = (&entry.name, entry.role.name());
                let of = shown_pools(entry);
                writeln!(out, "{name:names$}  {role:6}  {of:pools$}  {expires}{ended}")?;
            }
        }
    }
    Ok(())
}

fn shown_pools(entry: &TokenEntry) -> &str {
    entry.scope.as_deref().unwrap_or("(all)")
}
