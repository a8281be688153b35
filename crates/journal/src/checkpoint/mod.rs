//! Checkpoints: the state at one record of the journal, so that a start does not have to replay all of it.
//!
//! A checkpoint is a convenience and never the truth: one that cannot be read is passed over for an older one, or for
//! the journal alone. Not here: what the bytes mean, and when to make one; that is `allod-record`'s and the engine's.

mod file;
mod memory;

use std::io::{self, Read, Write};

pub use self::file::{CHECKPOINT_FOLDER, FileCheckpoints};
pub use self::memory::MemoryCheckpoints;
use crate::frame::Hash;

/// Which record's state it is: that with this number and this hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CheckpointMeta {
    pub seq: u64,
    pub hash: Hash,
    pub position: u64,
    pub epoch: u64,
    /// The feature level that a reader needs.
    pub level: u32,
    pub at_ms: u64,
}

#[derive(Debug, thiserror::Error)]
pub enum CheckpointError {
    /// It is there, but not as it was written.
    #[error("checkpoint {name} cannot be used: {what}")]
    Unsound { name: String, what: String },
    #[error("there is no checkpoint of record {seq}")]
    Missing { seq: u64 },
    /// It may work again later.
    #[error("the checkpoints cannot be reached: {what}")]
    Unavailable { what: String },
    #[error("checkpoint storage {name}: {source}")]
    Io { name: String, source: io::Error },
}

/// What is stored as a checkpoint and does not begin like one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    pub name: String,
    pub what: String,
}

/// What is stored, by its outside: the contents are verified when they are opened.
#[derive(Debug, Default)]
pub struct Survey {
    /// The newest first.
    pub metas: Vec<CheckpointMeta>,
    pub skipped: Vec<Skipped>,
}

/// The contents of a checkpoint, verified.
pub type Contents = Box<dyn Read + Send>;

pub trait CheckpointStore: Send + Sync {
    /// Stores what `write` writes. It is there, whole and durable, once this returns, and not before. Replaces a
    /// checkpoint of the same record.
    fn put(
        &self,
        meta: &CheckpointMeta,
        write: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), CheckpointError>;

    fn survey(&self) -> Result<Survey, CheckpointError>;

    /// The contents, verified before the first byte is handed out.
    fn open(&self, meta: &CheckpointMeta) -> Result<Contents, CheckpointError>;

    /// Removes all but the newest `count`, of which there is at least one.
    fn keep_newest(&self, count: usize) -> Result<(), CheckpointError>;

    /// The newest first.
    fn list(&self) -> Result<Vec<CheckpointMeta>, CheckpointError> {
        Ok(self.survey()?.metas)
    }
}
