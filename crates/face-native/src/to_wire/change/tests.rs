//! How each event is shown.

use std::sync::Arc;

use allod_core::alarm::AlarmKind;
use allod_core::alarm::{AlarmChanged, AlarmEvent};
use allod_core::capacity::{Inventory, Reclaim, Uuid};
use allod_core::event::capacity::{
    AggregatesSet, Allocated, AllocationsExtended, AllocationsReleased, AllocationsSet,
    CapacityEvent, ClassDefined, ClassRemoved, InventoriesSet, InventorySet, ProviderCounted,
    ProviderDefined, ProviderRemoved, TraitDefined, TraitRemoved, TraitsSet,
};
use allod_core::event::{
    ClaimEvent, ClaimGranted, ClaimReleased, IdempotencyEvent, IdempotencyExpired, LeaseChanged,
    PoolDefined, PoolEvent, PoolRemoved, QuarantineEnded,
};
use allod_core::pool::{PoolRange, PoolSpec};
use allod_core::requests::event::{RequestAnswered, RequestWithdrawn, RequestsEvent};
use allod_core::requests::{Failure, Request, Wanted, WantedId};
use allod_core::span::Span;

use allod_core::event::projection::Projection;

use super::*;

fn was(kind: Kind, values: Values) -> Option<Was> {
    Some(Was { owner: "t7".into(), values, kind })
}

fn granted(kind: Option<Kind>, values: Values) -> Event {
    Event::Claim(ClaimEvent::Granted(ClaimGranted {
        pool: "p".into(),
        kind,
        key: "k".into(),
        owner: "t7".into(),
        values,
        version: 17,
        at_ms: 0,
        expires_ms: Some(1000),
        labels: Arc::from([("a".into(), "b".into())]),
        params: None,
        cursor: None,
    }))
}

fn shown(event: Event, kind: Option<Kind>) -> String {
    let change = change(17, 0, [&event], &|_| kind, ReasonDetail::Full).unwrap();
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
        Event::Claim(ClaimEvent::Released(event))
    };
    let leased = |expires_ms, was| {
        let (pool, key) = (pool.clone(), key.clone());
        Event::Claim(ClaimEvent::LeaseChanged(LeaseChanged {
            pool,
            key,
            version: 17,
            expires_ms,
            was,
        }))
    };
    let removed = |claims, requests| {
        let pool = pool.clone();
        Event::Pool(PoolEvent::Removed(PoolRemoved { pool, claims, requests }))
    };
    for (event, json) in [
        (
            Event::Pool(PoolEvent::Defined(PoolDefined {
                pool: pool.clone(),
                generation: 2,
                spec: PoolSpec::new(Kind::Id32, vec![range]),
            })),
            r#"{"kind":"pool_defined","pool":"p","generation":2,"definition":{"name":"p","generation":2,"kind":"id32","ranges":["1-9"],"exclude":[],"manual":[],"draining":[],"strategy":"lowest","keep_edges":false,"quarantine":0,"lease":null,"reap":false,"labels":{}}}"#,
        ),
        (removed(0, 0), r#"{"kind":"pool_removed","pool":"p"}"#),
        (removed(3, 2), r#"{"kind":"pool_removed","pool":"p","claims":3,"requests":2}"#),
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
            Event::Claim(ClaimEvent::QuarantineEnded(QuarantineEnded {
                pool: pool.clone(),
                first: 7,
                key: Some(key.clone()),
                was: was(Kind::Id32, one()),
            })),
            r#"{"kind":"quarantine_ended","pool":"p","key":"k","owner":"t7","value":7,"values":[7]}"#,
        ),
    ] {
        assert_eq!(shown(event, None), json);
    }
}

