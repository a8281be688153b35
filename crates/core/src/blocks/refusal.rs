//! Refusals of commands about block pools, beyond those about pools and claims.

use std::fmt;
use std::sync::Arc;

use crate::refusal::Advice;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BlocksRefusal {
    /// The pool is not one of ids below 2^32, so it cannot be divided into blocks.
    NotIds { pool: Arc<str> },
    /// The pool has changed since the state that an edit is based on.
    PoolChanged { pool: Arc<str>, at: u64 },
    /// The key holds nothing. `entries`: how many other keys do.
    KeyUnknown { pool: Arc<str>, key: Arc<str>, entries: u64 },
    /// The client wants this id and no other one.
    IdUnavailable { pool: Arc<str>, id: u32 },
    /// The definition in an edit contradicts itself or the entries. `what` says how.
    Layout { pool: Arc<str>, what: String },
}

impl BlocksRefusal {
    pub fn code(&self) -> &'static str {
        match self {
            BlocksRefusal::NotIds { .. } => "not_ids",
            BlocksRefusal::PoolChanged { .. } => "pool_changed",
            BlocksRefusal::KeyUnknown { .. } => "id_key_unknown",
            BlocksRefusal::IdUnavailable { .. } => "id_unavailable",
            BlocksRefusal::Layout { .. } => "account_contradicts",
        }
    }

    pub fn advice(&self) -> Advice {
        match self {
            BlocksRefusal::NotIds { .. } | BlocksRefusal::Layout { .. } => Advice::Change,
            BlocksRefusal::PoolChanged { .. } | BlocksRefusal::KeyUnknown { .. } => Advice::Reread,
            BlocksRefusal::IdUnavailable { .. } => Advice::WaitForRelease,
        }
    }
}

impl fmt::Display for BlocksRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BlocksRefusal::NotIds { pool } => {
                write!(f, "pool '{pool}' is not a pool of ids below 2^32")
            }
            BlocksRefusal::PoolChanged { pool, at } => {
                write!(f, "pool '{pool}' has changed at position {at}, after it was read")
            }
            BlocksRefusal::KeyUnknown { pool, key, .. } => {
                write!(f, "nothing is held under '{key}' in pool '{pool}'")
            }
            BlocksRefusal::IdUnavailable { pool, id } => {
                write!(f, "id {id} is not available in pool '{pool}'")
            }
            BlocksRefusal::Layout { pool, what } => {
                write!(f, "the definition of pool '{pool}' contradicts itself: {what}")
            }
        }
    }
}
