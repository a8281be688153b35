//! How a pool of ids is parcelled out, as OpenDaylight's id-manager keeps account of it.
//!
//! A pool has a cursor up to which its ids have been cut into blocks; a node takes a block at a time as its child pool, hands
//! out of it one after the other, and keeps what is given back in a list until it may be used again. None of this says who
//! holds what: claims do. The account only says from where the next id comes, and each id that nobody holds stands in at
//! most one place of it.

use std::sync::Arc;

use crate::span::Span;

/// The account of one pool, whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ledger {
    pub block_size: u16,
    /// Ids may be asked for by value and for a time, and what has expired may be taken.
    pub enhanced: bool,
    /// The last id that has been cut into a block; one less than the first id before there was any.
    pub cursor: i64,
    /// Given back to the pool by its children.
    pub released: Vec<ReleasedIds>,
    /// The first is the one that hands out; the others were left by nodes of other names.
    pub children: Vec<Child>,
}

/// The block of one node and what came back to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Child {
    pub name: Arc<str>,
    pub start: u32,
    pub end: u32,
    /// The last id that was handed out of the block.
    pub cursor: i64,
    pub released: Vec<ReleasedIds>,
    /// When it last handed something out, in seconds since 1970.
    pub access_s: u32,
}

/// Ids that were released together, in the order in which they may be used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReleasedIds {
    pub ids: Span,
    /// From when on, in seconds since 1970.
    pub ready_s: u32,
}

/// Where the next id is looked for first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SearchOrder {
    /// In the block, then among what was released; then a new block, then what was released to the parent.
    #[default]
    AvailableFirst,
    /// Among what was released, then in the block; then what was released to the parent, then a new block.
    ReleasedFirst,
}
