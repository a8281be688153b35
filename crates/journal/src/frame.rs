//! One record of a journal and its place in the chain.

use std::fmt;

/// The blake3 hash of a record, which covers its predecessor's hash and so everything before it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Hash(pub [u8; 32]);

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0[..4].iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// The end of a journal: its last record, or all zero when it has none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tail {
    pub seq: u64,
    pub hash: Hash,
    /// The last position that the journal holds.
    pub position: u64,
    /// The epoch of the last record.
    pub epoch: u64,
}

/// One record: a batch of entries that became durable together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// From 1, without a gap.
    pub seq: u64,
    /// Of the writer. Grows with each new leader; a record of an older epoch than its predecessor is a fork.
    pub epoch: u64,
    /// Chosen by the writer, never twice: how an append of unknown outcome is found again.
    pub batch: u128,
    /// The hash of record `seq - 1`; all zero for the first.
    pub prev: Hash,
    /// The feature level that a reader needs.
    pub level: u32,
    /// The position of the last entry in this record, and so of the journal after it. Equal to the predecessor's when
    /// the record has no entry (the first record of an epoch).
    pub position: u64,
    /// When it was written, in milliseconds since 1970; not before its predecessor.
    pub at_ms: u64,
    pub body: Vec<u8>,
}

/// Why a record cannot follow the one before it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BrokenChain {
    #[error("record {expected} is missing: the next one is {found}")]
    Gap { expected: u64, found: u64 },
    #[error("record {seq} does not continue record {}: it was written after a different one", seq - 1)]
    Fork { seq: u64 },
    #[error("record {seq} is of epoch {found}, after one of epoch {before}")]
    OldEpoch { seq: u64, before: u64, found: u64 },
    #[error("record {seq} ends at position {found}, before its predecessor's {before}")]
    PositionBack { seq: u64, before: u64, found: u64 },
    #[error(
        "record {seq} does not have the hash that was stored with it: its contents were changed"
    )]
    Altered { seq: u64 },
}

impl Frame {
    pub fn hash(&self) -> Hash {
        let mut hasher = blake3::Hasher::new();
        hasher.update(b"allod record 1\0");
        hasher.update(&self.seq.to_le_bytes());
        hasher.update(&self.epoch.to_le_bytes());
        hasher.update(&self.batch.to_le_bytes());
        hasher.update(&self.prev.0);
        hasher.update(&self.level.to_le_bytes());
        hasher.update(&self.position.to_le_bytes());
        hasher.update(&self.at_ms.to_le_bytes());
        hasher.update(&self.body);
        Hash(*hasher.finalize().as_bytes())
    }

    /// The tail of a journal that ends with this record, whose hash the caller has already.
    pub fn tail(&self, hash: Hash) -> Tail {
        Tail { seq: self.seq, hash, position: self.position, epoch: self.epoch }
    }

    /// Checks that this record may follow `before`.
    pub fn follows(&self, before: &Tail) -> Result<(), BrokenChain> {
        let seq = self.seq;
        if seq != before.seq + 1 {
            return Err(BrokenChain::Gap { expected: before.seq + 1, found: seq });
        }
        if self.prev != before.hash {
            return Err(BrokenChain::Fork { seq });
        }
        if self.epoch < before.epoch {
            return Err(BrokenChain::OldEpoch { seq, before: before.epoch, found: self.epoch });
        }
        if self.position < before.position {
            return Err(BrokenChain::PositionBack {
                seq,
                before: before.position,
                found: self.position,
            });
        }
        Ok(())
    }
}
