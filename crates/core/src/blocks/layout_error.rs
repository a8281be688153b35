//! Why the definition of a block pool contradicts itself or the entries.

use std::fmt;
use std::sync::Arc;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LayoutError {
    /// The range of the pool, or the block of this child.
    Block {
        child: Option<Arc<str>>,
        error: BlockError,
    },
    HeldOutside {
        key: Arc<str>,
        id: u128,
    },
    EntryEmpty {
        key: Arc<str>,
    },
    NoIds,
    BlockSizeZero,
    ChildTwice {
        child: Arc<str>,
    },
    ReleasedTwice {
        id: u128,
    },
    ReleasedOutside {
        id: u128,
    },
    ReleasedHeld {
        key: Arc<str>,
        id: u128,
    },
    AvailableTwice {
        id: u128,
    },
}

/// Why a range of ids cannot be handed out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockError {
    Backwards {
        start: u32,
        end: u32,
    },
    /// The cursor is before its value when no id has been handed out.
    CursorBelow {
        cursor: i64,
        initial: i64,
    },
}

impl fmt::Display for LayoutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LayoutError::Block { child: None, error: BlockError::Backwards { start, end } } => {
                write!(f, "it ends at {end}, before its start {start}")
            }
            LayoutError::Block { child: None, error } => write!(f, "{error}"),
            LayoutError::Block { child: Some(child), error } => {
                write!(f, "its child '{child}': {error}")
            }
            LayoutError::HeldOutside { key, id } => {
                write!(f, "'{key}' holds {id}, which is outside")
            }
            LayoutError::EntryEmpty { key } => write!(f, "the entry '{key}' has no id"),
            LayoutError::NoIds => write!(f, "it has no ids"),
            LayoutError::BlockSizeZero => write!(f, "its block size is zero"),
            LayoutError::ChildTwice { child } => write!(f, "it has the child '{child}' twice"),
            LayoutError::ReleasedTwice { id } => write!(f, "{id} is released twice"),
            LayoutError::ReleasedOutside { id } => {
                write!(f, "{id} is released but outside its range")
            }
            LayoutError::ReleasedHeld { key, id } => {
                write!(f, "'{key}' holds {id}, which is released")
            }
            LayoutError::AvailableTwice { id } => write!(f, "{id} is available in two places"),
        }
    }
}

impl fmt::Display for BlockError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BlockError::Backwards { start, end } => {
                write!(f, "the end {end} is before the start {start}")
            }
            BlockError::CursorBelow { cursor, initial } => {
                write!(f, "the cursor {cursor} is less than {initial}, its initial value")
            }
        }
    }
}
