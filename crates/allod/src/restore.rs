//! `allod restore`: makes a journal from a backup. Everything is verified and replayed before anybody can start on it.

use std::path::{Path, PathBuf};

use allod_engine::Archive;
use allod_journal::JournalError;
use allod_journal::checkpoint::FileCheckpoints;
use allod_journal::embedded::{Embedded, Restoring};
use anyhow::Context;
use clap::Args;

use crate::failed::Failed;
use crate::journal::{Bar, Output, about, restore_failed, told};
use crate::place::open_file;

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

    /// The folder of archive segments, for the records from before the backup
    #[arg(long, value_name = "FOLDER")]
    archive: Option<PathBuf>,

    /// How to say what was restored
    #[arg(long, default_value = "text")]
    output: Output,
}

pub fn run(arguments: RestoreArguments) -> Result<(), Failed> {
    let RestoreArguments { file, data, archive, output } = arguments;
    let input = open_file(&file)?;
    let archive = archive.map(|folder| Archive::new(folder, 0));
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

fn target_failed(error: JournalError, data: &Path) -> Failed {
    let kind = match error {
        JournalError::Unusable { .. } => Failed::Refused,
        _ => Failed::Running,
    };
    kind(anyhow::Error::from(error).context(format!("{} cannot be restored into", data.display())))
}
