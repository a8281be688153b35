//! What has happened: facts so specific that `apply` has nothing left to choose.
//!
//! One file for the vocabulary; the stored form, with its numbers and versions, is `allod-record`.

pub mod capacity;
pub mod ids;
pub mod resource;

use std::sync::Arc;

use crate::claim::{ClaimParams, Values};
use crate::pool::{Labels, PoolSpec};
use crate::receipt::Receipt;
use crate::value::Kind;
use capacity::{
    AggregatesSet, AllocationsExtended, AllocationsReleased, AllocationsSet, ClassDefined,
    ClassRemoved, InventoriesSet, ProviderCounted, ProviderDefined, ProviderRemoved, TraitDefined,
    TraitRemoved, TraitsSet,
};

use ids::{BlocksMoved, LedgerDefined};
use resource::{
    AlarmChanged, AlarmPurged, NoticeQueued, NoticeSettled, NoticeTried, RequestAnswered,
    RequestWithdrawn, ResourcePoolDefined,
};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    PoolDefined(PoolDefined),
    PoolRemoved(PoolRemoved),
    ClaimGranted(ClaimGranted),
    LeaseChanged(LeaseChanged),
    ClaimReleased(ClaimReleased),
    QuarantineEnded(QuarantineEnded),
    RequestRemembered(RequestRemembered),
    RequestForgotten(RequestForgotten),
    ProviderDefined(ProviderDefined),
    ProviderRemoved(ProviderRemoved),
    ProviderCounted(ProviderCounted),
    InventoriesSet(InventoriesSet),
    TraitsSet(TraitsSet),
    AggregatesSet(AggregatesSet),
    ClassDefined(ClassDefined),
    ClassRemoved(ClassRemoved),
    TraitDefined(TraitDefined),
    TraitRemoved(TraitRemoved),
    AllocationsSet(AllocationsSet),
    AllocationsExtended(AllocationsExtended),
    AllocationsReleased(AllocationsReleased),
    LedgerDefined(LedgerDefined),
    BlocksMoved(BlocksMoved),
    ResourcePoolDefined(ResourcePoolDefined),
    RequestAnswered(RequestAnswered),
    RequestWithdrawn(RequestWithdrawn),
    AlarmChanged(AlarmChanged),
    AlarmPurged(AlarmPurged),
    NoticeQueued(NoticeQueued),
    NoticeTried(NoticeTried),
    NoticeSettled(NoticeSettled),
}

/// The pool is now like this; `generation` counts the definitions it has had, from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PoolDefined {
    pub pool: Arc<str>,
    pub generation: u64,
    pub spec: PoolSpec,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PoolRemoved {
    pub pool: Arc<str>,
}

/// Whose values a change was about, and what they were: so that a change can be shown, and found by owner and by value,
/// from its record alone, although the claim and even the pool are long gone. It changes nothing: `apply` does not look.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Was {
    pub owner: Arc<str>,
    pub values: Values,
    /// The kind of the pool, by which values are spelled.
    pub kind: Kind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimGranted {
    pub pool: Arc<str>,
    /// The kind of the pool. `None` only in records of level 1.
    pub kind: Option<Kind>,
    pub key: Arc<str>,
    pub owner: Arc<str>,
    pub values: Values,
    pub version: u64,
    pub at_ms: u64,
    pub expires_ms: Option<u64>,
    pub labels: Labels,
    pub params: Option<Arc<ClaimParams>>,
    /// Where [`crate::pool::Strategy::Next`] goes on from, when this grant moves it.
    pub cursor: Option<u128>,
}

/// Renewed, confirmed, or revived after it had expired.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaseChanged {
    pub pool: Arc<str>,
    pub key: Arc<str>,
    pub version: u64,
    /// `None`: held until released.
    pub expires_ms: Option<u64>,
    /// `None` only in records of level 1.
    pub was: Option<Was>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ReleaseCause {
    /// Its holder gave it up.
    Asked,
    /// Its lease had run out and another claim took its values.
    Taken,
    /// Its lease had run out and the pool reaps.
    Reaped,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimReleased {
    pub pool: Arc<str>,
    pub key: Arc<str>,
    /// The version that its quarantine has from now on.
    pub version: u64,
    /// The version that the claim had.
    pub at_version: u64,
    pub cause: ReleaseCause,
    /// Until when its values are kept for the former owner. `None`: free at once.
    pub quarantine_until_ms: Option<u64>,
    /// `None` only in records of level 1.
    pub was: Option<Was>,
}

/// The values of a released claim are free again. `first` is the first of them, which names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuarantineEnded {
    pub pool: Arc<str>,
    pub first: u128,
    /// The key that it was released under. `None` only in records of level 1.
    pub key: Option<Arc<str>>,
    /// `None` only in records of level 1.
    pub was: Option<Was>,
}

/// A request with an idempotency key was carried out with this answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestRemembered {
    pub key: Arc<str>,
    pub fingerprint: [u8; 32],
    pub until_ms: u64,
    pub receipt: Arc<Receipt>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestForgotten {
    pub key: Arc<str>,
}
