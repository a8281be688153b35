//! Events of pools, requests, services and alarms as notifications.
//!
//! The answer to a request and the granted value are two events of one entry, so the events of an entry are handled
//! together.

use std::sync::Arc;

use allod_core::alarm::{AlarmChanged, AlarmEvent};
use allod_core::event::{ClaimEvent, ClaimGranted, ClaimReleased, Event, PoolEvent};
use allod_core::outbox::{NotificationQueued, OutboxEvent};
use allod_core::requests::Answer;
use allod_core::requests::event::{RequestAnswered, RequestWithdrawn, RequestsEvent};

use super::alarms::{self, AlarmKeyNodes};
use super::{ResourcePools, error_texts, outside};
use crate::tree::DataNode;
use crate::yang::node_set;

node_set! {
    pub(super) struct NotificationNodes {
        allocation: "allocation-changed",
        allocation_pool: "allocation-changed/pool",
        allocation_id: "allocation-changed/allocation",
        allocation_change: "allocation-changed/change",
        resource: "allocation-changed/resource",
        error: "allocation-changed/error",
        error_code: "allocation-changed/error-code",
        allocation_user: "allocation-changed/username",
        allocation_service: "allocation-changed/allocating-service",
        wanted: "request-wanted",
        wanted_pool: "request-wanted/pool",
        wanted_id: "request-wanted/allocation",
        wanted_version: "request-wanted/version",
        wanted_kind: "request-wanted/kind",
        wanted_user: "request-wanted/username",
        wanted_service: "request-wanted/allocating-service",
        parameter: "request-wanted/parameter",
        parameter_name: "request-wanted/parameter/name",
        parameter_value: "request-wanted/parameter/value",
        withdrawn: "request-withdrawn",
        withdrawn_pool: "request-withdrawn/pool",
        withdrawn_id: "request-withdrawn/allocation",
        withdrawn_version: "request-withdrawn/version",
        withdrawn_resource: "request-withdrawn/resource",
        pool: "pool-changed",
        pool_name: "pool-changed/pool",
        pool_change: "pool-changed/change",
        pool_kind: "pool-changed/kind",
        redeploy: "redeploy-requested",
        service: "redeploy-requested/service",
        user: "redeploy-requested/username",
        how: "redeploy-requested/redeploy-type",
        about: "redeploy-requested/allocation",
        about_pool: "redeploy-requested/allocation/pool",
        about_id: "redeploy-requested/allocation/id",
        alarm: "alarm",
        severity: "alarm/perceived-severity",
        text: "alarm/alarm-text",
        time: "alarm/event-time",
        @alarm_named: AlarmKeyNodes = "alarm",
    }
}

impl NotificationNodes {
    fn allocation(
        &self,
        pool: &Arc<str>,
        key: &Arc<str>,
        change: &str,
        more: Vec<DataNode>,
    ) -> DataNode {
        let mut leaves = vec![
            DataNode::leaf(self.allocation_pool, pool),
            DataNode::leaf(self.allocation_id, key),
            DataNode::leaf(self.allocation_change, change),
        ];
        leaves.extend(more);
        DataNode::inner(self.allocation, leaves)
    }

    fn answered(&self, event: &RequestAnswered, given: Option<&ClaimGranted>) -> DataNode {
        let RequestAnswered { pool, key, request, answer, .. } = event;
        let mut leaves = Vec::new();
        let change = match answer {
            Answer::Wanted => "wanted",
            Answer::Granted => {
                let kind = given.and_then(|given| given.kind);
                let value = given.zip(kind).map(|(given, kind)| kind.show(given.values.first()));
                leaves.extend(value.map(|value| DataNode::leaf(self.resource, value)));
                "granted"
            }
            Answer::Failed(failure) => {
                let text = error_texts::error(pool, request, failure);
                leaves.push(DataNode::leaf(self.error, text));
                leaves.push(DataNode::leaf(self.error_code, failure.code()));
                "failed"
            }
        };
        leaves.push(DataNode::leaf(self.allocation_user, &request.user));
        let services = request.services.iter();
        leaves.extend(services.map(|service| DataNode::leaf(self.allocation_service, service)));
        self.allocation(pool, key, change, leaves)
    }

    /// A request that waits for an answer from outside.
    fn wanted(&self, model: &ResourcePools, event: &RequestAnswered) -> DataNode {
        let RequestAnswered { pool, key, request, version, .. } = event;
        let mut leaves = vec![
            DataNode::leaf(self.wanted_pool, pool),
            DataNode::leaf(self.wanted_id, key),
            DataNode::leaf(self.wanted_version, *version),
        ];
        let kind = model.kinds.iter().find(|kind| kind.wants(&request.want));
        leaves.extend(kind.map(|kind| DataNode::leaf(self.wanted_kind, kind.label())));
        leaves.push(DataNode::leaf(self.wanted_user, &request.user));
        let services = request.services.iter();
        leaves.extend(services.map(|service| DataNode::leaf(self.wanted_service, service)));
        let parameters = kind.map(|kind| outside::parameters(&model.schema, &**kind, request));
        leaves.extend(parameters.into_iter().flatten().map(|(name, value)| {
            let name = DataNode::leaf(self.parameter_name, name);
            let value = DataNode::leaf(self.parameter_value, &value);
            DataNode::inner(self.parameter, vec![name, value])
        }));
        DataNode::inner(self.wanted, leaves)
    }

