//! Turns the list entries of a pool and its children into the core's form: range, delay, block layout.
//!
//! Some values are repeated in the data: the block size in every entry, the delay in every child, the number of released ids
//! beside their list. A changed value takes precedence wherever it is; two changes must agree.

use std::sync::Arc;

use allod_core::blocks::command::BlockPool;
use allod_core::blocks::{BlockError, BlockLayout, Child, ReleasedIds, check_block};
use allod_core::span::Span;

use super::family::FamilyTrees;
use crate::edit::validate;
use crate::error::{RestconfError, Result};
use crate::id_manager::IdManager;
use crate::id_manager::nodes::IdManagerNodes;
use crate::id_manager::refusals::at_pool;
use crate::id_manager::settings::parent_name;
use crate::tree::{DataNode, LeafValue, Siblings};
use crate::yang::NodeId;

/// Everything about the pool except its allocated ids.
pub(super) fn of(
    model: &IdManager,
    name: &str,
    trees: &FamilyTrees,
    holder_given: bool,
) -> Result<BlockPool> {
    let nodes = &model.nodes;
    let before = trees.before.as_ref();
    let Some(parent) = &trees.parent else {
        return Err(RestconfError::missing_element("the pool does not exist"));
    };
    let parent = ListEntry::of(model, name, parent)?;
    let children = trees.children.iter().map(|(name, node)| ListEntry::of(model, name, node));
    let children = children.collect::<Result<Vec<ListEntry<'_>>>>()?;

    let (low, high, cursor) = parent.range(nodes)?.ok_or_else(|| parent.missing("start"))?;
    let all = || std::iter::once(&parent).chain(&children);
    let sizes = all().map(|entry| (entry.block_size, entry));
    let block_size =
        agreed_value(before.map(|frame| frame.layout.block_size), sizes, "block-size")?;
    let delays = children.iter().map(|entry| (entry.delay_s, entry));
    let at = "released-ids-holder/delayed-time-sec";
    let delay_s = agreed_value(before.map(|frame| frame.delay_s), delays, at)?;
    let delay_s = delay_s.unwrap_or(model.settings.release_delay_s);
    if parent.delay_s != 0 {
        return Err(parent
            .wrong(at, "delayed-time-sec must be 0 for a parent pool, which reuses ids at once"));
    }
    let was = before.map(|frame| count(&frame.layout.released));
    let released = parent.released(nodes, was)?;
    // The data has no flag for this. It shows in what only such pools have.
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

/// The children in the order in which the parent names them, followed by those that it does not name.
fn children_of(
    nodes: &IdManagerNodes,
    trees: &FamilyTrees,
    parent: &ListEntry<'_>,
    entries: &[ListEntry<'_>],
) -> Result<Vec<Child>> {
    let mut named: Vec<(Arc<str>, u32)> = Vec::new();
    for child in parent.node.entries(nodes.child_pools) {
        let access_s = child.number::<u32>(nodes.last_access_time);
        if let Some(LeafValue::Text(name)) = child.value_of(nodes.child_pool_name) {
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
            return Err(RestconfError::wrong_value(text).at_path(at_pool(pool)));
        }
        // A child that is only named has no block.
        let Some(entry) = entries.iter().find(|entry| *entry.name == *name) else {
            let (start, end, cursor) = Child::NO_BLOCK;
            return Ok(Child { name, start, end, cursor, released: vec![], access_s });
        };
        if entry.node.text(nodes.parent_pool_name) != Some(parent.name) {
            return Err(
                entry.wrong("parent-pool-name", "the parent of a child pool cannot be changed")
            );
        }
        let mut children = trees.before.iter().flat_map(|frame| &frame.layout.children);
        let was = children.find(|child| child.name == name).map(|child| count(&child.released));
        let released = entry.released(nodes, was)?;
        let (start, end, cursor) = match entry.range(nodes)? {
            Some(range) => range,
            None if released.is_empty() => return Err(entry.missing("start")),
            None => Child::NO_BLOCK,
        };
        Ok(Child { name, start, end, cursor, released, access_s })
    };
    named.into_iter().map(child).collect()
}

/// The new value of a leaf that is repeated in several entries; `None` if there is none.
fn agreed_value<'e, T: Copy + PartialEq>(
    before: Option<T>,
    values: impl Iterator<Item = (T, &'e ListEntry<'e>)>,
    at: &str,
) -> Result<Option<T>> {
    let mut now = None;
    for (value, entry) in values {
        if Some(value) == before {
            continue;
        }
        if now.is_some_and(|now| now != value) {
            return Err(
                entry.wrong(at, &format!("{at} must be the same for a pool and its children"))
            );
        }
        now = Some(value);
    }
    Ok(now.or(before))
}

fn count(ids: &[ReleasedIds]) -> u128 {
    ids.iter().map(|run| run.ids.len()).sum()
}

/// A validated entry of the list of pools.
struct ListEntry<'a> {
    name: &'a str,
    node: &'a DataNode,
    block_size: u16,
    delay_s: u32,
}

