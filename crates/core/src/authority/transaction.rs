//! Transactions that wait for authorities: what is ours is taken at once, and is released again if an authority refuses.

pub(crate) mod decide;
pub(crate) mod state;

use std::sync::Arc;

use super::RefusalCode;
use crate::capacity::Uuid;
use crate::command::Idempotency;
use crate::named::named;

named! {
    pub enum TransactionState {
        /// An authority has not answered yet.
        Waiting = "waiting",
        /// All parts are held.
        Done = "done",
        /// A part was refused or withdrawn, so the others were released.
        Refused = "refused",
    }
}

/// A transaction with several operations of which at least one needed an authority.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitingTransaction {
    pub id: Uuid,
    pub state: TransactionState,
    /// The journal position of the last change. While it waits, that of the request.
    pub version: u64,
    pub since_ms: u64,
    /// When it is forgotten. `None`: it waits.
    pub until_ms: Option<u64>,
    /// What the transaction has claimed, in the order of its operations. What it found already held is no part.
    pub parts: Arc<[Part]>,
    pub idempotency: Option<Idempotency>,
    /// The operation that was refused or withdrawn.
    pub op: Option<u32>,
    pub code: Option<RefusalCode>,
    pub reason: Option<Arc<str>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// A claim in a pool without an authority.
    Claim { pool: Arc<str>, key: Arc<str> },
    /// A claim in a pool with an authority. `op`: its operation.
    External { op: u32, reference: Uuid, pool: Arc<str>, key: Arc<str> },
    /// A consumer with allocations.
    Consumer(Uuid),
}

impl Part {
    pub(crate) fn external(&self) -> Option<(u32, Uuid)> {
        match self {
            Part::External { op, reference, .. } => Some((*op, *reference)),
            Part::Claim { .. } | Part::Consumer(_) => None,
        }
    }
}

impl WaitingTransaction {
    pub fn is_waiting(&self) -> bool {
        self.state == TransactionState::Waiting
    }

    /// The references of its claims at authorities.
    pub(crate) fn references(&self) -> impl Iterator<Item = Uuid> {
        self.parts.iter().filter_map(Part::external).map(|(_, reference)| reference)
    }
}
