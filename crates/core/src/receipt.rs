//! Receipts: what an accepted command did.

pub(crate) mod packed;

use std::sync::Arc;

use crate::authority::{ExternalClaim, LookUp};
use crate::capacity::Uuid;
use crate::claim::Claim;
use crate::requests::Failure;
use crate::span::Span;
use crate::value::Kind;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receipt {
    /// One for each operation of a transaction, in order; exactly one for other commands.
    pub outcomes: Vec<Outcome>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    PoolPut {
        created: bool,
        generation: u64,
    },
    PoolDeleted {
        existed: bool,
    },
    /// One claim for each pool, in the order of the operation. `created`: at least one of them is new.
    Claimed {
        claims: Vec<ClaimIn>,
        created: bool,
    },
    Released {
        existed: bool,
    },
    /// Renewed or confirmed.
    Leased(ClaimIn),
    Checked,
    Ticked,
    /// The new generation of each consumer, in the order of the request. `None`: it no longer has allocations.
    Allocated {
        consumers: Vec<(Uuid, Option<u64>)>,
    },
    Deallocated {
        existed: bool,
    },
    Extended {
        consumer: Uuid,
        generation: u64,
        expires_ms: Option<u64>,
    },
    /// The provider after the command; a deleted one as it was before.
    Provider(ProviderNow),
    /// A resource class or a trait was defined; `created`: it is new.
    Named {
        created: bool,
        changed_ms: u64,
    },
    /// A resource class or a trait was deleted.
    Unnamed,
    Reshaped,
    /// The ids that a block pool has granted or taken back, ascending.
    Ids(Vec<Span>),
    BlocksEdited,
    RequestsEdited,
    /// The value that a request gets or would get; or the pool that fails, and why.
    Found(Result<Span, (Arc<str>, Failure)>),
    NotificationChanged,
    AlarmPurged,
    AuthorityPut {
        created: bool,
        generation: u64,
    },
    AuthorityDeleted {
        existed: bool,
    },
    /// A claim or release that the authority of its pool has to answer.
    External(Arc<ExternalClaim>),
    /// A look-up after the command.
    LookUp(Arc<LookUp>),
    LookUpDeleted {
        existed: bool,
    },
    /// All look-ups of an authority are due.
    LookUpsRefreshed,
    /// The reconciliation with this number is wanted.
    Reconciling {
        number: u64,
    },
    /// A report was stored. `look_up`: nothing was stored, because the value is held by this claim, which is being
    /// released. The authority must be asked first whether it still has that one.
    Reported {
        look_up: Option<Uuid>,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderNow {
    pub uuid: Uuid,
    pub name: Arc<str>,
    pub generation: u64,
    pub parent: Option<Uuid>,
    pub root: Uuid,
    pub changed_ms: u64,
}

/// A claim and its pool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimIn {
    pub pool: Arc<str>,
    pub kind: Kind,
    pub claim: Claim,
}
