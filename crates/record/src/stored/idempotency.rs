//! Answers that are stored under an idempotency key.
//!
//! Version 2 also has answers about capacity. It is written only if one of them is needed.

use allod_core::event::{IdempotencyExpired, IdempotencyStored};
use allod_core::receipt::{ClaimIn, Outcome, Receipt};

use super::capacity::UuidV1;
use super::claim::ClaimV1;
use super::form::{StoredForm, stored_structs};
use super::number::KindV1;

/// The versions differ in their outcomes.
#[derive(Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct StoredAnswer<'a, O> {
    key: &'a str,
    fingerprint: [u8; 32],
    until_ms: u64,
    outcomes: Vec<O>,
}

pub(crate) type IdempotencyStoredV1<'a> = StoredAnswer<'a, OutcomeV1<'a>>;
pub(crate) type IdempotencyStoredV2<'a> = StoredAnswer<'a, OutcomeV2<'a>>;

stored_structs! {
    IdempotencyExpiredV1<'a> of IdempotencyExpired {
        key: &'a str,
    }

    ClaimInV1<'a> of ClaimIn {
        pool: &'a str,
        kind: KindV1,
        #[serde(borrow)]
        claim: ClaimV1<'a>,
    }
}

/// Stored as the index in this list, so the order must not change.
#[derive(Debug, serde::Serialize, serde::Deserialize)]
#[expect(clippy::large_enum_variant, reason = "it lives only while an answer is written or read")]
pub(crate) enum OutcomeV1<'a> {
    PoolPut {
        created: bool,
        generation: u64,
    },
    PoolDeleted {
        existed: bool,
    },
    Claimed {
        #[serde(borrow)]
        claims: Vec<ClaimInV1<'a>>,
        created: bool,
    },
    Released {
        existed: bool,
    },
    Leased(#[serde(borrow)] ClaimInV1<'a>),
    Checked,
    Ticked,
}

/// Stored as the index in this list, so the order must not change.
#[derive(Debug, serde::Serialize, serde::Deserialize)]
#[expect(clippy::large_enum_variant, reason = "it lives only while an answer is written or read")]
pub(crate) enum OutcomeV2<'a> {
    V1(#[serde(borrow)] OutcomeV1<'a>),
    Allocated { consumers: Vec<(UuidV1, Option<u64>)> },
    Deallocated { existed: bool },
    Extended { consumer: UuidV1, generation: u64, expires_ms: Option<u64> },
}

/// A stored answer whose receipt was unpacked, to borrow from.
#[derive(Debug)]
pub(crate) struct UnpackedAnswer<'a> {
    event: &'a IdempotencyStored,
    receipt: Receipt,
}

impl<'a> UnpackedAnswer<'a> {
    pub fn of(event: &'a IdempotencyStored) -> UnpackedAnswer<'a> {
        UnpackedAnswer { event, receipt: event.receipt() }
    }
}

impl<'a, O> StoredAnswer<'a, O> {
    fn new(
        answer: &'a UnpackedAnswer<'_>,
        outcome: fn(&'a Outcome) -> Option<O>,
    ) -> StoredAnswer<'a, O> {
        let UnpackedAnswer { event, receipt } = answer;
        StoredAnswer {
            key: event.key(),
            fingerprint: event.fingerprint(),
            until_ms: event.until_ms(),
            outcomes: receipt.outcomes.iter().filter_map(outcome).collect(),
        }
    }

    pub fn load(self) -> IdempotencyStored
    where
        Outcome: From<O>,
    {
        let StoredAnswer { key, fingerprint, until_ms, outcomes } = self;
        let outcomes = outcomes.into_iter().map(Outcome::from).collect();
        IdempotencyStored::new(key, fingerprint, until_ms, &Receipt { outcomes })
    }
}

impl<'a> IdempotencyStoredV1<'a> {
    pub fn store(answer: &'a UnpackedAnswer<'_>) -> IdempotencyStoredV1<'a> {
        StoredAnswer::new(answer, outcome_v1)
    }
}

