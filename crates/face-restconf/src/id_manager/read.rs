//! Finds the data that a path names, in one snapshot.
//!
//! Whole pools are frozen and written later, node by node. For anything smaller, only that is made: an entry is looked up by
//! its key or id, without a walk over the others.

use std::sync::Arc;

use allod_core::blocks::Child;
use allod_core::blocks::command::{BlockPool, IdEntry};
use allod_core::view::State;
use allod_core::view::blocks::{self as view, FrozenBlockPool};

use super::nodes::IdManagerNodes;
use super::settings::IdManagerSettings;
use super::show;
use crate::model::{InstancePath, PathStep};
use crate::tree::{LeafValue, NodeSink, NodeSource, Walk, build, select, source, write_within};

/// An entry of the list of pools.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PoolEntry {
    Parent(Arc<str>),
    /// The parent, and the child.
    Child(Arc<str>, Arc<str>),
}

/// The list entry with this name. A pool takes precedence over a child with the same name.
pub(crate) fn pool_entry(
    state: &State,
    settings: &IdManagerSettings,
    name: &str,
) -> Option<PoolEntry> {
    if view::is_ids(state, name) {
        return Some(PoolEntry::Parent(name.into()));
    }
    Some(PoolEntry::Child(settings.parent_of(state, name)?, name.into()))
}

/// The data at the target; `None` if it does not exist.
pub(crate) fn read(
    nodes: &Arc<IdManagerNodes>,
    settings: &IdManagerSettings,
    state: &State,
    target: &InstancePath,
) -> Option<Box<dyn NodeSource>> {
    let steps = &target.steps[..];
    if steps.first().is_some_and(|step| step.node != nodes.id_pools) {
        return None;
    }
    let freeze = |name: &str| view::frozen(state, name, |pool| settings.child(pool));
    let shared = nodes.clone();
    let name = match steps.get(1).map(|step| &step.keys[..]) {
        None | Some([]) => {
            let pools: Vec<FrozenBlockPool> =
                view::names(state).filter_map(|name| freeze(name)).collect();
            let container = (steps.len() < 2).then_some(nodes.id_pools);
            if pools.is_empty() {
                return None;
            }
            let entries = pools.iter().map(FrozenBlockPool::claim_count).sum();
            return source(entries, move |sink| {
                write_within(sink, container, |sink| {
                    pools.iter().try_for_each(|pool| family(&shared, &pools, pool, sink))
                })
            });
        }
        Some([LeafValue::Text(name), ..]) => name,
        Some(_) => return None,
    };
    let rest = &steps[2..];
    let frame = |pool: &str| view::definition(state, pool, |pool| settings.child(pool));
    match (pool_entry(state, settings, name)?, rest) {
        (PoolEntry::Parent(pool), []) => {
            let pool = freeze(&pool)?;
            source(pool.claim_count(), move |sink| {
                show::parent(&shared, &pool.name, &pool.definition, &sorted(&pool), sink)
            })
        }
        (PoolEntry::Parent(pool), [step, below @ ..]) if step.node == nodes.id_entries => {
            match &step.keys[..] {
                [] => {
                    view::entry_count(state, &pool).filter(|held| *held > 0)?;
                    let pool = freeze(&pool)?;
                    source(pool.claim_count(), move |sink| {
                        let mut entries = sorted(&pool).into_iter();
                        entries.try_for_each(|entry| show::id_entry(&shared, &entry, sink))
                    })
                }
                [LeafValue::Text(key), ..] => {
                    let entry = view::entry(state, &pool, key)?;
                    part_of(below, |sink| show::id_entry(nodes, &entry, sink))
                }
                _ => None,
            }
        }
        (PoolEntry::Parent(pool), _) => {
            let frame = frame(&pool)?;
            part_of(rest, |sink| show::parent(nodes, &pool, &frame, &[], sink))
        }
        (PoolEntry::Child(pool, name), []) => {
            let pool = freeze(&pool)?;
            child_of(&pool.definition, &name)?;
            source(pool.claim_count(), move |sink| match child_of(&pool.definition, &name) {
                Some(child) => {
                    let entries = if holds(&pool, child) { sorted(&pool) } else { Vec::new() };
                    show::child(&shared, &pool.name, &pool.definition, child, &entries, sink)
                }
                None => Ok(()),
            })
        }
        (PoolEntry::Child(pool, child), [step, below @ ..]) if step.node == nodes.allocated => {
            let holds = view::is_enhanced(state, &pool)
                && view::active(state, &pool) == Some(&child)
                && view::entry_count(state, &pool).is_some_and(|held| held > 0);
            if !holds {
                return None;
            }
            match below.first().map(|list| &list.keys[..]) {
                None => {
                    let pool = freeze(&pool)?;
                    source(pool.claim_count(), move |sink| {
                        show::allocated(&shared, &sorted(&pool), sink)
                    })
                }
                Some([]) => {
                    let pool = freeze(&pool)?;
                    source(pool.claim_count(), move |sink| {
                        show::allocated_entries(&shared, &sorted(&pool), sink)
                    })
                }
                Some([LeafValue::Uint(id), ..]) => {
                    let entry = view::holder(state, &pool, u32::try_from(*id).ok()?)?;
                    part_of(&below[1..], |sink| show::allocated_entry(nodes, *id, &entry, sink))
                }
                Some(_) => None,
            }
        }
        (PoolEntry::Child(pool, name), _) => {
            let frame = frame(&pool)?;
            let child = child_of(&frame, &name)?;
            part_of(rest, |sink| show::child(nodes, &pool, &frame, child, &[], sink))
        }
    }
}

/// The child, unless its parent only names it.
fn child_of<'a>(frame: &'a BlockPool, name: &str) -> Option<&'a Child> {
    frame.layout.children.iter().find(|child| &*child.name == name && show::is_listed(child))
}

/// The nodes that the steps name below the node that `show` writes.
fn part_of(
    steps: &[PathStep],
    show: impl FnOnce(&mut dyn NodeSink) -> Walk,
) -> Option<Box<dyn NodeSource>> {
    select(build(show)?, steps)
}

/// Writes a pool and its children, except a child with the name of another pool, which would be a duplicate list entry.
fn family(
    nodes: &IdManagerNodes,
    pools: &[FrozenBlockPool],
    pool: &FrozenBlockPool,
    sink: &mut dyn NodeSink,
) -> Walk {
    let entries = sorted(pool);
    show::parent(nodes, &pool.name, &pool.definition, &entries, sink)?;
    for child in pool.definition.layout.children.iter().filter(|child| show::is_listed(child)) {
        if pools.binary_search_by(|pool| pool.name.cmp(&child.name)).is_err() {
            let entries = if holds(pool, child) { &entries[..] } else { &[] };
            show::child(nodes, &pool.name, &pool.definition, child, entries, sink)?;
        }
    }
    Ok(())
}

/// Whether the allocated ids are listed in this child.
fn holds(pool: &FrozenBlockPool, child: &Child) -> bool {
    let layout = &pool.definition.layout;
    layout.enhanced && layout.children.first().is_some_and(|first| first.name == child.name)
}

/// The entries ordered by id, so that the output does not depend on history.
fn sorted(pool: &FrozenBlockPool) -> Vec<IdEntry> {
    let mut entries: Vec<IdEntry> = pool.entries().collect();
    entries.sort_unstable_by_key(|entry| entry.ids.first().copied());
    entries
}
