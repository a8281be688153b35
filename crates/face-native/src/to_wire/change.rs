//! The core's events as a change. Pure: what the journal says of a position is all that it needs.

use allod_core::claim::Values;
use allod_core::event::{Event, ReleaseCause, Was};
use allod_core::resource::Answer;
use allod_core::value::Kind;

use super::{WrittenValues, capacity, defined, outbox, write_values};
use crate::wire::{Change, ChangeEvent, HeldAllocations, LabelsOf, OrderedMap, Time, UuidText};

/// The names of the kinds of events that are shown, in the order of the core's events.
pub const KINDS: [&str; 21] = [
    "pool_defined",
    "pool_removed",
    "claim_granted",
    "lease_changed",
    "claim_released",
    "quarantine_ended",
    "provider_defined",
    "provider_removed",
    "inventories_set",
    "traits_set",
    "aggregates_set",
    "class_defined",
    "class_removed",
    "trait_defined",
    "trait_removed",
    "allocations_set",
    "allocations_extended",
    "allocations_released",
    "request_answered",
    "request_withdrawn",
    "alarm_changed",
];

/// Which of [`KINDS`] an event is; `None`: it is not shown.
pub(crate) fn kind_index(event: &Event) -> Option<usize> {
    match event {
        Event::PoolDefined(_) => Some(0),
        Event::PoolRemoved(_) => Some(1),
        Event::ClaimGranted(_) => Some(2),
        Event::LeaseChanged(_) => Some(3),
        Event::ClaimReleased(_) => Some(4),
        Event::QuarantineEnded(_) => Some(5),
        Event::ProviderDefined(_) => Some(6),
        Event::ProviderRemoved(_) => Some(7),
        Event::InventoriesSet(_) => Some(8),
        Event::TraitsSet(_) => Some(9),
        Event::AggregatesSet(_) => Some(10),
        Event::ClassDefined(_) => Some(11),
        Event::ClassRemoved(_) => Some(12),
        Event::TraitDefined(_) => Some(13),
        Event::TraitRemoved(_) => Some(14),
        Event::AllocationsSet(_) => Some(15),
        Event::AllocationsExtended(_) => Some(16),
        Event::AllocationsReleased(_) => Some(17),
        Event::RequestAnswered(_) => Some(18),
        Event::RequestWithdrawn(_) => Some(19),
        Event::AlarmChanged(_) => Some(20),
        // That a provider's generation goes up follows from what stands beside it, from where an id comes concerns nobody
        // who holds one, how a pool of resources is configured shows in its definition, and the outbox has a list of its own.
        Event::ProviderCounted(_)
        | Event::RequestRemembered(_)
        | Event::RequestForgotten(_)
        | Event::LedgerDefined(_)
        | Event::BlocksMoved(_)
        | Event::ResourcePoolDefined(_)
        | Event::AlarmPurged(_)
        | Event::NoticeQueued(_)
        | Event::NoticeTried(_)
        | Event::NoticeSettled(_) => None,
    }
}

/// How these events of one position are shown; `None` when none of them is. `kind_of` is asked for the kind of a pool
/// only where the event does not say it, which those of feature level 1 do not; without it their values are left out.
pub fn change<'a>(
    position: u64,
    at_ms: u64,
    events: impl IntoIterator<Item = &'a Event>,
    kind_of: &dyn Fn(&str) -> Option<Kind>,
) -> Option<Change<'a>> {
    let events: Vec<_> = events.into_iter().filter_map(|event| one(event, kind_of)).collect();
    (!events.is_empty()).then_some(Change { position, at: Time { ms: at_ms }, events })
}

