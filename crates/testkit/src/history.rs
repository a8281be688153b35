//! The history of a run as its clients saw it. Independent of HTTP.

use allod_core::command::Command;
use allod_core::receipt::{ClaimIn, Outcome, Receipt};
use allod_core::refusal::Refusal;
use allod_engine::Hash;

/// All calls of a run, in any order.
#[derive(Debug, Clone, Default)]
pub struct History {
    pub calls: Vec<Call>,
}

/// One request and its answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    pub request: Request,
    pub answer: CallAnswer,
    /// The position of the answer; meaningless if there was none.
    pub position: u64,
    pub hash: Hash,
    /// On a monotonic clock.
    pub began_ns: u64,
    pub ended_ns: u64,
    /// The wall clock at the start; the decision was made then or later.
    pub earliest_ms: u64,
    pub connection: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Request {
    /// A pool command or a transaction. A single claim, release or renewal is a transaction of one operation.
    Command(Command),
    GetClaim {
        pool: String,
        key: String,
    },
    /// The value as text.
    GetValue {
        pool: String,
        value: String,
    },
    GetPool {
        pool: String,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallAnswer {
    /// Accepted, with one result for each operation.
    Done(Vec<OpOutcome>),
    Refused(RefusalSeen),
    Claim(Option<ClaimSeen>),
    Value {
        state: String,
        claim: Option<ClaimSeen>,
    },
    Pool(Option<PoolSeen>),
    /// The server reported that it did nothing.
    Failed,
    /// Unknown: the connection broke.
    Lost,
}

/// The result of one operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OpOutcome {
    PoolPut {
        created: bool,
        generation: u64,
    },
    PoolDeleted,
    Claimed {
        created: bool,
        claims: Vec<ClaimSeen>,
    },
    /// Whether there was something to release, if the answer says so.
    Released {
        existed: Option<bool>,
    },
    Leased(ClaimSeen),
    Checked,
    /// The result of a request about capacity, which is checked by its events and not by its answer.
    Capacity,
}

/// A claim as the answer shows it, with each value as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimSeen {
    pub pool: String,
    pub key: String,
    pub owner: String,
    pub values: Vec<String>,
    pub version: u64,
    pub held: bool,
    pub created_ms: u64,
    pub expires_ms: Option<u64>,
    pub labels: Vec<(String, String)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PoolSeen {
    pub generation: u64,
    pub usage: UsageSeen,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UsageSeen {
    pub size: u128,
    pub claims: u64,
    pub held: u128,
    pub quarantined: u128,
    pub free: u128,
}

/// A refusal: its stable code and the details that can be verified.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RefusalSeen {
    pub op: usize,
    pub code: String,
    /// The key and owner of the claim that holds the value.
    pub by: Option<(String, String)>,
    /// The actual version or generation.
    pub actual: Option<u64>,
}

impl ClaimSeen {
    pub fn of(shown: &ClaimIn) -> ClaimSeen {
        let claim = &shown.claim;
        ClaimSeen {
            pool: shown.pool.to_string(),
            key: claim.key.to_string(),
            owner: claim.owner.to_string(),
            values: claim.values.each(shown.kind).map(|value| shown.kind.show(value)).collect(),
            version: claim.version,
            held: claim.state == allod_core::claim::ClaimState::Held,
            created_ms: claim.created_ms,
            expires_ms: claim.expires_ms,
            labels: claim
                .labels
                .iter()
                .map(|(name, text)| (name.to_string(), text.to_string()))
                .collect(),
        }
    }
}

impl From<allod_core::view::PoolView> for PoolSeen {
    fn from(view: allod_core::view::PoolView) -> PoolSeen {
        let usage = view.usage;
        PoolSeen {
            generation: view.generation,
            usage: UsageSeen {
                size: usage.size,
                claims: usage.claims,
                held: usage.held,
                quarantined: usage.quarantined,
                free: usage.free,
            },
        }
    }
}

impl CallAnswer {
    /// The answer of the engine, for runs without HTTP.
    pub fn of(answer: &Result<Receipt, allod_core::refusal::Refused>) -> CallAnswer {
        match answer {
            Ok(receipt) => CallAnswer::Done(receipt.outcomes.iter().map(OpOutcome::of).collect()),
            Err(refused) => CallAnswer::Refused(RefusalSeen::of(refused)),
        }
    }
}

impl OpOutcome {
    pub fn of(outcome: &Outcome) -> OpOutcome {
        match outcome {
            Outcome::PoolPut { created, generation } => {
                OpOutcome::PoolPut { created: *created, generation: *generation }
            }
            Outcome::PoolDeleted { .. } => OpOutcome::PoolDeleted,
            Outcome::Claimed { claims, created } => OpOutcome::Claimed {
                created: *created,
                claims: claims.iter().map(ClaimSeen::of).collect(),
            },
            Outcome::Released { existed } => OpOutcome::Released { existed: Some(*existed) },
            Outcome::Leased(claim) => OpOutcome::Leased(ClaimSeen::of(claim)),
            Outcome::Checked | Outcome::Ticked => OpOutcome::Checked,
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
            | Outcome::Found(_) => OpOutcome::Capacity,
        }
    }
}

impl RefusalSeen {
    pub fn of(refused: &allod_core::refusal::Refused) -> RefusalSeen {
        let (by, actual) = match &refused.refusal {
            Refusal::ValueTaken { by, .. } => {
                (Some((by.key.to_string(), by.owner.to_string())), None)
            }
            Refusal::ClaimVersionDiffers { actual, .. }
            | Refusal::PoolGenerationDiffers { actual, .. } => (None, *actual),
            _ => (None, None),
        };
        RefusalSeen { op: refused.op, code: refused.refusal.code().into(), by, actual }
    }
}
