//! Answers that are stored under an idempotency key.
//!
//! Version 2 also has answers about capacity. It is written only if one of them is needed.

use std::sync::Arc;

use allod_core::event::IdempotencyStored;
use allod_core::receipt::{ClaimIn, Outcome, Receipt};

use super::capacity::UuidV1;
use super::claim::ClaimV1;
use super::number::KindV1;
use crate::chunk;

#[derive(Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct IdempotencyStoredV1<'a> {
    key: &'a str,
    fingerprint: [u8; 32],
    until_ms: u64,
    #[serde(borrow)]
    outcomes: Vec<OutcomeV1<'a>>,
}

#[derive(Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct IdempotencyStoredV2<'a> {
    key: &'a str,
    fingerprint: [u8; 32],
    until_ms: u64,
    #[serde(borrow)]
    outcomes: Vec<OutcomeV2<'a>>,
}

#[derive(Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct IdempotencyExpiredV1<'a> {
    pub key: &'a str,
}

/// Stored as the index in this list, so the order must not change.
#[derive(Debug, serde::Serialize, serde::Deserialize)]
#[expect(clippy::large_enum_variant, reason = "it lives only while an answer is written or read")]
enum OutcomeV1<'a> {
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

#[derive(Debug, serde::Serialize, serde::Deserialize)]
struct ClaimInV1<'a> {
    pool: &'a str,
    kind: KindV1,
    #[serde(borrow)]
    claim: ClaimV1<'a>,
}

/// Stored as the index in this list, so the order must not change.
#[derive(Debug, serde::Serialize, serde::Deserialize)]
#[expect(clippy::large_enum_variant, reason = "it lives only while an answer is written or read")]
enum OutcomeV2<'a> {
    V1(#[serde(borrow)] OutcomeV1<'a>),
    Allocated { consumers: Vec<(UuidV1, Option<u64>)> },
    Deallocated { existed: bool },
    Extended { consumer: UuidV1, generation: u64, expires_ms: Option<u64> },
}

/// Whether an answer needs version 2.
pub(crate) fn needs_v2(event: &IdempotencyStored) -> bool {
    event.receipt.outcomes.iter().any(|outcome| outcome_v1(outcome).is_none())
}

pub(crate) fn put(out: &mut Vec<u8>, event: &IdempotencyStored) {
    let (key, fingerprint, until_ms) = (&*event.key, event.fingerprint, event.until_ms);
    let outcomes = &event.receipt.outcomes;
    if needs_v2(event) {
        let outcomes = outcomes.iter().filter_map(outcome_v2).collect();
        chunk::put(out, &IdempotencyStoredV2 { key, fingerprint, until_ms, outcomes });
    } else {
        let outcomes = outcomes.iter().filter_map(outcome_v1).collect();
        chunk::put(out, &IdempotencyStoredV1 { key, fingerprint, until_ms, outcomes });
    }
}

/// `None`: only later versions have it.
fn outcome_v1(outcome: &Outcome) -> Option<OutcomeV1<'_>> {
    Some(match outcome {
        &Outcome::PoolPut { created, generation } => OutcomeV1::PoolPut { created, generation },
        &Outcome::PoolDeleted { existed } => OutcomeV1::PoolDeleted { existed },
        Outcome::Claimed { claims, created } => OutcomeV1::Claimed {
            claims: claims.iter().map(ClaimInV1::from).collect(),
            created: *created,
        },
        &Outcome::Released { existed } => OutcomeV1::Released { existed },
        Outcome::Leased(claim) => OutcomeV1::Leased(claim.into()),
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
        | Outcome::Found(_) => return None,
    })
}

/// `None`: the answer to a command that has no idempotency key.
fn outcome_v2(outcome: &Outcome) -> Option<OutcomeV2<'_>> {
    Some(match outcome {
        Outcome::Allocated { consumers } => OutcomeV2::Allocated {
            consumers: consumers.iter().map(|&(uuid, now)| (uuid.into(), now)).collect(),
        },
        &Outcome::Deallocated { existed } => OutcomeV2::Deallocated { existed },
        &Outcome::Extended { consumer, generation, expires_ms } => {
            OutcomeV2::Extended { consumer: consumer.into(), generation, expires_ms }
        }
        outcome => OutcomeV2::V1(outcome_v1(outcome)?),
    })
}

fn stored(
    key: &str,
    fingerprint: [u8; 32],
    until_ms: u64,
    outcomes: Vec<Outcome>,
) -> IdempotencyStored {
    let receipt = Arc::new(Receipt { outcomes });
    IdempotencyStored { key: key.into(), fingerprint, until_ms, receipt }
}

impl From<IdempotencyStoredV1<'_>> for IdempotencyStored {
    fn from(stored: IdempotencyStoredV1<'_>) -> IdempotencyStored {
        let IdempotencyStoredV1 { key, fingerprint, until_ms, outcomes } = stored;
        let outcomes = outcomes.into_iter().map(Outcome::from).collect();
        self::stored(key, fingerprint, until_ms, outcomes)
    }
}

impl From<IdempotencyStoredV2<'_>> for IdempotencyStored {
    fn from(stored: IdempotencyStoredV2<'_>) -> IdempotencyStored {
        let IdempotencyStoredV2 { key, fingerprint, until_ms, outcomes } = stored;
        let outcomes = outcomes.into_iter().map(Outcome::from).collect();
        self::stored(key, fingerprint, until_ms, outcomes)
    }
}

impl From<OutcomeV2<'_>> for Outcome {
    fn from(stored: OutcomeV2<'_>) -> Outcome {
        match stored {
            OutcomeV2::V1(stored) => stored.into(),
            OutcomeV2::Allocated { consumers } => Outcome::Allocated {
                consumers: consumers.into_iter().map(|(uuid, now)| (uuid.into(), now)).collect(),
            },
            OutcomeV2::Deallocated { existed } => Outcome::Deallocated { existed },
            OutcomeV2::Extended { consumer, generation, expires_ms } => {
                Outcome::Extended { consumer: consumer.into(), generation, expires_ms }
            }
        }
    }
}

impl From<OutcomeV1<'_>> for Outcome {
    fn from(stored: OutcomeV1<'_>) -> Outcome {
        match stored {
            OutcomeV1::PoolPut { created, generation } => Outcome::PoolPut { created, generation },
            OutcomeV1::PoolDeleted { existed } => Outcome::PoolDeleted { existed },
            OutcomeV1::Claimed { claims, created } => Outcome::Claimed {
                claims: claims.into_iter().map(ClaimIn::from).collect(),
                created,
            },
            OutcomeV1::Released { existed } => Outcome::Released { existed },
            OutcomeV1::Leased(claim) => Outcome::Leased(claim.into()),
            OutcomeV1::Checked => Outcome::Checked,
            OutcomeV1::Ticked => Outcome::Ticked,
        }
    }
}

impl<'a> From<&'a ClaimIn> for ClaimInV1<'a> {
    fn from(held: &'a ClaimIn) -> ClaimInV1<'a> {
        ClaimInV1 { pool: &held.pool, kind: KindV1(held.kind), claim: (&held.claim).into() }
    }
}

impl From<ClaimInV1<'_>> for ClaimIn {
    fn from(stored: ClaimInV1<'_>) -> ClaimIn {
        ClaimIn { pool: stored.pool.into(), kind: stored.kind.0, claim: stored.claim.into() }
    }
}
