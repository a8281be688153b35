//! Where the records are that a command is about: in a journal, or in a file that was made from one.

use std::fs::File;
use std::io::{self, BufReader, IsTerminal, Read};
use std::path::{Path, PathBuf};

use allod_journal::postgres::Address;
use anyhow::Context;

use crate::failed::{Failed, advised};
use crate::store::Store;

/// What a command on a journal is about.
#[derive(Debug, Clone)]
pub enum Place {
    Journal(Store),
    /// A backup or an archive segment; `-` for standard input.
    File(PathBuf),
}

impl Place {
    /// `file`, if one is named, else `journal`, and else `data`.
    pub fn of(file: Option<PathBuf>, journal: Option<Address>, data: PathBuf) -> Place {
        match file {
            Some(path) if path.is_dir() => Place::Journal(Store::Folder(path)),
            Some(path) => Place::File(path),
            None => Place::Journal(journal.map_or(Store::Folder(data), Store::Postgres)),
        }
    }
}

/// A file that is read from its beginning to its end.
pub fn open_file(path: &Path) -> Result<Box<dyn Read>, Failed> {
    if path == Path::new("-") {
        if io::stdin().is_terminal() {
            let advice = "pipe one in, as in `allod backup --to - | allod restore -`";
            return Err(Failed::Asked(advised("a backup cannot be typed", advice)));
        }
        return Ok(Box::new(BufReader::with_capacity(1 << 18, io::stdin())));
    }
    let file = File::open(path).with_context(|| format!("{} cannot be read", path.display()));
    Ok(Box::new(BufReader::with_capacity(1 << 18, file.map_err(Failed::Asked)?)))
}
