//! External authorities: inventories of other owners, and the claims that they grant.
//!
//! A pool may have an authority. A claim in such a pool is granted by the authority and recorded here. This module stores
//! what is asked, what was answered, and what is still to be done. It sends nothing: the reactor asks, and reports the
//! outcome as a command.
//!
//! Every claim has a reference: a UUID that is the same in all attempts and is never used for another claim. After a
//! time-out or a crash the authority is asked by this reference what it knows.

mod apply;
pub mod command;
pub(crate) mod decide;
pub mod event;
pub(crate) mod invariant;
mod lookup;
mod reconcile;
pub mod refusal;
pub(crate) mod state;
pub mod view;

pub use lookup::state::LookUpCounts;
pub use lookup::{DriftPolicy, LookUp, LookUpState, Seen};
pub use reconcile::{
    ConflictFound, Drifted, FindingCounts, Findings, Missing, Orphan, Reconciliation,
    ReconciliationState,
};
pub use state::{Authorities, Authority, ExternalCounts};

use std::sync::Arc;

use crate::capacity::Uuid;
use crate::claim::ClaimParams;
use crate::named::named;
use crate::pool::Labels;

/// How to reach an authority, and the limits of its use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthoritySpec {
    pub protocol: Protocol,
    /// Without a password.
    pub url: Arc<str>,
    /// The name of the password or token. The secret itself is not stored.
    pub secret: Option<Arc<str>>,
    /// A file with the CA certificates to trust instead of those of the system.
    pub ca: Option<Arc<str>>,
    /// The most requests at a time.
    pub parallel: u32,
    /// The time limit of one request.
    pub timeout_ms: u64,
    /// The most claims that wait for it. Further ones are refused.
    pub queue_max: u64,
    /// A claim or release that is open for longer raises an alarm.
    pub alarm_after_ms: u64,
    /// Look-ups are asked again this often. `None`: only on request.
    pub poll_ms: Option<u64>,
    /// Reconciliation runs this often. `None`: only on request.
    pub reconcile_ms: Option<u64>,
}

impl AuthoritySpec {
    /// With the default of every option.
    pub fn new(protocol: Protocol, url: &str) -> AuthoritySpec {
        AuthoritySpec {
            protocol,
            url: url.into(),
            secret: None,
            ca: None,
            parallel: 1,
            timeout_ms: 10_000,
            queue_max: 10_000,
            alarm_after_ms: 300_000,
            poll_ms: Some(300_000),
            reconcile_ms: None,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Protocol {
    /// An adapter that implements the HTTP contract.
    Http,
    /// This pool of another allod server.
    Allod { pool: Arc<str> },
    /// Tables of a PostgreSQL database.
    Sql(SqlStatements),
}

/// The operator's SQL. `None`: the authority cannot do this.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SqlStatements {
    pub find: Option<Arc<str>>,
    pub take: Option<Arc<str>>,
    pub release: Option<Arc<str>>,
    pub list: Option<Arc<str>>,
    pub lookup: Option<Arc<str>>,
}

impl Protocol {
    pub fn name(&self) -> &'static str {
        match self {
            Protocol::Http => "http",
            Protocol::Allod { .. } => "allod",
            Protocol::Sql(_) => "sql",
        }
    }
}

named! {
    /// The state of a claim in a pool with an authority.
    pub enum ExternalState {
        /// The authority has not answered yet.
        Wanted = "wanted",
        /// The claim has its value.
        Held = "held",
        /// The authority has said no, or a request of its transaction was refused.
        Refused = "refused",
        /// It is unknown whether the authority has granted a value. An operator must resolve it.
        Stuck = "stuck",
        /// The authority has granted a value that the claim cannot have.
        Conflict = "conflict",
        /// The authority has not confirmed the release yet. The value is still held here.
        Releasing = "releasing",
    }
}

impl ExternalState {
    /// Whether there is something to ask the authority.
    pub fn is_open(self) -> bool {
        matches!(self, ExternalState::Wanted | ExternalState::Releasing)
    }
}

named! {
    /// Why an authority has said no.
    pub enum RefusalCode {
        /// Another holder has the value.
        Taken = "taken",
        /// No value is free.
        Exhausted = "exhausted",
        /// The reference has a grant for another request, or the authority cannot grant what is wanted.
        Differs = "differs",
    }
}

/// A claim in a pool with an authority.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExternalClaim {
    pub request: ExternalRequest,
    pub progress: ExternalProgress,
}

