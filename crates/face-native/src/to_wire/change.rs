//! The core's events as a change. Pure: what the journal says of a position is all that it needs.

use allod_core::claim::Values;
use allod_core::event::{Event, ReleaseCause, Was};
use allod_core::value::Kind;

use super::{Spelled, defined, spell};
use crate::wire::{Change, ChangeEvent, LabelsOf, Time};

/// The names of the kinds of events that are shown, in the order of the core's events.
pub(crate) const KINDS: [&str; 6] = [
    "pool_defined",
    "pool_removed",
    "claim_granted",
    "lease_changed",
    "claim_released",
    "quarantine_ended",
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
        Event::RequestRemembered(_) | Event::RequestForgotten(_) => None,
        Event::ProviderDefined(_)
        | Event::ProviderRemoved(_)
        | Event::ProviderCounted(_)
        | Event::InventoriesSet(_)
        | Event::TraitsSet(_)
        | Event::AggregatesSet(_)
        | Event::ClassDefined(_)
        | Event::ClassRemoved(_)
        | Event::TraitDefined(_)
        | Event::TraitRemoved(_)
        | Event::AllocationsSet(_)
        | Event::AllocationsExtended(_)
        | Event::AllocationsReleased(_) => None,
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
        Event::RequestRemembered(_) | Event::RequestForgotten(_) => return None,
        Event::ProviderDefined(_)
        | Event::ProviderRemoved(_)
        | Event::ProviderCounted(_)
        | Event::InventoriesSet(_)
        | Event::TraitsSet(_)
        | Event::AggregatesSet(_)
        | Event::ClassDefined(_)
        | Event::ClassRemoved(_)
        | Event::TraitDefined(_)
        | Event::TraitRemoved(_)
        | Event::AllocationsSet(_)
        | Event::AllocationsExtended(_)
        | Event::AllocationsReleased(_) => return None,
    })
}

fn cause(cause: ReleaseCause) -> &'static str {
    match cause {
        ReleaseCause::Asked => "asked",
        ReleaseCause::Taken => "taken",
        ReleaseCause::Reaped => "reaped",
    }
}

type Members<'a> =
    (Option<crate::wire::Value>, Option<crate::wire::EachValue<'a>>, Option<Vec<String>>);

fn spelled(kind: Option<Kind>, values: &Values) -> Members<'_> {
    match kind.map(|kind| spell(kind, values)) {
        Some(Spelled { value, values, ranges }) => (Some(value), values, ranges),
        None => (None, None, None),
    }
}

