//! A segment: an immutable file of the index with the postings of a range of records.
//!
//! ```text
//! header (128 bytes) · marks · postings, sorted · directory · blake3 hash of all before it
//! ```
//!
//! Marks give the position and time of every 64th record, for queries by time. The directory gives the start of each range
//! of fingerprints among the postings, so that a term is found with two or three reads of a few hundred bytes and nothing
//! is kept in memory. Numbers are little-endian. `build` writes segments; `index` manages them.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use allod_journal::Hash;

use super::posting::{Posting, PostingRun, posting};
use super::term::{BlockSizes, Fingerprint};

pub(super) const MAGIC: [u8; 8] = *b"allodidx";
/// Must also be raised when the terms of an event change; older files are then rebuilt.
pub(super) const VERSION: u32 = 2;
pub(super) const HEADER_BYTES: u64 = 128;
pub(super) const MARK_BYTES: u64 = 24;

/// The position and time of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RecordMark {
    pub seq: u64,
    pub position: u64,
    pub at_ms: u64,
}

/// The header of a segment file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct IndexHeader {
    pub seed: u64,
    pub first_seq: u64,
    pub last_seq: u64,
    /// The hash of the last record, which identifies the journal.
    pub last_hash: Hash,
    pub sizes: BlockSizes,
    pub marks: u64,
    pub postings: u64,
    /// The directory has two to the power of this many ranges.
    pub directory_bits: u32,
}

#[derive(Debug)]
pub(super) struct Segment {
    pub header: IndexHeader,
    pub path: PathBuf,
    file: File,
}

/// Why a file cannot be used. It is removed, and its part of the index rebuilt.
#[derive(Debug, thiserror::Error)]
pub(super) enum UnusableSegment {
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("it is not a segment of the index")]
    NotASegment,
    #[error("it has version {found}; this program uses version {VERSION}")]
    OtherVersion { found: u32 },
    #[error("it does not match its hash")]
    Damaged,
}

impl IndexHeader {
    pub(super) fn to_bytes(self) -> [u8; HEADER_BYTES as usize] {
        let mut bytes = Vec::with_capacity(HEADER_BYTES as usize);
        bytes.extend(MAGIC);
        bytes.extend(VERSION.to_le_bytes());
        bytes.extend(self.directory_bits.to_le_bytes());
        for number in [self.seed, self.first_seq, self.last_seq, self.marks, self.postings] {
            bytes.extend(number.to_le_bytes());
        }
        bytes.extend(self.sizes.0.to_le_bytes());
        bytes.extend(self.last_hash.0);
        let mut whole = [0; HEADER_BYTES as usize];
        whole[..bytes.len()].copy_from_slice(&bytes);
        whole
    }

    fn from_bytes(bytes: &[u8; HEADER_BYTES as usize]) -> Result<IndexHeader, UnusableSegment> {
        let mut rest = &bytes[..];
        if take(&mut rest) != MAGIC {
            return Err(UnusableSegment::NotASegment);
        }
        let found = u32::from_le_bytes(take(&mut rest));
        if found != VERSION {
            return Err(UnusableSegment::OtherVersion { found });
        }
        let directory_bits = u32::from_le_bytes(take(&mut rest));
        let mut number = || u64::from_le_bytes(take(&mut rest));
        let [seed, first_seq, last_seq, marks, postings] = std::array::from_fn(|_| number());
        let sizes = BlockSizes(u128::from_le_bytes(take(&mut rest)));
        let last_hash = Hash(take(&mut rest));
        let header = IndexHeader {
            seed,
            first_seq,
            last_seq,
            last_hash,
            sizes,
            marks,
            postings,
            directory_bits,
        };
        Ok(header)
    }

    fn postings_at(&self) -> u64 {
        HEADER_BYTES + self.marks.saturating_mul(MARK_BYTES)
    }

    fn directory_at(&self) -> u64 {
        self.postings_at().saturating_add(self.postings.saturating_mul(8))
    }

    /// The length of the whole file.
    pub(super) fn bytes(&self) -> u64 {
        let ranges = 1_u64.checked_shl(self.directory_bits).unwrap_or(u64::MAX);
        let directory = ranges.saturating_add(1).saturating_mul(4);
        self.directory_at().saturating_add(directory).saturating_add(32)
    }

    /// The range of the directory that contains a fingerprint.
    pub(super) fn range_of(&self, fingerprint: Fingerprint) -> u64 {
        u64::from(fingerprint) >> (32 - self.directory_bits)
    }
}

fn take<const N: usize>(bytes: &mut &[u8]) -> [u8; N] {
    let mut taken = [0; N];
    if let Some((first, rest)) = bytes.split_first_chunk() {
        (taken, *bytes) = (*first, rest);
    }
    taken
}

