//! The account of one pool of ids: blocks, cursors and shelves, and how each of its changes is taken back.
//!
//! What is written here never says who holds an id: the pool's free set and its claims do. From where the next id comes is
//! decided in `decide/ids`; this only keeps the places.

use std::sync::Arc;

use super::pool::Pool;
use super::shelf::{Run, Shelf};
use crate::event::ids::BlocksMoved;
use crate::ids::{Child, Ledger, ReleasedIds};
use crate::span::Span;

/// How long after a release the ids that are too many for a child go back to the pool.
pub(crate) const CLEAN_MS: u64 = 30_000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Account {
    pub block_size: u16,
    pub enhanced: bool,
    pub cursor: i64,
    pub released: Shelf,
    /// The first is the one that hands out.
    pub children: Vec<ChildAccount>,
    pub counts: Counts,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ChildAccount {
    pub name: Arc<str>,
    pub block: Block,
    pub released: Shelf,
    pub access_s: u32,
}

/// What a child has of the pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Block {
    pub start: u32,
    pub end: u32,
    pub cursor: i64,
}

/// What changes with nearly everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Counts {
    /// Numbers the releases.
    pub releases: u64,
    /// When the child's released ids are looked at for what is too many.
    pub clean_ms: Option<u64>,
    /// The position at which anything about the pool last changed.
    pub changed: u64,
}

/// The account as a checkpoint keeps it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccountImage {
    pub ledger: Ledger,
    pub clean_ms: Option<u64>,
    pub changed: u64,
}

/// Which shelf.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    Pool,
    Child(usize),
}

/// A change of an account, with what is needed to take it back.
#[derive(Debug, Clone)]
pub(crate) enum Change {
    Whole(Option<Box<Account>>),
    Numbers { cursor: i64, block: Option<(Block, u32)>, counts: Counts },
    Shelved(Place, Run),
    Taken(Place, Run),
}

impl Block {
    /// The ids that have not been handed out of it yet, held or not.
    pub fn rest(&self) -> Option<Span> {
        ids_after(self.cursor, self.end)
    }
}

/// The ids after the cursor, up to `end`.
pub(crate) fn ids_after(cursor: i64, end: u32) -> Option<Span> {
    let first = u128::try_from(cursor.saturating_add(1)).unwrap_or(0);
    Span::new(first, end.into())
}

impl Account {
    pub fn of(ledger: &Ledger, changed: u64) -> Account {
        let mut releases = 0;
        let mut shelf = |ids: &[ReleasedIds]| {
            let mut shelf = Shelf::default();
            for one in ids {
                shelf.add(Run { ids: one.ids, ready_s: one.ready_s, number: releases });
                releases += 1;
            }
            shelf
        };
        let released = shelf(&ledger.released);
        let children = ledger.children.iter().map(|child| ChildAccount {
            name: child.name.clone(),
            block: Block { start: child.start, end: child.end, cursor: child.cursor },
            released: shelf(&child.released),
            access_s: child.access_s,
        });
        let children = children.collect();
        Account {
            block_size: ledger.block_size,
            enhanced: ledger.enhanced,
            cursor: ledger.cursor,
            released,
            children,
            counts: Counts { releases, clean_ms: None, changed },
        }
    }

    pub fn ledger(&self) -> Ledger {
        let child = |child: &ChildAccount| Child {
            name: child.name.clone(),
            start: child.block.start,
            end: child.block.end,
            cursor: child.block.cursor,
            released: child.released.image(),
            access_s: child.access_s,
        };
        Ledger {
            block_size: self.block_size,
            enhanced: self.enhanced,
            cursor: self.cursor,
            released: self.released.image(),
            children: self.children.iter().map(child).collect(),
        }
    }

    pub fn image(&self) -> AccountImage {
        let Counts { clean_ms, changed, .. } = self.counts;
        AccountImage { ledger: self.ledger(), clean_ms, changed }
    }

    pub fn restore(image: &AccountImage) -> Account {
        let mut account = Account::of(&image.ledger, image.changed);
        account.counts.clean_ms = image.clean_ms;
        account
    }

    /// The child that hands out.
    pub fn active(&self) -> Option<&ChildAccount> {
        self.children.first()
    }

    /// Every shelf.
    pub fn shelves(&self) -> impl Iterator<Item = (Place, &Shelf)> {
        let children = self.children.iter().enumerate();
        let children = children.map(|(ix, child)| (Place::Child(ix), &child.released));
        std::iter::once((Place::Pool, &self.released)).chain(children)
    }

    /// The run of any shelf that has this id.
    pub fn shelved(&self, id: u128) -> Option<Run> {
        self.shelves().find_map(|(_, shelf)| shelf.at(id))
    }

    fn shelf(&mut self, place: Place) -> Option<&mut Shelf> {
        match place {
            Place::Pool => Some(&mut self.released),
            Place::Child(ix) => self.children.get_mut(ix).map(|child| &mut child.released),
        }
    }

