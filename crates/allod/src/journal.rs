//! `allod journal …`: tools for a journal that no server has open, or that several may have.

use std::io::Write;
use std::path::PathBuf;

use allod_engine::{Halt, Verified};
use allod_journal::postgres::Address;
use anyhow::anyhow;
use clap::{Subcommand, ValueEnum};

use crate::Failed;
use crate::cli::progress::Progress;
use crate::place::{self, Place};

#[derive(Debug, Subcommand)]
pub enum JournalCommand {
    /// Read the whole journal and check everything that can be checked.
    Verify {
        /// The folder of the journal.
        #[arg(long, env = "ALLOD_DATA", default_value = "allod-data")]
        data: PathBuf,
        /// The address of the journal, if it is in PostgreSQL, as in postgres://user@host/database.
        #[arg(long, env = "ALLOD_JOURNAL", hide_env_values = true, value_parser = place::address)]
        journal: Option<Address>,
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
        JournalCommand::Verify { data, journal, output } => {
            let place = journal.map_or(Place::Folder(data), Place::Postgres);
            verify(&place, output)
        }
    }
}

fn verify(place: &Place, output: Output) -> Result<(), Failed> {
    if let Place::Folder(data) = place
        && !data.is_dir()
    {
        return Err(Failed::Asked(anyhow!("there is no folder {}", data.display())));
    }
    let place::Opened { journal, checkpoints, torn } = place.open(false)?;
    if let Some(torn) = torn {
        eprintln!("a write that a crash had cut off was dropped: {torn:?}");
    }
    let whole = journal.tail().map_err(|error| place.failed(error))?.seq;
    let mut progress = Progress::new("verifying", |n| format!("{n} records"), Some(whole));
    let mut at = |tail: &allod_journal::Tail| progress.at(tail.seq);
    let verified = allod_engine::verify(&*journal, &*checkpoints, &mut at);
    drop(progress);
    let verified = verified.map_err(|halt| match halt {
        Halt::Journal(error) => place.failed(error),
        other => Failed::Unsound(other.into()),
    })?;
    print(&verified, output).map_err(|error| Failed::Running(error.into()))?;
    if verified.violations.is_empty() {
        return Ok(());
    }
    let violations = verified.violations.join("\n  ");
    Err(Failed::Unsound(anyhow!("the state that the journal leads to is wrong:\n  {violations}")))
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
