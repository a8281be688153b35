//! Events of id pools as notifications.

use allod_core::event::projection::Projection;
use allod_core::event::{ClaimEvent, Event, PoolDefined, PoolEvent, ReleaseCause};
use allod_core::span::Span;
use allod_core::value::Kind;

use super::nodes::{ClaimNotificationNodes, IdManagerNodes};
use super::show::{expired_s, leaves};
use crate::tree::DataNode;

/// The notification for an event about ids below 2^32.
pub(crate) fn of_event(nodes: &IdManagerNodes, event: &Event) -> Option<DataNode> {
    match event {
        Event::Pool(PoolEvent::Defined(defined)) => pool_defined(nodes, defined),
        Event::Pool(PoolEvent::Removed(removed)) => {
            let name = DataNode::leaf(nodes.deleted_pool_name, &removed.pool);
            Some(DataNode::inner(nodes.pool_deleted, vec![name]))
        }
        Event::Claim(ClaimEvent::Granted(granted)) => {
            let expiry = expired_s(granted.expires_ms);
            claim(&nodes.id_allocated, event, DataNode::leaf(nodes.allocated_expiry, expiry))
        }
        Event::Claim(ClaimEvent::LeaseChanged(changed)) => {
            let expiry = expired_s(changed.expires_ms);
            claim(&nodes.id_lease_changed, event, DataNode::leaf(nodes.changed_expiry, expiry))
        }
        Event::Claim(ClaimEvent::Released(released)) => {
            let cause = match released.cause {
                ReleaseCause::Asked => "released",
                ReleaseCause::Taken | ReleaseCause::Reaped => "expired",
            };
            claim(&nodes.id_released, event, DataNode::leaf(nodes.release_cause, cause))
        }
        // Block allocation does not change who holds an id, and the other events are not about ids.
        Event::Claim(ClaimEvent::QuarantineEnded(_))
        | Event::Idempotency(_)
        | Event::Capacity(_)
        | Event::Blocks(_)
        | Event::Requests(_)
        | Event::Authority(_)
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
        DataNode::leaf(nodes.low, low),
        DataNode::leaf(nodes.high, high),
    ];
    Some(DataNode::inner(nodes.node, leaves))
}

/// The notification about the ids of a claim.
fn claim(nodes: &ClaimNotificationNodes, event: &Event, last: DataNode) -> Option<DataNode> {
    let about = Projection::of(event)?;
    let (kind, values) = about.values?;
    let ids: Option<Vec<Span>> =
        values.spans().map(|span| fits(kind?, span).map(|_| span)).collect();
    let mut children = vec![
        DataNode::leaf(nodes.pool_name, about.pool?),
        DataNode::leaf(nodes.id_key, about.key?),
    ];
    children.extend(leaves(nodes.id_values, &ids?));
    children.push(last);
    Some(DataNode::inner(nodes.node, children))
}

/// The first and the last id, if they fit the id-manager's 32-bit ids.
fn fits(kind: Kind, span: Span) -> Option<(u64, u64)> {
    let number = |id: u128| u32::try_from(id).ok().map(u64::from);
    if kind == Kind::Id32 { Some((number(span.first)?, number(span.last)?)) } else { None }
}
