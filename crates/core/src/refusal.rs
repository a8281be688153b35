//! The refusals of the core.
//!
//! A refusal is an answer: it has a stable code, the reason, and advice for the caller. Faces match on it without a
//! wildcard, so a new variant does not compile until every face translates it. The checks are made in the order of the
//! variants.

pub mod capacity;

use std::fmt;
use std::sync::Arc;

use crate::span::Span;
use crate::value::{Kind, NotAValue};

pub use crate::alarm::refusal::AlarmRefusal;
pub use crate::blocks::refusal::BlocksRefusal;
pub use crate::config::ConfigRefusal;
pub use crate::outbox::refusal::OutboxRefusal;
pub use crate::requests::refusal::RequestsRefusal;
pub use capacity::CapacityRefusal;

/// A refusal, and the index of the operation in a transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    pub op: usize,
    pub refusal: Refusal,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// The request contradicts itself or the pool's kind. `what` is the reason, `fix` what to send instead.
    Invalid {
        what: String,
        fix: &'static str,
    },
    LimitExceeded {
        limit: &'static str,
        max: u64,
        actual: u64,
    },
    /// The idempotency key was used before with another request.
    IdempotencyDiffers {
        key: Arc<str>,
    },
    PoolUnknown {
        pool: Arc<str>,
    },
    PoolGenerationDiffers {
        pool: Arc<str>,
        actual: Option<u64>,
    },
    /// The kind of a pool never changes.
    PoolKindDiffers {
        pool: Arc<str>,
        actual: Kind,
    },
    /// A text does not name a value of the pool's kind.
    ValueMalformed {
        pool: Arc<str>,
        error: NotAValue,
    },
    /// The pool still has claims. Values in quarantine do not prevent its deletion.
    PoolInUse {
        pool: Arc<str>,
        held: u64,
        quarantined: u64,
    },
    /// Held values are outside of the new ranges. `sample`: the first few of them.
    HeldOutside {
        pool: Arc<str>,
        kind: Kind,
        held: u64,
        sample: Vec<(Arc<str>, Span)>,
    },
    ClaimUnknown {
        pool: Arc<str>,
        key: Arc<str>,
    },
    ClaimVersionDiffers {
        pool: Arc<str>,
        key: Arc<str>,
        actual: Option<u64>,
    },
    /// The key already holds values that were claimed with other parameters.
    ParamsDiffer {
        pool: Arc<str>,
        key: Arc<str>,
        fields: Vec<&'static str>,
    },
    /// Neither the claim nor its pool has a lease, so renewing needs a `ttl`.
    NoLease {
        pool: Arc<str>,
        key: Arc<str>,
    },
    ValueOutside {
        pool: Arc<str>,
        kind: Kind,
        value: Span,
    },
    ValueExcluded {
        pool: Arc<str>,
        kind: Kind,
        value: Span,
    },
    ValueDraining {
        pool: Arc<str>,
        kind: Kind,
        value: Span,
    },
    ValueTaken {
        pool: Arc<str>,
        kind: Kind,
        value: Span,
        by: Holder,
    },
    ValueQuarantined {
        pool: Arc<str>,
        kind: Kind,
        value: Span,
        until_ms: u64,
    },
    /// The pools already hold different values under this key.
    SyncDiffers {
        key: Arc<str>,
        held: Vec<(Arc<str>, Kind, Span)>,
    },
    PoolExhausted {
        pool: Arc<str>,
        report: Box<Exhausted>,
    },
    /// No value is free in all of the pools.
    SyncExhausted {
        reports: Vec<(Arc<str>, Exhausted)>,
    },
    /// A condition of the transaction does not hold. `actual` describes the actual state.
    CheckFailed {
        what: String,
        actual: String,
    },
    /// The configuration of a pool is invalid.
    Config(ConfigRefusal),
    /// About providers, inventories and allocations.
    Capacity(CapacityRefusal),
    /// About block pools.
    Blocks(BlocksRefusal),
    /// About request pools.
    Requests(RequestsRefusal),
    Outbox(OutboxRefusal),
    Alarm(AlarmRefusal),
}

impl From<ConfigRefusal> for Refusal {
    fn from(refusal: ConfigRefusal) -> Refusal {
        Refusal::Config(refusal)
    }
}

impl From<CapacityRefusal> for Refusal {
    fn from(refusal: CapacityRefusal) -> Refusal {
        Refusal::Capacity(refusal)
    }
}

impl From<BlocksRefusal> for Refusal {
    fn from(refusal: BlocksRefusal) -> Refusal {
        Refusal::Blocks(refusal)
    }
}

impl From<OutboxRefusal> for Refusal {
    fn from(refusal: OutboxRefusal) -> Refusal {
        Refusal::Outbox(refusal)
    }
}

