//! What a command did, for the face that sent it.

use std::sync::Arc;

use crate::capacity::Uuid;
use crate::claim::Claim;
use crate::resource::Failure;
use crate::span::Span;
use crate::value::Kind;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receipt {
    /// One for each operation, in order. A pool command has exactly one.
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
    /// One claim for each pool that was asked, in that order. `created`: at least one of them is new.
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
    /// The generation that each consumer has now, in the order of the request. `None`: it holds nothing any more.
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
    /// The provider as it is now; of one that was deleted, as it was.
    Provider(ProviderNow),
    /// A resource class or a trait has been defined, or was there already.
    Named {
        created: bool,
        changed_ms: u64,
    },
    /// A resource class or a trait is no longer there.
    Unnamed,
    Reshaped,
    /// The ids that the id-manager gave or took back, ascending. None: nothing was asked for.
    Ids(Vec<Span>),
    /// What an operator wrote into the tree of pools is there.
    IdsEdited,
    /// What was written about pools of resources and requests is there, and answered.
    ResourcesEdited,
    /// What a request has got or would get; or why it would not, and in which of its pools.
    Found(Result<Span, (Arc<str>, Failure)>),
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

/// A claim together with where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimIn {
    pub pool: Arc<str>,
    pub kind: Kind,
    pub claim: Claim,
}
