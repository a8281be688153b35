//! Translates the events of one position into a change. Pure.

use allod_core::alarm::AlarmEvent;
use allod_core::authority::event::AuthorityEvent;
use allod_core::claim::Values;
use allod_core::event::capacity::CapacityEvent;
use allod_core::event::{ClaimEvent, Event, PoolEvent, ReleaseCause, Was};
use allod_core::requests::Answer;
use allod_core::requests::event::RequestsEvent;
use allod_core::value::Kind;

use super::{ReasonDetail, WrittenValues, capacity, defined, outbox, write_values};
use crate::wire::{Change, ChangeEvent, HeldAllocations, LabelsOf, OrderedMap, Time, UuidText};

/// The change of one position; `None` if clients see none of its events. `kind_of` returns the kind of a pool for events of
/// feature level 1, which do not contain it; without the kind their values are omitted.
pub fn change<'a>(
    position: u64,
    at_ms: u64,
    events: impl IntoIterator<Item = &'a Event>,
    kind_of: &dyn Fn(&str) -> Option<Kind>,
    reasons: ReasonDetail,
) -> Option<Change<'a>> {
    let events = events.into_iter().filter_map(|event| one(event, kind_of, reasons));
    let events: Vec<_> = events.collect();
    (!events.is_empty()).then_some(Change { position, at: Time { ms: at_ms }, events })
}