impl Segment {
    /// Reads only the header, which is not verified.
    pub(super) fn header_of(path: &Path) -> Result<IndexHeader, UnusableSegment> {
        let mut head = [0; HEADER_BYTES as usize];
        File::open(path)?.read_exact(&mut head).map_err(|_| UnusableSegment::NotASegment)?;
        IndexHeader::from_bytes(&head)
    }

    /// Opens a file after verifying its hash.
    pub(super) fn open(path: &Path) -> Result<Segment, UnusableSegment> {
        let mut file = File::open(path)?;
        let len = file.metadata()?.len();
        let mut head = [0; HEADER_BYTES as usize];
        file.read_exact(&mut head).map_err(|_| UnusableSegment::NotASegment)?;
        let header = IndexHeader::from_bytes(&head)?;
        if header.bytes() != len || header.directory_bits > 32 {
            return Err(UnusableSegment::Damaged);
        }
        let mut hasher = blake3::Hasher::new();
        hasher.update(&head);
        let mut left = len - HEADER_BYTES - 32;
        let mut buffer = vec![0; 1 << 18];
        while left > 0 {
            let now = left.min(buffer.len() as u64) as usize;
            file.read_exact(&mut buffer[..now])?;
            hasher.update(&buffer[..now]);
            left -= now as u64;
        }
        let mut hash = [0; 32];
        file.read_exact(&mut hash)?;
        if *hasher.finalize().as_bytes() != hash {
            return Err(UnusableSegment::Damaged);
        }
        Ok(Segment::written(path.to_path_buf(), file, header))
    }

    /// A segment whose file was just written.
    pub(super) fn written(path: PathBuf, file: File, header: IndexHeader) -> Segment {
        Segment { header, path, file }
    }

    /// The records of a term.
    pub(super) fn run(self: &Arc<Segment>, fingerprint: Fingerprint) -> io::Result<PostingRun> {
        let mut ends = [0; 8];
        let at = self.header.directory_at() + self.header.range_of(fingerprint) * 4;
        self.file.read_exact_at(&mut ends, at)?;
        let end = |half: usize| {
            let bytes = [ends[half], ends[half + 1], ends[half + 2], ends[half + 3]];
            u64::from(u32::from_le_bytes(bytes))
        };
        let (low, high) = (end(0), end(4));
        let start = self.lower_bound(low, high, posting(fingerprint, 0))?;
        let end = match fingerprint.checked_add(1) {
            Some(next) => self.lower_bound(start, high, posting(next, 0))?,
            None => high,
        };
        Ok(PostingRun::in_file(self.clone(), start, end - start))
    }

    /// The first posting in a range that is at or above `bound`.
    fn lower_bound(&self, mut low: u64, mut high: u64, bound: Posting) -> io::Result<u64> {
        const READ_AT_ONCE: u64 = 128;
        while high - low > READ_AT_ONCE {
            let middle = low + (high - low) / 2;
            let found = self.postings(middle, middle + 1)?;
            if found.first().is_some_and(|found| *found < bound) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        let near = self.postings(low, high)?;
        Ok(low + near.partition_point(|found| *found < bound) as u64)
    }

    pub(super) fn postings(&self, from: u64, upto: u64) -> io::Result<Vec<Posting>> {
        let mut bytes = vec![0; (upto.saturating_sub(from) * 8) as usize];
        self.file.read_exact_at(&mut bytes, self.header.postings_at() + from * 8)?;
        let (postings, _) = bytes.as_chunks::<8>();
        Ok(postings.iter().map(|posting| Posting::from_le_bytes(*posting)).collect())
    }

    pub(super) fn marks(&self, from: u64, upto: u64) -> io::Result<Vec<RecordMark>> {
        let mut bytes = vec![0; (upto.saturating_sub(from) * MARK_BYTES) as usize];
        self.file.read_exact_at(&mut bytes, HEADER_BYTES + from * MARK_BYTES)?;
        let marks = bytes.chunks_exact(MARK_BYTES as usize).map(|mut mark| {
            let mut number = || u64::from_le_bytes(take(&mut mark));
            RecordMark { seq: number(), position: number(), at_ms: number() }
        });
        Ok(marks.collect())
    }

    /// The last mark for which `before` holds, and the one after it. `before` must be monotonic.
    pub(super) fn marks_around(
        &self,
        before: impl Fn(&RecordMark) -> bool,
    ) -> io::Result<(Option<RecordMark>, Option<RecordMark>)> {
        let (mut low, mut high, mut found) = (0, self.header.marks, (None, None));
        while low < high {
            let middle = low + (high - low) / 2;
            let Some(mark) = self.marks(middle, middle + 1)?.pop() else { break };
            if before(&mark) {
                (low, found.0) = (middle + 1, Some(mark));
            } else {
                (high, found.1) = (middle, Some(mark));
            }
        }
        Ok(found)
    }
}
