//! The lock of a data folder: a file with an exclusive lock and the process ID of its holder.

use std::fs::{File, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::Path;

use crate::contract::JournalError;
use crate::private;

pub const LOCK_FILE: &str = "allod.lock";

/// Held while the journal is open. The operating system releases it when the process ends. The file is never removed:
/// otherwise two processes could lock two files of the same name.
#[derive(Debug)]
pub struct FolderLock {
    file: File,
}

impl Drop for FolderLock {
    /// Closing the file is not enough: a child process that is being started at this moment shares it until its exec.
    fn drop(&mut self) {
        if let Err(error) = self.file.unlock() {
            tracing::warn!(%error, "cannot release the lock of the data folder");
        }
    }
}

impl FolderLock {
    pub fn take(folder: &Path) -> Result<Self, JournalError> {
        let path = folder.join(LOCK_FILE);
        let unusable =
            |error| JournalError::Unusable { what: format!("{}: {error}", path.display()) };
        let mut file = private::open_file(&path).map_err(unusable)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut holder = String::new();
                // Only for the message.
                let _ = file.read_to_string(&mut holder);
                let holder = holder.trim();
                let holder = if holder.is_empty() { "unknown" } else { holder };
                let what = format!("the data folder {} (process {holder})", folder.display());
                return Err(JournalError::InUse { what });
            }
            Err(TryLockError::Error(error)) => return Err(unusable(error)),
        }
        // Not an error: a journal on a full disk can still be read.
        let written = file
            .set_len(0)
            .and_then(|()| file.rewind())
            .and_then(|()| writeln!(file, "{}", std::process::id()));
        if let Err(error) = written {
            tracing::warn!(%error, path = %path.display(), "cannot write the process ID");
        }
        Ok(Self { file })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_of_the_file_does_not_keep_the_lock() {
        let folder = tempfile::tempdir().unwrap();
        let lock = FolderLock::take(folder.path()).unwrap();
        let copy = lock.file.try_clone().unwrap();
        assert!(matches!(FolderLock::take(folder.path()), Err(JournalError::InUse { .. })));
        drop(lock);
        FolderLock::take(folder.path()).unwrap();
        drop(copy);
    }
}
