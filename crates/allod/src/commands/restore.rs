//! `allod restore`: creates a journal from a backup. The backup is verified and replayed before a server can use it.

use std::io::Read;
use std::path::{Path, PathBuf};

use allod_engine::{Archive, RestoreError, RestoreSummary};
use allod_journal::embedded::Restoring;
use allod_journal::postgres::Postgres;
use allod_journal::{Journal, JournalError};
use clap::Args;

use crate::commands::journal::{
    RecordProgress, ReportFormat, describe, print_summary, restore_error,
};
use crate::error::{CommandError, Result};
use crate::journal_location::{JournalLocation, OpenedJournal, open_file};
use crate::output;

pub const EXAMPLES: &str = "\
Examples:
  allod restore monday.backup --data ./allod-data
  allod backup --to - | allod restore - --data ./copy
  allod restore monday.backup --archive ./archive --data ./whole    with archived history";

#[derive(Debug, Args)]
pub struct RestoreArguments {
    /// Backup file; - for stdin
    file: PathBuf,

    /// Folder to restore into; it must be empty or missing
    #[arg(long, env = "ALLOD_DATA", hide_env_values = true, default_value = "allod-data")]
    data: PathBuf,

    /// PostgreSQL database to restore into, instead of a folder; it must not have a journal yet
    #[arg(long, env = "ALLOD_JOURNAL", hide_env_values = true)]
    journal: Option<String>,

    /// Folder with archive segments, to restore the history before the backup
    #[arg(long, value_name = "FOLDER")]
    archive: Option<PathBuf>,

    /// Output format of the summary
    #[arg(long, default_value = "text")]
    output: ReportFormat,
}

pub fn run(arguments: RestoreArguments) -> Result<()> {
    let RestoreArguments { file, data, journal, archive, output } = arguments;
    let from =
        BackupSource { input: open_file(&file)?, archive: archive.map(|at| Archive::new(at, 0)) };
    let done = match journal {
        None => into_folder(from, &data),
        Some(text) => into_postgres(from, JournalLocation::postgres(&text)?),
    };
    let done = done.map_err(|error| match error {
        RestoreFailure::Backup(error) => restore_error(error, &file),
        RestoreFailure::Target(failed) => failed,
    });
    print_summary(&describe(&done?), output)
}

struct BackupSource {
    input: Box<dyn Read>,
    archive: Option<Archive>,
}

enum RestoreFailure {
    Backup(RestoreError),
    Target(CommandError),
}

/// Restores into a temporary folder, which gets its name when it is complete.
fn into_folder(from: BackupSource, data: &Path) -> Result<RestoreSummary, RestoreFailure> {
    let failed = |error| RestoreFailure::Target(target_failed(error, data));
    let restoring = Restoring::begin(data).map_err(failed)?;
    let done = into_location(from, &JournalLocation::Folder(restoring.folder()))?;
    restoring.finish().map_err(failed)?;
    Ok(done)
}

/// Records are written in one transaction. A checkpoint is not part of it, and without its journal it would prevent servers
/// from starting, so it is removed after a failure.
fn into_postgres(
    from: BackupSource,
    location: JournalLocation,
) -> Result<RestoreSummary, RestoreFailure> {
    into_location(from, &location).inspect_err(|error| {
        // A checkpoint that existed before may belong to another restore that is running.
        let existed = matches!(error, RestoreFailure::Backup(RestoreError::NotEmpty { .. }));
        if !existed
            && let JournalLocation::Postgres(address) = &location
            && let Ok(journal) = Postgres::open(address, false)
            && journal.tail().is_ok_and(|tail| tail.seq == 0)
            && let Err(error) = journal.checkpoints().remove_all()
        {
            output::message(&format!(
                "cannot remove the checkpoint that was left in {location}: {error}"
            ));
        }
    })
}

fn into_location(
    from: BackupSource,
    location: &JournalLocation,
) -> Result<RestoreSummary, RestoreFailure> {
    let OpenedJournal { journal, checkpoints, .. } =
        location.open(false).map_err(RestoreFailure::Target)?;
    let mut bar = RecordProgress::new("restoring");
    let mut at = |record, last| bar.at(record, last);
    let BackupSource { input, archive } = from;
    let done = allod_engine::restore(input, archive.as_ref(), &*journal, &*checkpoints, &mut at);
    done.map_err(RestoreFailure::Backup)
}

fn target_failed(error: JournalError, data: &Path) -> CommandError {
    let kind = match error {
        JournalError::Unusable { .. } => CommandError::Refused,
        _ => CommandError::Failed,
    };
    kind(anyhow::Error::from(error).context(format!("cannot restore into {}", data.display())))
}