#[test]
fn capacity_is_shown_with_what_the_event_knows() {
    let (host, other) = (Uuid(1), Uuid(2));
    let (project, user): (Arc<str>, Arc<str>) = ("red".into(), "anna".into());
    let held = || vec![Allocated { provider: host, resources: vec![("VCPU".into(), 2)] }];
    let (generation, at_ms) = (3, 0);
    let inventory = Inventory { reserved: 1, ..Inventory::of(8) };
    let set = InventorySet { class: "VCPU".into(), inventory, written: true };
    let traits = vec!["HW_CPU_X86_AVX2".into()];
    let name: Arc<str> = "host-1".into();
    let class: Arc<str> = "CUSTOM_GOLD".into();
    for (event, json) in [
        (
            Event::Capacity(CapacityEvent::ProviderDefined(ProviderDefined {
                provider: host,
                name: name.clone(),
                parent: Some(other),
                at_ms,
            })),
            r#"{"kind":"provider_defined","provider":"00000000-0000-0000-0000-000000000001","name":"host-1","parent":"00000000-0000-0000-0000-000000000002"}"#,
        ),
        (
            Event::Capacity(CapacityEvent::ProviderRemoved(ProviderRemoved {
                provider: host,
                name,
            })),
            r#"{"kind":"provider_removed","provider":"00000000-0000-0000-0000-000000000001","name":"host-1"}"#,
        ),
        (
            Event::Capacity(CapacityEvent::InventoriesSet(InventoriesSet {
                provider: host,
                generation,
                inventories: vec![set],
                at_ms,
            })),
            r#"{"kind":"inventories_set","provider":"00000000-0000-0000-0000-000000000001","generation":3,"inventories":{"VCPU":{"total":8,"reserved":1,"min_unit":1,"max_unit":2147483647,"step_size":1,"allocation_ratio":1.0,"capacity":7}}}"#,
        ),
        (
            Event::Capacity(CapacityEvent::TraitsSet(TraitsSet {
                provider: host,
                generation,
                traits,
                at_ms,
            })),
            r#"{"kind":"traits_set","provider":"00000000-0000-0000-0000-000000000001","generation":3,"traits":["HW_CPU_X86_AVX2"]}"#,
        ),
        (
            Event::Capacity(CapacityEvent::AggregatesSet(AggregatesSet {
                provider: host,
                generation,
                aggregates: vec![other],
                at_ms,
            })),
            r#"{"kind":"aggregates_set","provider":"00000000-0000-0000-0000-000000000001","generation":3,"aggregates":["00000000-0000-0000-0000-000000000002"]}"#,
        ),
        (
            Event::Capacity(CapacityEvent::ClassDefined(ClassDefined {
                class: class.clone(),
                was: None,
                at_ms,
            })),
            r#"{"kind":"class_defined","class":"CUSTOM_GOLD","was":null}"#,
        ),
        (
            Event::Capacity(CapacityEvent::ClassRemoved(ClassRemoved { class })),
            r#"{"kind":"class_removed","class":"CUSTOM_GOLD"}"#,
        ),
        (
            Event::Capacity(CapacityEvent::TraitDefined(TraitDefined {
                name: "CUSTOM_RAID".into(),
                at_ms,
            })),
            r#"{"kind":"trait_defined","trait":"CUSTOM_RAID"}"#,
        ),
        (
            Event::Capacity(CapacityEvent::TraitRemoved(TraitRemoved {
                name: "CUSTOM_RAID".into(),
            })),
            r#"{"kind":"trait_removed","trait":"CUSTOM_RAID"}"#,
        ),
        (
            Event::Capacity(CapacityEvent::AllocationsSet(AllocationsSet {
                consumer: Uuid(9),
                generation,
                project: project.clone(),
                user: user.clone(),
                consumer_type: Some("INSTANCE".into()),
                allocations: held(),
                expires_ms: Some(1000),
                reclaim: Reclaim::Keep,
                left: vec![other],
                at_ms,
            })),
            r#"{"kind":"allocations_set","consumer":"00000000-0000-0000-0000-000000000009","generation":3,"project":"red","user":"anna","type":"INSTANCE","allocations":{"00000000-0000-0000-0000-000000000001":{"VCPU":2}},"left":["00000000-0000-0000-0000-000000000002"],"expires":"1970-01-01T00:00:01.000Z","reclaim":"keep"}"#,
        ),
        (
            Event::Capacity(CapacityEvent::AllocationsExtended(AllocationsExtended {
                consumer: Uuid(9),
                generation,
                expires_ms: None,
                reclaim: Reclaim::Reap,
            })),
            r#"{"kind":"allocations_extended","consumer":"00000000-0000-0000-0000-000000000009","generation":3,"expires":null}"#,
        ),
        (
            Event::Capacity(CapacityEvent::AllocationsReleased(AllocationsReleased {
                consumer: Uuid(9),
                generation,
                project,
                user,
                cause: ReleaseCause::Reaped,
                was: held(),
            })),
            r#"{"kind":"allocations_released","consumer":"00000000-0000-0000-0000-000000000009","generation":3,"project":"red","user":"anna","allocations":{"00000000-0000-0000-0000-000000000001":{"VCPU":2}},"cause":"reaped"}"#,
        ),
    ] {
        let named =
            Projection::of(&event).map(|about| format!("{{\"kind\":\"{}\"", about.kind.name()));
        assert!(json.starts_with(&named.unwrap()), "{json}");
        assert_eq!(shown(event, None), json);
    }
}

