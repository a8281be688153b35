//! One record of a journal, and the hash chain that links it to its predecessor.

use std::fmt;

/// The BLAKE3 hash of a record. It covers the predecessor's hash, and so everything before the record.
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

/// The end of a journal: its last record, or all zero if it has none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tail {
    pub seq: u64,
    pub hash: Hash,
    /// The last position that the journal holds.
    pub position: u64,
    /// The epoch of the last record.
    pub epoch: u64,
}

/// One record: a batch of entries that are committed together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordFrame {
    /// Counts from 1, without a gap.
    pub seq: u64,
    /// Grows each time another writer takes over. A record with a lower epoch than its predecessor is invalid.
    pub epoch: u64,
    /// A random ID that is never used twice. By it a writer recognises its record after an unknown outcome.
    pub batch: u128,
    /// The hash of record `seq - 1`; all zero for the first.
    pub prev: Hash,
    /// The feature level that a reader needs.
    pub level: u32,
    /// The position of the last entry in this record. Equal to the predecessor's if the record has no entry.
    pub position: u64,
    /// When it was written, in milliseconds since 1970. Not before its predecessor.
    pub at_ms: u64,
    pub body: Vec<u8>,
}

/// Why a record cannot follow another one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BrokenChain {
    #[error("record {expected} is missing: the next one is {found}")]
    Gap { expected: u64, found: u64 },
    #[error("record {seq} does not follow record {}: it was written after a different one", seq - 1)]
    Fork { seq: u64 },
    #[error("record {seq} has epoch {found}, but its predecessor has epoch {before}")]
    OldEpoch { seq: u64, before: u64, found: u64 },
    #[error("record {seq} ends at position {found}, but its predecessor ends at {before}")]
    PositionBack { seq: u64, before: u64, found: u64 },
    #[error("record {seq} does not match its stored hash: its contents were changed")]
    Altered { seq: u64 },
}

impl RecordFrame {
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

    /// The tail of a journal that ends with this record. `hash` is this record's, which the caller already has.
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
