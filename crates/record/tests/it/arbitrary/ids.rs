//! Strategies for block pools.

use allod_core::blocks::{BlockLayout, Child, ReleasedIds};
use allod_core::blocks::{BlocksDefined, BlocksEvent, BlocksMoved};
use allod_core::event::Event;
use allod_core::state::restore::BlocksImage;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use super::{number, span, text};

fn released() -> impl Strategy<Value = Vec<ReleasedIds>> {
    let one = (span(), any::<u32>()).prop_map(|(ids, ready_s)| ReleasedIds { ids, ready_s });
    vec(one, 0..3)
}

fn child() -> impl Strategy<Value = Child> {
    (text(), any::<u32>(), any::<u32>(), any::<i64>(), released(), any::<u32>()).prop_map(
        |(name, start, end, cursor, released, access_s)| Child {
            name,
            start,
            end,
            cursor,
            released,
            access_s,
        },
    )
}

fn layout() -> impl Strategy<Value = BlockLayout> {
    (any::<u16>(), any::<bool>(), any::<i64>(), released(), vec(child(), 0..3)).prop_map(
        |(block_size, enhanced, cursor, released, children)| BlockLayout {
            block_size,
            enhanced,
            cursor,
            released,
            children,
        },
    )
}

pub fn event() -> impl Strategy<Value = Event> {
    let block = (any::<i64>(), any::<u32>(), any::<u32>(), any::<i64>());
    let moved = (text(), block, vec(span(), 0..3), vec(span(), 0..3), number()).prop_map(
        |(pool, (cursor, start, end, child_cursor), fetched, returned, at_ms)| {
            Event::Blocks(BlocksEvent::Moved(BlocksMoved {
                pool,
                cursor,
                start,
                end,
                child_cursor,
                fetched,
                returned,
                at_ms,
            }))
        },
    );
    let defined = (text(), layout()).prop_map(|(pool, layout)| {
        Event::Blocks(BlocksEvent::Defined(BlocksDefined { pool, layout }))
    });
    prop_oneof![moved.boxed(), defined.boxed()]
}

pub fn account() -> impl Strategy<Value = Option<BlocksImage>> {
    let account = (layout(), option::of(number()), number())
        .prop_map(|(layout, clean_ms, changed)| BlocksImage { layout, clean_ms, changed });
    option::of(account)
}
