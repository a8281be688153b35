//! The entries of a pool and its children in the list of pools, as what the core keeps: range, delay, account.
//!
//! The tree says some things more than once: the size of blocks in every entry, how long ids rest in every child, how many ids
//! are listed beside the list. What an edit changes counts, wherever it stands; two changes must agree.

use std::sync::Arc;

use allod_core::blocks::command::BlockPool;
use allod_core::blocks::{BlockLayout, Child, ReleasedIds};
use allod_core::span::Span;

use super::family::Trees;
use crate::edit::validate;
use crate::fault::{Fault, Tag};
use crate::id_manager::IdManager;
use crate::id_manager::faults::at_pool;
use crate::id_manager::nodes::Nodes;
use crate::id_manager::settings::parent_name;
use crate::tree::{Node, Siblings, Value};
use crate::yang::NodeId;

/// Everything about the pool but who holds what.
pub(super) fn of(
    model: &IdManager,
    name: &str,
    trees: &Trees,
    holder_given: bool,
) -> Result<BlockPool, Fault> {
    let nodes = &model.nodes;
    let before = trees.before.as_ref();
    let Some(parent) = &trees.parent else {
        return Err(Fault::application(Tag::MissingElement, "the pool is not there"));
    };
    let parent = Entry::of(model, name, parent)?;
    let children = trees.children.iter().map(|(name, node)| Entry::of(model, name, node));
    let children = children.collect::<Result<Vec<Entry<'_>>, Fault>>()?;

    let (low, high, cursor) = parent.range(nodes)?.ok_or_else(|| parent.missing("start"))?;
    let all = || std::iter::once(&parent).chain(&children);
    let sizes = all().map(|entry| (entry.block_size, entry));
    let block_size = agreed(before.map(|frame| frame.layout.block_size), sizes, "block-size")?;
    let delays = children.iter().map(|entry| (entry.delay_s, entry));
    let at = "released-ids-holder/delayed-time-sec";
    let delay_s = agreed(before.map(|frame| frame.delay_s), delays, at)?;
    let delay_s = delay_s.unwrap_or(model.settings.release_delay_s);
    if parent.delay_s != 0 {
        return Err(parent.wrong(at, "what comes back to a parent does not rest: it is 0"));
    }
    let was = before.map(|frame| count(&frame.layout.released));
    let released = parent.released(nodes, was)?;
    // The flag itself is not in the tree. It is known by what only such pools have.
    let enhanced = holder_given
        || match before {
            Some(before) if before.delay_s == delay_s => before.layout.enhanced,
            _ => delay_s == 0 && model.settings.release_delay_s != 0,
        };
    let layout = BlockLayout {
        block_size: block_size.unwrap_or(parent.block_size),
        enhanced,
        cursor,
        released,
        children: children_of(nodes, trees, &parent, &children)?,
    };
    Ok(BlockPool { low, high, delay_s, layout })
}

/// The children in the order in which the parent names them; those that it does not name come after.
fn children_of(
    nodes: &Nodes,
    trees: &Trees,
    parent: &Entry<'_>,
    entries: &[Entry<'_>],
) -> Result<Vec<Child>, Fault> {
    let mut named: Vec<(Arc<str>, u32)> = Vec::new();
    for child in parent.node.entries(nodes.child_pools) {
        let access_s = child.uint(nodes.last_access_time).and_then(|at| u32::try_from(at).ok());
        if let Some(Value::Text(name)) = child.value_of(nodes.child_pool_name) {
            named.push((name.clone(), access_s.unwrap_or(0)));
        }
    }
    for entry in entries {
        if !named.iter().any(|(name, _)| **name == *entry.name) {
            named.push((entry.name.into(), 0));
        }
    }
    let child = |(name, access_s): (Arc<str>, u32)| {
        if parent_name(&name) != Some(parent.name) {
            let pool = parent.name;
            let text =
                format!("pool '{pool}': its child '{name}' is not named '{pool}.' and a number");
            return Err(Fault::application(Tag::InvalidValue, text).at_path(at_pool(pool)));
        }
        // A name alone is a child that has nothing.
        let nothing = (1, 0, 0);
        let Some(entry) = entries.iter().find(|entry| *entry.name == *name) else {
            let (start, end, cursor) = nothing;
            return Ok(Child { name, start, end, cursor, released: vec![], access_s });
        };
        if entry.node.text(nodes.parent_pool_name) != Some(parent.name) {
            return Err(entry.wrong("parent-pool-name", "a child pool stays with its parent"));
        }
        let mut children = trees.before.iter().flat_map(|frame| &frame.layout.children);
        let was = children.find(|child| child.name == name).map(|child| count(&child.released));
        let released = entry.released(nodes, was)?;
        let (start, end, cursor) = match entry.range(nodes)? {
            Some(range) => range,
            None if released.is_empty() => return Err(entry.missing("start")),
            None => nothing,
        };
        Ok(Child { name, start, end, cursor, released, access_s })
    };
    named.into_iter().map(child).collect()
}

/// What an edit made of a value that stands in several places. `None`: it stands nowhere.
fn agreed<'e, T: Copy + PartialEq>(
    before: Option<T>,
    values: impl Iterator<Item = (T, &'e Entry<'e>)>,
    at: &str,
) -> Result<Option<T>, Fault> {
    let mut now = None;
    for (value, entry) in values {
        if Some(value) == before {
            continue;
        }
        if now.is_some_and(|now| now != value) {
            return Err(entry.wrong(at, "a pool and its children have the same"));
        }
        now = Some(value);
    }
    Ok(now.or(before))
}

