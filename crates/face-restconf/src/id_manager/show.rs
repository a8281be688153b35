//! Writes a pool as data: the entry of the parent, and the entry of each child.
//!
//! The allocated ids are passed as `entries`, so that a pool can be written without them.

use allod_core::blocks::command::{BlockPool, IdEntry};
use allod_core::blocks::{Child, ReleasedIds};
use allod_core::span::Span;

use super::nodes::IdManagerNodes;
use crate::tree::{DataNode, NodeSink, Walk, write_inner};

/// Writes the list entry of a parent pool.
pub(crate) fn parent(
    nodes: &IdManagerNodes,
    name: &str,
    frame: &BlockPool,
    entries: &[IdEntry],
    sink: &mut dyn NodeSink,
) -> Walk {
    let layout = &frame.layout;
    write_inner(sink, nodes.id_pool, |sink| {
        sink.value(nodes.pool_name, name)?;
        sink.value(nodes.block_size, layout.block_size)?;
        for child in &layout.children {
            write_inner(sink, nodes.child_pools, |sink| {
                sink.value(nodes.child_pool_name, &child.name)?;
                // A child that was written by an edit may never have allocated an id.
                match child.access_s {
                    0 => Ok(()),
                    at_s => sink.value(nodes.last_access_time, at_s),
                }
            })?;
        }
        entries.iter().try_for_each(|entry| id_entry(nodes, entry, sink))?;
        available(nodes, frame.low, frame.high, layout.cursor, sink)?;
        released(nodes, 0, &layout.released, sink)
    })
}

/// Writes the list entry of a child. `entries` is empty unless the pool has enhanced id allocation.
pub(crate) fn child(
    nodes: &IdManagerNodes,
    name: &str,
    frame: &BlockPool,
    child: &Child,
    entries: &[IdEntry],
    sink: &mut dyn NodeSink,
) -> Walk {
    write_inner(sink, nodes.id_pool, |sink| {
        sink.value(nodes.pool_name, &child.name)?;
        sink.value(nodes.block_size, frame.layout.block_size)?;
        sink.value(nodes.parent_pool_name, name)?;
        if child.has_block() {
            available(nodes, child.start, child.end, child.cursor, sink)?;
        }
        released(nodes, frame.delay_s, &child.released, sink)?;
        allocated(nodes, entries, sink)
    })
}

/// Whether the child has a list entry of its own, and is not only named by its parent.
pub(crate) fn is_listed(child: &Child) -> bool {
    child.has_block() || !child.released.is_empty()
}

fn available(
    nodes: &IdManagerNodes,
    start: u32,
    end: u32,
    cursor: i64,
    sink: &mut dyn NodeSink,
) -> Walk {
    write_inner(sink, nodes.available, |sink| {
        sink.value(nodes.start, start)?;
        sink.value(nodes.end, end)?;
        sink.value(nodes.cursor, cursor)
    })
}

fn released(
    nodes: &IdManagerNodes,
    delay_s: u32,
    ids: &[ReleasedIds],
    sink: &mut dyn NodeSink,
) -> Walk {
    write_inner(sink, nodes.released, |sink| {
        let count: u128 = ids.iter().map(|run| run.ids.len()).sum();
        sink.value(nodes.available_count, u64::try_from(count).unwrap_or(u64::MAX))?;
        sink.value(nodes.delayed_time, delay_s)?;
        let mut entries = ids.iter().flat_map(|run| each(run.ids).map(|id| (id, run.ready_s)));
        entries.try_for_each(|(id, ready_s)| {
            write_inner(sink, nodes.delayed_entries, |sink| {
                sink.value(nodes.delayed_id, id)?;
                sink.value(nodes.ready_time, ready_s)
            })
        })
    })
}

/// Writes the ids of a key.
pub(crate) fn id_entry(nodes: &IdManagerNodes, entry: &IdEntry, sink: &mut dyn NodeSink) -> Walk {
    write_inner(sink, nodes.id_entries, |sink| {
        sink.value(nodes.id_key, &entry.key)?;
        let mut ids = entry.ids.iter().flat_map(|ids| each(*ids));
        ids.try_for_each(|id| sink.value(nodes.id_value, id))
    })
}

/// Writes all allocated ids in ascending order; nothing if there are none.
pub(crate) fn allocated(
    nodes: &IdManagerNodes,
    entries: &[IdEntry],
    sink: &mut dyn NodeSink,
) -> Walk {
    if entries.is_empty() {
        return Ok(());
    }
    write_inner(sink, nodes.allocated, |sink| allocated_entries(nodes, entries, sink))
}

pub(crate) fn allocated_entries(
    nodes: &IdManagerNodes,
    entries: &[IdEntry],
    sink: &mut dyn NodeSink,
) -> Walk {
    // The ids of one key may surround those of others.
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
    nodes: &IdManagerNodes,
    id: u64,
    entry: &IdEntry,
    sink: &mut dyn NodeSink,
) -> Walk {
    write_inner(sink, nodes.allocated_entries, |sink| {
        sink.value(nodes.allocated_id, id)?;
        sink.value(nodes.expired_time, expired_s(entry.expires_ms))?;
        sink.value(nodes.allocated_key, &entry.key)
    })
}

/// The expiry in seconds since 1970, rounded up; 0: never.
pub(crate) fn expired_s(expires_ms: Option<u64>) -> u32 {
    expires_ms.map_or(0, |ms| u32::try_from(ms.div_ceil(1000)).unwrap_or(u32::MAX))
}

/// The ids of a span below 2^32.
pub(crate) fn each(ids: Span) -> impl Iterator<Item = u64> {
    let bound = |id: u128| u64::try_from(id).unwrap_or(u64::MAX);
    bound(ids.first)..=bound(ids.last)
}

/// The ids of the spans, as leaf-list entries.
pub(crate) fn leaves(node: crate::yang::NodeId, ids: &[Span]) -> Vec<DataNode> {
    ids.iter().flat_map(|ids| each(*ids)).map(|id| DataNode::leaf(node, id)).collect()
}
