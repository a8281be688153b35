//! What happened in a run, as its clients saw it. Free of HTTP: whoever speaks it fills this in.

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
    pub answer: Answer,
    /// Of the answer. Without meaning when there was none.
    pub position: u64,
    pub hash: Hash,
    /// On one clock that never steps back.
    pub began_ns: u64,
    pub ended_ns: u64,
    /// The wall clock when it began: it was decided then or later.
    pub earliest_ms: u64,
    pub connection: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Request {
    /// A pool, or a transaction; a claim, a release, a renewal alone is a transaction of one operation.
    Command(Command),
    GetClaim {
        pool: String,
        key: String,
    },
    /// The value as it is written.
    GetValue {
        pool: String,
        value: String,
    },
    GetPool {
        pool: String,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// Accepted: one for each operation.
    Done(Vec<Done>),
    Refused(Refused),
    Claim(Option<ClaimSeen>),
    Value {
        state: String,
        claim: Option<ClaimSeen>,
    },
    Pool(Option<PoolSeen>),
    /// The server said that it did not do it.
    Failed,
    /// Nobody knows: the connection broke.
    Lost,
}

/// What one operation did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Done {
    PoolPut {
        created: bool,
        generation: u64,
    },
    PoolDeleted,
    Claimed {
        created: bool,
        claims: Vec<ClaimSeen>,
    },
    /// Whether there was anything to release, where the answer says.
    Released {
        existed: Option<bool>,
    },
    Leased(ClaimSeen),
    Checked,
    /// Of a request about capacity: the journal tells whether it was right, not the answer.
    Capacity,
}

/// A claim as it was shown. Values are as they are written, each on its own.
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

/// No, and why: the stable code, and what else the checker can hold it to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Refused {
    pub op: usize,
    pub code: String,
    /// Who has the value: key and owner.
    pub by: Option<(String, String)>,
    /// The version or generation that there is.
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

impl Answer {
    /// What the engine answered, for runs that go straight to it.
    pub fn of(answer: &Result<Receipt, allod_core::refusal::Refused>) -> Answer {
        match answer {
            Ok(receipt) => Answer::Done(receipt.outcomes.iter().map(Done::of).collect()),
            Err(refused) => Answer::Refused(Refused::of(refused)),
        }
    }
}

impl Done {
    pub fn of(outcome: &Outcome) -> Done {
        match outcome {
            Outcome::PoolPut { created, generation } => {
                Done::PoolPut { created: *created, generation: *generation }
            }
            Outcome::PoolDeleted { .. } => Done::PoolDeleted,
            Outcome::Claimed { claims, created } => Done::Claimed {
                created: *created,
                claims: claims.iter().map(ClaimSeen::of).collect(),
            },
            Outcome::Released { existed } => Done::Released { existed: Some(*existed) },
            Outcome::Leased(claim) => Done::Leased(ClaimSeen::of(claim)),
            Outcome::Checked | Outcome::Ticked => Done::Checked,
            Outcome::Allocated { .. }
            | Outcome::Deallocated { .. }
            | Outcome::Extended { .. }
            | Outcome::Provider(_)
            | Outcome::Named { .. }
            | Outcome::Unnamed
            | Outcome::Reshaped
            | Outcome::Ids(_)
            | Outcome::IdsEdited
            | Outcome::ResourcesEdited
            | Outcome::Found(_) => Done::Capacity,
        }
    }
}

impl Refused {
    pub fn of(refused: &allod_core::refusal::Refused) -> Refused {
        let (by, actual) = match &refused.refusal {
            Refusal::ValueTaken { by, .. } => {
                (Some((by.key.to_string(), by.owner.to_string())), None)
            }
            Refusal::ClaimVersionDiffers { actual, .. }
            | Refusal::PoolGenerationDiffers { actual, .. } => (None, *actual),
            _ => (None, None),
        };
        Refused { op: refused.op, code: refused.refusal.code().into(), by, actual }
    }
}
