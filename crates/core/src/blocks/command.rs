//! Commands about block pools, and about ids by key.

use std::sync::Arc;

use super::{BlockLayout, SearchOrder};
use crate::span::Span;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BlocksCommand {
    /// Leaves an existing pool unchanged.
    Create(CreateBlockPool),
    /// Deletes the pool and all of its claims.
    Delete {
        pool: Arc<str>,
    },
    Allocate(AllocateIds),
    Release {
        pool: Arc<str>,
        key: Arc<str>,
        /// Whether a key that holds nothing is accepted, as long as another key of the pool holds something.
        unknown_is_fine: bool,
    },
    Edit(EditBlocks),
}

impl BlocksCommand {
    /// Whether it creates, redefines or removes a pool.
    pub(crate) fn changes_pools(&self) -> bool {
        match self {
            BlocksCommand::Create(_) | BlocksCommand::Delete { .. } => true,
            BlocksCommand::Allocate(_) | BlocksCommand::Release { .. } => false,
            BlocksCommand::Edit(edit) => edit.pools.iter().any(|(_, edit)| match edit {
                BlockPoolEdit::Remove => true,
                BlockPoolEdit::Put(put) => put.definition.is_some(),
            }),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreateBlockPool {
    pub pool: Arc<str>,
    pub low: u32,
    pub high: u32,
    pub enhanced: bool,
    /// The name of the child pool that gets the first block.
    pub child: Arc<str>,
    /// The quarantine of a released id. Not used by enhanced pools.
    pub delay_s: u32,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllocateIds {
    pub pool: Arc<str>,
    pub key: Arc<str>,
    pub want: WantIds,
    /// The child pool that hands out the ids.
    pub child: Arc<str>,
    pub order: SearchOrder,
    /// The order in enhanced pools.
    pub enhanced_order: SearchOrder,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WantIds {
    /// The fields are used by enhanced pools only.
    One {
        value: Option<u32>,
        /// Seconds from now. `None` or 0: does not expire.
        expiration_s: Option<u32>,
        /// Refuse if the value is not available, instead of granting another one.
        strict: bool,
    },
    Range {
        size: u32,
    },
}

/// Changes to block pools, made together or not at all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditBlocks {
    /// The position of the state that the edit is based on. A pool that has changed since refuses the edit, unless it
    /// is removed.
    pub seen: u64,
    /// Whether any later change, also of other pools, refuses the edit.
    pub seen_all: bool,
    pub pools: Vec<(Arc<str>, BlockPoolEdit)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BlockPoolEdit {
    /// Removes the pool and all of its claims. A missing pool is no error.
    Remove,
    Put(Box<PutBlockPool>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PutBlockPool {
    /// The entries that the edit is based on, if it depends on nothing else of the pool: then other changes do not
    /// refuse it. `None` for an entry: there was none under this key.
    pub saw: Option<Vec<(Arc<str>, Option<IdEntry>)>>,
    /// `None`: range, delay and layout are unchanged.
    pub definition: Option<BlockPool>,
    /// Whether entries that are not in `put` are released.
    pub replace_entries: bool,
    /// New and changed entries.
    pub put: Vec<IdEntry>,
    /// Entries to release. Their ids skip quarantine.
    pub remove: Vec<Arc<str>>,
}

/// A block pool without its entries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockPool {
    pub low: u32,
    pub high: u32,
    pub delay_s: u32,
    pub layout: BlockLayout,
}

/// The ids that a key holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdEntry {
    pub key: Arc<str>,
    /// Ascending.
    pub ids: Vec<Span>,
    /// `None`: held until released.
    pub expires_ms: Option<u64>,
}
