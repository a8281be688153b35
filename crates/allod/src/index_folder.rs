//! The folder of the history index: in the data folder, or a temporary one if the journal is in PostgreSQL and no data
//! folder is given.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use tempfile::TempDir;

use crate::config::ServerSettings;
use crate::journal_location::JournalLocation;

#[derive(Debug)]
pub struct IndexFolder {
    pub path: PathBuf,
    _temporary: Option<TempDir>,
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
        let temporary = tempfile::Builder::new().prefix("allod-index-").tempdir();
        let temporary = temporary.context(
            "cannot create a temporary folder for the history index; give a folder with --data",
        )?;
        Ok(IndexFolder { path: temporary.path().to_owned(), _temporary: Some(temporary) })
    }
}