    /// `released`: the release of its value in the same entry.
    fn withdrawn(&self, event: &RequestWithdrawn, released: Option<&ClaimReleased>) -> DataNode {
        let mut leaves = vec![
            DataNode::leaf(self.withdrawn_pool, &event.pool),
            DataNode::leaf(self.withdrawn_id, &event.key),
            DataNode::leaf(self.withdrawn_version, event.version),
        ];
        let was = released.and_then(|released| released.was.as_ref());
        leaves.extend(
            was.map(|was| {
                DataNode::leaf(self.withdrawn_resource, was.kind.show(was.values.first()))
            }),
        );
        DataNode::inner(self.withdrawn, leaves)
    }

    fn pool(&self, pool: &Arc<str>, change: &str, kind: Option<&'static str>) -> DataNode {
        let mut leaves =
            vec![DataNode::leaf(self.pool_name, pool), DataNode::leaf(self.pool_change, change)];
        leaves.extend(kind.map(|kind| DataNode::leaf(self.pool_kind, kind)));
        DataNode::inner(self.pool, leaves)
    }

    fn redeploy(&self, notice: &NotificationQueued) -> DataNode {
        let mut leaves = vec![
            DataNode::leaf(self.service, &notice.target),
            DataNode::leaf(self.user, &notice.user),
            DataNode::leaf(self.how, notice.payload.0),
        ];
        leaves.extend(notice.about.iter().map(|(pool, key)| {
            let pool = DataNode::leaf(self.about_pool, pool);
            DataNode::inner(self.about, vec![pool, DataNode::leaf(self.about_id, key)])
        }));
        DataNode::inner(self.redeploy, leaves)
    }

    fn alarm(&self, changed: &AlarmChanged) -> DataNode {
        let AlarmChanged { object, kind, ids, raised, at_ms } = changed;
        let mut leaves = self.alarm_named.leaves(object, *kind, *ids);
        leaves.extend([
            DataNode::leaf(self.severity, alarms::severity(*kind, *raised)),
            DataNode::leaf(self.text, alarms::severity_and_text(*kind).1),
            DataNode::leaf(self.time, alarms::time_value(*at_ms)),
        ]);
        DataNode::inner(self.alarm, leaves)
    }
}

/// The notifications for the events of one entry.
pub(super) fn of_entry(model: &ResourcePools, events: &[Event]) -> Vec<DataNode> {
    let nodes = &model.notification_nodes;
    // The last grant; the answer that follows is about it.
    let mut given: Option<&ClaimGranted> = None;
    // The last release; the withdrawal that follows is about it.
    let mut released: Option<&ClaimReleased> = None;
    let mut notifications = Vec::new();
    for event in events {
        match event {
            Event::Claim(ClaimEvent::Granted(granted)) => given = Some(granted),
            Event::Claim(ClaimEvent::Released(event)) => released = Some(event),
            Event::Requests(RequestsEvent::Answered(wanted)) if wanted.answer == Answer::Wanted => {
                notifications.push(nodes.wanted(model, wanted));
            }
            Event::Requests(RequestsEvent::Answered(answered)) => {
                let own = given.take();
                let own = own.filter(|one| one.pool == answered.pool && one.key == answered.key);
                notifications.push(nodes.answered(answered, own));
            }
            Event::Requests(RequestsEvent::Withdrawn(withdrawn)) => {
                notifications.push(nodes.allocation(
                    &withdrawn.pool,
                    &withdrawn.key,
                    "withdrawn",
                    vec![],
                ));
                if withdrawn.version > 0 {
                    let own = released.take();
                    let own =
                        own.filter(|one| one.pool == withdrawn.pool && one.key == withdrawn.key);
                    notifications.push(nodes.withdrawn(withdrawn, own));
                }
            }
            Event::Requests(RequestsEvent::PoolDefined(defined)) => {
                let kind = model.kinds.iter().find(|kind| kind.is(&defined.config));
                let kind = kind.map(|kind| kind.label());
                notifications.push(nodes.pool(&defined.pool, "defined", kind));
            }
            Event::Pool(PoolEvent::Removed(removed)) => {
                notifications.push(nodes.pool(&removed.pool, "removed", None))
            }
            Event::Outbox(OutboxEvent::Queued(notice)) => {
                notifications.push(nodes.redeploy(notice))
            }
            Event::Alarm(AlarmEvent::Changed(changed)) => notifications.push(nodes.alarm(changed)),
            // Claims are reported with their requests, a retry with what it grants, and deliveries not at all.
            Event::Requests(RequestsEvent::RetryScheduled(_)) => {}
            Event::Pool(PoolEvent::Defined(_))
            | Event::Claim(ClaimEvent::LeaseChanged(_) | ClaimEvent::QuarantineEnded(_))
            | Event::Idempotency(_)
            | Event::Capacity(_)
            | Event::Blocks(_)
            | Event::Alarm(AlarmEvent::Purged(_))
            | Event::Authority(_)
            | Event::Outbox(OutboxEvent::DeliveryFailed(_) | OutboxEvent::Closed(_)) => {}
        }
    }
    notifications
}
