//! What a path names, in the pools of one moment.
//!
//! A pool as a whole, or all of them, are frozen and shown later, node by node. Of anything smaller only that is made: an
//! entry is looked up by its key or its id, and nobody walks the others for it.

use std::sync::Arc;

use allod_core::blocks::Child;
use allod_core::blocks::command::{BlockPool, IdEntry};
use allod_core::state::State;
use allod_core::view::blocks::{self as view, FrozenBlockPool};

use super::nodes::Nodes;
use super::settings::Settings;
use super::show;
use crate::model::{Step, Target};
use crate::tree::{Body, Builder, Node, Sink, Source, Stopped, Value};

/// An entry of the list of pools.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Listed {
    Parent(Arc<str>),
    /// The pool, and which of its children.
    Child(Arc<str>, Arc<str>),
}

/// Whose entry of the list this name is. A pool comes before a child of the same name.
pub(crate) fn listed(state: &State, settings: &Settings, name: &str) -> Option<Listed> {
    if view::is_ids(state, name) {
        return Some(Listed::Parent(name.into()));
    }
    Some(Listed::Child(settings.parent_of(state, name)?, name.into()))
}

/// What is at the target, if anything is.
pub(crate) fn read(
    nodes: &Arc<Nodes>,
    settings: &Settings,
    state: &State,
    target: &Target,
) -> Option<Box<dyn Source>> {
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
            let shown = Shown { nodes: nodes.clone(), part: Part::All { wrapped }, pools };
            return (!shown.pools.is_empty()).then(|| Box::new(shown) as Box<dyn Source>);
        }
        Some([Value::Text(name), ..]) => name,
        Some(_) => return None,
    };
    let rest = &steps[2..];
    let shown = |pool: &str, part: Part| {
        let pools = vec![freeze(pool)?];
        Some(Box::new(Shown { nodes: nodes.clone(), part, pools }) as Box<dyn Source>)
    };
    let frame = |pool: &str| view::definition(state, pool, |pool| settings.child(pool));
    match (listed(state, settings, name)?, rest) {
        (Listed::Parent(pool), []) => shown(&pool, Part::Parent),
        (Listed::Parent(pool), [step, below @ ..]) if step.node == nodes.id_entries => {
            match &step.keys[..] {
                [] => {
                    let any = view::entry_count(state, &pool).is_some_and(|held| held > 0);
                    any.then(|| shown(&pool, Part::Entries)).flatten()
                }
                [Value::Text(key), ..] => {
                    let entry = view::entry(state, &pool, key)?;
                    small(below, |sink| show::id_entry(nodes, &entry, sink))
                }
                _ => None,
            }
        }
        (Listed::Parent(pool), _) => {
            let frame = frame(&pool)?;
            small(rest, |sink| show::parent(nodes, &pool, &frame, &[], sink))
        }
        (Listed::Child(pool, child), []) => {
            let frame = frame(&pool)?;
            child_of(&frame, &child)?;
            shown(&pool, Part::Child(child))
        }
        (Listed::Child(pool, child), [step, below @ ..]) if step.node == nodes.allocated => {
            let holds = view::is_enhanced(state, &pool)
                && view::active(state, &pool) == Some(&child)
                && view::entry_count(state, &pool).is_some_and(|held| held > 0);
            if !holds {
                return None;
            }
            match below {
                [] => shown(&pool, Part::Allocated { wrapped: true }),
                [list, below @ ..] => match &list.keys[..] {
                    [] => shown(&pool, Part::Allocated { wrapped: false }),
                    [Value::Uint(id), ..] => {
                        let entry = view::holder(state, &pool, u32::try_from(*id).ok()?)?;
                        small(below, |sink| show::allocated_entry(nodes, *id, &entry, sink))
                    }
                    _ => None,
                },
            }
        }
        (Listed::Child(pool, name), _) => {
            let frame = frame(&pool)?;
            let child = child_of(&frame, &name)?;
            small(rest, |sink| show::child(nodes, &pool, &frame, child, &[], sink))
        }
    }
}

