//! Events about authorities and the claims that they grant.

use std::sync::Arc;

use super::{AuthoritySpec, ExternalProgress, ExternalRequest};
use crate::capacity::Uuid;
use crate::event::event_group;

event_group!(Authority: AuthorityEvent {
    IdentityDrawn(IdentityDrawn),
    Defined(AuthorityDefined),
    Removed(AuthorityRemoved),
    Wanted(ClaimWanted),
    Progressed(ClaimProgressed),
    Closed(ExternalClaimClosed),
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