    pub fn numbers(&self) -> Change {
        let block = self.active().map(|child| (child.block, child.access_s));
        Change::Numbers { cursor: self.cursor, block, counts: self.counts }
    }
}

impl Pool {
    /// How many ids the child can hand out of its block.
    pub(crate) fn local_available(&self, account: &Account) -> u128 {
        account
            .active()
            .and_then(|child| child.block.rest())
            .map_or(0, |rest| self.available_in(account, rest))
    }

    /// How many ids of this span are free and on no shelf.
    pub(crate) fn available_in(&self, account: &Account, span: Span) -> u128 {
        let shelved = account.shelves().flat_map(|(_, shelf)| shelf.overlapping(span));
        let shelved = shelved.filter_map(|run| run.ids.intersection(span));
        let shelved: u128 = shelved.map(|part| self.free.overlap_len(part)).sum();
        self.free.overlap_len(span).saturating_sub(shelved)
    }

    /// The first id from here to `end` that is free and on no shelf.
    pub(crate) fn next_available(&self, account: &Account, from: u128, end: u128) -> Option<u128> {
        let mut id = self.free.first_at_or_after(from)?;
        while id <= end {
            let Some(run) = account.shelved(id) else { return Some(id) };
            id = self.free.first_at_or_after(run.ids.last.checked_add(1)?)?;
        }
        None
    }

    // --- changing ----------------------------------------------------------------------------------------------

    /// Takes ids off every shelf. What has changed, to be taken back.
    pub(crate) fn unshelve(&mut self, ids: Span) -> Vec<Change> {
        let mut changes = Vec::new();
        let Some(account) = self.account.as_deref_mut() else { return changes };
        let places: Vec<Place> = account.shelves().map(|(place, _)| place).collect();
        for place in places {
            let Some(shelf) = account.shelf(place) else { continue };
            let (out, keep) = shelf.without(ids);
            for run in out {
                shelf.remove(run);
                changes.push(Change::Taken(place, run));
            }
            for run in keep {
                shelf.add(run);
                changes.push(Change::Shelved(place, run));
            }
        }
        changes
    }

    /// Puts ids on a shelf, behind all that are ready at the same time.
    pub(crate) fn shelve(&mut self, place: Place, ids: Span, ready_s: u32) -> Vec<Change> {
        let Some(account) = self.account.as_deref_mut() else { return Vec::new() };
        let numbers = account.numbers();
        let run = Run { ids, ready_s, number: account.counts.releases };
        account.counts.releases += 1;
        let Some(shelf) = account.shelf(place) else { return vec![numbers] };
        shelf.add(run);
        vec![numbers, Change::Shelved(place, run)]
    }

    pub(crate) fn move_blocks(&mut self, event: &BlocksMoved) -> Vec<Change> {
        let Some(account) = self.account.as_deref_mut() else { return Vec::new() };
        let mut changes = vec![account.numbers()];
        account.cursor = event.cursor;
        account.counts.clean_ms = None;
        let (start, end, cursor) = (event.start, event.end, event.child_cursor);
        let Some(child) = account.children.first_mut() else { return changes };
        child.block = Block { start, end, cursor };
        let runs = |shelf: &Shelf, ids: &[Span]| -> Vec<(Span, u32)> {
            let found = ids.iter().flat_map(|ids| {
                shelf
                    .overlapping(*ids)
                    .filter_map(|run| Some((run.ids.intersection(*ids)?, run.ready_s)))
            });
            found.collect()
        };
        let fetched = runs(&account.released, &event.fetched);
        let now_s = seconds(event.at_ms);
        let returned: Vec<(Span, u32)> = event.returned.iter().map(|ids| (*ids, now_s)).collect();
        for (place, moved) in [(Place::Child(0), fetched), (Place::Pool, returned)] {
            for (ids, ready_s) in moved {
                changes.extend(self.unshelve(ids));
                changes.extend(self.shelve(place, ids, ready_s));
            }
        }
        changes
    }

    pub(crate) fn undo_account(&mut self, change: Change) {
        if let Change::Whole(account) = change {
            self.account = account;
            return;
        }
        let Some(account) = self.account.as_deref_mut() else { return };
        match change {
            Change::Whole(_) => {}
            Change::Numbers { cursor, block, counts } => {
                account.cursor = cursor;
                account.counts = counts;
                if let (Some(child), Some((block, access_s))) =
                    (account.children.first_mut(), block)
                {
                    (child.block, child.access_s) = (block, access_s);
                }
            }
            Change::Shelved(place, run) => {
                account.shelf(place).into_iter().for_each(|shelf| shelf.remove(run))
            }
            Change::Taken(place, run) => {
                account.shelf(place).into_iter().for_each(|shelf| shelf.add(run))
            }
        }
    }
}

/// Whole seconds since 1970, as the id-manager counts them.
pub(crate) fn seconds(ms: u64) -> u32 {
    u32::try_from(ms / 1000).unwrap_or(u32::MAX)
}