#[test]
fn requests_and_alarms_are_shown_with_why_and_for_whom() {
    let (pool, key): (Arc<str>, Arc<str>) = ("lan1".into(), "a".into());
    let answered = |answer| {
        let want = Wanted::Id(WantedId::default());
        let services = vec!["/services/vpn".into()];
        let (user, redeploy, sync_alloc) = ("admin".into(), None, false);
        let request =
            Request { user, services, redeploy, sync_alloc, want, site: Default::default() };
        let (pool, key) = (pool.clone(), key.clone());
        let version = 0;
        Event::Requests(RequestsEvent::Answered(RequestAnswered {
            pool,
            key,
            request,
            answer,
            version,
        }))
    };
    let alarm = |object: &str, kind, raised| {
        let (object, ids, at_ms) = (object.into(), true, 0);
        Event::Alarm(AlarmEvent::Changed(AlarmChanged { object, kind, ids, raised, at_ms }))
    };
    for (event, json) in [
        (
            answered(Answer::Granted),
            r#"{"kind":"request_answered","pool":"lan1","key":"a","services":["/services/vpn"],"failure":null}"#,
        ),
        (
            answered(Answer::Failed(Failure::IdUnavailable(7))),
            r#"{"kind":"request_answered","pool":"lan1","key":"a","services":["/services/vpn"],"failure":"id_unavailable"}"#,
        ),
        (
            answered(Answer::Wanted),
            r#"{"kind":"request_answered","pool":"lan1","key":"a","services":["/services/vpn"],"failure":null,"wanted":true}"#,
        ),
        (
            Event::Requests(RequestsEvent::Withdrawn(RequestWithdrawn {
                pool: pool.clone(),
                key: key.clone(),
                version: 0,
            })),
            r#"{"kind":"request_withdrawn","pool":"lan1","key":"a"}"#,
        ),
        (
            alarm("lan1", AlarmKind::OddLow, true),
            r#"{"kind":"alarm_changed","object":"lan1","alarm":"odd_low","of":"id-pool","raised":true}"#,
        ),
        (
            alarm("/services/vpn", AlarmKind::Undelivered, false),
            r#"{"kind":"alarm_changed","object":"/services/vpn","alarm":"undelivered","of":"service","raised":false}"#,
        ),
    ] {
        let named =
            Projection::of(&event).map(|about| format!("{{\"kind\":\"{}\"", about.kind.name()));
        assert!(json.starts_with(&named.unwrap()), "{json}");
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
    let forgotten =
        Event::Idempotency(IdempotencyEvent::Expired(IdempotencyExpired { key: "k".into() }));
    assert!(change(17, 0, [&forgotten], &|_| None, ReasonDetail::Full).is_none());
    assert!(Projection::of(&forgotten).is_none());
    assert!(change(17, 0, [], &|_| None, ReasonDetail::Full).is_none());
    let counted = ProviderCounted { provider: Uuid(1), generation: 2, at_ms: 0 };
    assert!(Projection::of(&Event::Capacity(CapacityEvent::ProviderCounted(counted))).is_none());
}
