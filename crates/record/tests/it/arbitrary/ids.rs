//! Any account of a pool of ids.

use allod_core::event::Event;
use allod_core::event::ids::{BlocksMoved, LedgerDefined};
use allod_core::ids::{Child, Ledger, ReleasedIds};
use allod_core::state::account::AccountImage;
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

fn ledger() -> impl Strategy<Value = Ledger> {
    (any::<u16>(), any::<bool>(), any::<i64>(), released(), vec(child(), 0..3)).prop_map(
        |(block_size, enhanced, cursor, released, children)| Ledger {
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
            Event::BlocksMoved(BlocksMoved {
                pool,
                cursor,
                start,
                end,
                child_cursor,
                fetched,
                returned,
                at_ms,
            })
        },
    );
    let defined = (text(), ledger())
        .prop_map(|(pool, ledger)| Event::LedgerDefined(LedgerDefined { pool, ledger }));
    prop_oneof![moved.boxed(), defined.boxed()]
}

pub fn account() -> impl Strategy<Value = Option<AccountImage>> {
    let account = (ledger(), option::of(number()), number())
        .prop_map(|(ledger, clean_ms, changed)| AccountImage { ledger, clean_ms, changed });
    option::of(account)
}
