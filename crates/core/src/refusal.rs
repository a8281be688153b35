//! The refusals of the core.
//!
//! A refusal is an answer: it has a stable code, the reason, and advice for the caller. Faces match on it without a
//! wildcard, so a new variant does not compile until every face translates it. The checks are made in the order of the
//! variants.

pub mod capacity;

use std::sync::Arc;

use crate::span::Span;
use crate::value::{Kind, NotAValue};

pub use crate::alarm::AlarmRefusal;
pub use crate::authority::refusal::AuthorityRefusal;
pub use crate::blocks::BlocksRefusal;
pub use crate::config::ConfigRefusal;
pub use crate::outbox::OutboxRefusal;
pub use crate::requests::refusal::RequestsRefusal;
pub use capacity::CapacityRefusal;

/// Defines an enum of refusals as a table. Each variant has its fields, its code, its advice, and one sentence with the
/// reason as the arguments of `format!`; advice and reason can use the fields. Variants after `groups` contain the
/// refusals of another enum.
macro_rules! refusals {
    (
        pub enum $refusals:ident {
            $(
                $(#[$about:meta])*
                $variant:ident { $($(#[$of:meta])* $field:ident: $type:ty),+ $(,)? }
                    => $code:literal, $advice:expr, $($text:expr),+;
            )+
        }
        $(groups { $($(#[$what:meta])* $group:ident($inner:ty),)+ })?
    ) => {
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub enum $refusals {
            $($(#[$about])* $variant { $($(#[$of])* $field: $type),+ },)+
            $($($(#[$what])* $group($inner),)+)?
        }

        impl $refusals {
            /// The stable code for clients.
            pub fn code(&self) -> &'static str {
                match self {
                    $(Self::$variant { .. } => $code,)+
                    $($(Self::$group(refusal) => refusal.code(),)+)?
                }
            }

            #[allow(unused_variables, reason = "most advice does not depend on the fields")]
            pub fn advice(&self) -> $crate::refusal::Advice {
                use $crate::refusal::Advice::*;
                match self {
                    $(Self::$variant { $($field),+ } => $advice,)+
                    $($(Self::$group(refusal) => refusal.advice(),)+)?
                }
            }
        }

        impl std::fmt::Display for $refusals {
            #[allow(unused_variables, reason = "a text may leave fields out")]
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                match self {
                    $(Self::$variant { $($field),+ } => write!(f, $($text),+),)+
                    $($(Self::$group(refusal) => refusal.fmt(f),)+)?
                }
            }
        }

        $($(
            impl From<$inner> for $refusals {
                fn from(refusal: $inner) -> $refusals {
                    $refusals::$group(refusal)
                }
            }
        )+)?
    };
}
pub(crate) use refusals;

/// A refusal, and the index of the operation in a transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    pub op: usize,
    pub refusal: Refusal,
}

// Faces that need other texts have their own table.
refusals! {
    pub enum Refusal {
        /// The request contradicts itself or the pool's kind. `what` is the reason, `fix` what to send instead.
        Invalid { what: String, fix: &'static str }
            => "invalid", Change, "{what}; {fix}";
        LimitExceeded { limit: &'static str, max: u64, actual: u64 }
            => "limit_exceeded", Change, "{limit} is {max}, the request has {actual}";
        /// The idempotency key was used before with another request.
        IdempotencyDiffers { key: Arc<str> }
            => "idempotency_differs", Change, "idempotency key '{key}' was used for a different request";
        /// There is no space for another answer under an idempotency key. `until_ms`: when the first stored one expires.
        IdempotencyFull { limit: &'static str, until_ms: u64 }
            => "idempotency_full", WaitUntil(*until_ms),
               "there is no space for another idempotency key ({limit}); retry later, or send the request without a key";
        PoolUnknown { pool: Arc<str> }
            => "pool_unknown", Change, "there is no pool '{pool}'";
        PoolGenerationDiffers { pool: Arc<str>, actual: Option<u64> }
            => "pool_generation_differs", Reread, "pool '{pool}' {}", match actual {
                Some(actual) => format!("is at generation {actual}"),
                None => "does not exist".into(),
            };
        /// The kind of a pool never changes.
        PoolKindDiffers { pool: Arc<str>, actual: Kind }
            => "pool_kind_differs", Change, "pool '{pool}' is of kind {}, which cannot be changed", actual.name();
        /// A text does not name a value of the pool's kind.
        ValueMalformed { pool: Arc<str>, error: NotAValue }
            => "malformed", Change, "value: {error}";
        /// The pool still has claims. Values in quarantine do not prevent its deletion.
        PoolInUse { pool: Arc<str>, held: u64, quarantined: u64 }
            => "pool_in_use", WaitForRelease, "pool '{pool}' has {held} claims held and {quarantined} in quarantine";
        /// Held values are outside of the new ranges. `held`: the number of claims, or of the first ones if not all are
        /// counted. `sample`: the first few of them.
        HeldOutside { pool: Arc<str>, kind: Kind, held: u64, all: bool, sample: Vec<(Arc<str>, Span)> }
            => "held_outside", WaitForRelease, "{}{held} claim(s) of pool '{pool}' hold values outside the new ranges",
               if *all { "" } else { "at least " };
        ClaimUnknown { pool: Arc<str>, key: Arc<str> }
            => "claim_unknown", Reread, "nothing is held under '{key}' in pool '{pool}'";
        ClaimVersionDiffers { pool: Arc<str>, key: Arc<str>, actual: Option<u64> }
            => "claim_version_differs", Reread, "{}", match actual {
                Some(actual) => format!("claim '{key}' in pool '{pool}' is at version {actual}"),
                None => format!("nothing is held under '{key}' in pool '{pool}'"),
            };
        /// The key already holds values that were claimed with other parameters.
        ParamsDiffer { pool: Arc<str>, key: Arc<str>, fields: Vec<&'static str> }
            => "params_differ", Change, "'{key}' in pool '{pool}' was claimed with different {}", fields.join(", ");
        /// Neither the claim nor its pool has a lease, so renewing needs a `ttl`.
        NoLease { pool: Arc<str>, key: Arc<str> }
            => "no_lease", Change, "claim '{key}' in pool '{pool}' has no lease; give a ttl";
        ValueOutside { pool: Arc<str>, kind: Kind, value: Span }
            => "value_outside", Change, "{} is outside the ranges of pool '{pool}'", kind.show(*value);
        ValueExcluded { pool: Arc<str>, kind: Kind, value: Span }
            => "value_excluded", Change, "{} is excluded in pool '{pool}'", kind.show(*value);
        ValueDraining { pool: Arc<str>, kind: Kind, value: Span }
            => "value_draining", Change, "{} is in a draining range of pool '{pool}'", kind.show(*value);
        ValueTaken { pool: Arc<str>, kind: Kind, value: Span, by: Holder }
            => "taken", by.expires_ms.map_or(WaitForRelease, WaitUntil),
               "{} of pool '{pool}' is held under '{}' by '{}'", kind.show(*value), by.key, by.owner;
        ValueQuarantined { pool: Arc<str>, kind: Kind, value: Span, until_ms: u64 }
            => "value_quarantined", WaitUntil(*until_ms),
               "{} of pool '{pool}' is in quarantine, reserved for its former owner", kind.show(*value);
        /// The pools already hold different values under this key.
        SyncDiffers { key: Arc<str>, held: Vec<(Arc<str>, Kind, Span)> }
            => "sync_differs", Change, "the pools already hold different values under '{key}'";
        PoolExhausted { pool: Arc<str>, report: Box<Exhausted> }
            => "exhausted", report.quarantined_until_ms.map_or(WaitForRelease, WaitUntil),
               "pool '{pool}' has {}", match report.free {
                0 => "no value free".into(),
                free => format!("{free} values free, but none that fit"),
            };
        /// No value is free in all of the pools.
        SyncExhausted { reports: Vec<(Arc<str>, Exhausted)> }
            => "sync_exhausted", WaitForRelease, "no value is free in all of the {} pools", reports.len();
        /// The free values of the pools are too fragmented to find one that they have in common.
        SearchTooLong { pools: Vec<Arc<str>>, steps_max: u64 }
            => "search_too_long", Change,
               "no value that is free in all of the {} pools was found in {steps_max} steps (search_steps_max), because \
                their free values are too fragmented; name a value, or claim fewer values in one transaction", pools.len();
        /// A condition of the transaction does not hold. `actual` describes the actual state.
        CheckFailed { what: String, actual: String }
            => "check_failed", Reread, "{what} does not hold: {actual}";
    }
    groups {
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
        /// About authorities and claims in their pools.
        Authority(AuthorityRefusal),
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
