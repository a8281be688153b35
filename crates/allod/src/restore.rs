//! `allod restore`: makes a journal from a backup. Everything is verified and replayed before anybody can start on it.

use std::io::Read;
use std::path::{Path, PathBuf};

use allod_engine::Archive;
use allod_journal::checkpoint::FileCheckpoints;
use allod_journal::embedded::{Embedded, Restoring};
use allod_journal::postgres::{Address, Postgres};
use allod_journal::{CheckpointStore, Journal, JournalError};
use anyhow::Context;
use clap::Args;

use crate::failed::Failed;
use crate::journal::{Bar, Output, about, restore_failed, told};
use crate::place::open_file;
use crate::store::{Store, given_address};

pub const EXAMPLES: &str = "\
Examples:
  allod restore monday.backup --data ./allod-data
  allod backup --to - | allod restore - --data ./copy
  allod restore monday.backup --archive ./archive --data ./whole    with the history that was archived";

#[derive(Debug, Args)]
pub struct RestoreArguments {
    /// The backup; - is standard input
    file: PathBuf,

    /// The folder to restore into: empty, or not there yet
    #[arg(long, env = "ALLOD_DATA", hide_env_values = true, default_value = "allod-data")]
    data: PathBuf,

    /// The address of a journal in PostgreSQL to restore into, which must be empty, instead of a folder
    #[arg(long, value_name = "ADDRESS", conflicts_with = "data")]
    journal: Option<String>,

    /// The folder of archive segments, for the records from before the backup
    #[arg(long, value_name = "FOLDER")]
    archive: Option<PathBuf>,

    /// How to say what was restored
    #[arg(long, default_value = "text")]
    output: Output,
}

pub fn run(arguments: RestoreArguments) -> Result<(), Failed> {
    let RestoreArguments { file, data, journal, archive, output } = arguments;
    let input = open_file(&file)?;
    let archive = archive.map(|folder| Archive::new(folder, 0));
    if let Some(address) = given_address(journal)? {
        return into_postgres(&file, input, archive.as_ref(), &address, output);
    }
    let restoring = Restoring::begin(&data).map_err(|error| target_failed(error, &data))?;
    let folder = restoring.folder();
    let journal = Embedded::open(&folder).map_err(|error| target_failed(error, &data))?.journal;
    let checkpoints = FileCheckpoints::open(&folder)
        .context("the checkpoints cannot be written")
        .map_err(Failed::Running)?;
    let mut bar = Bar::new("restoring");
    let mut at = |record, last| bar.at(record, last);
    let done = allod_engine::restore(input, archive.as_ref(), &journal, &checkpoints, &mut at);
    drop(bar);
    let done = done.map_err(|error| restore_failed(error, &file))?;
    drop(journal);
    restoring.finish().map_err(|error| target_failed(error, &data))?;
    told(&about(&done), output)
}

/// All of it is in one transaction of the database, so there is no half of it to be kept out of sight.
fn into_postgres(
    file: &Path,
    input: impl Read,
    archive: Option<&Archive>,
    address: &Address,
    output: Output,
) -> Result<(), Failed> {
    let store = Store::Postgres(address.clone());
    let journal = Postgres::open(address, false).map_err(|error| store.failed(error))?;
    let checkpoints = journal.checkpoints();
    let was_empty = checkpoints.list().is_ok_and(|list| list.is_empty());
    let mut bar = Bar::new("restoring");
    let mut at = |record, last| bar.at(record, last);
    let done = allod_engine::restore(input, archive, &journal, &checkpoints, &mut at);
    drop(bar);
    if done.is_err() && was_empty && journal.tail().is_ok_and(|tail| tail.seq == 0) {
        // A checkpoint without its journal would keep every server from starting.
        checkpoints
            .remove_all()
            .context("what is left cannot be removed")
            .map_err(Failed::Running)?;
    }
    told(&about(&done.map_err(|error| restore_failed(error, file))?), output)
}

fn target_failed(error: JournalError, data: &Path) -> Failed {
    let kind = match error {
        JournalError::Unusable { .. } => Failed::Refused,
        _ => Failed::Running,
    };
    kind(anyhow::Error::from(error).context(format!("{} cannot be restored into", data.display())))
}
