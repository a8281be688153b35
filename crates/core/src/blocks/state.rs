//! The layout of one block pool, indexed, and how each of its changes is undone.
//!
//! Where the next id comes from is decided in `decide`.

use std::sync::Arc;

pub(crate) use super::released_list::{ReleasedList, ReleasedRun};

use super::{BlockLayout, BlocksMoved, Child, ReleasedIds};
use crate::extension::PoolExtension;
use crate::span::Span;
use crate::state::pool::Pool;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Blocks {
    pub block_size: u16,
    pub enhanced: bool,
    pub cursor: i64,
    pub released: ReleasedList,
    /// The first child hands out ids.
    pub children: Vec<ChildBlock>,
    pub counts: Counts,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ChildBlock {
    pub name: Arc<str>,
    pub block: Block,
    pub released: ReleasedList,
    pub access_s: u32,
}

/// A range of ids that a child hands out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Block {
    pub start: u32,
    pub end: u32,
    pub cursor: i64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Counts {
    /// The number of releases so far, which numbers the next one.
    pub releases: u64,
    /// When surplus ids of the first child are returned to the pool.
    pub clean_ms: Option<u64>,
    /// The position at which the pool last changed.
    pub changed: u64,
}

/// What a checkpoint has of a layout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlocksImage {
    pub layout: BlockLayout,
    pub clean_ms: Option<u64>,
    pub changed: u64,
}

/// Whose list of released ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ListOwner {
    Pool,
    Child(usize),
}

/// A change of the layout, with the data that undoes it.
#[derive(Debug, Clone)]
pub(crate) enum BlocksChange {
    /// The extension before the layout was set.
    Whole(PoolExtension),
    Numbers {
        cursor: i64,
        block: Option<(Block, u32)>,
        counts: Counts,
    },
    RunAdded(ListOwner, ReleasedRun),
    RunRemoved(ListOwner, ReleasedRun),
}

impl Block {
    /// The ids after the cursor, held or not.
    pub fn rest(&self) -> Option<Span> {
        ids_after(self.cursor, self.end)
    }
}

/// The ids after the cursor, up to `end`.
pub(crate) fn ids_after(cursor: i64, end: u32) -> Option<Span> {
    let first = u128::try_from(cursor.saturating_add(1)).unwrap_or(0);
    Span::new(first, end.into())
}

impl Blocks {
    pub fn of(layout: &BlockLayout, changed: u64) -> Blocks {
        let mut releases = 0;
        let mut list = |ids: &[ReleasedIds]| {
            let mut list = ReleasedList::default();
            for one in ids {
                list.add(ReleasedRun { ids: one.ids, ready_s: one.ready_s, number: releases });
                releases += 1;
            }
            list
        };
        let released = list(&layout.released);
        let children = layout.children.iter().map(|child| ChildBlock {
            name: child.name.clone(),
            block: Block { start: child.start, end: child.end, cursor: child.cursor },
            released: list(&child.released),
            access_s: child.access_s,
        });
        let children = children.collect();
        Blocks {
            block_size: layout.block_size,
            enhanced: layout.enhanced,
            cursor: layout.cursor,
            released,
            children,
            counts: Counts { releases, clean_ms: None, changed },
        }
    }

    pub fn layout(&self) -> BlockLayout {
        let child = |child: &ChildBlock| Child {
            name: child.name.clone(),
            start: child.block.start,
            end: child.block.end,
            cursor: child.block.cursor,
            released: child.released.image(),
            access_s: child.access_s,
        };
        BlockLayout {
            block_size: self.block_size,
            enhanced: self.enhanced,
            cursor: self.cursor,
            released: self.released.image(),
            children: self.children.iter().map(child).collect(),
        }
    }

    pub fn image(&self) -> BlocksImage {
        let Counts { clean_ms, changed, .. } = self.counts;
        BlocksImage { layout: self.layout(), clean_ms, changed }
    }

    pub fn restore(image: &BlocksImage) -> Blocks {
        let mut blocks = Blocks::of(&image.layout, image.changed);
        blocks.counts.clean_ms = image.clean_ms;
        blocks
    }

    /// The child that hands out ids.
    pub fn active(&self) -> Option<&ChildBlock> {
        self.children.first()
    }

    pub fn lists(&self) -> impl Iterator<Item = (ListOwner, &ReleasedList)> {
        let children = self.children.iter().enumerate();
        let children = children.map(|(ix, child)| (ListOwner::Child(ix), &child.released));
        std::iter::once((ListOwner::Pool, &self.released)).chain(children)
    }

    /// The run of released ids that has this id.
    pub fn released_at(&self, id: u128) -> Option<ReleasedRun> {
        self.lists().find_map(|(_, list)| list.at(id))
    }

    fn list(&mut self, owner: ListOwner) -> Option<&mut ReleasedList> {
        match owner {
            ListOwner::Pool => Some(&mut self.released),
            ListOwner::Child(ix) => self.children.get_mut(ix).map(|child| &mut child.released),
        }
    }

