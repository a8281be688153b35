//! `allod restore`: makes a journal from a backup. Everything is verified and replayed before anybody can start on it.

use std::io::Read;
use std::path::{Path, PathBuf};

use allod_engine::{Archive, RestoreError, RestoreSummary};
use allod_journal::embedded::Restoring;
use allod_journal::postgres::Postgres;
use allod_journal::{Journal, JournalError};
use clap::Args;

use crate::cli;
use crate::failed::Failed;
use crate::journal::{Bar, Output, about, restore_failed, told};
use crate::place::{Opened, Place, open_file};

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
    #[arg(long, env = "ALLOD_JOURNAL", hide_env_values = true)]
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
    let from = From { input: open_file(&file)?, archive: archive.map(|at| Archive::new(at, 0)) };
    let done = match journal {
        None => into_folder(from, &data),
        Some(text) => into_postgres(from, Place::postgres(&text)?),
    };
    let done = done.map_err(|error| match error {
        Unrestored::Backup(error) => restore_failed(error, &file),
        Unrestored::Target(failed) => failed,
    });
    told(&about(&done?), output)
}

/// What is restored.
struct From {
    input: Box<dyn Read>,
    archive: Option<Archive>,
}

enum Unrestored {
    Backup(RestoreError),
    Target(Failed),
}

/// The folder has its name only once everything is in it.
fn into_folder(from: From, data: &Path) -> Result<RestoreSummary, Unrestored> {
    let failed = |error| Unrestored::Target(target_failed(error, data));
    let restoring = Restoring::begin(data).map_err(failed)?;
    let done = into_place(from, &Place::Folder(restoring.folder()))?;
    restoring.finish().map_err(failed)?;
    Ok(done)
}

/// The records are in one transaction of the database, so there is no half of them. A checkpoint is not, and without its
/// journal it would keep every server from starting.
fn into_postgres(from: From, place: Place) -> Result<RestoreSummary, Unrestored> {
    into_place(from, &place).inspect_err(|error| {
        // What was there before is somebody else's, who may be restoring just now.
        let was_there = matches!(error, Unrestored::Backup(RestoreError::NotEmpty { .. }));
        if !was_there
            && let Place::Postgres(address) = &place
            && let Ok(journal) = Postgres::open(address, false)
            && journal.tail().is_ok_and(|tail| tail.seq == 0)
            && let Err(error) = journal.checkpoints().remove_all()
        {
            cli::say(&format!("a checkpoint was left in {place} and cannot be removed: {error}"));
        }
    })
}

fn into_place(from: From, place: &Place) -> Result<RestoreSummary, Unrestored> {
    let Opened { journal, checkpoints, .. } = place.open(false).map_err(Unrestored::Target)?;
    let mut bar = Bar::new("restoring");
    let mut at = |record, last| bar.at(record, last);
    let From { input, archive } = from;
    let done = allod_engine::restore(input, archive.as_ref(), &*journal, &*checkpoints, &mut at);
    done.map_err(Unrestored::Backup)
}

fn target_failed(error: JournalError, data: &Path) -> Failed {
    let kind = match error {
        JournalError::Unusable { .. } => Failed::Refused,
        _ => Failed::Running,
    };
    kind(anyhow::Error::from(error).context(format!("{} cannot be restored into", data.display())))
}
