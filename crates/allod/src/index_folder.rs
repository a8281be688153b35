//! The folder of the history index: in the data folder, or a temporary one if the journal is in PostgreSQL and no data
//! folder is given.
//!
//! A server that is killed leaves its temporary folder behind. The next one removes it: the folder is locked while its
//! server runs.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use allod_journal::embedded::FolderLock;
use anyhow::{Context, Result};
use tempfile::TempDir;
use tracing::{info, warn};

use crate::config::ServerSettings;
use crate::journal_location::JournalLocation;

const PREFIX: &str = "allod-index-";

/// A folder that is younger may not be locked yet.
const LEFT_BEHIND_AFTER: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub struct IndexFolder {
    pub path: PathBuf,
    _temporary: Option<(FolderLock, TempDir)>,
}

/// The index in a data folder.
pub fn in_data(data: &Path) -> PathBuf {
    data.join("index")
}

impl IndexFolder {
    pub fn of(settings: &ServerSettings, location: &JournalLocation) -> Result<IndexFolder> {
        if matches!(location, JournalLocation::Folder(_)) || settings.data_given {
            return Ok(IndexFolder { path: in_data(&settings.data), _temporary: None });
        }
        let around = std::env::temp_dir();
        if let Err(error) = remove_left_behind(&around, SystemTime::now()) {
            warn!(%error, "cannot look for temporary folders of servers that were killed");
        }
        IndexFolder::temporary(&around).context(
            "cannot create a temporary folder for the history index; give a folder with --data",
        )
    }

    fn temporary(around: &Path) -> Result<IndexFolder> {
        let temporary = tempfile::Builder::new().prefix(PREFIX).tempdir_in(around)?;
        let lock = FolderLock::take(temporary.path())?;
        let path = temporary.path().join("index");
        Ok(IndexFolder { path, _temporary: Some((lock, temporary)) })
    }
}

/// Removes temporary folders of our account whose server no longer runs.
fn remove_left_behind(around: &Path, now: SystemTime) -> io::Result<()> {
    let account = rustix::process::geteuid().as_raw();
    for entry in fs::read_dir(around)? {
        let entry = entry?;
        if !entry.file_name().to_string_lossy().starts_with(PREFIX) {
            continue;
        }
        // Not through a link, and not a folder of another account, in which anything could be.
        let Ok(found) = entry.metadata() else { continue };
        let age = found.modified().ok().and_then(|at| now.duration_since(at).ok());
        let is_old = age.is_some_and(|age| age >= LEFT_BEHIND_AFTER);
        if !found.is_dir() || found.uid() != account || !is_old {
            continue;
        }
        let path = entry.path();
        let Ok(_lock) = FolderLock::take(&path) else { continue };
        match fs::remove_dir_all(&path) {
            Ok(()) => {
                info!(path = %path.display(), "removed the index of a server that was killed")
            }
            Err(error) => warn!(path = %path.display(), %error, "cannot remove an old index"),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_of_killed_servers_are_removed_and_others_stay() {
        let around = tempfile::tempdir().unwrap();
        let running = IndexFolder::temporary(around.path()).unwrap();
        let killed = around.path().join("allod-index-killed");
        fs::create_dir_all(killed.join("index")).unwrap();
        let other = around.path().join("other");
        fs::create_dir(&other).unwrap();
        let linked = around.path().join("allod-index-linked");
        std::os::unix::fs::symlink(&other, &linked).unwrap();
        remove_left_behind(around.path(), SystemTime::now()).unwrap();
        assert!(killed.exists(), "it may be the folder of a server that is starting");
        remove_left_behind(around.path(), SystemTime::now() + LEFT_BEHIND_AFTER).unwrap();
        assert!(!killed.exists());
        assert!(other.exists() && linked.exists());
        assert!(running.path.parent().is_some_and(Path::exists));
        drop(running);
        assert_eq!(fs::read_dir(around.path()).unwrap().count(), 2);
    }
}
