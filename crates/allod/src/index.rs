//! Where the history index is kept: in the data folder; and for a journal that is elsewhere, when no folder is given, in one
//! for as long as the server runs.

use std::path::{Path, PathBuf};

use tracing::warn;

use crate::config::Settings;
use crate::place::Place;

#[derive(Debug)]
pub struct IndexFolder {
    path: PathBuf,
    temporary: bool,
}

impl IndexFolder {
    pub fn of(settings: &Settings, place: &Place) -> IndexFolder {
        match place {
            Place::Postgres(_) if !settings.data_given => {
                let path = std::env::temp_dir().join(format!("allod-index-{}", std::process::id()));
                IndexFolder { path, temporary: true }
            }
            _ => IndexFolder { path: settings.data.join("index"), temporary: false },
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for IndexFolder {
    fn drop(&mut self) {
        if self.temporary
            && self.path.exists()
            && let Err(error) = std::fs::remove_dir_all(&self.path)
        {
            warn!(folder = %self.path.display(), %error, "the temporary history index cannot be removed");
        }
    }
}
