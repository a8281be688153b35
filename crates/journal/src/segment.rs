//! Segments: the file format of backups and of archived records.
//!
//! A segment is a magic number and a sequence of sections. Each section is compressed and carries its length and hash; the
//! trailer carries a hash over all sections. A truncated or changed stream is therefore always detected.
//! `docs/reference/segment-format.md` describes the bytes. Where segments are stored is not decided here.

mod fields;
mod reader;
mod section;
mod writer;

use std::io;

pub use self::fields::{Link, SegmentHeader, SegmentKind, Trailer};
pub use self::reader::{SegmentPart, SegmentReader};
pub use self::section::{MAGIC, SECTION_BYTES_MAX, SECTIONS};
pub use self::writer::SegmentWriter;
use crate::frame::BrokenChain;

/// The format that this program writes, and the newest that it reads.
pub const SEGMENT_FORMAT: u8 = 1;

/// Why a segment cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum SegmentError {
    #[error("{0}")]
    Io(io::Error),
    #[error("it is neither a backup nor an archive segment of allod")]
    Foreign,
    #[error(
        "it has format {found}; this program knows formats up to {known}: use a newer one",
        known = SEGMENT_FORMAT
    )]
    TooNew { found: u8 },
    /// Everything up to that record is present.
    #[error("the {what} ends early after record {record}")]
    EndsEarly { what: &'static str, record: u64 },
    #[error("the {what} was changed after record {record}: {how}")]
    Altered { what: &'static str, record: u64, how: &'static str },
    #[error("the {what} is damaged: {broken}")]
    Chain { what: &'static str, broken: BrokenChain },
    /// Only when writing.
    #[error("record {seq} is too large for a segment: {bytes} bytes")]
    TooLarge { seq: u64, bytes: usize },
}

impl From<io::Error> for SegmentError {
    /// Unwraps the `SegmentError` that `SegmentReader::contents` returns inside an I/O error.
    fn from(error: io::Error) -> Self {
        error.downcast().unwrap_or_else(Self::Io)
    }
}

#[cfg(test)]
mod tests;