impl From<AlarmRefusal> for Refusal {
    fn from(refusal: AlarmRefusal) -> Refusal {
        Refusal::Alarm(refusal)
    }
}

impl From<RequestsRefusal> for Refusal {
    fn from(refusal: RequestsRefusal) -> Refusal {
        Refusal::Requests(refusal)
    }
}

/// The holder of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    pub key: Arc<str>,
    pub owner: Arc<str>,
    pub expires_ms: Option<u64>,
}

/// Why a pool has no value for a claim. The fields count values; a value in two of them (excluded, but still held)
/// counts in the earlier field.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Exhausted {
    /// All values of the ranges.
    pub size: u128,
    pub held: u128,
    /// Held values with an expired lease. Taking them would not have been enough.
    pub expired: u128,
    pub quarantined: u128,
    /// When the first quarantine ends.
    pub quarantined_until_ms: Option<u64>,
    pub excluded: u128,
    pub draining: u128,
    /// Free, but only for claims that name the value.
    pub manual: u128,
    /// Free, but too few, not consecutive, or of the other parity.
    pub free: u128,
    /// The longest run of consecutive free values.
    pub longest_run: u128,
    /// Prefix pools: the prefix length of the largest free block.
    pub largest_prefix_len: Option<u8>,
}

/// What the caller can do about a refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Advice {
    /// Read the current state, then decide again.
    Reread,
    /// Retry after this time.
    WaitUntil(u64),
    /// Retry after a release.
    WaitForRelease,
    /// Change the request.
    Change,
}

impl Refusal {
    /// The stable code for clients.
    pub fn code(&self) -> &'static str {
        match self {
            Refusal::Invalid { .. } => "invalid",
            Refusal::LimitExceeded { .. } => "limit_exceeded",
            Refusal::IdempotencyDiffers { .. } => "idempotency_differs",
            Refusal::PoolUnknown { .. } => "pool_unknown",
            Refusal::PoolGenerationDiffers { .. } => "pool_generation_differs",
            Refusal::PoolKindDiffers { .. } => "pool_kind_differs",
            Refusal::ValueMalformed { .. } => "malformed",
            Refusal::PoolInUse { .. } => "pool_in_use",
            Refusal::HeldOutside { .. } => "held_outside",
            Refusal::ClaimUnknown { .. } => "claim_unknown",
            Refusal::ClaimVersionDiffers { .. } => "claim_version_differs",
            Refusal::ParamsDiffer { .. } => "params_differ",
            Refusal::NoLease { .. } => "no_lease",
            Refusal::ValueOutside { .. } => "value_outside",
            Refusal::ValueExcluded { .. } => "value_excluded",
            Refusal::ValueDraining { .. } => "value_draining",
            Refusal::ValueTaken { .. } => "taken",
            Refusal::ValueQuarantined { .. } => "value_quarantined",
            Refusal::SyncDiffers { .. } => "sync_differs",
            Refusal::PoolExhausted { .. } => "exhausted",
            Refusal::SyncExhausted { .. } => "sync_exhausted",
            Refusal::CheckFailed { .. } => "check_failed",
            Refusal::Config(refusal) => refusal.code(),
            Refusal::Capacity(refusal) => refusal.code(),
            Refusal::Blocks(refusal) => refusal.code(),
            Refusal::Requests(refusal) => refusal.code(),
            Refusal::Outbox(refusal) => refusal.code(),
            Refusal::Alarm(refusal) => refusal.code(),
        }
    }

    pub fn advice(&self) -> Advice {
        match self {
            Refusal::Invalid { .. }
            | Refusal::LimitExceeded { .. }
            | Refusal::IdempotencyDiffers { .. }
            | Refusal::PoolUnknown { .. }
            | Refusal::PoolKindDiffers { .. }
            | Refusal::ValueMalformed { .. }
            | Refusal::ParamsDiffer { .. }
            | Refusal::NoLease { .. }
            | Refusal::ValueOutside { .. }
            | Refusal::ValueExcluded { .. }
            | Refusal::ValueDraining { .. }
            | Refusal::SyncDiffers { .. } => Advice::Change,
            Refusal::PoolGenerationDiffers { .. }
            | Refusal::ClaimUnknown { .. }
            | Refusal::ClaimVersionDiffers { .. }
            | Refusal::CheckFailed { .. } => Advice::Reread,
            Refusal::PoolInUse { .. }
            | Refusal::HeldOutside { .. }
            | Refusal::SyncExhausted { .. } => Advice::WaitForRelease,
            Refusal::ValueTaken { by, .. } => {
                by.expires_ms.map_or(Advice::WaitForRelease, Advice::WaitUntil)
            }
            Refusal::ValueQuarantined { until_ms, .. } => Advice::WaitUntil(*until_ms),
            Refusal::PoolExhausted { report, .. } => {
                report.quarantined_until_ms.map_or(Advice::WaitForRelease, Advice::WaitUntil)
            }
            Refusal::Config(refusal) => refusal.advice(),
            Refusal::Capacity(refusal) => refusal.advice(),
            Refusal::Blocks(refusal) => refusal.advice(),
            Refusal::Requests(refusal) => refusal.advice(),
            Refusal::Outbox(refusal) => refusal.advice(),
            Refusal::Alarm(refusal) => refusal.advice(),
        }
    }
}

