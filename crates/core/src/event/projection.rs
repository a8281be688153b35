//! What an event is about: its kind, its pool, key, owner and values, or its providers and consumer.
//!
//! This is the only place that looks at all events for that purpose. The history index, the watch interface and its
//! filters, and the list of kinds in the OpenAPI document all read it. A face that shows what an event says matches the
//! group that it shows.

use std::sync::Arc;

use super::capacity::{Allocated, CapacityEvent};
use super::{ClaimEvent, Event, PoolEvent, Was};
use crate::alarm::AlarmEvent;
use crate::authority::LookUp;
use crate::authority::event::AuthorityEvent;
use crate::capacity::Uuid;
use crate::claim::Values;
use crate::named::named;
use crate::requests::event::RequestsEvent;
use crate::value::Kind;

named! {
    /// The kinds of events that clients see, in the order in which interfaces list them.
    pub enum EventKind {
        PoolDefined = "pool_defined",
        PoolRemoved = "pool_removed",
        ClaimGranted = "claim_granted",
        LeaseChanged = "lease_changed",
        ClaimReleased = "claim_released",
        QuarantineEnded = "quarantine_ended",
        ProviderDefined = "provider_defined",
        ProviderRemoved = "provider_removed",
        InventoriesSet = "inventories_set",
        TraitsSet = "traits_set",
        AggregatesSet = "aggregates_set",
        ClassDefined = "class_defined",
        ClassRemoved = "class_removed",
        TraitDefined = "trait_defined",
        TraitRemoved = "trait_removed",
        AllocationsSet = "allocations_set",
        AllocationsExtended = "allocations_extended",
        AllocationsReleased = "allocations_released",
        RequestAnswered = "request_answered",
        RequestWithdrawn = "request_withdrawn",
        AlarmChanged = "alarm_changed",
        AuthorityDefined = "authority_defined",
        AuthorityRemoved = "authority_removed",
        ClaimWanted = "claim_wanted",
        ClaimProgressed = "claim_progressed",
        ClaimClosed = "claim_closed",
        LookUpChanged = "lookup_changed",
        LookUpRemoved = "lookup_removed",
        ReconciliationWanted = "reconciliation_wanted",
        ReconciliationEnded = "reconciliation_ended",
        FindingSettled = "finding_settled",
    }
}

/// What an event is about. Events of pools and claims have a pool; events of capacity have providers or a consumer.
#[derive(Debug, Clone, Copy)]
pub struct Projection<'a> {
    pub kind: EventKind,
    pub pool: Option<&'a Arc<str>>,
    pub key: Option<&'a Arc<str>>,
    /// The owner of the claim. `None` also for records of level 1 that do not have it.
    pub owner: Option<&'a Arc<str>>,
    /// The values of the claim. The kind of the pool is `None` only for records of level 1.
    pub values: Option<(Option<Kind>, &'a Values)>,
    /// The event ends all claims and requests of its pool, whatever their keys, owners and values are.
    pub ends_claims: bool,
    /// The authority, if the event is not about a claim.
    pub authority: Option<&'a Arc<str>>,
    /// The name of a look-up at the authority.
    pub lookup: Option<&'a Arc<str>>,
    pub consumer: Option<Uuid>,
    provider: Option<Uuid>,
    held: &'a [Allocated],
    left: &'a [Uuid],
}

