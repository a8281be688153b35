//! What has happened to the account of a pool of ids.

use std::sync::Arc;

use crate::ids::Ledger;
use crate::span::Span;

/// The pool is parcelled out like this from now on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LedgerDefined {
    pub pool: Arc<str>,
    pub ledger: Ledger,
}

/// Blocks and released ids have changed places between the pool and the child that hands out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlocksMoved {
    pub pool: Arc<str>,
    /// The cursor of the pool.
    pub cursor: i64,
    /// The block of the child, and its cursor.
    pub start: u32,
    pub end: u32,
    pub child_cursor: i64,
    /// From the pool's released ids to the child's, ready when they were.
    pub fetched: Vec<Span>,
    /// From the child's released ids to the pool's, ready at once.
    pub returned: Vec<Span>,
    pub at_ms: u64,
}
