//! Finding the next ids of a block pool: the child's block, its released ids, a new block, the pool's released ids.
//!
//! Drawing changes nothing: it returns ids and the events that must come before their grant.

use std::sync::Arc;

use super::{Draft, high};
use crate::blocks::state::{Block, Blocks, ids_after, seconds};
use crate::blocks::{BlocksDefined, BlocksMoved, ReleasedIds, SearchOrder};
use crate::decide::room;
use crate::event::Event;
use crate::limits::at_most;
use crate::refusal::Refusal;
use crate::span::{self, Span};
use crate::state::pool::Pool;

/// Available ids, and the events that must come before their grant.
pub(super) struct Drawn {
    /// Ascending.
    pub ids: Vec<Span>,
    /// The block's cursor after the grant, if it moves.
    pub cursor: Option<u128>,
    before: Vec<Event>,
}

impl Drawn {
    /// Records the events that come before the grant.
    pub fn record(&mut self, draft: &mut Draft<'_>) {
        self.before.drain(..).for_each(|event| draft.record(event));
    }
}

/// This many ids. `None`: there are fewer.
pub(super) fn draw(
    draft: &Draft<'_>,
    name: &Arc<str>,
    count: u128,
    order: SearchOrder,
) -> Result<Option<Drawn>, Refusal> {
    let pool = draft.pool(name)?;
    let (Some(blocks), now_ms) = (pool.blocks(), draft.now_ms) else { return Ok(None) };
    let Some(child) = blocks.active() else { return Ok(None) };
    let mut search = IdSearch {
        pool,
        blocks,
        now_ms,
        order,
        cursor: blocks.cursor,
        block: child.block,
        from_block: false,
        released: 0,
        fetched: Vec::new(),
        used_of_fetched: 0,
        picked: Vec::new(),
        missing: count,
        ended: Vec::new(),
        runs_max: draft.limits.ids_per_edit_max,
    };
    let found = search.run();
    at_most("ids_per_edit_max", search.runs_max, search.runs())?;
    Ok(found.then(|| search.drawn(child.block)))
}

/// The number of available ids; counts no further than needed to exceed `enough`.
pub(super) fn total(draft: &Draft<'_>, name: &Arc<str>, enough: u128) -> Result<u128, Refusal> {
    let pool = draft.pool(name)?;
    let Some(blocks) = pool.blocks() else { return Ok(0) };
    let Some(child) = blocks.active() else { return Ok(0) };
    let rest =
        |cursor, end| ids_after(cursor, end).map_or(0, |span| pool.available_in(blocks, span));
    let mut total = pool.available_in_block(blocks)
        + blocks.released.len()
        + rest(blocks.cursor, u32::try_from(high(pool)).unwrap_or(0));
    let now_s = seconds(draft.now_ms);
    for run in child.released.iter().take_while(|run| run.ready_s <= now_s) {
        if total > enough {
            break;
        }
        total += run.ids.len();
    }
    Ok(total)
}

/// Returns the ids of all children but the first to the pool. `false`: there are no other children.
pub(super) fn adopt(draft: &mut Draft<'_>, name: &Arc<str>) -> Result<bool, Refusal> {
    let pool = draft.pool(name)?;
    let Some(blocks) = pool.blocks().filter(|blocks| blocks.children.len() > 1) else {
        return Ok(false);
    };
    let mut layout = blocks.layout();
    for (ix, left) in layout.children.split_off(1).into_iter().enumerate() {
        let block = blocks.children.get(ix + 1).and_then(|child| child.block.rest());
        let free = block.into_iter().flat_map(|block| pool.free.iter_within(block));
        let released = |span: Span| {
            let runs = blocks.lists().flat_map(move |(_, list)| list.overlapping(span));
            runs.map(|run| run.ids).collect::<Vec<_>>()
        };
        let unused =
            free.flat_map(|span| span::subtract(&[span], &span::normalise(released(span))));
        let ready_s = seconds(draft.now_ms);
        layout.released.extend(unused.map(|ids| ReleasedIds { ids, ready_s }));
        layout.released.extend(left.released);
    }
    draft.record(BlocksDefined { pool: name.clone(), layout });
    Ok(true)
}

/// The state of a search: the layout as it would be after the grant.
struct IdSearch<'a> {
    pool: &'a Pool,
    blocks: &'a Blocks,
    now_ms: u64,
    order: SearchOrder,
    cursor: i64,
    block: Block,
    from_block: bool,
    /// The number of the child's released ids that have been picked.
    released: u128,
    /// Ids to move from the pool's released ids to the child's, in their order.
    fetched: Vec<ReleasedIds>,
    used_of_fetched: u128,
    picked: Vec<Span>,
    missing: u128,
    /// The events that end quarantines on picked ids.
    ended: Vec<Event>,
    /// The search ends when it has more separate ranges of ids than this.
    runs_max: u64,
}

