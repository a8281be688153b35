//! Segments: a run of records as one stream of bytes, whole and checksummed. A backup is one, and so is each file that an
//! archive keeps of what is trimmed.
//!
//! A segment is a magic number and sections; each section is compressed and names its length and its hash, the last one
//! has a hash over all the others. So a stream that was cut off or changed is noticed and said, wherever that happened.
//! `docs/reference/segment-format.md` describes the bytes. Not here: where segments are kept, and what their records and
//! checkpoints mean.

mod fields;
mod reader;
mod section;
mod writer;

use std::io;

pub use self::fields::{Kind, Link, SegmentHeader, Trailer};
pub use self::reader::{Part, SegmentReader};
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
    #[error("it is neither a backup nor an archive segment of allod's")]
    Foreign,
    #[error(
        "it has format {found}; this program knows formats up to {known}: use a newer one",
        known = SEGMENT_FORMAT
    )]
    TooNew { found: u8 },
    /// Everything up to that record was there.
    #[error("the {what} ends early after record {record}")]
    EndsEarly { what: &'static str, record: u64 },
    #[error("the {what} was changed after record {record}: {how}")]
    Altered { what: &'static str, record: u64, how: &'static str },
    #[error("the {what} is damaged: {broken}")]
    Chain { what: &'static str, broken: BrokenChain },
    /// Only while writing.
    #[error("record {seq} is too large for a segment: {bytes} bytes")]
    TooLarge { seq: u64, bytes: usize },
}

impl From<io::Error> for SegmentError {
    /// Also back from the IO error that `SegmentReader::contents` has to put it in.
    fn from(error: io::Error) -> Self {
        error.downcast().unwrap_or_else(Self::Io)
    }
}

#[cfg(test)]
mod tests;
