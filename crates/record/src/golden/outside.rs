//! Samples of request pools and requests that are answered from outside, and of nodes of a site's own modules.

use std::sync::Arc;

use allod_core::authority::RefusalCode;
use allod_core::event::Event;
use allod_core::requests::event::{
    RequestAnswered, RequestPoolDefined, RequestWithdrawn, RequestsEvent,
};
use allod_core::requests::{
    AlarmSettings, Allocator, Answer, AnsweredRequest, Failure, IdSupply, OutsideFailure, Request,
    RequestPool, SiteNode, SiteValue, Supply, Wanted, WantedId,
};
use allod_core::state::restore::PoolImage;

use super::samples::Sample;
use crate::checkpoint::{CheckpointPart, Header};

pub(super) fn all() -> Vec<(&'static str, Sample)> {
    let event = |event: RequestsEvent| Sample::Event(Event::Requests(event));
    let answered = |answer, version| {
        let (pool, key, request) = ("lan1".into(), "a".into(), request());
        event(RequestsEvent::Answered(RequestAnswered { pool, key, request, answer, version }))
    };
    let defined = |allocator: Option<Allocator>| {
        let config = RequestPool { allocator, ..pool() };
        event(RequestsEvent::PoolDefined(RequestPoolDefined { pool: "lan1".into(), config }))
    };
    let refused = |code, text: &str| {
        Answer::Failed(Failure::Outside(OutsideFailure { code, text: text.into() }))
    };
    let withdrawn = RequestWithdrawn { pool: "lan1".into(), key: "a".into(), version: 12 };
    let header = Header { level: 7, position: 13, now_ms: 1_000 };
    let image = PoolImage {
        name: "lan1".into(),
        generation: 2,
        spec: pool().spec(),
        cursor: None,
        released: vec![],
        blocks: None,
        requests: Some((pool(), 12)),
    };
    let asked = AnsweredRequest {
        key: "a".into(),
        request: Arc::new(request()),
        answer: Answer::Wanted,
        version: 12,
    };
    vec![
        ("47-resource_pool_defined-v2", defined(Some(Allocator::External))),
        (
            "47-resource_pool_defined-v2-authority",
            defined(Some(Allocator::Authority("ipam".into()))),
        ),
        ("47-resource_pool_defined-v2-internal", defined(Some(Allocator::Internal))),
        ("47-resource_pool_defined-v2-site", defined(None)),
        ("48-request_answered-v2", answered(Answer::Wanted, 12)),
        ("48-request_answered-v2-granted", answered(Answer::Granted, 12)),
        ("48-request_answered-v2-own", answered(Answer::Failed(Failure::Exhausted), 0)),
        ("48-request_answered-v2-refused", answered(refused(None, "not today"), 12)),
        (
            "48-request_answered-v2-authority",
            answered(refused(Some(RefusalCode::Exhausted), "no value is free"), 12),
        ),
        ("49-request_withdrawn-v2", event(RequestsEvent::Withdrawn(withdrawn))),
        (
            "65-checkpoint_pool-v5",
            Sample::Checkpoint(
                header,
                vec![
                    CheckpointPart::Pool(Box::new(image)),
                    CheckpointPart::Request(asked),
                    CheckpointPart::End,
                ],
            ),
        ),
    ]
}

fn pool() -> RequestPool {
    let supply = IdSupply { start: 5, end: 9, exclude: vec![], alarm_base: 4 };
    let site = node("acme:vrf", SiteValue::Text("red".into()));
    let allocator = Some(Allocator::Authority("ipam".into()));
    let (supply, site) = (Supply::Ids(supply), Arc::from([site]));
    RequestPool { supply, alarms: AlarmSettings::default(), allocator, site }
}

fn request() -> Request {
    let site = [
        node("acme:cost", SiteValue::Json("7".into())),
        node("request/acme:rack", SiteValue::Text("r1".into())),
    ];
    Request {
        user: "admin".into(),
        services: vec!["/services/vpn{a}".into()],
        redeploy: None,
        sync_alloc: false,
        want: Wanted::Id(WantedId { id: Some(7), ..WantedId::default() }),
        site: Arc::from(site),
    }
}

fn node(path: &str, value: SiteValue) -> SiteNode {
    SiteNode { path: path.into(), value }
}
