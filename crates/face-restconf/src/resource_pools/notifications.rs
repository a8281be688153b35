//! What has happened to pools, requests, services and alarms, as notifications.
//!
//! That a request has been answered and what it has got are two events of one entry, so that all events of an entry are looked
//! at together.

use std::sync::Arc;

use allod_core::alarm::event::AlarmChanged;
use allod_core::alarm::event::AlarmEvent;
use allod_core::event::ClaimEvent;
use allod_core::event::PoolEvent;
use allod_core::event::{ClaimGranted, Event};
use allod_core::outbox::event::NotificationQueued;
use allod_core::outbox::event::OutboxEvent;
use allod_core::requests::Answer;
use allod_core::requests::event::RequestAnswered;
use allod_core::requests::event::RequestsEvent;

use super::alarms::{self, Named};
use super::{ResourcePools, at, words};
use crate::tree::{Node, Value};
use crate::yang::{NodeId, Schema};

#[derive(Debug)]
pub(super) struct ToldNodes {
    allocation: NodeId,
    allocation_pool: NodeId,
    allocation_id: NodeId,
    allocation_change: NodeId,
    resource: NodeId,
    error: NodeId,
    error_code: NodeId,
    allocation_user: NodeId,
    allocation_service: NodeId,
    pool: NodeId,
    pool_name: NodeId,
    pool_change: NodeId,
    pool_kind: NodeId,
    redeploy: NodeId,
    service: NodeId,
    user: NodeId,
    how: NodeId,
    about: NodeId,
    about_pool: NodeId,
    about_id: NodeId,
    alarm: NodeId,
    alarm_named: Named,
    severity: NodeId,
    text: NodeId,
    time: NodeId,
}

impl ToldNodes {
    pub fn of(schema: &Schema) -> Result<ToldNodes, String> {
        let told = |rest: &str| at(schema, &format!("/allod-resource-pools:{rest}"));
        Ok(ToldNodes {
            allocation: told("allocation-changed")?,
            allocation_pool: told("allocation-changed/pool")?,
            allocation_id: told("allocation-changed/allocation")?,
            allocation_change: told("allocation-changed/change")?,
            resource: told("allocation-changed/resource")?,
            error: told("allocation-changed/error")?,
            error_code: told("allocation-changed/error-code")?,
            allocation_user: told("allocation-changed/username")?,
            allocation_service: told("allocation-changed/allocating-service")?,
            pool: told("pool-changed")?,
            pool_name: told("pool-changed/pool")?,
            pool_change: told("pool-changed/change")?,
            pool_kind: told("pool-changed/kind")?,
            redeploy: told("redeploy-requested")?,
            service: told("redeploy-requested/service")?,
            user: told("redeploy-requested/username")?,
            how: told("redeploy-requested/redeploy-type")?,
            about: told("redeploy-requested/allocation")?,
            about_pool: told("redeploy-requested/allocation/pool")?,
            about_id: told("redeploy-requested/allocation/id")?,
            alarm: told("alarm")?,
            alarm_named: Named::of(schema, "/allod-resource-pools:alarm")?,
            severity: told("alarm/perceived-severity")?,
            text: told("alarm/alarm-text")?,
            time: told("alarm/event-time")?,
        })
    }

    fn allocation(&self, pool: &Arc<str>, key: &Arc<str>, change: &str, more: Vec<Node>) -> Node {
        let mut leaves = vec![
            Node::leaf(self.allocation_pool, Value::Text(pool.clone())),
            Node::leaf(self.allocation_id, Value::Text(key.clone())),
            Node::leaf(self.allocation_change, Value::text(change)),
        ];
        leaves.extend(more);
        Node::inner(self.allocation, leaves)
    }

    fn answered(&self, event: &RequestAnswered, given: Option<&ClaimGranted>) -> Node {
        let RequestAnswered { pool, key, request, answer } = event;
        let mut leaves = Vec::new();
        let change = match answer {
            Answer::Granted => {
                let kind = given.and_then(|given| given.kind);
                let value = given.zip(kind).map(|(given, kind)| kind.show(given.values.first()));
                leaves.extend(value.map(|value| Node::leaf(self.resource, Value::text(value))));
                "granted"
            }
            Answer::Failed(failure) => {
                let text = words::error(pool, request, failure);
                leaves.push(Node::leaf(self.error, Value::text(text)));
                leaves.push(Node::leaf(self.error_code, Value::text(failure.code())));
                "failed"
            }
        };
        leaves.push(Node::leaf(self.allocation_user, Value::Text(request.user.clone())));
        let services = request.services.iter();
        leaves.extend(
            services
                .map(|service| Node::leaf(self.allocation_service, Value::Text(service.clone()))),
        );
        self.allocation(pool, key, change, leaves)
    }