impl<'a> IdempotencyStoredV2<'a> {
    /// `None`: version 1 is sufficient.
    pub fn of(answer: &'a UnpackedAnswer<'_>) -> Option<IdempotencyStoredV2<'a>> {
        answer.event.reports_capacity().then(|| StoredAnswer::new(answer, outcome_v2))
    }
}

/// `None`: only later versions have it.
fn outcome_v1(outcome: &Outcome) -> Option<OutcomeV1<'_>> {
    Some(match outcome {
        &Outcome::PoolPut { created, generation } => OutcomeV1::PoolPut { created, generation },
        &Outcome::PoolDeleted { existed } => OutcomeV1::PoolDeleted { existed },
        Outcome::Claimed { claims, created } => {
            OutcomeV1::Claimed { claims: StoredForm::store(claims), created: *created }
        }
        &Outcome::Released { existed } => OutcomeV1::Released { existed },
        Outcome::Leased(claim) => OutcomeV1::Leased(ClaimInV1::store(claim)),
        Outcome::Checked => OutcomeV1::Checked,
        Outcome::Ticked => OutcomeV1::Ticked,
        Outcome::Allocated { .. }
        | Outcome::Deallocated { .. }
        | Outcome::Extended { .. }
        | Outcome::Provider(_)
        | Outcome::Named { .. }
        | Outcome::Unnamed
        | Outcome::Reshaped
        | Outcome::Ids(_)
        | Outcome::BlocksEdited
        | Outcome::RequestsEdited
        | Outcome::NotificationChanged
        | Outcome::AlarmPurged
        | Outcome::AuthorityPut { .. }
        | Outcome::AuthorityDeleted { .. }
        | Outcome::External(_)
        | Outcome::LookUp(_)
        | Outcome::LookUpDeleted { .. }
        | Outcome::LookUpsRefreshed
        | Outcome::Reconciling { .. }
        | Outcome::Reported { .. }
        | Outcome::Found(_) => return None,
    })
}

/// `None`: the answer to a command that has no idempotency key.
fn outcome_v2(outcome: &Outcome) -> Option<OutcomeV2<'_>> {
    Some(match outcome {
        Outcome::Allocated { consumers } => {
            OutcomeV2::Allocated { consumers: StoredForm::store(consumers) }
        }
        &Outcome::Deallocated { existed } => OutcomeV2::Deallocated { existed },
        &Outcome::Extended { consumer, generation, expires_ms } => {
            OutcomeV2::Extended { consumer: UuidV1::store(&consumer), generation, expires_ms }
        }
        outcome => OutcomeV2::V1(outcome_v1(outcome)?),
    })
}

impl From<OutcomeV2<'_>> for Outcome {
    fn from(stored: OutcomeV2<'_>) -> Outcome {
        match stored {
            OutcomeV2::V1(stored) => stored.into(),
            OutcomeV2::Allocated { consumers } => {
                Outcome::Allocated { consumers: consumers.load() }
            }
            OutcomeV2::Deallocated { existed } => Outcome::Deallocated { existed },
            OutcomeV2::Extended { consumer, generation, expires_ms } => {
                Outcome::Extended { consumer: consumer.load(), generation, expires_ms }
            }
        }
    }
}

impl From<OutcomeV1<'_>> for Outcome {
    fn from(stored: OutcomeV1<'_>) -> Outcome {
        match stored {
            OutcomeV1::PoolPut { created, generation } => Outcome::PoolPut { created, generation },
            OutcomeV1::PoolDeleted { existed } => Outcome::PoolDeleted { existed },
            OutcomeV1::Claimed { claims, created } => {
                Outcome::Claimed { claims: claims.load(), created }
            }
            OutcomeV1::Released { existed } => Outcome::Released { existed },
            OutcomeV1::Leased(claim) => Outcome::Leased(claim.load()),
            OutcomeV1::Checked => Outcome::Checked,
            OutcomeV1::Ticked => Outcome::Ticked,
        }
    }
}
