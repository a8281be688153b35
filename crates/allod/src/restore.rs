//! `allod restore`: makes a journal from a backup. Everything is verified and replayed before anybody can start on it.

use std::fmt::Display;
use std::path::{Path, PathBuf};

use allod_engine::{Archive, Restored};
use allod_journal::embedded::Restoring;
use allod_journal::postgres::{Address, Postgres};
use allod_journal::{Journal, JournalError};
use anyhow::Context;
use clap::Args;

use crate::failed::Failed;
use crate::journal::{Bar, Output, about, restore_failed, told};
use crate::place::{Opened, Place, address, open_file};

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

    /// The PostgreSQL database to restore into instead, in which there is no journal yet
    #[arg(long, env = "ALLOD_JOURNAL", hide_env_values = true, value_parser = address)]
    journal: Option<Address>,

    /// The folder of archive segments, for the records from before the backup
    #[arg(long, value_name = "FOLDER")]
    archive: Option<PathBuf>,

    /// How to say what was restored
    #[arg(long, default_value = "text")]
    output: Output,
}

pub fn run(arguments: RestoreArguments) -> Result<(), Failed> {
    let RestoreArguments { file, data, journal, archive, output } = arguments;
    let archive = archive.map(|folder| Archive::new(folder, 0));
    let done = match journal {
        None => into_folder(&file, archive.as_ref(), &data),
        Some(address) => into_postgres(&file, archive.as_ref(), address),
    };
    told(&about(&done?), output)
}

/// The folder has its name only once everything is in it.
fn into_folder(file: &Path, archive: Option<&Archive>, data: &Path) -> Result<Restored, Failed> {
    let failed = |error| target_failed(error, &data.display());
    let restoring = Restoring::begin(data).map_err(failed)?;
    let done = into_place(file, archive, &Place::Folder(restoring.folder()))?;
    restoring.finish().map_err(failed)?;
    Ok(done)
}

/// The records are in one transaction of the database, so there is no half of them. A checkpoint is not, and without its
/// journal it would keep every server from starting.
fn into_postgres(file: &Path, archive: Option<&Archive>, to: Address) -> Result<Restored, Failed> {
    let place = Place::Postgres(Box::new(to.clone()));
    into_place(file, archive, &place).or_else(|failed| {
        // What was there before is somebody else's, who may be restoring just now.
        if matches!(failed, Failed::Refused(_)) {
            return Err(failed);
        }
        let journal = Postgres::open(&to, false).map_err(|error| place.failed(error))?;
        if journal.tail().is_ok_and(|tail| tail.seq == 0) {
            let removed = journal.checkpoints().remove_all();
            removed.context("what is left cannot be removed").map_err(Failed::Running)?;
        }
        Err(failed)
    })
}

fn into_place(file: &Path, archive: Option<&Archive>, place: &Place) -> Result<Restored, Failed> {
    let input = open_file(file)?;
    let Opened { journal, checkpoints, .. } = place.open(false)?;
    let mut bar = Bar::new("restoring");
    let mut at = |record, last| bar.at(record, last);
    let done = allod_engine::restore(input, archive, &*journal, &*checkpoints, &mut at);
    drop(bar);
    done.map_err(|error| restore_failed(error, file))
}

fn target_failed(error: JournalError, target: &dyn Display) -> Failed {
    let kind = match error {
        JournalError::Unusable { .. } => Failed::Refused,
        _ => Failed::Running,
    };
    kind(anyhow::Error::from(error).context(format!("{target} cannot be restored into")))
}