impl<'a> Projection<'a> {
    /// `None`: clients do not see the event.
    pub fn of(event: &'a Event) -> Option<Projection<'a>> {
        match event {
            Event::Pool(PoolEvent::Defined(event)) => {
                Some(Projection::of_pool(EventKind::PoolDefined, &event.pool))
            }
            Event::Pool(PoolEvent::Removed(event)) => {
                let ends_claims = event.claims > 0 || event.requests > 0;
                let of_pool = Projection::of_pool(EventKind::PoolRemoved, &event.pool);
                Some(Projection { ends_claims, ..of_pool })
            }
            Event::Claim(event) => Some(Projection::of_claim(event)),
            Event::Capacity(event) => Projection::of_capacity(event),
            Event::Authority(event) => Projection::of_authority(event),
            Event::Requests(RequestsEvent::Answered(event)) => {
                let of_pool = Projection::of_pool(EventKind::RequestAnswered, &event.pool);
                Some(Projection { key: Some(&event.key), ..of_pool })
            }
            Event::Requests(RequestsEvent::Withdrawn(event)) => {
                let of_pool = Projection::of_pool(EventKind::RequestWithdrawn, &event.pool);
                Some(Projection { key: Some(&event.key), ..of_pool })
            }
            Event::Alarm(AlarmEvent::Changed(event)) => {
                Some(Projection { pool: event.pool(), ..Projection::new(EventKind::AlarmChanged) })
            }
            // The configuration of a request pool shows in its `PoolDefined`, and the outbox has a list of its own. What
            // a retry grants has events of its own.
            Event::Requests(RequestsEvent::PoolDefined(_) | RequestsEvent::RetryScheduled(_))
            | Event::Alarm(AlarmEvent::Purged(_))
            | Event::Idempotency(_)
            | Event::Blocks(_)
            | Event::Outbox(_) => None,
        }
    }

    fn of_claim(event: &'a ClaimEvent) -> Projection<'a> {
        let of = |kind, pool, key: Option<&'a Arc<str>>, was: &'a Option<Was>| {
            let was = was.as_ref();
            let values = was.map(|was| (Some(was.kind), &was.values));
            let owner = was.map(|was| &was.owner);
            Projection { key, owner, values, ..Projection::of_pool(kind, pool) }
        };
        match event {
            ClaimEvent::Granted(event) => Projection {
                key: Some(&event.key),
                owner: Some(&event.owner),
                values: Some((event.kind, &event.values)),
                ..Projection::of_pool(EventKind::ClaimGranted, &event.pool)
            },
            ClaimEvent::LeaseChanged(event) => {
                of(EventKind::LeaseChanged, &event.pool, Some(&event.key), &event.was)
            }
            ClaimEvent::Released(event) => {
                of(EventKind::ClaimReleased, &event.pool, Some(&event.key), &event.was)
            }
            ClaimEvent::QuarantineEnded(event) => {
                of(EventKind::QuarantineEnded, &event.pool, event.key.as_ref(), &event.was)
            }
        }
    }

    fn of_authority(event: &'a AuthorityEvent) -> Option<Projection<'a>> {
        let at =
            |kind, authority| Projection { authority: Some(authority), ..Projection::new(kind) };
        let of = |kind, pool, key, owner| Projection {
            key: Some(key),
            owner: Some(owner),
            ..Projection::of_pool(kind, pool)
        };
        Some(match event {
            AuthorityEvent::IdentityDrawn(_)
            | AuthorityEvent::LookUpChecked(_)
            | AuthorityEvent::LookUpsRefreshed(_) => return None,
            AuthorityEvent::ReconciliationWanted(event) => {
                at(EventKind::ReconciliationWanted, &event.authority)
            }
            AuthorityEvent::ReconciliationEnded(event) => {
                at(EventKind::ReconciliationEnded, &event.authority)
            }
            AuthorityEvent::FindingSettled(event) => {
                at(EventKind::FindingSettled, &event.authority)
            }
            AuthorityEvent::Defined(event) => at(EventKind::AuthorityDefined, &event.name),
            AuthorityEvent::Removed(event) => at(EventKind::AuthorityRemoved, &event.name),
            AuthorityEvent::LookUpChanged(event) => {
                let LookUp { authority, key, .. } = &event.look_up;
                Projection { lookup: Some(key), ..at(EventKind::LookUpChanged, authority) }
            }
            AuthorityEvent::LookUpRemoved(event) => Projection {
                lookup: Some(&event.key),
                ..at(EventKind::LookUpRemoved, &event.authority)
            },
            AuthorityEvent::Wanted(event) => {
                let request = &event.request;
                of(EventKind::ClaimWanted, &request.pool, &request.key, &request.owner)
            }
            AuthorityEvent::Progressed(event) => {
                of(EventKind::ClaimProgressed, &event.pool, &event.key, &event.owner)
            }
            AuthorityEvent::Closed(event) => {
                of(EventKind::ClaimClosed, &event.pool, &event.key, &event.owner)
            }
        })
    }

    fn of_capacity(event: &'a CapacityEvent) -> Option<Projection<'a>> {
        let of_provider =
            |kind, provider: Uuid| Projection { provider: Some(provider), ..Projection::new(kind) };
        let of_consumer = |kind, consumer: Uuid, held: &'a [Allocated], left: &'a [Uuid]| {
            Projection { consumer: Some(consumer), held, left, ..Projection::new(kind) }
        };
        Some(match event {
            CapacityEvent::ProviderDefined(event) => {
                of_provider(EventKind::ProviderDefined, event.provider)
            }
            CapacityEvent::ProviderRemoved(event) => {
                of_provider(EventKind::ProviderRemoved, event.provider)
            }
            CapacityEvent::InventoriesSet(event) => {
                of_provider(EventKind::InventoriesSet, event.provider)
            }
            CapacityEvent::TraitsSet(event) => of_provider(EventKind::TraitsSet, event.provider),
            CapacityEvent::AggregatesSet(event) => {
                of_provider(EventKind::AggregatesSet, event.provider)
            }
            CapacityEvent::ClassDefined(_) => Projection::new(EventKind::ClassDefined),
            CapacityEvent::ClassRemoved(_) => Projection::new(EventKind::ClassRemoved),
            CapacityEvent::TraitDefined(_) => Projection::new(EventKind::TraitDefined),
            CapacityEvent::TraitRemoved(_) => Projection::new(EventKind::TraitRemoved),
            CapacityEvent::AllocationsSet(event) => {
                let (held, left) = (&event.allocations, &event.left);
                of_consumer(EventKind::AllocationsSet, event.consumer, held, left)
            }
            // The event does not say what is held, because that does not change.
            CapacityEvent::AllocationsExtended(event) => {
                of_consumer(EventKind::AllocationsExtended, event.consumer, &[], &[])
            }
            CapacityEvent::AllocationsReleased(event) => {
                of_consumer(EventKind::AllocationsReleased, event.consumer, &event.was, &[])
            }
            // The new generation of a provider follows from the event beside it.
            CapacityEvent::ProviderCounted(_) => return None,
        })
    }

    /// About a pool, and nothing else.
    pub fn of_pool(kind: EventKind, pool: &'a Arc<str>) -> Projection<'a> {
        Projection { pool: Some(pool), ..Projection::new(kind) }
    }

    fn new(kind: EventKind) -> Projection<'a> {
        Projection {
            kind,
            pool: None,
            key: None,
            owner: None,
            values: None,
            ends_claims: false,
            authority: None,
            lookup: None,
            consumer: None,
            provider: None,
            held: &[],
            left: &[],
        }
    }

    /// All providers that the event is about, some perhaps twice.
    pub fn providers(&self) -> impl Iterator<Item = Uuid> + use<'a> {
        let held = self.held.iter().map(|held| held.provider);
        self.provider.into_iter().chain(held).chain(self.left.iter().copied())
    }
}
