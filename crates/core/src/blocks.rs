//! Block allocation, as OpenDaylight's id-manager does it.
//!
//! The ids of a pool are divided into blocks in ascending order. A node takes one block at a time as its child pool,
//! hands out its ids one after the other, and keeps returned ids in a list until they may be used again. Which key
//! holds which id is not stored here: claims say that. The layout only says which id comes next; an id that is not held
//! is in at most one part of it.

mod apply;
pub mod command;
pub(crate) mod decide;
pub(crate) mod invariant;
mod layout_error;
mod released_list;
pub(crate) mod state;
pub mod view;

pub use layout_error::{BlockError, LayoutError};

use std::sync::Arc;

use crate::event::event_group;
use crate::refusal::refusals;
use crate::span::Span;

/// How the ids of one pool are divided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockLayout {
    pub block_size: u16,
    /// A client may ask for a certain id, or for one that expires; expired ids can be taken over.
    pub enhanced: bool,
    /// The last id that is in a block. Before the first block: one less than the first id.
    pub cursor: i64,
    /// Ids that children have returned to the pool.
    pub released: Vec<ReleasedIds>,
    /// The first child hands out ids. The others belong to nodes that no longer allocate.
    pub children: Vec<Child>,
}

/// The block of one node, and the ids that were released to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Child {
    pub name: Arc<str>,
    pub start: u32,
    pub end: u32,
    /// The last id that was handed out of the block.
    pub cursor: i64,
    pub released: Vec<ReleasedIds>,
    /// When it last handed out an id, in seconds since 1970.
    pub access_s: u32,
}

impl Child {
    /// Start, end and cursor of a child that has not received a block.
    pub const NO_BLOCK: (u32, u32, i64) = (1, 0, 0);

    /// Whether the child ever received a block.
    pub fn has_block(&self) -> bool {
        self.start <= self.end
    }
}

/// Checks a range of ids that are handed out one after the other. A face checks each range where it reads it, to report
/// the error there.
pub fn check_block(start: u32, end: u32, cursor: i64) -> Result<(), BlockError> {
    if end < start {
        return Err(BlockError::Backwards { start, end });
    }
    let initial = i64::from(start) - 1;
    if cursor < initial {
        return Err(BlockError::CursorBelow { cursor, initial });
    }
    Ok(())
}

/// Ids that were released together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReleasedIds {
    pub ids: Span,
    /// When they can be used again, in seconds since 1970.
    pub ready_s: u32,
}

/// Where the next id is looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SearchOrder {
    /// The block, the child's released ids, a new block, the pool's released ids.
    #[default]
    AvailableFirst,
    /// The child's released ids, the block, the pool's released ids, a new block.
    ReleasedFirst,
}

event_group!(Blocks: BlocksEvent { Defined(BlocksDefined), Moved(BlocksMoved) });

/// The layout was set as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlocksDefined {
    pub pool: Arc<str>,
    pub layout: BlockLayout,
}

/// The first child has taken a new block, or released ids were moved between it and the pool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlocksMoved {
    pub pool: Arc<str>,
    /// The cursor of the pool.
    pub cursor: i64,
    /// The child's block and its cursor.
    pub start: u32,
    pub end: u32,
    pub child_cursor: i64,
    /// Moved from the pool's released ids to the child's. Their ready time does not change.
    pub fetched: Vec<Span>,
    /// Moved from the child's released ids to the pool's, ready at once.
    pub returned: Vec<Span>,
    pub at_ms: u64,
}

// Refusals beyond those about pools and claims.
refusals! {
    pub enum BlocksRefusal {
        /// The pool is not one of ids below 2^32, so it cannot be divided into blocks.
        NotIds { pool: Arc<str> }
            => "not_ids", Change, "pool '{pool}' is not a pool of ids below 2^32";
        /// The pool has changed since the state that an edit is based on.
        PoolChanged { pool: Arc<str>, at: u64 }
            => "pool_changed", Reread, "pool '{pool}' has changed at position {at}, after it was read";
        /// The key holds nothing. `entries`: how many other keys do.
        KeyUnknown { pool: Arc<str>, key: Arc<str>, entries: u64 }
            => "id_key_unknown", Reread, "nothing is held under '{key}' in pool '{pool}'";
        /// The client wants this id and no other one.
        IdUnavailable { pool: Arc<str>, id: u32 }
            => "id_unavailable", WaitForRelease, "id {id} is not available in pool '{pool}'";
        /// The definition in an edit contradicts itself or the entries.
        Layout { pool: Arc<str>, error: LayoutError }
            => "account_contradicts", Change, "the definition of pool '{pool}' contradicts itself: {error}";
    }
}
