//! Where a journal is that no server has open: in a data folder, or in a file that was made from one.

use std::fs::File;
use std::io::{self, BufReader, IsTerminal, Read};
use std::path::{Path, PathBuf};

use allod_engine::Halt;
use allod_journal::JournalError;
use allod_journal::checkpoint::FileCheckpoints;
use allod_journal::embedded::Embedded;
use anyhow::{Context, anyhow};

use crate::failed::{Failed, advised};

/// What a command on a journal is about.
#[derive(Debug, Clone)]
pub enum Place {
    /// A data folder.
    Data(PathBuf),
    /// A backup or an archive segment; `-` for standard input.
    File(PathBuf),
}

impl Place {
    /// `file`, if one is named, and else `data`.
    pub fn of(file: Option<PathBuf>, data: PathBuf) -> Place {
        match file {
            Some(path) if path.is_dir() => Place::Data(path),
            Some(path) => Place::File(path),
            None => Place::Data(data),
        }
    }
}

/// The journal in a data folder.
#[derive(Debug)]
pub struct Folder {
    pub journal: Embedded,
    pub checkpoints: FileCheckpoints,
}

impl Folder {
    pub fn open(data: &Path) -> Result<Folder, Failed> {
        if !data.is_dir() {
            return Err(Failed::Asked(anyhow!("there is no folder {}", data.display())));
        }
        let opened = Embedded::open(data).map_err(|error| journal_failed(error, data))?;
        if let Some(torn) = &opened.torn {
            eprintln!("a write that a crash had cut off was dropped: {torn:?}");
        }
        let checkpoints = FileCheckpoints::open(data)
            .context("the checkpoints cannot be opened")
            .map_err(Failed::Running)?;
        Ok(Folder { journal: opened.journal, checkpoints })
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

/// Damage is a finding; anything else kept us from looking.
pub fn journal_failed(error: JournalError, data: &Path) -> Failed {
    let unsound = matches!(error, JournalError::Damaged { .. } | JournalError::Chain(_));
    let error = anyhow::Error::from(error).context(format!("the journal in {}", data.display()));
    if unsound { Failed::Unsound(error) } else { Failed::Running(error) }
}

/// The same for what ends a replay.
pub fn halted(halt: Halt, data: &Path) -> Failed {
    match halt {
        Halt::Journal(error) => journal_failed(error, data),
        other => Failed::Unsound(other.into()),
    }
}
