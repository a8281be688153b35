//! Checkpoint stores. A checkpoint is the state after one record of the journal; a server that starts replays only the
//! records after it.
//!
//! The journal remains the only truth: if a checkpoint cannot be read, an older one or the journal alone is used. What the
//! bytes mean is defined in `allod-record`; the engine decides when to write a checkpoint.

mod file;
mod memory;

use std::io::{self, Read, Write};

pub use self::file::{CHECKPOINT_FOLDER, FileCheckpoints};
pub use self::memory::MemoryCheckpoints;
use crate::frame::Hash;

/// Which record a checkpoint belongs to, by number and hash.
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
pub enum CheckpointStoreError {
    /// It is damaged, or is not the checkpoint that was requested.
    #[error("checkpoint {name} cannot be used: {what}")]
    Unsound { name: String, what: String },
    #[error("there is no checkpoint of record {seq}")]
    Missing { seq: u64 },
    /// Retrying may help.
    #[error("the checkpoint store is unavailable: {what}")]
    Unavailable { what: String },
    #[error("checkpoint storage {name}: {source}")]
    Io { name: String, source: io::Error },
}

/// A stored checkpoint whose header cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnreadableCheckpoint {
    pub name: String,
    pub what: String,
}

/// The stored checkpoints by their headers. The contents are verified only when they are opened.
#[derive(Debug, Default)]
pub struct CheckpointList {
    /// Newest first.
    pub metas: Vec<CheckpointMeta>,
    pub skipped: Vec<UnreadableCheckpoint>,
}

/// The verified contents of a checkpoint.
pub type CheckpointContents = Box<dyn Read + Send>;

pub trait CheckpointStore: Send + Sync {
    /// Stores what `write` writes, atomically: the checkpoint is complete and durable when this returns, and does not exist
    /// before. Replaces a checkpoint of the same record.
    fn put(
        &self,
        meta: &CheckpointMeta,
        write: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), CheckpointStoreError>;

    fn survey(&self) -> Result<CheckpointList, CheckpointStoreError>;

    /// Opens the contents after verifying all of them.
    fn open(&self, meta: &CheckpointMeta) -> Result<CheckpointContents, CheckpointStoreError>;

    /// Removes the checkpoint of one record.
    fn remove(&self, seq: u64) -> Result<(), CheckpointStoreError>;

    /// Removes all but the newest `count`; the newest one is always kept.
    fn keep_newest(&self, count: usize) -> Result<(), CheckpointStoreError>;

    /// Newest first.
    fn list(&self) -> Result<Vec<CheckpointMeta>, CheckpointStoreError> {
        Ok(self.survey()?.metas)
    }
}