impl ListEntry<'_> {
    fn of<'a>(model: &IdManager, name: &'a str, node: &'a DataNode) -> Result<ListEntry<'a>> {
        let nodes = &model.nodes;
        validate(&model.schema, node).map_err(|error| at_pool_path(error, name))?;
        let mut entry = ListEntry { name, node, block_size: 0, delay_s: 0 };
        if node.text(nodes.pool_name) != Some(name) {
            return Err(entry.wrong("pool-name", "the key of an entry cannot be changed"));
        }
        let size = node.number::<u16>(nodes.block_size);
        entry.block_size = size
            .filter(|size| *size > 0)
            .ok_or_else(|| entry.wrong("block-size", "block-size must be at least 1"))?;
        let delay_s = number(node.child(nodes.released), nodes.delayed_time);
        entry.delay_s =
            delay_s.ok_or_else(|| entry.missing_at("released-ids-holder/delayed-time-sec"))?;
        Ok(entry)
    }

    /// The first id, the last id and the cursor of the available ids; `None` if the entry has none.
    fn range(&self, nodes: &IdManagerNodes) -> Result<Option<(u32, u32, i64)>> {
        let holder = self.node.child(nodes.available);
        let (start, end) = (number(holder, nodes.start), number(holder, nodes.end));
        let cursor = holder.and_then(|holder| holder.int(nodes.cursor));
        let (start, end) = match (start, end) {
            (None, None) if cursor.is_none() => return Ok(None),
            (Some(start), Some(end)) => (start, end),
            (None, _) => return Err(self.missing("start")),
            (_, None) => return Err(self.missing("end")),
        };
        let cursor = cursor.unwrap_or(i64::from(start) - 1);
        check_block(start, end, cursor).map_err(|error| {
            let at = match error {
                BlockError::Backwards { .. } => "available-ids-holder/end",
                BlockError::CursorBelow { .. } => "available-ids-holder/cursor",
            };
            self.wrong(at, &error.to_string())
        })?;
        Ok(Some((start, end, cursor)))
    }

    /// The released ids, with adjacent ids of the same ready time joined. `was`: their number before.
    fn released(&self, nodes: &IdManagerNodes, was: Option<u128>) -> Result<Vec<ReleasedIds>> {
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
        let declared = number(holder, nodes.available_count).map(u128::from);
        let listed = count(&released);
        match declared {
            Some(declared) if declared != listed && Some(declared) != was => {
                let text = format!(
                    "available-id-count is {declared}, but {listed} released ids are listed"
                );
                Err(self.wrong("released-ids-holder/available-id-count", &text))
            }
            _ => Ok(released),
        }
    }

    fn missing(&self, leaf: &str) -> RestconfError {
        self.missing_at(&format!("available-ids-holder/{leaf}"))
    }

    fn missing_at(&self, at: &str) -> RestconfError {
        let text = format!("'{}' lacks {at}", self.name);
        RestconfError::missing_element(text).at_path(format!("{}/{at}", at_pool(self.name)))
    }

    fn wrong(&self, at: &str, text: &str) -> RestconfError {
        let text = format!("'{}': {text}", self.name);
        RestconfError::wrong_value(text).at_path(format!("{}/{at}", at_pool(self.name)))
    }
}

/// Adds the pool to the path of a validation error.
fn at_pool_path(error: RestconfError, name: &str) -> RestconfError {
    let path = error.path.clone().unwrap_or_default();
    let below = path.strip_prefix("/id-manager:id-pools/id-pool").unwrap_or_default().to_owned();
    error.at_path(format!("{}{below}", at_pool(name)))
}

fn number(node: Option<&DataNode>, leaf: NodeId) -> Option<u32> {
    node.and_then(|node| node.uint(leaf)).and_then(|number| u32::try_from(number).ok())
}
