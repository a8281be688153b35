//! `allod journal …`: tools for a journal that no server has open.

use std::io::Write;
use std::path::{Path, PathBuf};

use allod_engine::{Halt, Verified};
use allod_journal::checkpoint::FileCheckpoints;
use allod_journal::embedded::Embedded;
use allod_journal::{Journal, JournalError};
use anyhow::{Context, anyhow};
use clap::{Subcommand, ValueEnum};

use crate::Failed;
use crate::cli::progress::Progress;

#[derive(Debug, Subcommand)]
pub enum JournalCommand {
    /// Read the whole journal and check everything that can be checked.
    Verify {
        /// The folder of the journal.
        #[arg(long, env = "ALLOD_DATA", default_value = "allod-data")]
        data: PathBuf,
        #[arg(long, default_value = "text")]
        output: Output,
    },
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum Output {
    Text,
    Json,
}

pub fn run(command: JournalCommand) -> Result<(), Failed> {
    match command {
        JournalCommand::Verify { data, output } => verify(&data, output),
    }
}

fn verify(data: &Path, output: Output) -> Result<(), Failed> {
    if !data.is_dir() {
        return Err(Failed::Asked(anyhow!("there is no folder {}", data.display())));
    }
    let opened = Embedded::open(data).map_err(|error| journal_failed(error, data))?;
    if let Some(torn) = &opened.torn {
        eprintln!("a write that a crash had cut off was dropped: {torn:?}");
    }
    let checkpoints = FileCheckpoints::open(data)
        .context("the checkpoints cannot be opened")
        .map_err(Failed::Running)?;
    let whole = opened.journal.tail().map_err(|error| journal_failed(error, data))?.seq;
    let mut progress = Progress::new("verifying", |n| format!("{n} records"), Some(whole));
    let mut at = |tail: &allod_journal::Tail| progress.at(tail.seq);
    let verified = allod_engine::verify(&opened.journal, &checkpoints, &mut at);
    drop(progress);
    let verified = verified.map_err(|halt| match halt {
        Halt::Journal(error) => journal_failed(error, data),
        other => Failed::Unsound(other.into()),
    })?;
    print(&verified, output).map_err(|error| Failed::Running(error.into()))?;
    if verified.violations.is_empty() {
        return Ok(());
    }
    let violations = verified.violations.join("\n  ");
    Err(Failed::Unsound(anyhow!("the state that the journal leads to is wrong:\n  {violations}")))
}

/// Damage is a finding; anything else kept us from looking.
fn journal_failed(error: JournalError, data: &Path) -> Failed {
    let unsound = matches!(error, JournalError::Damaged { .. } | JournalError::Chain(_));
    let error = anyhow::Error::from(error).context(format!("the journal in {}", data.display()));
    if unsound { Failed::Unsound(error) } else { Failed::Running(error) }
}

fn print(verified: &Verified, output: Output) -> std::io::Result<()> {
    let Verified { records, from, tail, state_hash, violations, state } = verified;
    let pools = state.pool_count();
    let mut out = std::io::stdout().lock();
    match output {
        Output::Text => writeln!(
            out,
            "records    {records}, from {from}\nposition   {}\nepoch      {}\nhash       {}\nstate      {state_hash}\npools      {pools}\nviolations {}",
            tail.position,
            tail.epoch,
            tail.hash,
            violations.len()
        ),
        Output::Json => {
            let summary = serde_json::json!({
                "records": records,
                "from": from,
                "position": tail.position,
                "epoch": tail.epoch,
                "hash": tail.hash.to_string(),
                "state_hash": state_hash.to_string(),
                "pools": pools,
                "violations": violations,
            });
            writeln!(out, "{summary}")
        }
    }
}
