//! How a pool is shown: as a parent, and as each of its children, node by node.
//!
//! Who holds what is given to these functions, so that a pool can be shown without it. What a request names of all this is
//! `read`'s.

use allod_core::blocks::command::{BlockPool, IdEntry};
use allod_core::blocks::{Child, ReleasedIds};
use allod_core::span::Span;

use super::nodes::Nodes;
use crate::tree::{Node, Sink, Stopped, Value};

/// One entry of the list of pools: a pool.
pub(crate) fn parent(
    nodes: &Nodes,
    name: &str,
    frame: &BlockPool,
    entries: &[IdEntry],
    sink: &mut dyn Sink,
) -> Result<(), Stopped> {
    if !sink.open(nodes.id_pool)? {
        return Ok(());
    }
    let layout = &frame.layout;
    sink.leaf(nodes.pool_name, &Value::text(name))?;
    sink.leaf(nodes.block_size, &Value::Uint(layout.block_size.into()))?;
    for child in &layout.children {
        if !sink.open(nodes.child_pools)? {
            continue;
        }
        sink.leaf(nodes.child_pool_name, &Value::Text(child.name.clone()))?;
        // A child that was only ever written by hand may never have handed out anything.
        if child.access_s > 0 {
            sink.leaf(nodes.last_access_time, &Value::Uint(child.access_s.into()))?;
        }
        sink.close()?;
    }
    entries.iter().try_for_each(|entry| id_entry(nodes, entry, sink))?;
    available(nodes, frame.low, frame.high, layout.cursor, sink)?;
    released(nodes, 0, &layout.released, sink)?;
    sink.close()
}

/// One entry of the list of pools: a child. `entries` are shown in it when the pool is an enhanced one.
pub(crate) fn child(
    nodes: &Nodes,
    name: &str,
    frame: &BlockPool,
    child: &Child,
    entries: &[IdEntry],
    sink: &mut dyn Sink,
) -> Result<(), Stopped> {
    if !sink.open(nodes.id_pool)? {
        return Ok(());
    }
    sink.leaf(nodes.pool_name, &Value::Text(child.name.clone()))?;
    sink.leaf(nodes.block_size, &Value::Uint(frame.layout.block_size.into()))?;
    sink.leaf(nodes.parent_pool_name, &Value::text(name))?;
    if has_block(child) {
        available(nodes, child.start, child.end, child.cursor, sink)?;
    }
    released(nodes, frame.delay_s, &child.released, sink)?;
    allocated(nodes, entries, sink)?;
    sink.close()
}

/// Whether the child has ever got a block. One that is only named by its parent has not.
pub(crate) fn has_block(child: &Child) -> bool {
    child.start <= child.end
}

/// Whether the child is an entry of the list of pools, and not only named by its parent.
pub(crate) fn is_listed(child: &Child) -> bool {
    has_block(child) || !child.released.is_empty()
}

fn available(
    nodes: &Nodes,
    start: u32,
    end: u32,
    cursor: i64,
    sink: &mut dyn Sink,
) -> Result<(), Stopped> {
    if !sink.open(nodes.available)? {
        return Ok(());
    }
    sink.leaf(nodes.start, &Value::Uint(start.into()))?;
    sink.leaf(nodes.end, &Value::Uint(end.into()))?;
    sink.leaf(nodes.cursor, &Value::Int(cursor))?;
    sink.close()
}

fn released(
    nodes: &Nodes,
    delay_s: u32,
    ids: &[ReleasedIds],
    sink: &mut dyn Sink,
) -> Result<(), Stopped> {
    if !sink.open(nodes.released)? {
        return Ok(());
    }
    let count: u128 = ids.iter().map(|run| run.ids.len()).sum();
    sink.leaf(nodes.available_count, &Value::Uint(u64::try_from(count).unwrap_or(u64::MAX)))?;
    sink.leaf(nodes.delayed_time, &Value::Uint(delay_s.into()))?;
    for (id, ready_s) in ids.iter().flat_map(|run| each(run.ids).map(|id| (id, run.ready_s))) {
        if !sink.open(nodes.delayed_entries)? {
            continue;
        }
        sink.leaf(nodes.delayed_id, &Value::Uint(id))?;
        sink.leaf(nodes.ready_time, &Value::Uint(ready_s.into()))?;
        sink.close()?;
    }
    sink.close()
}

/// What a key holds.
pub(crate) fn id_entry(nodes: &Nodes, entry: &IdEntry, sink: &mut dyn Sink) -> Result<(), Stopped> {
    if !sink.open(nodes.id_entries)? {
        return Ok(());
    }
    sink.leaf(nodes.id_key, &Value::Text(entry.key.clone()))?;
    for id in entry.ids.iter().flat_map(|ids| each(*ids)) {
        sink.leaf(nodes.id_value, &Value::Uint(id))?;
    }
    sink.close()
}

/// All ids that are held, by id. Nothing at all when none is.
pub(crate) fn allocated(
    nodes: &Nodes,
    entries: &[IdEntry],
    sink: &mut dyn Sink,
) -> Result<(), Stopped> {
    if entries.is_empty() || !sink.open(nodes.allocated)? {
        return Ok(());
    }
    allocated_entries(nodes, entries, sink)?;
    sink.close()
}

pub(crate) fn allocated_entries(
    nodes: &Nodes,
    entries: &[IdEntry],
    sink: &mut dyn Sink,
) -> Result<(), Stopped> {
    // The ids of one key may lie around those of others.
    let mut spans: Vec<(Span, &IdEntry)> =
        entries.iter().flat_map(|entry| entry.ids.iter().map(move |ids| (*ids, entry))).collect();
    spans.sort_unstable_by_key(|(ids, _)| *ids);
    for (ids, entry) in spans {
        for id in each(ids) {
            allocated_entry(nodes, id, entry, sink)?;
        }
    }
    Ok(())
}

pub(crate) fn allocated_entry(
    nodes: &Nodes,
    id: u64,
    entry: &IdEntry,
    sink: &mut dyn Sink,
) -> Result<(), Stopped> {
    if !sink.open(nodes.allocated_entries)? {
        return Ok(());
    }
    sink.leaf(nodes.allocated_id, &Value::Uint(id))?;
    sink.leaf(nodes.expired_time, &Value::Uint(expired_s(entry.expires_ms).into()))?;
    sink.leaf(nodes.allocated_key, &Value::Text(entry.key.clone()))?;
    sink.close()
}

/// When it is over, in seconds since 1970; 0 for never. A part of a second counts as a whole one: it is not over before.
pub(crate) fn expired_s(expires_ms: Option<u64>) -> u32 {
    expires_ms.map_or(0, |ms| u32::try_from(ms.div_ceil(1000)).unwrap_or(u32::MAX))
}

/// Each id of a span of ids below 2^32.
pub(crate) fn each(ids: Span) -> impl Iterator<Item = u64> {
    let bound = |id: u128| u64::try_from(id).unwrap_or(u64::MAX);
    bound(ids.first)..=bound(ids.last)
}

/// Each id of spans, as values of a leaf-list.
pub(crate) fn leaves(node: crate::yang::NodeId, ids: &[Span]) -> Vec<Node> {
    ids.iter().flat_map(|ids| each(*ids)).map(|id| Node::leaf(node, Value::Uint(id))).collect()
}
