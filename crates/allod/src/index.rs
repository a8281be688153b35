//! Where the history index is kept: in the data folder; and for a journal that is elsewhere, when no folder is named, in one
//! that goes with the process.

use std::path::PathBuf;

use anyhow::{Context, Result};
use tempfile::TempDir;

use crate::config::Settings;
use crate::place::Place;

#[derive(Debug)]
pub struct IndexFolder {
    pub path: PathBuf,
    _passing: Option<TempDir>,
}

impl IndexFolder {
    pub fn of(settings: &Settings, place: &Place) -> Result<IndexFolder> {
        if matches!(place, Place::Folder(_)) || settings.data_given {
            return Ok(IndexFolder { path: settings.data.join("index"), _passing: None });
        }
        let passing = tempfile::Builder::new().prefix("allod-index-").tempdir();
        let passing =
            passing.context("there is no place for the history index; name one with --data")?;
        Ok(IndexFolder { path: passing.path().to_owned(), _passing: Some(passing) })
    }
}
