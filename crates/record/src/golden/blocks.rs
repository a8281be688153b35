//! Samples of block pools.

use allod_core::blocks::{BlockLayout, Child, ReleasedIds};
use allod_core::blocks::{BlocksDefined, BlocksEvent, BlocksMoved};
use allod_core::event::Event;
use allod_core::span::Span;
use allod_core::state::restore::{BlocksImage, PoolImage};

use super::samples::{AT_MS, Sample, checkpoint, plain_spec};
use crate::checkpoint::CheckpointPart;

pub(super) fn all() -> Vec<(&'static str, Sample)> {
    vec![
        ("45-ledger_defined-v1", Sample::Event(defined())),
        ("46-blocks_moved-v1", Sample::Event(moved())),
        ("65-checkpoint_pool-v2", checkpoint(&[pool()])),
    ]
}

fn layout() -> BlockLayout {
    let ids = |first, last, ready_s| ReleasedIds { ids: Span { first, last }, ready_s };
    BlockLayout {
        block_size: 19,
        enhanced: true,
        cursor: 38,
        released: vec![ids(3, 3, 1_491_391_342)],
        children: vec![
            Child {
                name: "vlan.168101180".into(),
                start: 20,
                end: 38,
                cursor: 19,
                released: vec![ids(5, 9, 1_491_391_342), ids(1, 1, u32::MAX)],
                access_s: 1_491_391_312,
            },
            Child {
                name: "vlan.-1062717439".into(),
                start: 0,
                end: 0,
                cursor: -1,
                released: vec![],
                access_s: 0,
            },
        ],
    }
}

fn defined() -> Event {
    Event::Blocks(BlocksEvent::Defined(BlocksDefined { pool: "vlan".into(), layout: layout() }))
}

fn moved() -> Event {
    Event::Blocks(BlocksEvent::Moved(BlocksMoved {
        pool: "vlan".into(),
        cursor: 57,
        start: 39,
        end: 57,
        child_cursor: 38,
        fetched: vec![Span::one(3)],
        returned: vec![Span { first: 5, last: 8 }],
        at_ms: AT_MS,
    }))
}

fn pool() -> CheckpointPart {
    CheckpointPart::Pool(Box::new(PoolImage {
        name: "vlan".into(),
        generation: 1,
        spec: plain_spec(),
        cursor: Some(19),
        released: vec![],
        blocks: Some(BlocksImage { layout: layout(), clean_ms: Some(AT_MS), changed: 12 }),
        requests: None,
    }))
}
