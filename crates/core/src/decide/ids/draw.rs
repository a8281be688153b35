//! From where the next ids come: the child's block, what was released to it, a new block, what was released to the pool.
//!
//! Nothing changes while drawing; what has been drawn is told in events, and only if there was enough.

use std::sync::Arc;

use super::{Draft, high, room};
use crate::event::Event;
use crate::event::ids::{BlocksMoved, LedgerDefined};
use crate::ids::{ReleasedIds, SearchOrder};
use crate::refusal::Refusal;
use crate::span::{self, Span};
use crate::state::account::{Account, Block, ids_after, seconds};
use crate::state::pool::Pool;

/// Ids that can be had, and what has to happen first.
pub(super) struct Drawn {
    /// Ascending.
    pub ids: Vec<Span>,
    /// Where the block's cursor stands then, if it has moved.
    pub cursor: Option<u128>,
    before: Vec<Event>,
}

impl Drawn {
    /// Records what has to happen before the ids are granted.
    pub fn record(&mut self, draft: &mut Draft<'_>) {
        self.before.drain(..).for_each(|event| draft.record(event));
    }
}

/// As many ids as asked for, or `None` when there are fewer.
pub(super) fn draw(
    draft: &Draft<'_>,
    name: &Arc<str>,
    count: u128,
    order: SearchOrder,
) -> Result<Option<Drawn>, Refusal> {
    let pool = draft.pool(name)?;
    let (Some(account), now_ms) = (&pool.account, draft.now_ms) else { return Ok(None) };
    let Some(child) = account.active() else { return Ok(None) };
    let mut hand = Hand {
        pool,
        account,
        now_ms,
        order,
        cursor: account.cursor,
        block: child.block,
        from_block: false,
        released: 0,
        fetched: Vec::new(),
        used_of_fetched: 0,
        picked: Vec::new(),
        missing: count,
        ended: Vec::new(),
    };
    Ok(hand.fill().then(|| hand.drawn(child.block)))
}

/// How many ids can be had in all, as far as it matters whether they are more than `enough`.
pub(super) fn total(draft: &Draft<'_>, name: &Arc<str>, enough: u128) -> Result<u128, Refusal> {
    let pool = draft.pool(name)?;
    let Some(account) = &pool.account else { return Ok(0) };
    let Some(child) = account.active() else { return Ok(0) };
    let rest =
        |cursor, end| ids_after(cursor, end).map_or(0, |span| pool.available_in(account, span));
    let mut total = pool.local_available(account)
        + account.released.len()
        + rest(account.cursor, u32::try_from(high(pool)).unwrap_or(0));
    let now_s = seconds(draft.now_ms);
    for run in child.released.iter().take_while(|run| run.ready_s <= now_s) {
        if total > enough {
            break;
        }
        total += run.ids.len();
    }
    Ok(total)
}

/// What nodes of other names have left goes to the pool. Says whether there was any.
pub(super) fn adopt(draft: &mut Draft<'_>, name: &Arc<str>) -> Result<bool, Refusal> {
    let pool = draft.pool(name)?;
    let Some(account) = pool.account.as_ref().filter(|account| account.children.len() > 1) else {
        return Ok(false);
    };
    let mut ledger = account.ledger();
    for (ix, left) in ledger.children.split_off(1).into_iter().enumerate() {
        let block = account.children.get(ix + 1).and_then(|child| child.block.rest());
        let free = block.into_iter().flat_map(|block| pool.free.iter_within(block));
        let shelved = |span: Span| {
            let runs = account.shelves().flat_map(move |(_, shelf)| shelf.overlapping(span));
            runs.map(|run| run.ids).collect::<Vec<_>>()
        };
        let unused = free.flat_map(|span| span::subtract(&[span], &span::normalise(shelved(span))));
        let ready_s = seconds(draft.now_ms);
        ledger.released.extend(unused.map(|ids| ReleasedIds { ids, ready_s }));
        ledger.released.extend(left.released);
    }
    draft.record(Event::LedgerDefined(LedgerDefined { pool: name.clone(), ledger }));
    Ok(true)
}

/// A draw under way: the account as it would be.
struct Hand<'a> {
    pool: &'a Pool,
    account: &'a Account,
    now_ms: u64,
    order: SearchOrder,
    cursor: i64,
    block: Block,
    from_block: bool,
    /// How many of the child's released ids have been taken.
    released: u128,
    /// From the pool's released ids, in their order.
    fetched: Vec<ReleasedIds>,
    used_of_fetched: u128,
    picked: Vec<Span>,
    missing: u128,
    /// Quarantines that are over.
    ended: Vec<Event>,
}

