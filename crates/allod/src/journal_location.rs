//! The location of a journal: a folder or a PostgreSQL database. Opens journals, backups and archive segments.

use std::fmt;
use std::fs::File;
use std::io::{self, BufReader, IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use allod_engine::{Halt, loss_witnesses};
use allod_journal::checkpoint::FileCheckpoints;
use allod_journal::embedded::{Embedded, TornTail};
use allod_journal::postgres::{Postgres, PostgresAddress, SCHEMES};
use allod_journal::{CheckpointStore, Journal, JournalError};
use anyhow::{Context, anyhow};
use clap::Args;

use crate::config::ServerSettings;
use crate::error::{CommandError, Result, with_advice};
use crate::index_folder;
use crate::output;

#[derive(Debug, Clone)]
pub enum JournalLocation {
    Folder(PathBuf),
    Postgres(Box<PostgresAddress>),
}

/// The flags of commands that open a journal without a server.
#[derive(Debug, Clone, Args)]
pub struct JournalArguments {
    /// Folder of the journal
    #[arg(long, env = "ALLOD_DATA", hide_env_values = true, default_value = "allod-data")]
    data: PathBuf,

    /// Address of a journal in PostgreSQL, such as postgres://user@host/database
    #[arg(long, env = "ALLOD_JOURNAL", hide_env_values = true)]
    journal: Option<String>,
}

#[derive(Debug, Clone)]
pub enum JournalOrFile {
    Journal(JournalLocation),
    /// A backup or an archive segment; `-` for stdin.
    File(PathBuf),
}

pub struct OpenedJournal {
    pub journal: Arc<dyn Journal>,
    pub checkpoints: Arc<dyn CheckpointStore>,
    /// An incomplete write of a crash, which was dropped.
    pub torn: Option<TornTail>,
}

/// Parses the value of `--journal`.
pub fn parse_address(text: &str) -> Result<PostgresAddress, String> {
    if !SCHEMES.iter().any(|scheme| text.starts_with(scheme)) {
        return Err("expected an address such as postgres://user@host/database".to_owned());
    }
    PostgresAddress::parse(text).map_err(|error| match error {
        JournalError::Unusable { what } => what,
        other => other.to_string(),
    })
}

impl JournalArguments {
    fn location(self) -> Result<JournalLocation> {
        Ok(match self.journal {
            Some(text) => JournalLocation::postgres(&text)?,
            None => JournalLocation::Folder(self.data),
        })
    }

    /// The file if one is given, else the journal.
    pub fn or_file(self, file: Option<PathBuf>) -> Result<JournalOrFile> {
        Ok(match file {
            Some(path) if path.is_dir() => JournalOrFile::Journal(JournalLocation::Folder(path)),
            Some(path) => JournalOrFile::File(path),
            None => JournalOrFile::Journal(self.location()?),
        })
    }
}

impl JournalLocation {
    /// Parses the value of `--journal`. The error does not contain it, because it may have a password.
    pub fn postgres(text: &str) -> Result<JournalLocation> {
        let address = parse_address(text)
            .map_err(|what| CommandError::Usage(anyhow!("--journal: {what}")))?;
        Ok(JournalLocation::Postgres(Box::new(address)))
    }

    pub fn of(settings: &ServerSettings) -> JournalLocation {
        match &settings.journal {
            Some(address) => JournalLocation::Postgres(Box::new(address.clone())),
            None => JournalLocation::Folder(settings.data.clone()),
        }
    }

    /// Opens the journal, and creates it if missing. With `ha`, refuses a journal that does not survive the loss of a
    /// machine. Blocks.
    pub fn open(&self, ha: bool) -> Result<OpenedJournal> {
        match self {
            JournalLocation::Folder(_) if ha => Err(CommandError::Usage(anyhow!(
                "--ha needs a replicated journal, but a folder is on one machine; \
                 use --journal postgres://… with a synchronous standby, or start without --ha"
            ))),
            JournalLocation::Folder(data) => {
                let opened = Embedded::open(data).map_err(|error| self.error(error))?;
                let checkpoints = FileCheckpoints::open(data)
                    .with_context(|| format!("cannot open the checkpoints of {self}"))
                    .map_err(CommandError::Failed)?;
                Ok(OpenedJournal {
                    journal: Arc::new(opened.journal),
                    checkpoints: Arc::new(checkpoints),
                    torn: opened.torn,
                })
            }
            JournalLocation::Postgres(address) => {
                let journal = Postgres::open(address, ha).map_err(|error| self.error(error))?;
                let checkpoints = Arc::new(journal.checkpoints());
                Ok(OpenedJournal { journal: Arc::new(journal), checkpoints, torn: None })
            }
        }
    }

    /// Opens a journal that must exist.
    pub fn open_existing(&self) -> Result<OpenedJournal> {
        if let JournalLocation::Folder(data) = self
            && !data.is_dir()
        {
            return Err(CommandError::Usage(anyhow!("there is no folder {}", data.display())));
        }
        let opened = self.open(false)?;
        if let Some(torn) = &opened.torn {
            output::message(&format!("dropped an incomplete write of a crash: {torn:?}"));
        }
        Ok(opened)
    }

    /// Fails if checkpoints or the history index prove that acknowledged records are missing. Opening the journal has
    /// compared it with its high-water mark.
    pub fn ensure_complete(&self, opened: &OpenedJournal) -> Result<()> {
        let index = match self {
            JournalLocation::Folder(data) => Some(index_folder::in_data(data)),
            JournalLocation::Postgres(_) => None,
        };
        let witnesses = loss_witnesses(&*opened.journal, &*opened.checkpoints, index.as_deref());
        match witnesses.map_err(|halt| self.replay_error(halt))?.into_iter().next() {
            Some(lost) => Err(self.error(JournalError::Shortened(lost))),
            None => Ok(()),
        }
    }

    /// Damage is `Unsound`; other errors mean that the journal could not be read.
    pub fn error(&self, error: JournalError) -> CommandError {
        let unsound = matches!(
            error,
            JournalError::Damaged { .. } | JournalError::Chain(_) | JournalError::Shortened(_)
        );
        let error = anyhow::Error::from(error).context(format!("the journal in {self}"));
        if unsound { CommandError::Unsound(error) } else { CommandError::Failed(error) }
    }

    /// The error of a replay.
    pub fn replay_error(&self, halt: Halt) -> CommandError {
        match halt {
            Halt::Journal(error) => self.error(error),
            other => CommandError::Unsound(other.into()),
        }
    }
}

impl fmt::Display for JournalLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            JournalLocation::Folder(folder) => write!(f, "{}", folder.display()),
            JournalLocation::Postgres(address) => write!(f, "{address}"),
        }
    }
}

/// Opens a backup or an archive segment; `-` is stdin.
pub fn open_file(path: &Path) -> Result<Box<dyn Read>> {
    if path == Path::new("-") {
        if io::stdin().is_terminal() {
            return Err(CommandError::Usage(with_advice(
                "stdin is a terminal, not a backup",
                "pipe a backup, as in `allod backup --to - | allod restore -`",
            )));
        }
        return Ok(Box::new(BufReader::with_capacity(1 << 18, io::stdin())));
    }
    let file = File::open(path).with_context(|| format!("cannot read {}", path.display()));
    Ok(Box::new(BufReader::with_capacity(1 << 18, file.map_err(CommandError::Usage)?)))
}
