//! Commands of the test language for block pools.
//!
//! `ids p 0-100 [enhanced] [delay=30]`, `alloc p k [id=5] [exp=100] [strict] [order=released]`, `range p k 5`, `free p k [fine]`,
//! `drop p`; `entry p k 5,6 [until=T]`, `unentry p k`, `wipe p`, and
//! `frame p 0-100 at=101 block=10 child=0-9:10 released=1@0,2@0 returned=7@0` edit pools, `alone` with no other
//! entries; `seen=N` is the position of the state that the edit is based on, `saw=5,6` the entry, `all` all pools; `account p`
//! prints the layout. `node=N` selects the child, `now` is the start of the test.

use std::sync::Arc;

use allod_core::blocks::command::{
    AllocateIds, BlockPool, BlockPoolEdit, BlocksCommand, CreateBlockPool, EditBlocks, IdEntry,
    PutBlockPool, WantIds,
};
use allod_core::blocks::{BlockLayout, Child, ReleasedIds, SearchOrder};
use allod_core::command::Command;
use allod_core::span::Span;
use allod_core::state::State;
use allod_core::view;

use crate::values::script::{Words, number, text};
use crate::values::world::EPOCH_MS;

/// The command of a line. `None`: another part of the language.
pub fn command(state: &State, words: &Words<'_>) -> Option<Command> {
    let pool = || text(words.plain(0));
    let key = || text(words.plain(1));
    let child = || text(&format!("{}.{}", words.plain(0), words.get("node").unwrap_or("1")));
    let number_of = |name| words.get(name).map(|text| number(text) as u32);
    let allocate = |want| {
        let order = match words.get("order") {
            Some("released") => SearchOrder::ReleasedFirst,
            _ => SearchOrder::AvailableFirst,
        };
        let enhanced_order = match words.get("order") {
            Some("available") => SearchOrder::AvailableFirst,
            _ => SearchOrder::ReleasedFirst,
        };
        let (pool, key, child) = (pool(), key(), child());
        BlocksCommand::Allocate(AllocateIds { pool, key, want, child, order, enhanced_order })
    };
    let edit = |edit| {
        BlocksCommand::Edit(EditBlocks {
            seen: seen(state, words),
            seen_all: words.has("all"),
            pools: vec![(pool(), edit)],
        })
    };
    let put = |put| edit(BlockPoolEdit::Put(Box::new(put)));
    let saw = words.get("saw").map(|saw| {
        let saw = (saw != "none").then(|| spans(saw));
        let saw = saw.map(|ids| IdEntry { key: key(), ids, expires_ms: None });
        vec![(key(), saw)]
    });
    let plain =
        PutBlockPool { saw, definition: None, replace_entries: false, put: vec![], remove: vec![] };
    Some(Command::Blocks(match words.verb() {
        "ids" => {
            let (low, high) = words.plain(1).split_once('-').expect("a range");
            BlocksCommand::Create(CreateBlockPool {
                pool: pool(),
                low: number(low) as u32,
                high: number(high) as u32,
                enhanced: words.has("enhanced"),
                child: child(),
                delay_s: number_of("delay").unwrap_or(30),
            })
        }
        "alloc" => allocate(WantIds::One {
            value: number_of("id"),
            expiration_s: number_of("exp"),
            strict: words.has("strict"),
        }),
        "range" => allocate(WantIds::Range { size: number(words.plain(2)) as u32 }),
        "free" => {
            BlocksCommand::Release { pool: pool(), key: key(), unknown_is_fine: words.has("fine") }
        }
        "drop" => BlocksCommand::Delete { pool: pool() },
        "wipe" => edit(BlockPoolEdit::Remove),
        "unentry" => put(PutBlockPool { remove: vec![key()], ..plain }),
        "entry" => {
            let expires_ms = words.get("until").map(|until| EPOCH_MS + number(until) * 1000);
            let entry = IdEntry { key: key(), ids: spans(words.plain(2)), expires_ms };
            put(PutBlockPool { put: vec![entry], replace_entries: words.has("alone"), ..plain })
        }
        "frame" => put(PutBlockPool {
            definition: Some(frame(words, child())),
            replace_entries: words.has("alone"),
            ..plain
        }),
        _ => return None,
    }))
}

fn seen(state: &State, words: &Words<'_>) -> u64 {
    words.get("seen").map_or(state.position, number)
}

fn frame(words: &Words<'_>, name: Arc<str>) -> BlockPool {
    let (low, high) = words.plain(1).split_once('-').expect("a range");
    let (block, cursor) =
        words.get("child").and_then(|child| child.split_once(':')).expect("a child");
    let (start, end) = block.split_once('-').expect("a block");
    let signed = |text: &str| text.parse::<i64>().expect("a cursor");
    let child = Child {
        name,
        start: number(start) as u32,
        end: number(end) as u32,
        cursor: signed(cursor),
        released: released(words.get("released")),
        access_s: 0,
    };
    let layout = BlockLayout {
        block_size: words.get("block").map_or(1, |block| number(block) as u16),
        enhanced: words.has("enhanced"),
        cursor: signed(words.get("at").expect("a cursor")),
        released: released(words.get("returned")),
        children: vec![child],
    };
    let delay_s = words.get("delay").map_or(30, |delay| number(delay) as u32);
    BlockPool { low: number(low) as u32, high: number(high) as u32, delay_s, layout }
}

/// `1@0,4-5@30`: ids and their ready times, in seconds from the start of the test.
fn released(list: Option<&str>) -> Vec<ReleasedIds> {
    let one = |text: &str| {
        let (ids, ready) = text.split_once('@').expect("ids@time");
        let ready_s = (EPOCH_MS / 1000) as u32 + number(ready) as u32;
        ReleasedIds { ids: spans(ids)[0], ready_s }
    };
    list.into_iter().flat_map(|list| list.split(',')).map(one).collect()
}

fn spans(list: &str) -> Vec<Span> {
    let one = |text: &str| {
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        Span::new(number(first).into(), number(last).into()).expect("a span")
    };
    list.split(',').map(one).collect()
}

pub fn shown(ids: &[Span]) -> String {
    if ids.is_empty() {
        return "nothing".into();
    }
    let one = |span: &Span| match span.len() {
        1 => span.first.to_string(),
        _ => format!("{}-{}", span.first, span.last),
    };
    ids.iter().map(one).collect::<Vec<_>>().join(",")
}

/// `0-100 at 9 block 10 | p.1 0-9 at -1 | p.1 has 4@+30 | pool has 7@+0`.
pub fn account(state: &State, pool: &str) -> String {
    let child = |pool: &str| -> Arc<str> { format!("{pool}.1").into() };
    let Some(BlockPool { low, high, layout, .. }) = view::blocks::definition(state, pool, child)
    else {
        return "none".into();
    };
    let list = |name: &str, ids: &[ReleasedIds]| {
        let one = |one: &ReleasedIds| {
            let ready = i64::from(one.ready_s) - (EPOCH_MS / 1000) as i64;
            format!("{}@{ready}", shown(&[one.ids]))
        };
        let ids: Vec<String> = ids.iter().map(one).collect();
        if ids.is_empty() { String::new() } else { format!(" | {name} has {}", ids.join(",")) }
    };
    let mut out = format!("{low}-{high} at {} block {}", layout.cursor, layout.block_size);
    for child in &layout.children {
        out += &format!(" | {} {}-{} at {}", child.name, child.start, child.end, child.cursor);
        out += &list(&child.name, &child.released);
    }
    out + &list("pool", &layout.released)
}
