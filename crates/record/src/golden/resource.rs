//! Samples of what is stored about pools of resources, alarms and the outbox.

use std::sync::Arc;

use allod_core::claim::Parity;
use allod_core::event::Event;
use allod_core::event::resource::{
    AlarmChanged, AlarmPurged, NoticeQueued, NoticeSettled, NoticeTried, RequestAnswered,
    RequestWithdrawn, ResourcePoolDefined,
};
use allod_core::resource::{
    AlarmKind, AlarmSettings, Answer, ExcludedIds, Failure, Given, GivenAddresses, GivenIds,
    Method, Redeploy, Request, ResourcePool, Subnet, Wanted, WantedId, WantedParity, WantedPrefix,
};
use allod_core::state::requests::Asked;
use allod_core::state::restore::PoolImage;

use super::samples::{AT_MS, Sample, checkpoint};
use crate::checkpoint::Part;

pub(super) fn all() -> Vec<(&'static str, Sample)> {
    let event = |event: Event| Sample::Event(event);
    let lan: Arc<str> = "lan1".into();
    let answered = |key: &str, request, answer| {
        let (pool, key) = ("lan1".into(), key.into());
        event(Event::RequestAnswered(RequestAnswered { pool, key, request, answer }))
    };
    let (object, kind) = (lan.clone(), AlarmKind::Low);
    vec![
        ("47-resource_pool_defined-v1", event(defined(ids()))),
        ("47-resource_pool_defined-v1-addresses", event(defined(addresses()))),
        ("48-request_answered-v1", answered("a", id_request(), Answer::Granted)),
        (
            "48-request_answered-v1-failed",
            answered("net", net_request(), Answer::Failed(Failure::TooBig(vec![24, 24]))),
        ),
        (
            "49-request_withdrawn-v1",
            event(Event::RequestWithdrawn(RequestWithdrawn { pool: lan, key: "a".into() })),
        ),
        ("50-alarm_changed-v1", event(alarm())),
        ("51-alarm_purged-v1", event(Event::AlarmPurged(AlarmPurged { object, kind }))),
        ("52-notice_queued-v1", event(Event::NoticeQueued(queued()))),
        ("53-notice_tried-v1", event(Event::NoticeTried(tried()))),
        (
            "54-notice_settled-v1",
            event(Event::NoticeSettled(NoticeSettled { number: 1 << 40, delivered: true })),
        ),
        ("65-checkpoint_pool-v3", checkpoint(&[pool()])),
        (
            "67-checkpoint_ended-v3",
            checkpoint(&[
                pool(),
                Part::Asked(Asked {
                    key: "a".into(),
                    request: Arc::new(id_request()),
                    answer: Answer::Failed(Failure::Exhausted),
                }),
                Part::Told(Event::NoticeQueued(queued())),
                Part::Told(Event::NoticeTried(tried())),
                Part::Told(alarm()),
            ]),
        ),
    ]
}

fn defined(config: ResourcePool) -> Event {
    Event::ResourcePoolDefined(ResourcePoolDefined { pool: "lan1".into(), config })
}

fn ids() -> ResourcePool {
    let exclude = vec![ExcludedIds { start: 8, end: 30, stop_allocation: Some(true) }];
    let alarms = AlarmSettings { enabled: true, low: Some(10), low_odd: Some(50), low_even: None };
    ResourcePool { given: Given::Ids(GivenIds { start: 5, end: u32::MAX, exclude }), alarms }
}

fn addresses() -> ResourcePool {
    let subnet = |address, len| Subnet { address, len };
    let given = GivenAddresses {
        six: false,
        subnets: vec![subnet(0x0a00_0000, 24)],
        exclude: vec![subnet(0x0a00_0001, 32)],
        ranges: vec![(0x0a00_0200, 0x0a00_02ff)],
        auto_redeploy: Some(false),
        sequential: Some(true),
    };
    ResourcePool { given: Given::Addresses(given), alarms: AlarmSettings::default() }
}

fn id_request() -> Request {
    Request {
        user: "admin".into(),
        services: vec!["/services/vpn{a}".into(), "/services/vpn{b}".into()],
        redeploy: Some(Redeploy::Touch),
        sync_alloc: false,
        want: Wanted::Id(WantedId {
            sync: Some(true),
            id: Some(77),
            parity: Some(WantedParity::Only(Parity::Odd)),
            method: Some(Method::RoundRobin),
        }),
    }
}

fn net_request() -> Request {
    let want = WantedPrefix { size: 1, invert: true, start: Some((false, 0x0a00_0010)) };
    let (user, services) = ("admin".into(), vec![]);
    Request { user, services, redeploy: None, sync_alloc: true, want: Wanted::Prefix(want) }
}

fn alarm() -> Event {
    let (object, kind) = ("lan1".into(), AlarmKind::Exhausted);
    Event::AlarmChanged(AlarmChanged { object, kind, ids: true, raised: true, at_ms: AT_MS })
}

fn queued() -> NoticeQueued {
    NoticeQueued {
        number: 1 << 40,
        target: "/services/vpn{a}".into(),
        user: "admin".into(),
        how: Redeploy::Default,
        about: vec![("lan1".into(), "a".into()), ("lan2".into(), "a".into())],
        at_ms: AT_MS,
    }
}

fn tried() -> NoticeTried {
    let error = "connection refused".into();
    NoticeTried { number: 1 << 40, attempts: 3, error, again_ms: Some(AT_MS + 4000) }
}

fn pool() -> Part {
    Part::Pool(Box::new(PoolImage {
        name: "lan1".into(),
        generation: 2,
        spec: ids().spec(),
        cursor: None,
        released: vec![],
        account: None,
        resource: Some((ids(), 12)),
    }))
}
