//! Events about authorities and the claims that they grant.

use std::sync::Arc;

use super::{
    AuthoritySpec, ExternalProgress, ExternalRequest, Findings, LookUp, ReconciliationState,
};
use crate::capacity::Uuid;
use crate::event::event_group;

event_group!(Authority: AuthorityEvent {
    IdentityDrawn(IdentityDrawn),
    Defined(AuthorityDefined),
    Removed(AuthorityRemoved),
    Wanted(ClaimWanted),
    Progressed(ClaimProgressed),
    Closed(ExternalClaimClosed),
    LookUpChanged(LookUpChanged),
    LookUpChecked(LookUpChecked),
    LookUpRemoved(LookUpRemoved),
    LookUpsRefreshed(LookUpsRefreshed),
    ReconciliationWanted(ReconciliationWanted),
    ReconciliationEnded(ReconciliationEnded),
    FindingSettled(FindingSettled),
});

/// The first authority was defined. All references of this journal begin with the identity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdentityDrawn {
    pub identity: u32,
}

/// An authority was created or redefined. `generation` counts its definitions, from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthorityDefined {
    pub name: Arc<str>,
    pub generation: u64,
    pub spec: AuthoritySpec,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthorityRemoved {
    pub name: Arc<str>,
}

/// A value was requested from an authority.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimWanted {
    pub request: ExternalRequest,
    pub progress: ExternalProgress,
}

/// The claim has another state, or an attempt has failed. A granted value is in the `ClaimGranted` beside it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimProgressed {
    pub reference: Uuid,
    pub pool: Arc<str>,
    pub key: Arc<str>,
    pub owner: Arc<str>,
    pub progress: ExternalProgress,
}

/// The authority has no grant for this claim any more, or never had one. A released value is in the `ClaimReleased` beside
/// it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExternalClaimClosed {
    pub reference: Uuid,
    pub pool: Arc<str>,
    pub key: Arc<str>,
    pub owner: Arc<str>,
}

/// A look-up was requested, or is different from before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LookUpChanged {
    pub look_up: LookUp,
}

/// The authority has answered the same as before, or has not answered; or it is asked at another time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LookUpChecked {
    pub authority: Arc<str>,
    pub key: Arc<str>,
    pub checked: u64,
    pub due_ms: Option<u64>,
    pub attempts: u32,
    pub reason: Option<Arc<str>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LookUpRemoved {
    pub authority: Arc<str>,
    pub key: Arc<str>,
}

/// All look-ups of the authority that were last checked before this position are due.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LookUpsRefreshed {
    pub authority: Arc<str>,
    pub position: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReconciliationWanted {
    pub authority: Arc<str>,
    pub number: u64,
    pub at_ms: u64,
}

/// A reconciliation has ended. Its findings replace those of the previous one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReconciliationEnded {
    pub authority: Arc<str>,
    pub number: u64,
    pub state: ReconciliationState,
    pub at_ms: u64,
    pub position: u64,
    pub findings: Arc<Findings>,
    pub reason: Option<Arc<str>>,
}

/// An operator has settled what was found about a reference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FindingSettled {
    pub authority: Arc<str>,
    pub reference: Uuid,
}
