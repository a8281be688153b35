//! Requests that are remembered with their answers, and forgotten.

use std::sync::Arc;

use allod_core::event::RequestRemembered;
use allod_core::receipt::{ClaimIn, Outcome, Receipt};

use super::claim::ClaimV1;
use super::number::KindV1;

#[derive(Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct RequestRememberedV1<'a> {
    key: &'a str,
    fingerprint: [u8; 32],
    until_ms: u64,
    #[serde(borrow)]
    outcomes: Vec<OutcomeV1<'a>>,
}

#[derive(Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct RequestForgottenV1<'a> {
    pub key: &'a str,
}

/// Stored by its place in this list, which therefore never changes.
#[derive(Debug, serde::Serialize, serde::Deserialize)]
#[expect(clippy::large_enum_variant, reason = "it lives only while a request is written or read")]
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

impl<'a> From<&'a RequestRemembered> for RequestRememberedV1<'a> {
    fn from(event: &'a RequestRemembered) -> RequestRememberedV1<'a> {
        RequestRememberedV1 {
            key: &event.key,
            fingerprint: event.fingerprint,
            until_ms: event.until_ms,
            outcomes: event.receipt.outcomes.iter().map(OutcomeV1::from).collect(),
        }
    }
}

impl From<RequestRememberedV1<'_>> for RequestRemembered {
    fn from(stored: RequestRememberedV1<'_>) -> RequestRemembered {
        RequestRemembered {
            key: stored.key.into(),
            fingerprint: stored.fingerprint,
            until_ms: stored.until_ms,
            receipt: Arc::new(Receipt {
                outcomes: stored.outcomes.into_iter().map(Outcome::from).collect(),
            }),
        }
    }
}

impl<'a> From<&'a Outcome> for OutcomeV1<'a> {
    fn from(outcome: &'a Outcome) -> OutcomeV1<'a> {
        match outcome {
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
