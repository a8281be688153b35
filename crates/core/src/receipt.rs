//! What a command did, for the face that sent it.

use std::sync::Arc;

use crate::claim::Claim;
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
}

/// A claim together with where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimIn {
    pub pool: Arc<str>,
    pub kind: Kind,
    pub claim: Claim,
}