/// What was asked for. It never changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExternalRequest {
    pub reference: Uuid,
    pub authority: Arc<str>,
    pub pool: Arc<str>,
    pub key: Arc<str>,
    pub owner: Arc<str>,
    pub params: ClaimParams,
    /// They are sent to the authority as parameters.
    pub labels: Labels,
}

/// How far it has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExternalProgress {
    pub state: ExternalState,
    /// The journal position of the last change.
    pub version: u64,
    /// When the claim or its release was requested.
    pub since_ms: u64,
    /// Whether the authority may have got a request that it cannot be asked about.
    pub asked: bool,
    /// The release was requested. Set from then on, also while the release is stuck.
    pub withdrawn: bool,
    /// The value as the authority has written it.
    pub value: Option<Arc<str>>,
    /// The authority's own name for the grant.
    pub handle: Option<Arc<str>>,
    /// The authority's version of the grant.
    pub granted_version: Option<Arc<str>>,
    pub code: Option<RefusalCode>,
    /// The reason of a refusal, or of the last failed attempt.
    pub reason: Option<Arc<str>>,
    /// Failed attempts of the present request.
    pub attempts: u32,
    /// When the next attempt is due; for a refusal: when it is forgotten.
    pub due_ms: Option<u64>,
}

impl ExternalProgress {
    /// The beginning of a claim or of its release: the first attempt is due now.
    pub(crate) fn new(state: ExternalState, version: u64, now_ms: u64) -> ExternalProgress {
        ExternalProgress {
            state,
            version,
            since_ms: now_ms,
            asked: false,
            withdrawn: false,
            value: None,
            handle: None,
            granted_version: None,
            code: None,
            reason: None,
            attempts: 0,
            due_ms: Some(now_ms),
        }
    }
}

/// The reference of a claim: a UUID of version 8 with the identity of the journal, 48 random bits, and 42 bits for the
/// position and the place in its entry. The random bits differ from those of a claim that was made at the same position
/// before a restore.
pub(crate) fn reference(identity: u32, random: u64, position: u64, place: u16) -> Uuid {
    const PLACE_BITS: u32 = 10;
    let random = u128::from(random >> 16);
    let number = u128::from(position) << PLACE_BITS | u128::from(place);
    let payload = u128::from(identity) << 90 | random << 42 | number & ((1 << 42) - 1);
    let (high, middle, low) = (payload >> 74, payload >> 62 & 0xfff, payload & ((1 << 62) - 1));
    Uuid(high << 80 | 0x8 << 76 | middle << 64 | 0b10 << 62 | low)
}

/// The identity of the journal that has drawn a reference.
pub(crate) fn identity_of(reference: Uuid) -> u32 {
    (reference.0 >> 96) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reference_is_a_uuid_of_version_8() {
        let identity = 0x0123_4567;
        let one = reference(identity, u64::MAX, 1, 3);
        assert_eq!(one.to_string(), "01234567-ffff-8fff-bfff-fc0000000403");
        assert_eq!(identity_of(one), identity);
        let plain = reference(identity, 0, 1, 0);
        assert_eq!(plain.to_string(), "01234567-0000-8000-8000-000000000400");
        assert_ne!(plain, reference(identity, 1 << 16, 1, 0));
        assert_ne!(plain, reference(identity + 1, 0, 1, 0));
        assert_ne!(plain, reference(identity, 0, 1, 1));
        assert_ne!(reference(identity, 0, 1, 1023), reference(identity, 0, 2, 0));
    }
}
