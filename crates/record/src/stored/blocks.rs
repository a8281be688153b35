//! The layout of block pools.

use allod_core::blocks::event::{BlocksDefined, BlocksMoved};
use allod_core::blocks::{BlockLayout, Child, ReleasedIds};
use allod_core::state::restore::BlocksImage;
use serde::{Deserialize, Serialize};

use super::span::{SpanV1, load_spans, store_spans};

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ReleasedIdsV1 {
    ids: SpanV1,
    ready_s: u32,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ChildV1<'a> {
    #[serde(borrow)]
    name: &'a str,
    start: u32,
    end: u32,
    cursor: i64,
    released: Vec<ReleasedIdsV1>,
    access_s: u32,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct BlockLayoutV1<'a> {
    block_size: u16,
    enhanced: bool,
    cursor: i64,
    released: Vec<ReleasedIdsV1>,
    #[serde(borrow)]
    children: Vec<ChildV1<'a>>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct BlocksDefinedV1<'a> {
    pool: &'a str,
    #[serde(borrow)]
    layout: BlockLayoutV1<'a>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct BlocksMovedV1<'a> {
    pool: &'a str,
    cursor: i64,
    start: u32,
    end: u32,
    child_cursor: i64,
    fetched: Vec<SpanV1>,
    returned: Vec<SpanV1>,
    at_ms: u64,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct BlocksV1<'a> {
    #[serde(borrow)]
    layout: BlockLayoutV1<'a>,
    clean_ms: Option<u64>,
    changed: u64,
}

fn store(ids: &[ReleasedIds]) -> Vec<ReleasedIdsV1> {
    ids.iter().map(|one| ReleasedIdsV1 { ids: SpanV1(one.ids), ready_s: one.ready_s }).collect()
}

fn load(ids: Vec<ReleasedIdsV1>) -> Vec<ReleasedIds> {
    ids.into_iter().map(|one| ReleasedIds { ids: one.ids.0, ready_s: one.ready_s }).collect()
}

impl<'a> From<&'a BlockLayout> for BlockLayoutV1<'a> {
    fn from(layout: &'a BlockLayout) -> BlockLayoutV1<'a> {
        let child = |child: &'a Child| ChildV1 {
            name: &child.name,
            start: child.start,
            end: child.end,
            cursor: child.cursor,
            released: store(&child.released),
            access_s: child.access_s,
        };
        BlockLayoutV1 {
            block_size: layout.block_size,
            enhanced: layout.enhanced,
            cursor: layout.cursor,
            released: store(&layout.released),
            children: layout.children.iter().map(child).collect(),
        }
    }
}

impl From<BlockLayoutV1<'_>> for BlockLayout {
    fn from(stored: BlockLayoutV1<'_>) -> BlockLayout {
        let child = |child: ChildV1<'_>| Child {
            name: child.name.into(),
            start: child.start,
            end: child.end,
            cursor: child.cursor,
            released: load(child.released),
            access_s: child.access_s,
        };
        BlockLayout {
            block_size: stored.block_size,
            enhanced: stored.enhanced,
            cursor: stored.cursor,
            released: load(stored.released),
            children: stored.children.into_iter().map(child).collect(),
        }
    }
}

impl<'a> From<&'a BlocksDefined> for BlocksDefinedV1<'a> {
    fn from(event: &'a BlocksDefined) -> BlocksDefinedV1<'a> {
        BlocksDefinedV1 { pool: &event.pool, layout: BlockLayoutV1::from(&event.layout) }
    }
}

impl From<BlocksDefinedV1<'_>> for BlocksDefined {
    fn from(stored: BlocksDefinedV1<'_>) -> BlocksDefined {
        BlocksDefined { pool: stored.pool.into(), layout: stored.layout.into() }
    }
}

impl<'a> From<&'a BlocksMoved> for BlocksMovedV1<'a> {
    fn from(event: &'a BlocksMoved) -> BlocksMovedV1<'a> {
        BlocksMovedV1 {
            pool: &event.pool,
            cursor: event.cursor,
            start: event.start,
            end: event.end,
            child_cursor: event.child_cursor,
            fetched: store_spans(&event.fetched),
            returned: store_spans(&event.returned),
            at_ms: event.at_ms,
        }
    }
}

impl From<BlocksMovedV1<'_>> for BlocksMoved {
    fn from(stored: BlocksMovedV1<'_>) -> BlocksMoved {
        BlocksMoved {
            pool: stored.pool.into(),
            cursor: stored.cursor,
            start: stored.start,
            end: stored.end,
            child_cursor: stored.child_cursor,
            fetched: load_spans(stored.fetched),
            returned: load_spans(stored.returned),
            at_ms: stored.at_ms,
        }
    }
}

impl<'a> From<&'a BlocksImage> for BlocksV1<'a> {
    fn from(image: &'a BlocksImage) -> BlocksV1<'a> {
        let (clean_ms, changed) = (image.clean_ms, image.changed);
        BlocksV1 { layout: BlockLayoutV1::from(&image.layout), clean_ms, changed }
    }
}

impl From<BlocksV1<'_>> for BlocksImage {
    fn from(stored: BlocksV1<'_>) -> BlocksImage {
        let (clean_ms, changed) = (stored.clean_ms, stored.changed);
        BlocksImage { layout: stored.layout.into(), clean_ms, changed }
    }
}
