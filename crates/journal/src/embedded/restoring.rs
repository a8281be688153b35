//! Restores into a data folder so that no server can start on a partial restore.
//!
//! Everything is written to a subfolder and moved into place at the end, the journal last. (The data folder itself may be a
//! mount point, which cannot be renamed.) While the subfolder exists and the journal is not in its place, a server refuses to
//! start: it would begin with an empty journal.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::lock::{FolderLock, LOCK_FILE};
use super::open;
use super::open::JOURNAL_FILE;
use crate::checkpoint::CHECKPOINT_FOLDER;
use crate::contract::JournalError;
use crate::private;

pub const RESTORING_FOLDER: &str = "restoring";

/// What an empty data folder may contain: a released lock, an interrupted restore, and what file systems create.
const NOTHING: [&str; 3] = [LOCK_FILE, RESTORING_FOLDER, "lost+found"];

/// A restore in progress. Dropping it without `finish` removes what was written.
#[derive(Debug)]
pub struct Restoring {
    data: PathBuf,
    finished: bool,
    _lock: FolderLock,
}

fn failed(path: &Path) -> impl Fn(io::Error) -> JournalError {
    let path = path.display().to_string();
    move |error| match error.kind() {
        io::ErrorKind::StorageFull => JournalError::Full { what: format!("{path}: {error}") },
        _ => JournalError::Unusable { what: format!("{path}: {error}") },
    }
}

/// Whether a restore into this data folder was interrupted.
pub(super) fn is_unfinished(data: &Path) -> bool {
    let restoring = data.join(RESTORING_FOLDER);
    restoring.join(JOURNAL_FILE).exists()
        || (restoring.is_dir() && !data.join(JOURNAL_FILE).exists())
}

fn ensure_empty(data: &Path) -> Result<(), JournalError> {
    let Ok(entries) = fs::read_dir(data) else { return Ok(()) };
    for entry in entries {
        let name = entry.map_err(failed(data))?.file_name();
        if !NOTHING.iter().any(|nothing| name == *nothing) {
            let what = format!(
                "the folder {} is not empty: it contains {}; restore into a new folder, or move its contents away",
                data.display(),
                name.display()
            );
            return Err(JournalError::Unusable { what });
        }
    }
    Ok(())
}

impl Restoring {
    /// Begins a restore into `data`, which must be empty or missing.
    pub fn begin(data: &Path) -> Result<Self, JournalError> {
        // Before taking the lock, so that no lock file is put into an unrelated folder; and again while it is held.
        ensure_empty(data)?;
        private::create_folder(data).map_err(failed(data))?;
        let lock = FolderLock::take(data)?;
        ensure_empty(data)?;
        let restoring = Self { data: data.to_owned(), finished: false, _lock: lock };
        restoring.remove().map_err(failed(&restoring.folder()))?;
        private::create_folder(&restoring.folder()).map_err(failed(&restoring.folder()))?;
        Ok(restoring)
    }

    /// Where to write the journal and its checkpoints.
    pub fn folder(&self) -> PathBuf {
        self.data.join(RESTORING_FOLDER)
    }

    fn remove(&self) -> io::Result<()> {
        match fs::remove_dir_all(self.folder()) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Moves everything into place. The journal must be closed.
    pub fn finish(mut self) -> Result<(), JournalError> {
        let folder = self.folder();
        let sync = |path: &Path| File::open(path).and_then(|folder| folder.sync_all());
        let moved = |name: &str| -> io::Result<()> {
            match fs::rename(folder.join(name), self.data.join(name)) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                other => other?,
            }
            sync(&folder).and_then(|()| sync(&self.data))
        };
        // Opening it copies the write-ahead log into the database and checks it as any start does.
        drop(open::open(&folder)?);
        // Checkpoints first: without the journal they prevent a start, but a journal without them might not.
        moved(CHECKPOINT_FOLDER).and_then(|()| moved(JOURNAL_FILE)).map_err(failed(&self.data))?;
        self.finished = true;
        self.remove().and_then(|()| sync(&self.data)).map_err(failed(&folder))
    }
}

impl Drop for Restoring {
    fn drop(&mut self) {
        if !self.finished
            && let Err(error) = self.remove()
        {
            tracing::warn!(%error, folder = %self.folder().display(), "cannot remove an interrupted restore");
        }
    }
}
