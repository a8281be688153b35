//! The fields of a segment's sections: integers of fixed size, little-endian.

use crate::checkpoint::CheckpointMeta;
use crate::frame::{Hash, RecordFrame, Tail};

/// The purpose of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SegmentKind {
    /// All records of a journal at one moment, and a checkpoint to start from if the journal had been trimmed.
    Backup,
    /// Records that were trimmed afterwards.
    Archive,
}

impl SegmentKind {
    pub fn name(self) -> &'static str {
        match self {
            Self::Backup => "backup",
            Self::Archive => "archive segment",
        }
    }
}

/// A record by its number and hash; all zero before the first record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Link {
    pub seq: u64,
    pub hash: Hash,
}

impl From<&Tail> for Link {
    fn from(tail: &Tail) -> Self {
        Self { seq: tail.seq, hash: tail.hash }
    }
}

/// The first section of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SegmentHeader {
    pub kind: SegmentKind,
    pub created_ms: u64,
    /// The predecessor of its first record.
    pub after: Link,
    /// Its last record. In a segment without records, the number is that of `after`.
    pub end: Tail,
}

/// The last section of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trailer {
    pub records: u64,
    pub checkpoint_bytes: u64,
    pub end: Tail,
    /// The hash over everything before the trailer.
    pub hash: Hash,
}

/// Reads fields from a byte slice. Methods return `None` if there are too few bytes.
pub(super) struct FieldReader<'a>(pub &'a [u8]);

impl<'a> FieldReader<'a> {
    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (bytes, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*bytes)
    }

    fn u8(&mut self) -> Option<u8> {
        self.array::<1>().map(|[byte]| byte)
    }

    fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    fn hash(&mut self) -> Option<Hash> {
        self.array().map(Hash)
    }

    fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (bytes, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(bytes)
    }

    fn tail(&mut self) -> Option<Tail> {
        Some(Tail {
            seq: self.u64()?,
            hash: self.hash()?,
            position: self.u64()?,
            epoch: self.u64()?,
        })
    }

    /// `read`, or `None` if bytes are left over.
    pub fn all<T>(self, read: Option<T>) -> Option<T> {
        read.filter(|_| self.0.is_empty())
    }

    pub fn header(&mut self) -> Option<SegmentHeader> {
        let kind = match self.u8()? {
            0 => SegmentKind::Backup,
            1 => SegmentKind::Archive,
            _ => return None,
        };
        Some(SegmentHeader {
            kind,
            created_ms: self.u64()?,
            after: Link { seq: self.u64()?, hash: self.hash()? },
            end: self.tail()?,
        })
    }

    pub fn checkpoint(&mut self) -> Option<CheckpointMeta> {
        let Tail { seq, hash, position, epoch } = self.tail()?;
        Some(CheckpointMeta { seq, hash, position, epoch, level: self.u32()?, at_ms: self.u64()? })
    }

    pub fn frame(&mut self) -> Option<RecordFrame> {
        let (seq, epoch) = (self.u64()?, self.u64()?);
        let batch = u128::from_le_bytes(self.array()?);
        let prev = self.hash()?;
        let (level, position, at_ms) = (self.u32()?, self.u64()?, self.u64()?);
        let length = usize::try_from(self.u32()?).ok()?;
        let body = self.bytes(length)?.to_vec();
        Some(RecordFrame { seq, epoch, batch, prev, level, position, at_ms, body })
    }

    pub fn trailer(&mut self) -> Option<Trailer> {
        Some(Trailer {
            records: self.u64()?,
            checkpoint_bytes: self.u64()?,
            end: self.tail()?,
            hash: self.hash()?,
        })
    }
}

/// The size of a record without its body.
pub(super) const FRAME_BYTES: usize = 88;

fn put_tail(out: &mut Vec<u8>, tail: &Tail) {
    out.extend_from_slice(&tail.seq.to_le_bytes());
    out.extend_from_slice(&tail.hash.0);
    out.extend_from_slice(&tail.position.to_le_bytes());
    out.extend_from_slice(&tail.epoch.to_le_bytes());
}

pub(super) fn put_header(out: &mut Vec<u8>, header: &SegmentHeader) {
    out.push(match header.kind {
        SegmentKind::Backup => 0,
        SegmentKind::Archive => 1,
    });
    out.extend_from_slice(&header.created_ms.to_le_bytes());
    out.extend_from_slice(&header.after.seq.to_le_bytes());
    out.extend_from_slice(&header.after.hash.0);
    put_tail(out, &header.end);
}

pub(super) fn put_checkpoint(out: &mut Vec<u8>, meta: &CheckpointMeta) {
    let CheckpointMeta { seq, hash, position, epoch, level, at_ms } = *meta;
    put_tail(out, &Tail { seq, hash, position, epoch });
    out.extend_from_slice(&level.to_le_bytes());
    out.extend_from_slice(&at_ms.to_le_bytes());
}

pub(super) fn put_frame(out: &mut Vec<u8>, frame: &RecordFrame, body_bytes: u32) {
    out.extend_from_slice(&frame.seq.to_le_bytes());
    out.extend_from_slice(&frame.epoch.to_le_bytes());
    out.extend_from_slice(&frame.batch.to_le_bytes());
    out.extend_from_slice(&frame.prev.0);
    out.extend_from_slice(&frame.level.to_le_bytes());
    out.extend_from_slice(&frame.position.to_le_bytes());
    out.extend_from_slice(&frame.at_ms.to_le_bytes());
    out.extend_from_slice(&body_bytes.to_le_bytes());
    out.extend_from_slice(&frame.body);
}

pub(super) fn put_trailer(out: &mut Vec<u8>, trailer: &Trailer) {
    out.extend_from_slice(&trailer.records.to_le_bytes());
    out.extend_from_slice(&trailer.checkpoint_bytes.to_le_bytes());
    put_tail(out, &trailer.end);
    out.extend_from_slice(&trailer.hash.0);
}
