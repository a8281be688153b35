//! The commands that faces send to the core. A request is at most one command.
//!
//! A single claim, release or check is a transaction of one operation.

pub mod capacity;
mod size;

use std::sync::Arc;

use crate::alarm::AlarmCommand;
use crate::authority::command::AuthorityCommand;
use crate::blocks::command::BlocksCommand;
use crate::capacity::Uuid;
use crate::claim::Want;
use crate::outbox::OutboxCommand;
use crate::pool::{Labels, PoolSpec};
use crate::requests::command::RequestsCommand;
use crate::value::ValueText;
use capacity::{AllocateOp, CapacityCommand, DeallocateOp, ExtendOp};

/// Time and randomness, which the engine adds to a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    /// Milliseconds since 1970. If it is before the time of the last entry, that time is used instead.
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
    Blocks(BlocksCommand),
    Requests(RequestsCommand),
    Outbox(OutboxCommand),
    Alarm(AlarmCommand),
    Authority(AuthorityCommand),
    /// Does what is due: ends quarantines, releases expired claims. Sent by the engine, never by a face.
    Tick,
}

impl Command {
    /// Whether the command changes the definition of pools, or is an operation on the whole server. In all faces only an
    /// admin may send it, whatever the request looks like; other commands allocate and release.
    pub fn is_administrative(&self) -> bool {
        match self {
            Command::PutPool(_) | Command::DeletePool(_) => true,
            Command::Blocks(command) => command.changes_pools(),
            Command::Requests(command) => command.changes_pools(),
            Command::Authority(AuthorityCommand::LookUp(_)) => false,
            Command::Outbox(_) | Command::Alarm(_) | Command::Authority(_) => true,
            // Placement has policy rules for each of its routes.
            Command::Transact(_) | Command::Capacity(_) | Command::Tick => false,
        }
    }
}

/// The version that the caller expects of a thing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expect {
    Any,
    Absent,
    /// It exists, at any version.
    Present,
    Is(u64),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PutPool {
    pub pool: Arc<str>,
    pub spec: PoolSpec,
    pub expect: Expect,
    /// Allows held values to stay held outside of the new ranges; otherwise such a change is refused.
    pub keep_held: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeletePool {
    pub pool: Arc<str>,
    pub expect: Expect,
}

/// Operations that are all decided, or none of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Transact {
    pub ops: Vec<Op>,
    /// Decide, but change nothing.
    pub dry_run: bool,
    /// The receipt is stored under this key for a while, and repeated instead of deciding again.
    pub idempotency: Option<Idempotency>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Idempotency {
    /// Unique for each client, see [`Idempotency::new`].
    pub key: Arc<str>,
    /// Hash of the request; the same key with another fingerprint is refused.
    pub fingerprint: [u8; 32],
}

impl Idempotency {
    /// Separates the client from its key. Neither can contain a control character.
    const SEPARATOR: char = '\u{1f}';

    /// The key of this client, so that two clients can use the same text. `client`: `None` without authentication.
    pub fn new(client: Option<&str>, key: &str, fingerprint: [u8; 32]) -> Idempotency {
        let key = match client {
            Some(client) => format!("{client}{}{key}", Idempotency::SEPARATOR).into(),
            None => key.into(),
        };
        Idempotency { key, fingerprint }
    }

    /// The client to which a key belongs; empty without authentication.
    pub fn client_of(key: &str) -> &str {
        key.rsplit_once(Idempotency::SEPARATOR).map_or("", |(client, _)| client)
    }

    /// The key as the client has sent it.
    pub fn sent_key(key: &str) -> &str {
        key.rsplit_once(Idempotency::SEPARATOR).map_or(key, |(_, key)| key)
    }
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
    /// One pool, or several of one kind. The claim gets the same value from each.
    pub pools: Vec<Arc<str>>,
    pub key: Arc<str>,
    /// `None`: the key is its own owner.
    pub owner: Option<Arc<str>>,
    pub want: Want<ValueText>,
    pub ttl_ms: Option<u64>,
    pub labels: Labels,
    /// The expected version of the claim under this key.
    pub expect: Expect,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReleaseOp {
    pub pool: Arc<str>,
    pub key: Arc<str>,
    /// `Any` also accepts that nothing is held, so a release can be repeated.
    pub expect: Expect,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RenewOp {
    pub pool: Arc<str>,
    pub key: Arc<str>,
    pub expect: Expect,
    /// From now. `None`: the lease that the claim was made with, or else the pool's.
    pub ttl_ms: Option<u64>,
}

/// Makes a leased claim permanent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfirmOp {
    pub pool: Arc<str>,
    pub key: Arc<str>,
    pub expect: Expect,
}

/// A condition of a transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Check {
    /// The claim has the expected version, this owner and this value.
    Claim {
        pool: Arc<str>,
        key: Arc<str>,
        expect: Expect,
        owner: Option<Arc<str>>,
        value: Option<ValueText>,
    },
    /// The value is free, and a claim that names it would get it.
    Free {
        pool: Arc<str>,
        value: ValueText,
    },
    Pool {
        pool: Arc<str>,
        expect: Expect,
    },
    Provider {
        provider: Uuid,
        expect: Expect,
    },
    /// A consumer without allocations is absent.
    Consumer {
        consumer: Uuid,
        expect: Expect,
    },
}