    /// The change that restores the present numbers.
    pub fn numbers(&self) -> BlocksChange {
        let block = self.active().map(|child| (child.block, child.access_s));
        BlocksChange::Numbers { cursor: self.cursor, block, counts: self.counts }
    }

    // --- changing: each of these returns the changes, to be undone ---------------------------------------------

    /// Removes ids from all lists.
    pub fn remove_released(&mut self, ids: Span) -> Vec<BlocksChange> {
        let mut changes = Vec::new();
        let owners: Vec<ListOwner> = self.lists().map(|(owner, _)| owner).collect();
        for owner in owners {
            let Some(list) = self.list(owner) else { continue };
            let (out, keep) = list.without(ids);
            for run in out {
                list.remove(run);
                changes.push(BlocksChange::RunRemoved(owner, run));
            }
            for run in keep {
                list.add(run);
                changes.push(BlocksChange::RunAdded(owner, run));
            }
        }
        changes
    }

    /// Adds ids to a list, after all that are ready at the same time.
    pub fn add_released(&mut self, owner: ListOwner, ids: Span, ready_s: u32) -> Vec<BlocksChange> {
        let numbers = self.numbers();
        let run = ReleasedRun { ids, ready_s, number: self.counts.releases };
        self.counts.releases += 1;
        let Some(list) = self.list(owner) else { return vec![numbers] };
        list.add(run);
        vec![numbers, BlocksChange::RunAdded(owner, run)]
    }

    pub fn move_blocks(&mut self, event: &BlocksMoved) -> Vec<BlocksChange> {
        let mut changes = vec![self.numbers()];
        self.cursor = event.cursor;
        self.counts.clean_ms = None;
        let (start, end, cursor) = (event.start, event.end, event.child_cursor);
        let Some(child) = self.children.first_mut() else { return changes };
        child.block = Block { start, end, cursor };
        let fetched = event.fetched.iter().flat_map(|ids| {
            let runs = self.released.overlapping(*ids);
            runs.filter_map(|run| Some((run.ids.intersection(*ids)?, run.ready_s)))
        });
        let fetched: Vec<(Span, u32)> = fetched.collect();
        let now_s = seconds(event.at_ms);
        let returned: Vec<(Span, u32)> = event.returned.iter().map(|ids| (*ids, now_s)).collect();
        for (owner, moved) in [(ListOwner::Child(0), fetched), (ListOwner::Pool, returned)] {
            for (ids, ready_s) in moved {
                changes.extend(self.remove_released(ids));
                changes.extend(self.add_released(owner, ids, ready_s));
            }
        }
        changes
    }
}

impl Pool {
    /// The number of ids that the first child can hand out of its block.
    pub(crate) fn available_in_block(&self, blocks: &Blocks) -> u128 {
        let rest = blocks.active().and_then(|child| child.block.rest());
        rest.map_or(0, |rest| self.available_in(blocks, rest))
    }

    /// The number of ids of this span that are free and in no list of released ids.
    pub(crate) fn available_in(&self, blocks: &Blocks, span: Span) -> u128 {
        let released = blocks.lists().flat_map(|(_, list)| list.overlapping(span));
        let released = released.filter_map(|run| run.ids.intersection(span));
        let released: u128 = released.map(|part| self.free.overlap_len(part)).sum();
        self.free.overlap_len(span).saturating_sub(released)
    }

    /// The first id from here to `end` that is free and in no list of released ids.
    pub(crate) fn next_available(&self, blocks: &Blocks, from: u128, end: u128) -> Option<u128> {
        let mut id = self.free.first_at_or_after(from)?;
        while id <= end {
            let Some(run) = blocks.released_at(id) else { return Some(id) };
            id = self.free.first_at_or_after(run.ids.last.checked_add(1)?)?;
        }
        None
    }

    pub(crate) fn undo_blocks(&mut self, change: BlocksChange) {
        if let BlocksChange::Whole(extension) = change {
            self.extension = extension;
            return;
        }
        let Some(blocks) = self.blocks_mut() else { return };
        match change {
            BlocksChange::Whole(_) => {}
            BlocksChange::Numbers { cursor, block, counts } => {
                blocks.cursor = cursor;
                blocks.counts = counts;
                if let (Some(child), Some((block, access_s))) = (blocks.children.first_mut(), block)
                {
                    (child.block, child.access_s) = (block, access_s);
                }
            }
            BlocksChange::RunAdded(owner, run) => {
                blocks.list(owner).into_iter().for_each(|list| list.remove(run));
            }
            BlocksChange::RunRemoved(owner, run) => {
                blocks.list(owner).into_iter().for_each(|list| list.add(run));
            }
        }
    }
}

/// Whole seconds since 1970; the last one that fits if it is too late for 32 bits.
pub(crate) fn seconds(ms: u64) -> u32 {
    u32::try_from(ms / 1000).unwrap_or(u32::MAX)
}
