//! What keeps a journal: a folder of this machine, or a PostgreSQL database; and how it is opened, with its checkpoints.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use allod_engine::Halt;
use allod_journal::checkpoint::FileCheckpoints;
use allod_journal::embedded::{Embedded, Torn};
use allod_journal::postgres::{Address, Postgres, SCHEMES};
use allod_journal::{CheckpointStore, Journal, JournalError};
use anyhow::{Context, anyhow};

use crate::Failed;
use crate::config::Settings;

#[derive(Debug, Clone)]
pub enum Store {
    Folder(PathBuf),
    Postgres(Address),
}

pub struct Opened {
    pub journal: Arc<dyn Journal>,
    pub checkpoints: Arc<dyn CheckpointStore>,
    /// A write that a crash had cut off, and that is gone now.
    pub torn: Option<Torn>,
}

/// Reads what is given as `--journal`.
pub fn address(text: &str) -> Result<Address, String> {
    if !SCHEMES.iter().any(|scheme| text.starts_with(scheme)) {
        return Err("an address as in postgres://user@host/database is expected".to_owned());
    }
    Address::parse(text).map_err(|error| match error {
        JournalError::Unusable { what } => what,
        other => other.to_string(),
    })
}

/// The same for commands that take one or not. The text is not repeated when it is wrong: a password may be in it.
pub fn given_address(text: Option<String>) -> Result<Option<Address>, Failed> {
    let address = text.map(|text| address(&text)).transpose();
    address.map_err(|what| Failed::Asked(anyhow!("--journal: {what}")))
}

impl Store {
    pub fn of(settings: &Settings) -> Store {
        match &settings.journal {
            Some(address) => Store::Postgres(address.clone()),
            None => Store::Folder(settings.data.clone()),
        }
    }

    /// Opens it, and makes it if it is not there. With `ha`, only if it survives the loss of one machine. Blocks.
    pub fn open(&self, ha: bool) -> Result<Opened, Failed> {
        match self {
            Store::Folder(_) if ha => Err(Failed::Asked(anyhow!(
                "ha is on, but a journal in a folder does not survive the loss of its machine; \
                 give --journal postgres://… with a synchronous standby, or start without ha"
            ))),
            Store::Folder(data) => {
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
            Store::Postgres(address) => {
                let journal = Postgres::open(address, ha).map_err(|error| self.failed(error))?;
                let checkpoints = Arc::new(journal.checkpoints());
                Ok(Opened { journal: Arc::new(journal), checkpoints, torn: None })
            }
        }
    }

    /// Opens one that is there, to look at it.
    pub fn look(&self) -> Result<Opened, Failed> {
        if let Store::Folder(data) = self
            && !data.is_dir()
        {
            return Err(Failed::Asked(anyhow!("there is no folder {}", data.display())));
        }
        let opened = self.open(false)?;
        if let Some(torn) = &opened.torn {
            eprintln!("a write that a crash had cut off was dropped: {torn:?}");
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

impl fmt::Display for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Store::Folder(folder) => write!(f, "{}", folder.display()),
            Store::Postgres(address) => write!(f, "{address}"),
        }
    }
}