fn count(ids: &[ReleasedIds]) -> u128 {
    ids.iter().map(|run| run.ids.len()).sum()
}

/// An entry of the list of pools that has all that is mandatory.
struct Entry<'a> {
    name: &'a str,
    node: &'a Node,
    block_size: u16,
    delay_s: u32,
}

impl Entry<'_> {
    fn of<'a>(model: &IdManager, name: &'a str, node: &'a Node) -> Result<Entry<'a>, Fault> {
        let nodes = &model.nodes;
        validate(&model.schema, node).map_err(|fault| placed(fault, name))?;
        let mut entry = Entry { name, node, block_size: 0, delay_s: 0 };
        if node.text(nodes.pool_name) != Some(name) {
            return Err(entry.wrong("pool-name", "the key of an entry cannot be changed"));
        }
        let size = node.uint(nodes.block_size).and_then(|size| u16::try_from(size).ok());
        entry.block_size = size
            .filter(|size| *size > 0)
            .ok_or_else(|| entry.wrong("block-size", "a block has at least one id"))?;
        let delay_s = number(node.child(nodes.released), nodes.delayed_time);
        entry.delay_s =
            delay_s.ok_or_else(|| entry.missing_at("released-ids-holder/delayed-time-sec"))?;
        Ok(entry)
    }

    /// First, last and cursor of its available ids. `None`: it says nothing of them.
    fn range(&self, nodes: &Nodes) -> Result<Option<(u32, u32, i64)>, Fault> {
        let holder = self.node.child(nodes.available);
        let (start, end) = (number(holder, nodes.start), number(holder, nodes.end));
        let cursor = holder.and_then(|holder| holder.int(nodes.cursor));
        let (start, end) = match (start, end) {
            (None, None) if cursor.is_none() => return Ok(None),
            (Some(start), Some(end)) => (start, end),
            (None, _) => return Err(self.missing("start")),
            (_, None) => return Err(self.missing("end")),
        };
        if end < start {
            let text = format!("it ends at {end}, before its start {start}");
            return Err(self.wrong("available-ids-holder/end", &text));
        }
        let before = i64::from(start) - 1;
        let cursor = cursor.unwrap_or(before);
        if cursor < before {
            let text = format!("the cursor {cursor} is before {before}, where it starts");
            return Err(self.wrong("available-ids-holder/cursor", &text));
        }
        Ok(Some((start, end, cursor)))
    }

    /// Its released ids; those that follow each other and are ready together, together. `was`: how many there were.
    fn released(&self, nodes: &Nodes, was: Option<u128>) -> Result<Vec<ReleasedIds>, Fault> {
        let holder = self.node.child(nodes.released);
        let mut released: Vec<ReleasedIds> = Vec::new();
        let listed = holder.into_iter().flat_map(|holder| holder.entries(nodes.delayed_entries));
        for entry in listed {
            let id = number(Some(entry), nodes.delayed_id);
            let (Some(id), Some(ready_s)) = (id, number(Some(entry), nodes.ready_time)) else {
                return Err(self.missing_at("released-ids-holder/delayed-id-entries"));
            };
            let id = u128::from(id);
            match released.last_mut() {
                Some(run) if run.ready_s == ready_s && run.ids.last + 1 == id => run.ids.last = id,
                _ => released.push(ReleasedIds { ids: Span::one(id), ready_s }),
            }
        }
        let told = number(holder, nodes.available_count).map(u128::from);
        let listed = count(&released);
        match told {
            Some(told) if told != listed && Some(told) != was => {
                let text = format!("{told} released ids are told, and {listed} are listed");
                Err(self.wrong("released-ids-holder/available-id-count", &text))
            }
            _ => Ok(released),
        }
    }

    fn missing(&self, leaf: &str) -> Fault {
        self.missing_at(&format!("available-ids-holder/{leaf}"))
    }

    fn missing_at(&self, at: &str) -> Fault {
        let text = format!("'{}' lacks {at}", self.name);
        Fault::application(Tag::MissingElement, text)
            .at_path(format!("{}/{at}", at_pool(self.name)))
    }

    fn wrong(&self, at: &str, text: &str) -> Fault {
        let text = format!("'{}': {text}", self.name);
        Fault::application(Tag::InvalidValue, text).at_path(format!("{}/{at}", at_pool(self.name)))
    }
}

/// A fault of the schema says which node; this says of which pool.
fn placed(fault: Fault, name: &str) -> Fault {
    let path = fault.path.clone().unwrap_or_default();
    let below = path.strip_prefix("/id-manager:id-pools/id-pool").unwrap_or_default().to_owned();
    fault.at_path(format!("{}{below}", at_pool(name)))
}

fn number(node: Option<&Node>, leaf: NodeId) -> Option<u32> {
    node.and_then(|node| node.uint(leaf)).and_then(|number| u32::try_from(number).ok())
}
