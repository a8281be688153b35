//! Samples of request pools, alarms and notifications.

use std::sync::Arc;

use allod_core::alarm::AlarmKind;
use allod_core::alarm::{AlarmChanged, AlarmEvent, AlarmPurged};
use allod_core::claim::Parity;
use allod_core::event::{Event, PoolEvent, PoolRemoved};
use allod_core::outbox::{DeliveryFailed, NotificationClosed, NotificationQueued, OutboxEvent};
use allod_core::requests::event::{
    RequestAnswered, RequestPoolDefined, RequestWithdrawn, RequestsEvent, Retry, RetryScheduled,
};
use allod_core::requests::{
    AddressSupply, AlarmSettings, Answer, AnsweredRequest, ExcludedIds, Failure, IdSupply, Method,
    Redeploy, Request, RequestPool, Subnet, Supply, Wanted, WantedId, WantedParity, WantedPrefix,
};
use allod_core::state::restore::PoolImage;
use allod_core::value::IpVersion;

use super::samples::{AT_MS, Sample, checkpoint};
use crate::checkpoint::CheckpointPart;

pub(super) fn all() -> Vec<(&'static str, Sample)> {
    let event = |event: Event| Sample::Event(event);
    let lan: Arc<str> = "lan1".into();
    let answered = |key: &str, request, answer| {
        let (pool, key) = ("lan1".into(), key.into());
        event(Event::Requests(RequestsEvent::Answered(RequestAnswered {
            pool,
            key,
            request,
            answer,
            version: 0,
        })))
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
            event(Event::Requests(RequestsEvent::Withdrawn(RequestWithdrawn {
                pool: lan,
                key: "a".into(),
                version: 0,
            }))),
        ),
        ("17-pool_removed-v2", event(removed(700, 900))),
        ("55-retry_scheduled-v1", event(scheduled(Some("lan1"), Some(retry())))),
        ("55-retry_scheduled-v1-groups", event(scheduled(None, Some(Retry::all(AT_MS, true))))),
        ("55-retry_scheduled-v1-done", event(scheduled(Some("lan1"), None))),
        ("50-alarm_changed-v1", event(alarm())),
        (
            "51-alarm_purged-v1",
            event(Event::Alarm(AlarmEvent::Purged(AlarmPurged { object, kind }))),
        ),
        ("52-notice_queued-v1", event(Event::Outbox(OutboxEvent::Queued(queued())))),
        ("53-notice_tried-v1", event(Event::Outbox(OutboxEvent::DeliveryFailed(tried())))),
        (
            "54-notice_settled-v1",
            event(Event::Outbox(OutboxEvent::Closed(NotificationClosed {
                number: 1 << 40,
                delivered: true,
            }))),
        ),
        ("65-checkpoint_pool-v3", checkpoint(&[pool()])),
        (
            "67-checkpoint_ended-v3",
            checkpoint(&[
                pool(),
                CheckpointPart::Request(AnsweredRequest {
                    key: "a".into(),
                    request: Arc::new(id_request()),
                    answer: Answer::Failed(Failure::Exhausted),
                    version: 0,
                }),
                CheckpointPart::Event(Event::Outbox(OutboxEvent::Queued(queued()))),
                CheckpointPart::Event(Event::Outbox(OutboxEvent::DeliveryFailed(tried()))),
                CheckpointPart::Event(alarm()),
            ]),
        ),
    ]
}

fn removed(claims: u64, requests: u64) -> Event {
    Event::Pool(PoolEvent::Removed(PoolRemoved { pool: "lan1".into(), claims, requests }))
}

fn scheduled(pool: Option<&str>, retry: Option<Retry>) -> Event {
    let pool = pool.map(Arc::from);
    Event::Requests(RequestsEvent::RetryScheduled(RetryScheduled { pool, retry }))
}

fn retry() -> Retry {
    let (after, again) = (Some("c".into()), Some("b".into()));
    Retry { at_ms: AT_MS, after, upto: Some("x".into()), again, update: false }
}

fn defined(config: RequestPool) -> Event {
    Event::Requests(RequestsEvent::PoolDefined(RequestPoolDefined { pool: "lan1".into(), config }))
}

fn ids() -> RequestPool {
    let exclude = vec![ExcludedIds { start: 8, end: 30, flag: Some(true) }];
    let alarms = AlarmSettings { enabled: true, low: Some(10), low_odd: Some(50), low_even: None };
    let supply = IdSupply { start: 5, end: u32::MAX, exclude, alarm_base: u32::MAX - 5 };
    RequestPool::new(Supply::Ids(supply), alarms)
}

fn addresses() -> RequestPool {
    let subnet = |address, len| Subnet { address, len };
    let supply = AddressSupply {
        version: IpVersion::V4,
        subnets: vec![subnet(0x0a00_0000, 24)],
        exclude: vec![subnet(0x0a00_0001, 32)],
        ranges: vec![(0x0a00_0200, 0x0a00_02ff)],
        auto_redeploy: Some(false),
        sequential: Some(true),
    };
    RequestPool::new(Supply::Addresses(supply), AlarmSettings::default())
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
        site: Default::default(),
    }
}

fn net_request() -> Request {
    let want = WantedPrefix { size: 1, invert: true, start: Some((IpVersion::V4, 0x0a00_0010)) };
    let (user, services) = ("admin".into(), vec![]);
    Request {
        user,
        services,
        redeploy: None,
        sync_alloc: true,
        want: Wanted::Prefix(want),
        site: Default::default(),
    }
}

fn alarm() -> Event {
    let (object, kind) = ("lan1".into(), AlarmKind::Exhausted);
    Event::Alarm(AlarmEvent::Changed(AlarmChanged {
        object,
        kind,
        ids: true,
        raised: true,
        at_ms: AT_MS,
    }))
}

fn queued() -> NotificationQueued {
    NotificationQueued {
        number: 1 << 40,
        target: "/services/vpn{a}".into(),
        user: "admin".into(),
        payload: Redeploy::Default.payload(),
        about: vec![("lan1".into(), "a".into()), ("lan2".into(), "a".into())],
        at_ms: AT_MS,
    }
}

fn tried() -> DeliveryFailed {
    let error = "connection refused".into();
    DeliveryFailed { number: 1 << 40, attempts: 3, error, again_ms: Some(AT_MS + 4000) }
}

fn pool() -> CheckpointPart {
    CheckpointPart::Pool(Box::new(PoolImage {
        name: "lan1".into(),
        generation: 2,
        spec: ids().spec(),
        cursor: None,
        released: vec![],
        blocks: None,
        requests: Some((ids(), 12)),
    }))
}