fn one<'a>(event: &'a Event, kind_of: &dyn Fn(&str) -> Option<Kind>) -> Option<ChangeEvent<'a>> {
    Some(match event {
        Event::PoolDefined(event) => ChangeEvent::PoolDefined {
            pool: &event.pool,
            generation: event.generation,
            definition: Box::new(defined(&event.pool, event.generation, &event.spec)),
        },
        Event::PoolRemoved(event) => ChangeEvent::PoolRemoved { pool: &event.pool },
        Event::ClaimGranted(event) => {
            let kind = event.kind.or_else(|| kind_of(&event.pool));
            let (value, values, ranges) = spelled(kind, &event.values);
            ChangeEvent::ClaimGranted {
                pool: &event.pool,
                key: &event.key,
                owner: &event.owner,
                value,
                values,
                ranges,
                version: event.version,
                expires: event.expires_ms.map(|ms| Time { ms }),
                labels: LabelsOf(&event.labels),
            }
        }
        Event::LeaseChanged(event) => {
            let (owner, (value, values, ranges)) = whose(event.was.as_ref());
            ChangeEvent::LeaseChanged {
                pool: &event.pool,
                key: &event.key,
                owner,
                value,
                values,
                ranges,
                version: event.version,
                expires: event.expires_ms.map(|ms| Time { ms }),
            }
        }
        Event::ClaimReleased(event) => {
            let (owner, (value, values, ranges)) = whose(event.was.as_ref());
            ChangeEvent::ClaimReleased {
                pool: &event.pool,
                key: &event.key,
                owner,
                value,
                values,
                ranges,
                version: event.at_version,
                cause: cause(event.cause),
                quarantine_until: event.quarantine_until_ms.map(|ms| Time { ms }),
            }
        }
        Event::QuarantineEnded(event) => {
            let (owner, (value, values, ranges)) = whose(event.was.as_ref());
            let key = event.key.as_deref();
            ChangeEvent::QuarantineEnded { pool: &event.pool, key, owner, value, values, ranges }
        }
        Event::ProviderDefined(event) => ChangeEvent::ProviderDefined {
            provider: UuidText(event.provider),
            name: &event.name,
            parent: event.parent.map(UuidText),
        },
        Event::ProviderRemoved(event) => {
            ChangeEvent::ProviderRemoved { provider: UuidText(event.provider), name: &event.name }
        }
        Event::InventoriesSet(event) => {
            let each = event.inventories.iter();
            let each = each.map(|set| (&*set.class, capacity::inventory(&set.inventory)));
            ChangeEvent::InventoriesSet {
                provider: UuidText(event.provider),
                generation: event.generation,
                inventories: OrderedMap(each.collect()),
            }
        }
        Event::TraitsSet(event) => ChangeEvent::TraitsSet {
            provider: UuidText(event.provider),
            generation: event.generation,
            traits: event.traits.iter().map(|name| &**name).collect(),
        },
        Event::AggregatesSet(event) => ChangeEvent::AggregatesSet {
            provider: UuidText(event.provider),
            generation: event.generation,
            aggregates: event.aggregates.iter().copied().map(UuidText).collect(),
        },
        Event::ClassDefined(event) => {
            ChangeEvent::ClassDefined { class: &event.class, was: event.was.as_deref() }
        }
        Event::ClassRemoved(event) => ChangeEvent::ClassRemoved { class: &event.class },
        Event::TraitDefined(event) => ChangeEvent::TraitDefined { r#trait: &event.name },
        Event::TraitRemoved(event) => ChangeEvent::TraitRemoved { r#trait: &event.name },
        Event::AllocationsSet(event) => ChangeEvent::AllocationsSet {
            consumer: UuidText(event.consumer),
            generation: event.generation,
            project: &event.project,
            user: &event.user,
            r#type: event.consumer_type.as_deref(),
            allocations: HeldAllocations(&event.allocations),
            left: event.left.iter().copied().map(UuidText).collect(),
            expires: event.expires_ms.map(|ms| Time { ms }),
            reclaim: event.expires_ms.map(|_| capacity::reclaim(event.reclaim)),
        },
        Event::AllocationsExtended(event) => ChangeEvent::AllocationsExtended {
            consumer: UuidText(event.consumer),
            generation: event.generation,
            expires: event.expires_ms.map(|ms| Time { ms }),
            reclaim: event.expires_ms.map(|_| capacity::reclaim(event.reclaim)),
        },
        Event::AllocationsReleased(event) => ChangeEvent::AllocationsReleased {
            consumer: UuidText(event.consumer),
            generation: event.generation,
            project: &event.project,
            user: &event.user,
            allocations: HeldAllocations(&event.was),
            cause: cause(event.cause),
        },
        Event::RequestAnswered(event) => ChangeEvent::RequestAnswered {
            pool: &event.pool,
            key: &event.key,
            services: event.request.services.iter().map(|service| &**service).collect(),
            failure: match &event.answer {
                Answer::Granted => None,
                Answer::Failed(failure) => Some(failure.code()),
            },
        },
        Event::RequestWithdrawn(event) => {
            ChangeEvent::RequestWithdrawn { pool: &event.pool, key: &event.key }
        }
        Event::AlarmChanged(event) => ChangeEvent::AlarmChanged {
            object: &event.object,
            alarm: event.kind.name(),
            of: outbox::object_of(event.kind, event.ids),
            raised: event.raised,
        },
        Event::ProviderCounted(_)
        | Event::RequestRemembered(_)
        | Event::RequestForgotten(_)
        | Event::LedgerDefined(_)
        | Event::BlocksMoved(_)
        | Event::ResourcePoolDefined(_)
        | Event::AlarmPurged(_)
        | Event::NoticeQueued(_)
        | Event::NoticeTried(_)
        | Event::NoticeSettled(_) => {
            return None;
        }
    })
}

fn cause(cause: ReleaseCause) -> &'static str {
    match cause {
        ReleaseCause::Asked => "asked",
        ReleaseCause::Taken => "taken",
        ReleaseCause::Reaped => "reaped",
    }
}

type ValueMembers<'a> =
    (Option<crate::wire::WireValue>, Option<crate::wire::EachValue<'a>>, Option<Vec<String>>);

fn spelled(kind: Option<Kind>, values: &Values) -> ValueMembers<'_> {
    match kind.map(|kind| write_values(kind, values)) {
        Some(WrittenValues { value, values, ranges }) => (Some(value), values, ranges),
        None => (None, None, None),
    }
}

fn whose(was: Option<&Was>) -> (Option<&str>, ValueMembers<'_>) {
    match was {
        Some(was) => (Some(&was.owner), spelled(Some(was.kind), &was.values)),
        None => (None, (None, None, None)),
    }
}

#[cfg(test)]
mod tests;
