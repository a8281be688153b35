//! Commands of the id-manager: pools with an account of blocks, and ids by key.

use std::sync::Arc;

use crate::ids::{Ledger, SearchOrder};
use crate::span::Span;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IdsCommand {
    /// A pool that is there already stays as it is.
    Create(CreateIds),
    /// With all that is held of it.
    Delete {
        pool: Arc<str>,
    },
    Allocate(AllocateIds),
    Release {
        pool: Arc<str>,
        key: Arc<str>,
        /// A key that holds nothing is no error while others hold something.
        unknown_is_fine: bool,
    },
    Edit(EditIds),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreateIds {
    pub pool: Arc<str>,
    pub low: u32,
    pub high: u32,
    pub enhanced: bool,
    /// The name of the child pool that gets the first block.
    pub child: Arc<str>,
    /// How long a released id rests. An enhanced pool has no such time.
    pub delay_s: u32,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllocateIds {
    pub pool: Arc<str>,
    pub key: Arc<str>,
    pub want: WantIds,
    /// The child pool that hands out.
    pub child: Arc<str>,
    pub order: SearchOrder,
    /// The order in enhanced pools.
    pub enhanced_order: SearchOrder,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WantIds {
    One {
        /// Only enhanced pools look at what follows.
        value: Option<u32>,
        /// From now; none, or 0: for ever.
        expiration_s: Option<u32>,
        /// Refuse when the value is not to be had, rather than give another.
        strict: bool,
    },
    Range {
        size: u32,
    },
}

/// What an operator has written into the tree of pools, all of it or nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditIds {
    /// The position of the state that the edit was made on: a pool that has changed since refuses, unless it is to go.
    pub seen: u64,
    /// Whether it was made on all that there is: anything that has changed since refuses.
    pub seen_all: bool,
    pub pools: Vec<(Arc<str>, PoolEdit)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PoolEdit {
    /// With all that is held of it. One that is not there is no error.
    Remove,
    Put(Box<PutIds>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PutIds {
    /// What the edit saw of the pool, if it was no more than these entries: then the rest may have changed since. `None` for
    /// an entry: that there is none.
    pub saw: Option<Vec<(Arc<str>, Option<IdEntry>)>>,
    /// `None`: range and account stay as they are.
    pub frame: Option<Frame>,
    /// Whether the entries below are all there are from now on.
    pub replace_entries: bool,
    /// New entries, and changed ones.
    pub put: Vec<IdEntry>,
    /// Entries that go. Their ids need no rest: they are ready to be given again, unless the frame says otherwise.
    pub remove: Vec<Arc<str>>,
}

/// Everything about a pool but its entries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    pub low: u32,
    pub high: u32,
    pub delay_s: u32,
    pub ledger: Ledger,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdEntry {
    pub key: Arc<str>,
    /// Ascending.
    pub ids: Vec<Span>,
    /// `None`: held until released.
    pub expires_ms: Option<u64>,
}