fn one<'a>(
    event: &'a Event,
    kind_of: &dyn Fn(&str) -> Option<Kind>,
    reasons: ReasonDetail,
) -> Option<ChangeEvent<'a>> {
    Some(match event {
        Event::Pool(PoolEvent::Defined(event)) => ChangeEvent::PoolDefined {
            pool: &event.pool,
            generation: event.generation,
            definition: Box::new(defined(&event.pool, event.generation, &event.spec)),
        },
        Event::Pool(PoolEvent::Removed(event)) => ChangeEvent::PoolRemoved {
            pool: &event.pool,
            claims: event.claims,
            requests: event.requests,
        },
        Event::Claim(ClaimEvent::Granted(event)) => {
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
        Event::Claim(ClaimEvent::LeaseChanged(event)) => {
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
        Event::Claim(ClaimEvent::Released(event)) => {
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
        Event::Claim(ClaimEvent::QuarantineEnded(event)) => {
            let (owner, (value, values, ranges)) = whose(event.was.as_ref());
            let key = event.key.as_deref();
            ChangeEvent::QuarantineEnded { pool: &event.pool, key, owner, value, values, ranges }
        }
        Event::Capacity(CapacityEvent::ProviderDefined(event)) => ChangeEvent::ProviderDefined {
            provider: UuidText(event.provider),
            name: &event.name,
            parent: event.parent.map(UuidText),
        },
        Event::Capacity(CapacityEvent::ProviderRemoved(event)) => {
            ChangeEvent::ProviderRemoved { provider: UuidText(event.provider), name: &event.name }
        }
        Event::Capacity(CapacityEvent::InventoriesSet(event)) => {
            let each = event.inventories.iter();
            let each = each.map(|set| (&*set.class, capacity::inventory(&set.inventory)));
            ChangeEvent::InventoriesSet {
                provider: UuidText(event.provider),
                generation: event.generation,
                inventories: OrderedMap(each.collect()),
            }
        }
        Event::Capacity(CapacityEvent::TraitsSet(event)) => ChangeEvent::TraitsSet {
            provider: UuidText(event.provider),
            generation: event.generation,
            traits: event.traits.iter().map(|name| &**name).collect(),
        },
        Event::Capacity(CapacityEvent::AggregatesSet(event)) => ChangeEvent::AggregatesSet {
            provider: UuidText(event.provider),
            generation: event.generation,
            aggregates: event.aggregates.iter().copied().map(UuidText).collect(),
        },
        Event::Capacity(CapacityEvent::ClassDefined(event)) => {
            ChangeEvent::ClassDefined { class: &event.class, was: event.was.as_deref() }
        }
        Event::Capacity(CapacityEvent::ClassRemoved(event)) => {
            ChangeEvent::ClassRemoved { class: &event.class }
        }
        Event::Capacity(CapacityEvent::TraitDefined(event)) => {
            ChangeEvent::TraitDefined { r#trait: &event.name }
        }
        Event::Capacity(CapacityEvent::TraitRemoved(event)) => {
            ChangeEvent::TraitRemoved { r#trait: &event.name }
        }
        Event::Capacity(CapacityEvent::AllocationsSet(event)) => ChangeEvent::AllocationsSet {
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
        Event::Capacity(CapacityEvent::AllocationsExtended(event)) => {
            ChangeEvent::AllocationsExtended {
                consumer: UuidText(event.consumer),
                generation: event.generation,
                expires: event.expires_ms.map(|ms| Time { ms }),
                reclaim: event.expires_ms.map(|_| capacity::reclaim(event.reclaim)),
            }
        }
        Event::Capacity(CapacityEvent::AllocationsReleased(event)) => {
            ChangeEvent::AllocationsReleased {
                consumer: UuidText(event.consumer),
                generation: event.generation,
                project: &event.project,
                user: &event.user,
                allocations: HeldAllocations(&event.was),
                cause: cause(event.cause),
            }
        }
        Event::Requests(RequestsEvent::Answered(event)) => ChangeEvent::RequestAnswered {
            pool: &event.pool,
            key: &event.key,
            services: event.request.services.iter().map(|service| &**service).collect(),
            failure: match &event.answer {
                Answer::Granted | Answer::Wanted => None,
                Answer::Failed(failure) => Some(failure.code()),
            },
            wanted: event.answer == Answer::Wanted,
        },
        Event::Requests(RequestsEvent::Withdrawn(event)) => {
            ChangeEvent::RequestWithdrawn { pool: &event.pool, key: &event.key }
        }
        Event::Authority(event) => return authority(event, reasons),
        Event::Alarm(AlarmEvent::Changed(event)) => ChangeEvent::AlarmChanged {
            object: &event.object,
            alarm: event.kind.name(),
            of: outbox::object_of(event.kind, event.ids),
            raised: event.raised,
        },
        Event::Idempotency(_)
        | Event::Capacity(CapacityEvent::ProviderCounted(_))
        | Event::Blocks(_)
        | Event::Requests(RequestsEvent::PoolDefined(_) | RequestsEvent::RetryScheduled(_))
        | Event::Alarm(AlarmEvent::Purged(_))
        | Event::Outbox(_) => {
            return None;
        }
    })
}

fn authority(event: &AuthorityEvent, reasons: ReasonDetail) -> Option<ChangeEvent<'_>> {
    Some(match event {
        AuthorityEvent::IdentityDrawn(_)
        | AuthorityEvent::LookUpChecked(_)
        | AuthorityEvent::LookUpsRefreshed(_) => return None,
        AuthorityEvent::LookUpChanged(event) => ChangeEvent::LookupChanged {
            authority: &event.look_up.authority,
            key: &event.look_up.key,
            state: event.look_up.state.name(),
            policy: event.look_up.policy.name(),
            version: event.look_up.version,
        },
        AuthorityEvent::ReconciliationWanted(event) => {
            ChangeEvent::ReconciliationWanted { authority: &event.authority, number: event.number }
        }
        AuthorityEvent::ReconciliationEnded(event) => ChangeEvent::ReconciliationEnded {
            authority: &event.authority,
            number: event.number,
            state: event.state.name(),
            orphans: event.findings.counts.orphans,
            missing: event.findings.counts.missing,
            drifted: event.findings.counts.drifted,
            conflicts: event.findings.counts.conflicts,
        },
        AuthorityEvent::FindingSettled(event) => ChangeEvent::FindingSettled {
            authority: &event.authority,
            reference: UuidText(event.reference),
        },
        AuthorityEvent::LookUpRemoved(event) => {
            ChangeEvent::LookupRemoved { authority: &event.authority, key: &event.key }
        }
        AuthorityEvent::Defined(event) => {
            ChangeEvent::AuthorityDefined { authority: &event.name, generation: event.generation }
        }
        AuthorityEvent::Removed(event) => ChangeEvent::AuthorityRemoved { authority: &event.name },
        AuthorityEvent::Wanted(event) => ChangeEvent::ClaimWanted {
            pool: &event.request.pool,
            key: &event.request.key,
            owner: &event.request.owner,
            authority: &event.request.authority,
            reference: UuidText(event.request.reference),
        },
        AuthorityEvent::Progressed(event) => ChangeEvent::ClaimProgressed {
            pool: &event.pool,
            key: &event.key,
            owner: &event.owner,
            reference: UuidText(event.reference),
            state: event.progress.state.name(),
            reason: super::authority::reason(&event.progress, reasons),
            attempts: event.progress.attempts,
            next_attempt: event
                .progress
                .due_ms
                .filter(|_| event.progress.state.is_open())
                .map(|ms| Time { ms }),
        },
        AuthorityEvent::Closed(event) => ChangeEvent::ClaimClosed {
            pool: &event.pool,
            key: &event.key,
            owner: &event.owner,
            reference: UuidText(event.reference),
        },
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
