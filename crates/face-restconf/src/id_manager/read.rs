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
use crate::tree::{LeafValue, NodeSink, NodeSource, WalkStopped, build, select};

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
    let name = match steps.get(1).map(|step| &step.keys[..]) {
        None | Some([]) => {
            let pools: Vec<FrozenBlockPool> =
                view::names(state).filter_map(|name| freeze(name)).collect();
            let wrapped = steps.len() < 2;
            let source =
                PoolSource { nodes: nodes.clone(), part: PoolPart::All { wrapped }, pools };
            return (!source.pools.is_empty()).then(|| Box::new(source) as Box<dyn NodeSource>);
        }
        Some([LeafValue::Text(name), ..]) => name,
        Some(_) => return None,
    };
    let rest = &steps[2..];
    let frozen_part = |pool: &str, part: PoolPart| {
        let pools = vec![freeze(pool)?];
        Some(Box::new(PoolSource { nodes: nodes.clone(), part, pools }) as Box<dyn NodeSource>)
    };
    let frame = |pool: &str| view::definition(state, pool, |pool| settings.child(pool));
    match (pool_entry(state, settings, name)?, rest) {
        (PoolEntry::Parent(pool), []) => frozen_part(&pool, PoolPart::Parent),
        (PoolEntry::Parent(pool), [step, below @ ..]) if step.node == nodes.id_entries => {
            match &step.keys[..] {
                [] => {
                    let any = view::entry_count(state, &pool).is_some_and(|held| held > 0);
                    any.then(|| frozen_part(&pool, PoolPart::Entries)).flatten()
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
        (PoolEntry::Child(pool, child), []) => {
            let frame = frame(&pool)?;
            child_of(&frame, &child)?;
            frozen_part(&pool, PoolPart::Child(child))
        }
        (PoolEntry::Child(pool, child), [step, below @ ..]) if step.node == nodes.allocated => {
            let holds = view::is_enhanced(state, &pool)
                && view::active(state, &pool) == Some(&child)
                && view::entry_count(state, &pool).is_some_and(|held| held > 0);
            if !holds {
                return None;
            }
            match below {
                [] => frozen_part(&pool, PoolPart::Allocated { wrapped: true }),
                [list, below @ ..] => match &list.keys[..] {
                    [] => frozen_part(&pool, PoolPart::Allocated { wrapped: false }),
                    [LeafValue::Uint(id), ..] => {
                        let entry = view::holder(state, &pool, u32::try_from(*id).ok()?)?;
                        part_of(below, |sink| show::allocated_entry(nodes, *id, &entry, sink))
                    }
                    _ => None,
                },
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
    show: impl FnOnce(&mut dyn NodeSink) -> Result<(), WalkStopped>,
) -> Option<Box<dyn NodeSource>> {
    select(build(show)?, steps)
}

/// The part of the pools to write.
enum PoolPart {
    All { wrapped: bool },
    Parent,
    Child(Arc<str>),
    Entries,
    Allocated { wrapped: bool },
}

struct PoolSource {
    nodes: Arc<IdManagerNodes>,
    part: PoolPart,
    /// All pools, or a single one.
    pools: Vec<FrozenBlockPool>,
}

impl NodeSource for PoolSource {
    fn walk(&self, sink: &mut dyn NodeSink) -> Result<(), WalkStopped> {
        let nodes = &*self.nodes;
        if let PoolPart::All { wrapped } = self.part {
            if wrapped && !sink.open(nodes.id_pools)? {
                return Ok(());
            }
            self.pools.iter().try_for_each(|pool| self.family(pool, sink))?;
            return if wrapped { sink.close() } else { Ok(()) };
        }
        let Some(pool) = self.pools.first() else { return Ok(()) };
        match &self.part {
            PoolPart::All { .. } => Ok(()),
            PoolPart::Parent => {
                show::parent(nodes, &pool.name, &pool.definition, &sorted(pool), sink)
            }
            PoolPart::Child(name) => match child_of(&pool.definition, name) {
                Some(child) => {
                    let entries = if holds(pool, child) { sorted(pool) } else { Vec::new() };
                    show::child(nodes, &pool.name, &pool.definition, child, &entries, sink)
                }
                None => Ok(()),
            },
            PoolPart::Entries => {
                sorted(pool).iter().try_for_each(|entry| show::id_entry(nodes, entry, sink))
            }
            PoolPart::Allocated { wrapped: true } => show::allocated(nodes, &sorted(pool), sink),
            PoolPart::Allocated { wrapped: false } => {
                show::allocated_entries(nodes, &sorted(pool), sink)
            }
        }
    }
}

impl PoolSource {
    /// Writes a pool and its children, except a child with the name of another pool, which would be a duplicate list entry.
    fn family(&self, pool: &FrozenBlockPool, sink: &mut dyn NodeSink) -> Result<(), WalkStopped> {
        let entries = sorted(pool);
        show::parent(&self.nodes, &pool.name, &pool.definition, &entries, sink)?;
        for child in pool.definition.layout.children.iter().filter(|child| show::is_listed(child)) {
            let is_pool = |name: &str| self.pools.binary_search_by(|pool| (*pool.name).cmp(name));
            if is_pool(&child.name).is_err() {
                let entries = if holds(pool, child) { &entries[..] } else { &[] };
                show::child(&self.nodes, &pool.name, &pool.definition, child, entries, sink)?;
            }
        }
        Ok(())
    }
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