    fn pool(&self, pool: &Arc<str>, change: &str, kind: Option<&'static str>) -> Node {
        let mut leaves = vec![
            Node::leaf(self.pool_name, Value::Text(pool.clone())),
            Node::leaf(self.pool_change, Value::text(change)),
        ];
        leaves.extend(kind.map(|kind| Node::leaf(self.pool_kind, Value::text(kind))));
        Node::inner(self.pool, leaves)
    }

    fn redeploy(&self, notice: &NotificationQueued) -> Node {
        let mut leaves = vec![
            Node::leaf(self.service, Value::Text(notice.target.clone())),
            Node::leaf(self.user, Value::Text(notice.user.clone())),
            Node::leaf(self.how, Value::text(notice.payload.0)),
        ];
        leaves.extend(notice.about.iter().map(|(pool, key)| {
            let pool = Node::leaf(self.about_pool, Value::Text(pool.clone()));
            Node::inner(self.about, vec![pool, Node::leaf(self.about_id, Value::Text(key.clone()))])
        }));
        Node::inner(self.redeploy, leaves)
    }

    fn alarm(&self, changed: &AlarmChanged) -> Node {
        let AlarmChanged { object, kind, ids, raised, at_ms } = changed;
        let mut leaves = self.alarm_named.leaves(object, *kind, *ids);
        leaves.extend([
            Node::leaf(self.severity, Value::text(alarms::severity(*kind, *raised))),
            Node::leaf(self.text, Value::text(alarms::wrong(*kind).1)),
            Node::leaf(self.time, alarms::shown_time(*at_ms)),
        ]);
        Node::inner(self.alarm, leaves)
    }
}

/// What the events of an entry tell.
pub(super) fn told(model: &ResourcePools, events: &[Event]) -> Vec<Node> {
    let nodes = &model.told;
    // What was granted last, which is what the answer that follows is about.
    let mut given: Option<&ClaimGranted> = None;
    let mut told = Vec::new();
    for event in events {
        match event {
            Event::Claim(ClaimEvent::Granted(granted)) => given = Some(granted),
            Event::Requests(RequestsEvent::Answered(answered)) => {
                let own = given.take();
                let own = own.filter(|one| one.pool == answered.pool && one.key == answered.key);
                told.push(nodes.answered(answered, own));
            }
            Event::Requests(RequestsEvent::Withdrawn(gone)) => {
                told.push(nodes.allocation(&gone.pool, &gone.key, "withdrawn", vec![]));
            }
            Event::Requests(RequestsEvent::PoolDefined(defined)) => {
                let kind = model.kinds.iter().find(|kind| kind.is(&defined.config));
                let kind = kind.map(|kind| kind.nodes().label);
                told.push(nodes.pool(&defined.pool, "defined", kind));
            }
            Event::Pool(PoolEvent::Removed(removed)) => {
                told.push(nodes.pool(&removed.pool, "removed", None))
            }
            Event::Outbox(OutboxEvent::Queued(notice)) => told.push(nodes.redeploy(notice)),
            Event::Alarm(AlarmEvent::Changed(changed)) => told.push(nodes.alarm(changed)),
            // What is held is told by what was asked, and how services are told by the outbox itself.
            Event::Pool(PoolEvent::Defined(_))
            | Event::Claim(
                ClaimEvent::LeaseChanged(_)
                | ClaimEvent::Released(_)
                | ClaimEvent::QuarantineEnded(_),
            )
            | Event::Idempotency(_)
            | Event::Capacity(_)
            | Event::Blocks(_)
            | Event::Alarm(AlarmEvent::Purged(_))
            | Event::Outbox(OutboxEvent::DeliveryFailed(_) | OutboxEvent::Closed(_)) => {}
        }
    }
    told
}