/// One sentence with the reason. Faces that need other texts have their own table.
impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Invalid { what, fix } => write!(f, "{what}; {fix}"),
            Refusal::LimitExceeded { limit, max, actual } => {
                write!(f, "{limit} is {max}, the request has {actual}")
            }
            Refusal::IdempotencyDiffers { key } => {
                write!(f, "idempotency key '{key}' was used for a different request")
            }
            Refusal::PoolUnknown { pool } => write!(f, "there is no pool '{pool}'"),
            Refusal::PoolGenerationDiffers { pool, actual: Some(actual) } => {
                write!(f, "pool '{pool}' is at generation {actual}")
            }
            Refusal::PoolGenerationDiffers { pool, actual: None } => {
                write!(f, "pool '{pool}' does not exist")
            }
            Refusal::PoolKindDiffers { pool, actual } => {
                write!(f, "pool '{pool}' is of kind {}, which cannot be changed", actual.name())
            }
            Refusal::ValueMalformed { error, .. } => write!(f, "value: {error}"),
            Refusal::PoolInUse { pool, held, quarantined } => {
                write!(f, "pool '{pool}' has {held} claims held and {quarantined} in quarantine")
            }
            Refusal::HeldOutside { pool, held, .. } => {
                write!(f, "{held} claim(s) of pool '{pool}' hold values outside the new ranges")
            }
            Refusal::ClaimUnknown { pool, key } => {
                write!(f, "nothing is held under '{key}' in pool '{pool}'")
            }
            Refusal::ClaimVersionDiffers { pool, key, actual: Some(actual) } => {
                write!(f, "claim '{key}' in pool '{pool}' is at version {actual}")
            }
            Refusal::ClaimVersionDiffers { pool, key, actual: None } => {
                write!(f, "nothing is held under '{key}' in pool '{pool}'")
            }
            Refusal::ParamsDiffer { pool, key, fields } => {
                write!(
                    f,
                    "'{key}' in pool '{pool}' was claimed with different {}",
                    fields.join(", ")
                )
            }
            Refusal::NoLease { pool, key } => {
                write!(f, "claim '{key}' in pool '{pool}' has no lease; give a ttl")
            }
            Refusal::ValueOutside { pool, kind, value } => {
                write!(f, "{} is outside the ranges of pool '{pool}'", kind.show(*value))
            }
            Refusal::ValueExcluded { pool, kind, value } => {
                write!(f, "{} is excluded in pool '{pool}'", kind.show(*value))
            }
            Refusal::ValueDraining { pool, kind, value } => {
                write!(f, "{} is in a draining range of pool '{pool}'", kind.show(*value))
            }
            Refusal::ValueTaken { pool, kind, value, by } => {
                write!(
                    f,
                    "{} of pool '{pool}' is held under '{}' by '{}'",
                    kind.show(*value),
                    by.key,
                    by.owner
                )
            }
            Refusal::ValueQuarantined { pool, kind, value, .. } => {
                write!(
                    f,
                    "{} of pool '{pool}' is in quarantine, reserved for its former owner",
                    kind.show(*value)
                )
            }
            Refusal::SyncDiffers { key, .. } => {
                write!(f, "the pools already hold different values under '{key}'")
            }
            Refusal::PoolExhausted { pool, report } if report.free > 0 => {
                write!(f, "pool '{pool}' has {} values free, but none that fit", report.free)
            }
            Refusal::PoolExhausted { pool, .. } => write!(f, "pool '{pool}' has no value free"),
            Refusal::SyncExhausted { reports } => {
                write!(f, "no value is free in all of the {} pools", reports.len())
            }
            Refusal::CheckFailed { what, actual } => write!(f, "{what} does not hold: {actual}"),
            Refusal::Config(refusal) => refusal.fmt(f),
            Refusal::Capacity(refusal) => refusal.fmt(f),
            Refusal::Blocks(refusal) => refusal.fmt(f),
            Refusal::Requests(refusal) => refusal.fmt(f),
            Refusal::Outbox(refusal) => refusal.fmt(f),
            Refusal::Alarm(refusal) => refusal.fmt(f),
        }
    }
}
