//! Events: facts so specific that `apply` has nothing left to choose.
//!
//! Events are grouped as commands and refusals are. `projection` says what each event is about. The stored forms, with
//! their numbers and versions, are in `allod-record`.

pub mod capacity;
mod idempotency;
pub mod projection;

use std::sync::Arc;

use crate::alarm::AlarmEvent;
use crate::authority::event::AuthorityEvent;
use crate::blocks::BlocksEvent;
use crate::claim::{Claim, ClaimParams, ClaimState, Values};
use crate::outbox::OutboxEvent;
use crate::pool::{Labels, PoolSpec};
use crate::requests::event::RequestsEvent;
use crate::value::Kind;
use capacity::CapacityEvent;
pub use idempotency::{IdempotencyEvent, IdempotencyExpired, IdempotencyStored};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    Pool(PoolEvent),
    Claim(ClaimEvent),
    Idempotency(IdempotencyEvent),
    Capacity(CapacityEvent),
    Blocks(BlocksEvent),
    Requests(RequestsEvent),
    Alarm(AlarmEvent),
    Outbox(OutboxEvent),
    Authority(AuthorityEvent),
}

/// Defines the enum of a group of events, and the conversion of each of them to [`Event`].
macro_rules! event_group {
    ($group:ident: $events:ident { $($variant:ident($event:ident)),+ $(,)? }) => {
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub enum $events {
            $($variant($event),)+
        }

        $(
            impl From<$event> for $crate::event::Event {
                fn from(event: $event) -> $crate::event::Event {
                    $crate::event::Event::$group($events::$variant(event))
                }
            }
        )+
    };
}
pub(crate) use event_group;

event_group!(Pool: PoolEvent { Defined(PoolDefined), Removed(PoolRemoved) });
event_group!(Claim: ClaimEvent {
    Granted(ClaimGranted),
    LeaseChanged(LeaseChanged),
    Released(ClaimReleased),
    QuarantineEnded(QuarantineEnded),
});

/// A pool was created or redefined. `generation` counts its definitions, from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PoolDefined {
    pub pool: Arc<str>,
    pub generation: u64,
    pub spec: PoolSpec,
}

/// A pool was removed with all that it had. Its claims end and its requests are withdrawn without events of their own, so
/// that the removal costs the same whatever the pool holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PoolRemoved {
    pub pool: Arc<str>,
    /// The number of claims that were held. Records before level 6 release them first and have 0.
    pub claims: u64,
    /// The number of requests. Records before level 6 withdraw them first and have 0.
    pub requests: u64,
}

/// The owner and the values of the claim that an event is about, so that the event can be shown and found without the
/// claim and the pool, which may no longer exist. `apply` does not use it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Was {
    pub owner: Arc<str>,
    pub values: Values,
    /// The kind of the pool, which says how values are written.
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
    /// The new cursor of [`crate::pool::Strategy::Next`], if this grant moves it.
    pub cursor: Option<u128>,
}

impl ClaimGranted {
    /// The new claim.
    pub fn claim(&self) -> Claim {
        Claim {
            key: self.key.clone(),
            owner: self.owner.clone(),
            values: self.values.clone(),
            version: self.version,
            created_ms: self.at_ms,
            expires_ms: self.expires_ms,
            state: ClaimState::Held,
            labels: self.labels.clone(),
            params: self.params.clone(),
        }
    }
}

/// The lease of a claim was renewed or made permanent, or an expired claim was claimed again by its holder.
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
    /// On request.
    Asked,
    /// Its lease had expired, and another claim got its values.
    Taken,
    /// Its lease had expired, and the pool reaps.
    Reaped,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimReleased {
    pub pool: Arc<str>,
    pub key: Arc<str>,
    /// The version of the row in quarantine.
    pub version: u64,
    /// The version that the claim had.
    pub at_version: u64,
    pub cause: ReleaseCause,
    /// When the quarantine of its values ends. `None`: they are free at once.
    pub quarantine_until_ms: Option<u64>,
    /// `None` only in records of level 1.
    pub was: Option<Was>,
}

/// The quarantine of a released claim has ended. `first`: the first of its values, which identifies it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuarantineEnded {
    pub pool: Arc<str>,
    pub first: u128,
    /// The key of the released claim. `None` only in records of level 1.
    pub key: Option<Arc<str>>,
    /// `None` only in records of level 1.
    pub was: Option<Was>,
}
