//! Where a journal is: in a folder of this machine, or in a PostgreSQL database; how it is opened, with its checkpoints;
//! and the files that are made from one.

use std::fmt;
use std::fs::File;
use std::io::{self, BufReader, IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use allod_engine::Halt;
use allod_journal::checkpoint::FileCheckpoints;
use allod_journal::embedded::{Embedded, TornTail};
use allod_journal::postgres::{Postgres, PostgresAddress, SCHEMES};
use allod_journal::{CheckpointStore, Journal, JournalError};
use anyhow::{Context, anyhow};
use clap::Args;

use crate::cli;
use crate::config::Settings;
use crate::failed::{Failed, advised};

#[derive(Debug, Clone)]
pub enum Place {
    Folder(PathBuf),
    Postgres(Box<PostgresAddress>),
}

/// The flags that name a journal to commands that work on one without a server.
#[derive(Debug, Clone, Args)]
pub struct PlaceArguments {
    /// The folder of the journal
    #[arg(long, env = "ALLOD_DATA", hide_env_values = true, default_value = "allod-data")]
    data: PathBuf,

    /// The address of the journal, if it is in PostgreSQL, as in postgres://user@host/database
    #[arg(long, env = "ALLOD_JOURNAL", hide_env_values = true)]
    journal: Option<String>,
}

/// What a command reads: a journal, or a file that was made from one.
#[derive(Debug, Clone)]
pub enum Source {
    Journal(Place),
    /// A backup or an archive segment; `-` for standard input.
    File(PathBuf),
}

pub struct Opened {
    pub journal: Arc<dyn Journal>,
    pub checkpoints: Arc<dyn CheckpointStore>,
    /// A write that a crash had cut off, and that is gone now.
    pub torn: Option<TornTail>,
}

/// Reads what is given as `--journal`.
pub fn address(text: &str) -> Result<PostgresAddress, String> {
    if !SCHEMES.iter().any(|scheme| text.starts_with(scheme)) {
        return Err("an address as in postgres://user@host/database is expected".to_owned());
    }
    PostgresAddress::parse(text).map_err(|error| match error {
        JournalError::Unusable { what } => what,
        other => other.to_string(),
    })
}

impl PlaceArguments {
    fn place(self) -> Result<Place, Failed> {
        Ok(match self.journal {
            Some(text) => Place::postgres(&text)?,
            None => Place::Folder(self.data),
        })
    }

    /// The file, if one is named, and else the journal.
    pub fn or_file(self, file: Option<PathBuf>) -> Result<Source, Failed> {
        Ok(match file {
            Some(path) if path.is_dir() => Source::Journal(Place::Folder(path)),
            Some(path) => Source::File(path),
            None => Source::Journal(self.place()?),
        })
    }
}

impl Place {
    /// What a command was given as `--journal`. The text is not repeated when it is wrong: a password may be in it.
    pub fn postgres(text: &str) -> Result<Place, Failed> {
        let address = address(text).map_err(|what| Failed::Asked(anyhow!("--journal: {what}")))?;
        Ok(Place::Postgres(Box::new(address)))
    }

    pub fn of(settings: &Settings) -> Place {
        match &settings.journal {
            Some(address) => Place::Postgres(Box::new(address.clone())),
            None => Place::Folder(settings.data.clone()),
        }
    }

    /// Opens it, and makes it if it is not there. With `ha`, only if it survives the loss of one machine. Blocks.
    pub fn open(&self, ha: bool) -> Result<Opened, Failed> {
        match self {
            Place::Folder(_) if ha => Err(Failed::Asked(anyhow!(
                "ha is on, but a journal in a folder does not survive the loss of its machine; \
                 give --journal postgres://… with a synchronous standby, or start without ha"
            ))),
            Place::Folder(data) => {
                let opened = Embedded::open(data).map_err(|error| self.failed(error))?;
                let checkpoints = FileCheckpoints::open(data)
                    .with_context(|| format!("the checkpoints of {self} cannot be opened"))
                    .map_err(Failed::Running)?;
                Ok(Opened {
                    journal: Arc::new(opened.journal),
                    checkpoints: Arc::new(checkpoints),
                    torn: opened.torn,
                })
            }
            Place::Postgres(address) => {
                let journal = Postgres::open(address, ha).map_err(|error| self.failed(error))?;
                let checkpoints = Arc::new(journal.checkpoints());
                Ok(Opened { journal: Arc::new(journal), checkpoints, torn: None })
            }
        }
    }

    /// Opens one that must be there already, to look at it.
    pub fn look(&self) -> Result<Opened, Failed> {
        if let Place::Folder(data) = self
            && !data.is_dir()
        {
            return Err(Failed::Asked(anyhow!("there is no folder {}", data.display())));
        }
        let opened = self.open(false)?;
        if let Some(torn) = &opened.torn {
            cli::say(&format!("a write that a crash had cut off was dropped: {torn:?}"));
        }
        Ok(opened)
    }

    /// Damage is a finding; anything else kept us from looking.
    pub fn failed(&self, error: JournalError) -> Failed {
        let unsound = matches!(error, JournalError::Damaged { .. } | JournalError::Chain(_));
        let error = anyhow::Error::from(error).context(format!("the journal in {self}"));
        if unsound { Failed::Unsound(error) } else { Failed::Running(error) }
    }

    /// The same for what ends a replay.
    pub fn halted(&self, halt: Halt) -> Failed {
        match halt {
            Halt::Journal(error) => self.failed(error),
            other => Failed::Unsound(other.into()),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Folder(folder) => write!(f, "{}", folder.display()),
            Place::Postgres(address) => write!(f, "{address}"),
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
