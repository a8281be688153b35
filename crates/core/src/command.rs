//! What a face may ask of the core: one request is at most one command.
//!
//! A claim, a release or a check alone is a transaction of one operation; there is no second mechanism.

pub mod capacity;
pub mod ids;
pub mod resource;

use std::sync::Arc;

use crate::capacity::Uuid;
use crate::claim::Want;
use crate::pool::{Labels, PoolSpec};
use crate::span::Span;
use crate::value::Kind;
use capacity::{AllocateOp, CapacityCommand, DeallocateOp, ExtendOp};
use ids::IdsCommand;
use resource::ResourceCommand;

/// What the engine adds to a command so that deciding needs no clock and no dice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    /// Milliseconds since 1970. A clock that steps back is not followed: time in a journal never does.
    pub now_ms: u64,
    /// For [`crate::pool::Strategy::Random`].
    pub seed: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    PutPool(PutPool),
    DeletePool(DeletePool),
    Transact(Transact),
    Capacity(CapacityCommand),
    Ids(IdsCommand),
    Resource(ResourceCommand),
    /// Time has passed: end quarantines and reap claims that are due. Sent by the engine, never by a face.
    Tick,
}

/// What the caller knows of a thing that it wants to change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expect {
    Any,
    Absent,
    /// It exists, whatever its version.
    Present,
    Is(u64),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PutPool {
    pub pool: Arc<str>,
    pub spec: PoolSpec,
    pub expect: Expect,
    /// Let held values stay held outside the new ranges; without it such a change is refused.
    pub keep_held: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeletePool {
    pub pool: Arc<str>,
    pub expect: Expect,
}

/// All of the operations, or none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Transact {
    pub ops: Vec<Op>,
    /// Decide and answer, but change nothing.
    pub dry_run: bool,
    /// As what the values in the operations were read. A pool that is of another kind by now refuses.
    pub read_as: Vec<ReadAs>,
    /// Under this name the answer is remembered for a while and given again, not decided again.
    pub idempotency: Option<Idempotency>,
}

/// A text became a value by the kind that a pool had when the face looked. The pool may have been removed since, and
/// another one made under its name, for which the same number means something else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadAs {
    /// The operation that names a value of this pool.
    pub op: usize,
    pub pool: Arc<str>,
    pub kind: Kind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Idempotency {
    pub key: Arc<str>,
    /// Of the request as the face saw it; the same key with another fingerprint is refused.
    pub fingerprint: [u8; 32],
}

impl Transact {
    pub fn one(op: Op) -> Transact {
        Transact { ops: vec![op], ..Transact::default() }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Op {
    Claim(ClaimOp),
    Release(ReleaseOp),
    Renew(RenewOp),
    Confirm(ConfirmOp),
    Allocate(AllocateOp),
    Deallocate(DeallocateOp),
    Extend(ExtendOp),
    Check(Check),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimOp {
    /// One pool, or several of one kind that must all give the same value.
    pub pools: Vec<Arc<str>>,
    pub key: Arc<str>,
    /// `None`: the key is its own owner.
    pub owner: Option<Arc<str>>,
    pub want: Want,
    pub ttl_ms: Option<u64>,
    pub labels: Labels,
    /// What must hold of the claim under this key beforehand.
    pub expect: Expect,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReleaseOp {
    pub pool: Arc<str>,
    pub key: Arc<str>,
    /// `Any` also accepts that nothing is held: releasing again is no error.
    pub expect: Expect,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RenewOp {
    pub pool: Arc<str>,
    pub key: Arc<str>,
    pub expect: Expect,
    /// From now. `None`: as long as the claim asked for at first, or the pool's own lease.
    pub ttl_ms: Option<u64>,
}

/// Makes a leased claim permanent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfirmOp {
    pub pool: Arc<str>,
    pub key: Arc<str>,
    pub expect: Expect,
}

/// A condition that must hold for the transaction to happen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Check {
    /// The claim is (or is not) there, at this version, by this owner, with this value.
    Claim {
        pool: Arc<str>,
        key: Arc<str>,
        expect: Expect,
        owner: Option<Arc<str>>,
        value: Option<Span>,
    },
    /// Nobody holds it, and a claim that names it would get it.
    Free {
        pool: Arc<str>,
        value: Span,
    },
    Pool {
        pool: Arc<str>,
        expect: Expect,
    },
    Provider {
        provider: Uuid,
        expect: Expect,
    },
    /// A consumer that holds nothing is absent.
    Consumer {
        consumer: Uuid,
        expect: Expect,
    },
}