impl Hand<'_> {
    fn fill(&mut self) -> bool {
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
            let more = match self.order {
                SearchOrder::AvailableFirst => self.new_block() || self.fetch(),
                SearchOrder::ReleasedFirst => self.fetch() || self.new_block(),
            };
            if !more {
                return false;
            }
        }
    }

    fn take(&mut self, ids: Span) {
        self.picked.push(ids);
        self.missing -= ids.len();
    }

    fn take_of_block(&mut self) {
        while self.missing > 0
            && let Some(rest) = self.block.rest()
            && let Some(first) = self.pool.next_available(self.account, rest.first, rest.last)
        {
            // As many as follow each other, up to whatever is taken or on a shelf.
            let free = self.pool.free.span_at(first).map_or(first, |span| span.last);
            let window = Span { first, last: free.min(rest.last) };
            let shelved = self.account.shelves();
            let shelved = shelved.filter_map(|(_, shelf)| shelf.overlapping(window).next());
            let stop = shelved.map(|run| run.ids.first - 1).min().unwrap_or(window.last);
            let last = stop.min(first + self.missing - 1);
            self.block.cursor = i64::try_from(last).unwrap_or(i64::MAX);
            self.from_block = true;
            self.take(Span { first, last });
        }
    }

    fn take_released(&mut self) {
        let Some(child) = self.account.active() else { return };
        let (now_s, mut passed) = (seconds(self.now_ms), 0);
        for run in child.released.iter().take_while(|run| run.ready_s <= now_s) {
            if self.missing == 0 {
                return;
            }
            let done = self.released.saturating_sub(passed).min(run.ids.len());
            passed += run.ids.len();
            if let Some(rest) = Span::new(run.ids.first + done, run.ids.last) {
                let ids = first_of(rest, self.missing);
                if !self.has_rested(ids) {
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
            if self.missing == 0 || one.ready_s > now_s {
                return;
            }
            if let Some(rest) = Span::new(one.ids.first + done, one.ids.last) {
                let ids = first_of(rest, self.missing);
                if !self.has_rested(ids) {
                    return;
                }
                self.used_of_fetched += ids.len();
                self.take(ids);
            }
        }
    }

    /// Whether no quarantine of the ids is still running; those that are over end now.
    fn has_rested(&mut self, ids: Span) -> bool {
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

    /// Goes on to the next block that has something, if there is any.
    fn new_block(&mut self) -> bool {
        let (cut, high) = (self.cursor, high(self.pool));
        let Ok(end) = u32::try_from(high) else { return false };
        let Some(rest) = ids_after(cut, end) else { return false };
        let Some(next) = self.pool.next_available(self.account, rest.first, rest.last) else {
            return false;
        };
        let size = i64::from(self.account.block_size).max(1);
        // Blocks of which nothing can be had are passed over at once.
        let ahead = i64::try_from(next).unwrap_or(i64::MAX) - cut - 1;
        let before = cut + ahead / size * size;
        let last = before.saturating_add(size).min(high);
        self.cursor = last;
        self.block =
            Block { start: super::id_of(before + 1), end: super::id_of(last), cursor: before };
        true
    }

    /// Takes a block's worth of the pool's released ids over, if there are any.
    fn fetch(&mut self) -> bool {
        let have: u128 = self.fetched.iter().map(|one| one.ids.len()).sum();
        let mut left = u128::from(self.account.block_size).max(1);
        let (mut passed, before) = (0, self.fetched.len());
        for run in self.account.released.iter() {
            let done = have.saturating_sub(passed).min(run.ids.len());
            passed += run.ids.len();
            if left == 0 {
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
        let moved = self.cursor != self.account.cursor
            || !self.fetched.is_empty()
            || (self.block.start, self.block.end) != (was.start, was.end);
        if moved {
            before.push(Event::BlocksMoved(BlocksMoved {
                pool: self.pool.name.clone(),
                cursor: self.cursor,
                start: self.block.start,
                end: self.block.end,
                child_cursor: self.block.cursor,
                fetched: self.fetched.iter().map(|one| one.ids).collect(),
                returned: vec![],
                at_ms: self.now_ms,
            }));
        }
        let cursor = u128::try_from(self.block.cursor).ok().filter(|_| self.from_block);
        Drawn { ids: span::normalise(self.picked), cursor, before }
    }
}

/// The first ids of a span, at most so many.
fn first_of(span: Span, many: u128) -> Span {
    Span { first: span.first, last: span.last.min(span.first + many - 1) }
}