/// The child, if it is more than a name.
fn child_of<'a>(frame: &'a BlockPool, name: &str) -> Option<&'a Child> {
    frame.layout.children.iter().find(|child| &*child.name == name && show::is_listed(child))
}

/// What the steps name below a node that is shown whole.
fn small(
    steps: &[Step],
    show: impl FnOnce(&mut dyn Sink) -> Result<(), Stopped>,
) -> Option<Box<dyn Source>> {
    let mut built = Builder::new();
    show(&mut built).ok()?;
    let mut found = built.finish();
    for step in steps {
        found = found.into_iter().flat_map(children).filter(|node| named(step, node)).collect();
    }
    (!found.is_empty()).then(|| Box::new(found) as Box<dyn Source>)
}

fn children(node: Node) -> Vec<Node> {
    match node.body {
        Body::Inner(children) => children,
        Body::Leaf(_) => Vec::new(),
    }
}

/// Whether the step names this node. The keys of an entry are its first leaves.
fn named(step: &Step, node: &Node) -> bool {
    if step.node != node.schema {
        return false;
    }
    match &node.body {
        Body::Leaf(value) => step.keys.first().is_none_or(|wanted| wanted == value),
        Body::Inner(children) => step
            .keys
            .iter()
            .zip(children)
            .all(|(wanted, child)| matches!(&child.body, Body::Leaf(value) if value == wanted)),
    }
}

/// Which part of the pools is shown.
enum Part {
    All { wrapped: bool },
    Parent,
    Child(Arc<str>),
    Entries,
    Allocated { wrapped: bool },
}

struct Shown {
    nodes: Arc<Nodes>,
    part: Part,
    /// All pools, or the only one.
    pools: Vec<FrozenBlockPool>,
}

impl Source for Shown {
    fn walk(&self, sink: &mut dyn Sink) -> Result<(), Stopped> {
        let nodes = &*self.nodes;
        if let Part::All { wrapped } = self.part {
            if wrapped && !sink.open(nodes.id_pools)? {
                return Ok(());
            }
            self.pools.iter().try_for_each(|pool| self.family(pool, sink))?;
            return if wrapped { sink.close() } else { Ok(()) };
        }
        let Some(pool) = self.pools.first() else { return Ok(()) };
        match &self.part {
            Part::All { .. } => Ok(()),
            Part::Parent => show::parent(nodes, &pool.name, &pool.definition, &sorted(pool), sink),
            Part::Child(name) => match child_of(&pool.definition, name) {
                Some(child) => {
                    let entries = if holds(pool, child) { sorted(pool) } else { Vec::new() };
                    show::child(nodes, &pool.name, &pool.definition, child, &entries, sink)
                }
                None => Ok(()),
            },
            Part::Entries => {
                sorted(pool).iter().try_for_each(|entry| show::id_entry(nodes, entry, sink))
            }
            Part::Allocated { wrapped: true } => show::allocated(nodes, &sorted(pool), sink),
            Part::Allocated { wrapped: false } => {
                show::allocated_entries(nodes, &sorted(pool), sink)
            }
        }
    }
}

impl Shown {
    /// A pool and its children. A child that is called like another pool would be an entry of the list a second time.
    fn family(&self, pool: &FrozenBlockPool, sink: &mut dyn Sink) -> Result<(), Stopped> {
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

/// Whether the child is the one in which it is shown who holds which id.
fn holds(pool: &FrozenBlockPool, child: &Child) -> bool {
    let layout = &pool.definition.layout;
    layout.enhanced && layout.children.first().is_some_and(|first| first.name == child.name)
}

/// Who holds what, by id: the same pools look the same, however they came about.
fn sorted(pool: &FrozenBlockPool) -> Vec<IdEntry> {
    let mut entries: Vec<IdEntry> = pool.entries().collect();
    entries.sort_unstable_by_key(|entry| entry.ids.first().copied());
    entries
}
