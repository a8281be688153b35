//! Filling a data folder from elsewhere so that nobody can start on half of it.
//!
//! Everything is made in a folder within the data folder, which may be a mounted disk that cannot itself be renamed, and
//! is moved to its place at the end, the journal last. Until then the data folder has no journal but this one, and a start
//! refuses: the folder within is the mark of a restore that was not finished.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::lock::{FolderLock, LOCK_FILE};
use super::open;
use super::open::JOURNAL_FILE;
use crate::checkpoint::CHECKPOINT_FOLDER;
use crate::contract::JournalError;

pub const RESTORING_FOLDER: &str = "restoring";

/// What may stand in a folder that counts as empty: a lock that nobody holds, what a restore that was cut off left, and
/// what file systems put there.
const NOTHING: [&str; 3] = [LOCK_FILE, RESTORING_FOLDER, "lost+found"];

/// A data folder that is being filled. Dropping it without `finish` removes what was made.
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

/// Whether a restore into this data folder was begun and not finished.
pub(super) fn is_unfinished(data: &Path) -> bool {
    data.join(RESTORING_FOLDER).join(JOURNAL_FILE).exists()
}

fn must_be_empty(data: &Path) -> Result<(), JournalError> {
    let Ok(entries) = fs::read_dir(data) else { return Ok(()) };
    for entry in entries {
        let name = entry.map_err(failed(data))?.file_name();
        if !NOTHING.iter().any(|nothing| name == *nothing) {
            let what = format!(
                "the folder {} is not empty: it has {} in it; restore into a new folder, or move what is there away",
                data.display(),
                name.display()
            );
            return Err(JournalError::Unusable { what });
        }
    }
    Ok(())
}

impl Restoring {
    /// Begins to fill `data`, which must be empty or not there yet.
    pub fn begin(data: &Path) -> Result<Self, JournalError> {
        // Before the lock, so that nothing is put into somebody else's folder; and again once nobody else can.
        must_be_empty(data)?;
        fs::create_dir_all(data).map_err(failed(data))?;
        let lock = FolderLock::take(data)?;
        must_be_empty(data)?;
        let restoring = Self { data: data.to_owned(), finished: false, _lock: lock };
        restoring.remove().map_err(failed(&restoring.folder()))?;
        fs::create_dir(restoring.folder()).map_err(failed(&restoring.folder()))?;
        Ok(restoring)
    }

    /// Where the journal and its checkpoints are made until they are whole.
    pub fn folder(&self) -> PathBuf {
        self.data.join(RESTORING_FOLDER)
    }

    fn remove(&self) -> io::Result<()> {
        match fs::remove_dir_all(self.folder()) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Moves what was made to its place. The journal in it must have been closed.
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
        // Opened once more, so that everything is copied out of its write-ahead log and checked as at any start.
        drop(open::open(&folder)?);
        // A checkpoint without its journal keeps a server from starting; a journal without its checkpoint may not.
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
            tracing::warn!(%error, folder = %self.folder().display(), "what was restored in part cannot be removed");
        }
    }
}