impl IdSearch<'_> {
    /// Picks ids until none are missing. `false`: there are too few.
    fn run(&mut self) -> bool {
        loop {
            match self.order {
                SearchOrder::AvailableFirst => {
                    self.take_of_block();
                    self.take_released();
                }
                SearchOrder::ReleasedFirst => {
                    self.take_released();
                    self.take_of_block();
                }
            }
            if self.missing == 0 {
                return true;
            }
            if self.runs() > self.runs_max {
                return false;
            }
            let more = match self.order {
                SearchOrder::AvailableFirst => self.new_block() || self.fetch(),
                SearchOrder::ReleasedFirst => self.fetch() || self.new_block(),
            };
            if !more {
                return false;
            }
        }
    }

    /// The number of separate ranges of ids so far.
    fn runs(&self) -> u64 {
        (self.picked.len() + self.fetched.len()) as u64
    }

    fn take(&mut self, ids: Span) {
        self.picked.push(ids);
        self.missing -= ids.len();
    }

    fn take_of_block(&mut self) {
        while self.missing > 0
            && self.runs() <= self.runs_max
            && let Some(rest) = self.block.rest()
            && let Some(first) = self.pool.next_available(self.blocks, rest.first, rest.last)
        {
            // As many consecutive ids as are free and in no list of released ids.
            let free = self.pool.free.span_at(first).map_or(first, |span| span.last);
            let window = Span { first, last: free.min(rest.last) };
            let released = self.blocks.lists();
            let released = released.filter_map(|(_, list)| list.overlapping(window).next());
            let stop = released.map(|run| run.ids.first - 1).min().unwrap_or(window.last);
            let last = stop.min(first + self.missing - 1);
            self.block.cursor = i64::try_from(last).unwrap_or(i64::MAX);
            self.from_block = true;
            self.take(Span { first, last });
        }
    }

    fn take_released(&mut self) {
        let Some(child) = self.blocks.active() else { return };
        let (now_s, mut passed) = (seconds(self.now_ms), 0);
        for run in child.released.iter().take_while(|run| run.ready_s <= now_s) {
            if self.missing == 0 || self.runs() > self.runs_max {
                return;
            }
            let done = self.released.saturating_sub(passed).min(run.ids.len());
            passed += run.ids.len();
            if let Some(rest) = Span::new(run.ids.first + done, run.ids.last) {
                let ids = first_of(rest, self.missing);
                if !self.is_out_of_quarantine(ids) {
                    return;
                }
                self.released += ids.len();
                self.take(ids);
            }
        }
        let mut passed = 0;
        for one in self.fetched.clone() {
            let done = self.used_of_fetched.saturating_sub(passed).min(one.ids.len());
            passed += one.ids.len();
            if self.missing == 0 || one.ready_s > now_s || self.runs() > self.runs_max {
                return;
            }
            if let Some(rest) = Span::new(one.ids.first + done, one.ids.last) {
                let ids = first_of(rest, self.missing);
                if !self.is_out_of_quarantine(ids) {
                    return;
                }
                self.used_of_fetched += ids.len();
                self.take(ids);
            }
        }
    }

    /// Whether the ids are free, or their quarantines are over: those end now.
    fn is_out_of_quarantine(&mut self, ids: Span) -> bool {
        if self.pool.free.covers(ids) {
            return true;
        }
        let mut ended = Vec::new();
        for (_, row, _) in self.pool.overlapping(ids) {
            if row.quarantined_until().is_none_or(|until| until > self.now_ms) {
                return false;
            }
            ended.push(room::quarantine_ended(self.pool, row));
        }
        ended.retain(|event| !self.ended.contains(event));
        self.ended.extend(ended);
        true
    }

    /// Takes the next block that has an available id. `false`: there is none.
    fn new_block(&mut self) -> bool {
        let (cut, high) = (self.cursor, high(self.pool));
        let Ok(end) = u32::try_from(high) else { return false };
        let Some(rest) = ids_after(cut, end) else { return false };
        let Some(next) = self.pool.next_available(self.blocks, rest.first, rest.last) else {
            return false;
        };
        let size = i64::from(self.blocks.block_size).max(1);
        // Skips blocks without available ids.
        let ahead = i64::try_from(next).unwrap_or(i64::MAX) - cut - 1;
        let before = cut + ahead / size * size;
        let last = before.saturating_add(size).min(high);
        self.cursor = last;
        self.block =
            Block { start: super::id_of(before + 1), end: super::id_of(last), cursor: before };
        true
    }

    /// Moves as many of the pool's released ids as a block has to the child. `false`: there are none.
    fn fetch(&mut self) -> bool {
        let have: u128 = self.fetched.iter().map(|one| one.ids.len()).sum();
        let mut left = u128::from(self.blocks.block_size).max(1);
        let (mut passed, before) = (0, self.fetched.len());
        for run in self.blocks.released.iter() {
            let done = have.saturating_sub(passed).min(run.ids.len());
            passed += run.ids.len();
            if left == 0 || self.runs() > self.runs_max {
                break;
            }
            if let Some(rest) = Span::new(run.ids.first + done, run.ids.last) {
                let ids = first_of(rest, left);
                left -= ids.len();
                self.fetched.push(ReleasedIds { ids, ready_s: run.ready_s });
            }
        }
        self.fetched.len() > before
    }

    fn drawn(self, was: Block) -> Drawn {
        let mut before = self.ended;
        let moved = self.cursor != self.blocks.cursor
            || !self.fetched.is_empty()
            || (self.block.start, self.block.end) != (was.start, was.end);
        if moved {
            let moved = BlocksMoved {
                pool: self.pool.name.clone(),
                cursor: self.cursor,
                start: self.block.start,
                end: self.block.end,
                child_cursor: self.block.cursor,
                fetched: self.fetched.iter().map(|one| one.ids).collect(),
                returned: vec![],
                at_ms: self.now_ms,
            };
            before.push(moved.into());
        }
        let cursor = u128::try_from(self.block.cursor).ok().filter(|_| self.from_block);
        Drawn { ids: span::normalise(self.picked), cursor, before }
    }
}

/// The first ids of a span, at most `many`.
fn first_of(span: Span, many: u128) -> Span {
    Span { first: span.first, last: span.last.min(span.first + many - 1) }
}
