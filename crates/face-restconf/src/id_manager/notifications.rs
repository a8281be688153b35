//! Events of id pools as notifications.

use allod_core::claim::Values;
use allod_core::event::{
    ClaimEvent, ClaimGranted, Event, PoolDefined, PoolEvent, ReleaseCause, Was,
};
use allod_core::span::Span;
use allod_core::value::Kind;

use super::nodes::{ClaimNotificationNodes, IdManagerNodes};
use super::show::{expired_s, leaves};
use crate::tree::{DataNode, LeafValue};

/// The notification for an event about ids below 2^32.
pub(crate) fn of_event(nodes: &IdManagerNodes, event: &Event) -> Option<DataNode> {
    match event {
        Event::Pool(PoolEvent::Defined(defined)) => pool_defined(nodes, defined),
        Event::Pool(PoolEvent::Removed(removed)) => {
            let name = DataNode::leaf(nodes.deleted_pool_name, &removed.pool);
            Some(DataNode::inner(nodes.pool_deleted, vec![name]))
        }
        Event::Claim(ClaimEvent::Granted(granted)) => {
            let ClaimGranted { pool, key, values, expires_ms, .. } = granted;
            let ids = ids(granted.kind, values)?;
            let expiry = DataNode::leaf(nodes.allocated_expiry, lease(*expires_ms));
            Some(claim(&nodes.id_allocated, pool, key, &ids, expiry))
        }
        Event::Claim(ClaimEvent::LeaseChanged(changed)) => {
            let ids = was_ids(changed.was.as_ref())?;
            let expiry = DataNode::leaf(nodes.changed_expiry, lease(changed.expires_ms));
            Some(claim(&nodes.id_lease_changed, &changed.pool, &changed.key, &ids, expiry))
        }
        Event::Claim(ClaimEvent::Released(released)) => {
            let ids = was_ids(released.was.as_ref())?;
            let cause = match released.cause {
                ReleaseCause::Asked => "released",
                ReleaseCause::Taken | ReleaseCause::Reaped => "expired",
            };
            let cause = DataNode::leaf(nodes.release_cause, cause);
            Some(claim(&nodes.id_released, &released.pool, &released.key, &ids, cause))
        }
        // Block allocation does not change who holds an id, and the other events are not about ids.
        Event::Claim(ClaimEvent::QuarantineEnded(_))
        | Event::Idempotency(_)
        | Event::Capacity(_)
        | Event::Blocks(_)
        | Event::Requests(_)
        | Event::Alarm(_)
        | Event::Outbox(_) => None,
    }
}

fn pool_defined(nodes: &IdManagerNodes, defined: &PoolDefined) -> Option<DataNode> {
    let members = defined.spec.members();
    let span = Span { first: members.first()?.first, last: members.last()?.last };
    let (low, high) = fits(defined.spec.kind, span)?;
    let nodes = if defined.generation == 1 { &nodes.pool_created } else { &nodes.pool_changed };
    let leaves = vec![
        DataNode::leaf(nodes.pool_name, &defined.pool),
        DataNode::leaf(nodes.low, LeafValue::Uint(low)),
        DataNode::leaf(nodes.high, LeafValue::Uint(high)),
    ];
    Some(DataNode::inner(nodes.node, leaves))
}

fn claim(
    nodes: &ClaimNotificationNodes,
    pool: &str,
    key: &str,
    ids: &[Span],
    last: DataNode,
) -> DataNode {
    let mut children =
        vec![DataNode::leaf(nodes.pool_name, pool), DataNode::leaf(nodes.id_key, key)];
    children.extend(leaves(nodes.id_values, ids));
    children.push(last);
    DataNode::inner(nodes.node, children)
}

fn lease(expires_ms: Option<u64>) -> LeafValue {
    LeafValue::Uint(expired_s(expires_ms).into())
}

fn was_ids(was: Option<&Was>) -> Option<Vec<Span>> {
    was.and_then(|was| ids(Some(was.kind), &was.values))
}

fn ids(kind: Option<Kind>, values: &Values) -> Option<Vec<Span>> {
    let kind = kind?;
    values.spans().map(|span| fits(kind, span).map(|_| span)).collect()
}

/// The first and the last id, if they fit the id-manager's 32-bit ids.
fn fits(kind: Kind, span: Span) -> Option<(u64, u64)> {
    let number = |id: u128| u32::try_from(id).ok().map(u64::from);
    if kind == Kind::Id32 { Some((number(span.first)?, number(span.last)?)) } else { None }
}
