//! Events about the layout of block pools.

use std::sync::Arc;

use super::BlockLayout;
use crate::span::Span;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BlocksEvent {
    Defined(BlocksDefined),
    Moved(BlocksMoved),
}

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