fn whose(was: Option<&Was>) -> (Option<&str>, Members<'_>) {
    match was {
        Some(was) => (Some(&was.owner), spelled(Some(was.kind), &was.values)),
        None => (None, (None, None, None)),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use allod_core::event::{
        ClaimGranted, ClaimReleased, LeaseChanged, PoolDefined, PoolRemoved, QuarantineEnded,
        RequestForgotten,
    };
    use allod_core::pool::{PoolRange, PoolSpec};
    use allod_core::span::Span;

    use super::*;

    fn was(kind: Kind, values: Values) -> Option<Was> {
        Some(Was { owner: "t7".into(), values, kind })
    }

    fn granted(kind: Option<Kind>, values: Values) -> Event {
        Event::ClaimGranted(ClaimGranted {
            pool: "p".into(),
            kind,
            key: "k".into(),
            owner: "t7".into(),
            values,
            version: 17,
            at_ms: 0,
            expires_ms: Some(1000),
            labels: Arc::from([("a".into(), "b".into())]),
            asked: None,
            cursor: None,
        })
    }

    fn shown(event: Event, kind: Option<Kind>) -> String {
        let change = change(17, 0, [&event], &|_| kind).unwrap();
        let text = serde_json::to_string(&change).unwrap();
        let start = r#"{"position":17,"at":"1970-01-01T00:00:00.000Z","events":["#;
        text.strip_prefix(start).unwrap().strip_suffix("]}").unwrap().to_owned()
    }

    #[test]
    fn every_event_is_shown_with_what_it_knows() {
        let one = || Values::one(Span::one(7));
        let prefix = || Values::one(Span { first: 0x0a00_0000, last: 0x0a00_00ff });
        let (pool, key): (Arc<str>, Arc<str>) = ("p".into(), "k".into());
        let range = PoolRange { span: Span { first: 1, last: 9 }, subnet_len: None };
        let released = |cause, quarantine_until_ms, was| {
            let (pool, key) = (pool.clone(), key.clone());
            let (version, at_version) = (17, 16);
            let event =
                ClaimReleased { pool, key, version, at_version, cause, quarantine_until_ms, was };
            Event::ClaimReleased(event)
        };
        let leased = |expires_ms, was| {
            let (pool, key) = (pool.clone(), key.clone());
            Event::LeaseChanged(LeaseChanged { pool, key, version: 17, expires_ms, was })
        };
        for (event, json) in [
            (
                Event::PoolDefined(PoolDefined {
                    pool: pool.clone(),
                    generation: 2,
                    spec: PoolSpec::new(Kind::Id32, vec![range]),
                }),
                r#"{"kind":"pool_defined","pool":"p","generation":2,"definition":{"name":"p","generation":2,"kind":"id32","ranges":["1-9"],"exclude":[],"manual":[],"draining":[],"strategy":"lowest","keep_edges":false,"quarantine":0,"lease":null,"reap":false,"labels":{}}}"#,
            ),
            (
                Event::PoolRemoved(PoolRemoved { pool: pool.clone() }),
                r#"{"kind":"pool_removed","pool":"p"}"#,
            ),
            (
                granted(Some(Kind::Id32), one()),
                r#"{"kind":"claim_granted","pool":"p","key":"k","owner":"t7","value":7,"values":[7],"version":17,"expires":"1970-01-01T00:00:01.000Z","labels":{"a":"b"}}"#,
            ),
            (
                granted(
                    Some(Kind::Address4),
                    Values::one(Span { first: 0x0a00_0001, last: 0x0a00_0002 }),
                ),
                r#"{"kind":"claim_granted","pool":"p","key":"k","owner":"t7","value":"10.0.0.1","values":["10.0.0.1","10.0.0.2"],"ranges":["10.0.0.1-10.0.0.2"],"version":17,"expires":"1970-01-01T00:00:01.000Z","labels":{"a":"b"}}"#,
            ),
            (
                leased(None, was(Kind::Prefix4, prefix())),
                r#"{"kind":"lease_changed","pool":"p","key":"k","owner":"t7","value":"10.0.0.0/24","values":["10.0.0.0/24"],"version":17,"expires":null}"#,
            ),
            (
                leased(Some(2000), None),
                r#"{"kind":"lease_changed","pool":"p","key":"k","version":17,"expires":"1970-01-01T00:00:02.000Z"}"#,
            ),
            (
                released(ReleaseCause::Taken, Some(3000), was(Kind::Id64, one())),
                r#"{"kind":"claim_released","pool":"p","key":"k","owner":"t7","value":7,"values":[7],"version":16,"cause":"taken","quarantine_until":"1970-01-01T00:00:03.000Z"}"#,
            ),
            (
                released(ReleaseCause::Reaped, None, None),
                r#"{"kind":"claim_released","pool":"p","key":"k","version":16,"cause":"reaped","quarantine_until":null}"#,
            ),
            (
                Event::QuarantineEnded(QuarantineEnded {
                    pool: pool.clone(),
                    first: 7,
                    key: Some(key.clone()),
                    was: was(Kind::Id32, one()),
                }),
                r#"{"kind":"quarantine_ended","pool":"p","key":"k","owner":"t7","value":7,"values":[7]}"#,
            ),
        ] {
            assert_eq!(shown(event, None), json);
        }
    }

    #[test]
    fn a_grant_that_does_not_say_its_kind_is_spelled_by_that_of_the_pool() {
        let event = || granted(None, Values::one(Span::one(7)));
        assert!(shown(event(), Some(Kind::Address4)).contains(r#""values":["0.0.0.7"],"#));
        assert!(shown(event(), None).contains(r#""owner":"t7","version":17,"#));
    }

    #[test]
    fn what_is_not_shown_makes_no_change() {
        let forgotten = Event::RequestForgotten(RequestForgotten { key: "k".into() });
        assert!(change(17, 0, [&forgotten], &|_| None).is_none());
        assert_eq!(kind_index(&forgotten), None);
        assert!(change(17, 0, [], &|_| None).is_none());
    }
}
