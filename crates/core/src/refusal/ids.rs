//! Every way in which the core says no to the id-manager beyond what it says about pools and claims.

use std::fmt;
use std::sync::Arc;

use super::Advice;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IdsRefusal {
    /// The pool's ids do not fit into 32 bits, or it is of another kind: the id-manager cannot speak of it.
    NotIds { pool: Arc<str> },
    /// The pool has changed since the state that an edit was made on.
    PoolChanged { pool: Arc<str>, at: u64 },
    /// The key holds nothing. `entries`: how many other keys do.
    KeyUnknown { pool: Arc<str>, key: Arc<str>, entries: u64 },
    /// Exactly this id was asked for, and it is not to be had.
    IdUnavailable { pool: Arc<str>, id: u32 },
    /// The account that an edit writes contradicts itself or the entries. `what` says how.
    Account { pool: Arc<str>, what: String },
}

impl IdsRefusal {
    pub fn code(&self) -> &'static str {
        match self {
            IdsRefusal::NotIds { .. } => "not_ids",
            IdsRefusal::PoolChanged { .. } => "pool_changed",
            IdsRefusal::KeyUnknown { .. } => "id_key_unknown",
            IdsRefusal::IdUnavailable { .. } => "id_unavailable",
            IdsRefusal::Account { .. } => "account_contradicts",
        }
    }

    pub fn advice(&self) -> Advice {
        match self {
            IdsRefusal::NotIds { .. } | IdsRefusal::Account { .. } => Advice::Change,
            IdsRefusal::PoolChanged { .. } | IdsRefusal::KeyUnknown { .. } => Advice::Reread,
            IdsRefusal::IdUnavailable { .. } => Advice::WaitForRelease,
        }
    }
}

impl fmt::Display for IdsRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            IdsRefusal::NotIds { pool } => {
                write!(f, "pool '{pool}' is not one of ids below 2^32")
            }
            IdsRefusal::PoolChanged { pool, at } => {
                write!(f, "pool '{pool}' has changed at position {at}, after it was read")
            }
            IdsRefusal::KeyUnknown { pool, key, .. } => {
                write!(f, "nothing is held under '{key}' in pool '{pool}'")
            }
            IdsRefusal::IdUnavailable { pool, id } => {
                write!(f, "id {id} of pool '{pool}' is not to be had")
            }
            IdsRefusal::Account { pool, what } => {
                write!(f, "the account of pool '{pool}' contradicts itself: {what}")
            }
        }
    }
}
