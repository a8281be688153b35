//! Why stored bytes cannot be read.

use std::io;

use crate::kinds::{self, LEVEL};

/// Why the body of a record, or a part of a checkpoint, cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// A kind or a version that this program does not know. It is never skipped.
    #[error(
        "{} at byte {offset} was written by a newer version of the program; this one knows {}: start a newer one",
        named(*kind, *version),
        known(*kind, *level)
    )]
    Unknown {
        kind: u32,
        version: u32,
        offset: u64,
        /// The newest feature level that this program knows.
        level: u32,
    },
    #[error(
        "feature level {found} is needed; this program knows levels up to {known}: start a newer one"
    )]
    LevelTooNew { found: u32, known: u32 },
    /// Truncated, with bytes left over, or not a valid payload.
    #[error("malformed at byte {offset}: {what}")]
    Malformed { offset: u64, what: String },
}

impl DecodeError {
    pub(crate) fn malformed(offset: u64, what: impl Into<String>) -> DecodeError {
        DecodeError::Malformed { offset, what: what.into() }
    }

    /// The error for a chunk that is not expected here: it is unknown, or it belongs elsewhere.
    pub(crate) fn unexpected(kind: u32, version: u32, offset: u64) -> DecodeError {
        match kinds::find(kind, version) {
            Some(info) => {
                DecodeError::malformed(offset, format!("{} does not belong here", info.name))
            }
            None => DecodeError::Unknown { kind, version, offset, level: LEVEL },
        }
    }
}

fn named(kind: u32, version: u32) -> String {
    match kinds::newest(kind) {
        Some(info) => format!("{} (kind {kind}) version {version}", info.name),
        None => format!("kind {kind} version {version}"),
    }
}

fn known(kind: u32, level: u32) -> String {
    match kinds::newest(kind) {
        Some(info) => format!("it up to version {} (feature level {level})", info.version),
        None => format!("the kinds of feature level {level}"),
    }
}

/// Why a checkpoint cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum CheckpointError {
    #[error("the checkpoint cannot be read: {0}")]
    Io(io::Error),
    #[error("this is not a checkpoint: it starts with other bytes")]
    NotACheckpoint,
    #[error(
        "the checkpoint has format {found}; this program knows formats up to {known}: start a newer one"
    )]
    FormatTooNew { found: u8, known: u8 },
    #[error("the checkpoint is truncated at byte {offset}")]
    Truncated { offset: u64 },
    #[error("the checkpoint is not valid: {0}")]
    Decode(DecodeError),
    #[error("the checkpoint does not match the hash at its end: its contents were changed")]
    Altered,
}

impl From<DecodeError> for CheckpointError {
    fn from(error: DecodeError) -> CheckpointError {
        CheckpointError::Decode(error)
    }
}
