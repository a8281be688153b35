//! What has happened to pools of ids, as notifications.

use allod_core::claim::Values;
use allod_core::event::ClaimEvent;
use allod_core::event::PoolEvent;
use allod_core::event::{ClaimGranted, Event, PoolDefined, ReleaseCause, Was};
use allod_core::span::Span;
use allod_core::value::Kind;

use super::nodes::{ClaimTold, Nodes, PoolTold};
use super::show::{expired_s, leaves};
use crate::tree::{Node, Value};

/// The notification that an event becomes, if it is about ids below 2^32.
pub(crate) fn told(nodes: &Nodes, event: &Event) -> Option<Node> {
    match event {
        Event::Pool(PoolEvent::Defined(defined)) => pool_defined(nodes, defined),
        Event::Pool(PoolEvent::Removed(removed)) => {
            Some(pool(&nodes.pool_deleted, &removed.pool, None))
        }
        Event::Claim(ClaimEvent::Granted(granted)) => {
            let ClaimGranted { pool, key, values, expires_ms, .. } = granted;
            let ids = ids(granted.kind, values)?;
            Some(claim(&nodes.allocated_told, pool, key, &ids, lease(*expires_ms)))
        }
        Event::Claim(ClaimEvent::LeaseChanged(changed)) => {
            let ids = was_ids(changed.was.as_ref())?;
            let until = lease(changed.expires_ms);
            Some(claim(&nodes.lease_told, &changed.pool, &changed.key, &ids, until))
        }
        Event::Claim(ClaimEvent::Released(released)) => {
            let ids = was_ids(released.was.as_ref())?;
            let cause = Value::text(match released.cause {
                ReleaseCause::Asked => "released",
                ReleaseCause::Taken | ReleaseCause::Reaped => "expired",
            });
            Some(claim(&nodes.released_told, &released.pool, &released.key, &ids, cause))
        }
        // The account of a pool says nothing about who holds what, and the rest is not about ids.
        Event::Claim(ClaimEvent::QuarantineEnded(_))
        | Event::Idempotency(_)
        | Event::Capacity(_)
        | Event::Blocks(_)
        | Event::Requests(_)
        | Event::Alarm(_)
        | Event::Outbox(_) => None,
    }
}

fn pool_defined(nodes: &Nodes, defined: &PoolDefined) -> Option<Node> {
    let members = defined.spec.members();
    let span = Span { first: members.first()?.first, last: members.last()?.last };
    let range = fits(defined.spec.kind, span)?;
    let told = if defined.generation == 1 { &nodes.pool_created } else { &nodes.pool_changed };
    Some(pool(told, &defined.pool, Some(range)))
}

fn pool(told: &PoolTold, name: &str, range: Option<(u64, u64)>) -> Node {
    let mut leaves = vec![Node::leaf(told.pool_name, Value::text(name))];
    if let (Some((low, high)), Some((first, last))) = (told.range, range) {
        leaves.push(Node::leaf(low, Value::Uint(first)));
        leaves.push(Node::leaf(high, Value::Uint(last)));
    }
    Node::inner(told.node, leaves)
}

fn claim(told: &ClaimTold, pool: &str, key: &str, ids: &[Span], last: Value) -> Node {
    let mut children = vec![
        Node::leaf(told.pool_name, Value::text(pool)),
        Node::leaf(told.id_key, Value::text(key)),
    ];
    children.extend(leaves(told.id_values, ids));
    children.push(Node::leaf(told.last, last));
    Node::inner(told.node, children)
}

fn lease(expires_ms: Option<u64>) -> Value {
    Value::Uint(expired_s(expires_ms).into())
}

fn was_ids(was: Option<&Was>) -> Option<Vec<Span>> {
    was.and_then(|was| ids(Some(was.kind), &was.values))
}

fn ids(kind: Option<Kind>, values: &Values) -> Option<Vec<Span>> {
    let kind = kind?;
    values.spans().map(|span| fits(kind, span).map(|_| span)).collect()
}

/// First and last, if they are ids that the id-manager can speak of.
fn fits(kind: Kind, span: Span) -> Option<(u64, u64)> {
    let number = |id: u128| u32::try_from(id).ok().map(u64::from);
    if kind == Kind::Id32 { Some((number(span.first)?, number(span.last)?)) } else { None }
}
