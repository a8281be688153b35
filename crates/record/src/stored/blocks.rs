//! The layout of block pools.

use allod_core::blocks::{BlockLayout, BlocksDefined, BlocksMoved, Child, ReleasedIds};
use allod_core::state::restore::BlocksImage;

use super::form::stored_structs;
use super::span::SpanV1;

stored_structs! {
    ReleasedIdsV1 of ReleasedIds {
        ids: SpanV1,
        ready_s: u32,
    }

    ChildV1<'a> of Child {
        name: &'a str,
        start: u32,
        end: u32,
        cursor: i64,
        released: Vec<ReleasedIdsV1>,
        access_s: u32,
    }

    BlockLayoutV1<'a> of BlockLayout {
        block_size: u16,
        enhanced: bool,
        cursor: i64,
        released: Vec<ReleasedIdsV1>,
        #[serde(borrow)]
        children: Vec<ChildV1<'a>>,
    }

    BlocksDefinedV1<'a> of BlocksDefined {
        pool: &'a str,
        #[serde(borrow)]
        layout: BlockLayoutV1<'a>,
    }

    BlocksMovedV1<'a> of BlocksMoved {
        pool: &'a str,
        cursor: i64,
        start: u32,
        end: u32,
        child_cursor: i64,
        fetched: Vec<SpanV1>,
        returned: Vec<SpanV1>,
        at_ms: u64,
    }

    BlocksV1<'a> of BlocksImage {
        #[serde(borrow)]
        layout: BlockLayoutV1<'a>,
        clean_ms: Option<u64>,
        changed: u64,
    }
}
