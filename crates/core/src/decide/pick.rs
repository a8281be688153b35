//! Picks free values for a claim: the strategies, for single values, runs and blocks.
//!
//! No pick walks a range: each is a few lookups in the pool's free set.

use std::collections::BTreeSet;

use crate::claim::{Parity, Want};
use crate::pool::Strategy;
use crate::random;
use crate::span::{self, Span, low_ones};
use crate::spanset::{self, SpanSet, StepsUsedUp};
use crate::state::pool::Pool;

const MAX: u128 = u128::MAX;

/// The most released spans that are examined for one of the right size or parity before any free one is taken.
const RELEASED_EXAMINED_MAX: usize = 1000;

/// The most runs that are examined for aligned blocks before only a run that is certain to have them is taken.
const RUNS_EXAMINED_MAX: usize = 1000;

/// Picks spans for the claim, in ascending order; `None` when not enough values are free.
pub(crate) fn pick(pool: &Pool, want: &Want, strategy: Strategy, seed: u64) -> Option<Vec<Span>> {
    let mut picker = Picker { pool, strategy, seed };
    let count = want.count;
    if let Some(bits) = block_bits(pool, want) {
        return match count {
            1 => picker.block(bits).map(|base| vec![Span::block(base, bits)]),
            _ if want.contiguous => picker.blocks_in_a_row(bits, count),
            _ => picker.blocks(bits, count),
        };
    }
    match count {
        1 => picker.single(want.parity).map(|value| vec![Span::one(value)]),
        _ if want.contiguous => {
            let first = picker.run(count.into())?;
            Some(vec![Span { first, last: first + u128::from(count) - 1 }])
        }
        _ => picker.singles(want.parity, count),
    }
}

/// The smallest value at or after `from` that is free in all of the pools.
pub(crate) fn pick_common(
    pools: &[&Pool],
    want: &Want,
    from: u128,
    steps: &mut u64,
) -> Result<Option<Span>, StepsUsedUp> {
    let sets: Vec<&SpanSet> = pools.iter().map(|pool| &pool.free).collect();
    if let Some(bits) = pools.first().and_then(|pool| block_bits(pool, want)) {
        let base = spanset::first_common_block(&sets, from, bits, steps)?;
        return Ok(base.map(|base| Span::block(base, bits)));
    }
    if want.count > 1 {
        let len = u128::from(want.count);
        let first = spanset::first_common_run(&sets, from, len, steps)?;
        return Ok(first.map(|first| Span { first, last: first + len - 1 }));
    }
    Ok(spanset::first_common(&sets, from, want.parity, steps)?.map(Span::one))
}

/// The part of a span that satisfies the claim, or one of its values if they need not be contiguous.
pub(crate) fn within(pool: &Pool, want: &Want, span: Span) -> Option<Span> {
    let in_a_row = want.contiguous && want.count > 1;
    if let Some(bits) = block_bits(pool, want) {
        let base = first_block_in(span, bits)?;
        let size = 1u128.checked_shl(bits);
        let len = size.and_then(|size| size.checked_mul(want.count.into()));
        let room = !in_a_row || len.is_some_and(|len| span.last - base >= len - 1);
        return room.then(|| Span::block(base, bits));
    }
    if in_a_row {
        let len = u128::from(want.count);
        return (span.len() >= len).then(|| Span { first: span.first, last: span.first + len - 1 });
    }
    first_in(span, want.parity).map(Span::one)
}

/// The value of a pick that was given last: the new cursor of [`Strategy::Next`].
pub(crate) fn given_last(pool: &Pool, want: &Want, spans: &[Span]) -> Option<u128> {
    let highest = spans.iter().map(|span| span.last).max();
    if want.count == 1 || want.contiguous {
        return highest;
    }
    // Values below the start were picked after the search wrapped around.
    let start = after_cursor(pool);
    let below = spans.iter().filter(|span| span.first < start);
    let below = below
        .map(|span| if pool.spec.kind.is_prefix() { span.last } else { span.last.min(start - 1) });
    below.max().or(highest)
}

/// Where [`Strategy::Next`] starts to search.
fn after_cursor(pool: &Pool) -> u128 {
    pool.cursor.and_then(|cursor| cursor.checked_add(1)).unwrap_or(0)
}

/// Prefix pools: the size of the requested block, as log2.
pub(crate) fn block_bits(pool: &Pool, want: &Want) -> Option<u32> {
    let kind = pool.spec.kind;
    let len = want.prefix_len.or_else(|| kind.prefix_len(want.value?));
    if kind.is_prefix() { kind.block_bits(len?) } else { None }
}

struct Picker<'a> {
    pool: &'a Pool,
    strategy: Strategy,
    seed: u64,
}

impl Picker<'_> {
    fn free(&self) -> &SpanSet {
        &self.pool.free
    }

    fn after_cursor(&self) -> u128 {
        after_cursor(self.pool)
    }

    /// A free value, with equal probability for each.
    fn random_single(&mut self, parity: Option<Parity>) -> Option<u128> {
        let count = self.free().count_of(parity);
        let rank = random_below(&mut self.seed, count)?;
        nth(self.free(), rank, parity)
    }

    fn single(&mut self, parity: Option<Parity>) -> Option<u128> {
        let free = self.free();
        match self.strategy {
            Strategy::Lowest => first(free, 0, parity),
            Strategy::Highest => last(free, MAX, parity),
            Strategy::Next => {
                first(free, self.after_cursor(), parity).or_else(|| first(free, 0, parity))
            }
            Strategy::Random => self.random_single(parity),
            Strategy::LeastRecentlyUsed => self.least_recent(0, parity),
        }
    }

    /// The lowest cold value at or after `from`, else the value that was released first.
    fn least_recent(&self, from: u128, parity: Option<Parity>) -> Option<u128> {
        let released = || {
            let oldest = self.pool.recent.oldest_first().take(RELEASED_EXAMINED_MAX);
            oldest.filter_map(|piece| first_in(piece.span, parity)).next()
        };
        self.first_cold(from, parity).or_else(released).or_else(|| first(self.free(), 0, parity))
    }

    /// The lowest free value at or after `from` that was not released recently.
    fn first_cold(&self, from: u128, parity: Option<Parity>) -> Option<u128> {
        if let Some(cold) = &self.pool.cold {
            return first(cold, from, parity);
        }
        let mut value = first(self.free(), from, parity)?;
        while let Some(piece) = self.pool.recent.overlapping(Span::one(value)).first() {
            value = first(self.free(), piece.span.last.checked_add(1)?, parity)?;
        }
        Some(value)
    }

    fn singles(&mut self, parity: Option<Parity>, count: u32) -> Option<Vec<Span>> {
        let free = &self.pool.free;
        if free.count_of(parity) < count.into() {
            return None;
        }
        let ascending = |from: u128| {
            std::iter::successors(first(free, from, parity), move |value| {
                value.checked_add(1).and_then(|next| first(free, next, parity))
            })
        };
        let count = count as usize;
        let values: Vec<u128> = match self.strategy {
            Strategy::Lowest => ascending(0).take(count).collect(),
            Strategy::Highest => {
                let descending = std::iter::successors(last(free, MAX, parity), |value| {
                    value.checked_sub(1).and_then(|before| last(free, before, parity))
                });
                descending.take(count).collect()
            }
            Strategy::Next => {
                let start = self.after_cursor();
                ascending(start)
                    .chain(ascending(0).take_while(|value| *value < start))
                    .take(count)
                    .collect()
            }
            Strategy::Random => {
                let total = free.count_of(parity);
                let ranks = distinct_below(&mut self.seed, total, count);
                ranks.into_iter().filter_map(|rank| nth(free, rank, parity)).collect()
            }
            Strategy::LeastRecentlyUsed => {
                let cold = std::iter::successors(self.first_cold(0, parity), |value| {
                    value.checked_add(1).and_then(|next| self.first_cold(next, parity))
                });
                let oldest = self.pool.recent.oldest_first().take(RELEASED_EXAMINED_MAX + count);
                let recent = oldest.flat_map(|piece| {
                    (piece.span.first..=piece.span.last)
                        .filter(move |value| parity.is_none_or(|p| Parity::of(*value) == p))
                });
                let mut chosen = BTreeSet::new();
                for value in cold.chain(recent).chain(ascending(0)) {
                    if chosen.len() == count {
                        break;
                    }
                    chosen.insert(value);
                }
                chosen.into_iter().collect()
            }
        };
        (values.len() == count)
            .then(|| span::normalise(values.into_iter().map(Span::one).collect()))
    }

    /// The start of a run of free values.
    fn run(&mut self, len: u128) -> Option<u128> {
        let free = self.free();
        match self.strategy {
            Strategy::Lowest => free.first_run(0, len),
            Strategy::Highest => free.last_run(MAX, len),
            Strategy::Next => {
                free.first_run(self.after_cursor(), len).or_else(|| free.first_run(0, len))
            }
            Strategy::Random => {
                let start = self.random_single(None)?;
                self.free().first_run(start, len).or_else(|| self.free().first_run(0, len))
            }
            Strategy::LeastRecentlyUsed => {
                let cold = self.pool.cold.as_ref().and_then(|cold| cold.first_run(0, len));
                cold.or_else(|| free.first_run(0, len))
            }
        }
    }

    /// The base of a free block.
    fn block(&mut self, bits: u32) -> Option<u128> {
        let free = self.free();
        match self.strategy {
            Strategy::Lowest => free.best_fit_block(bits),
            Strategy::Highest => free.best_fit_block_high(bits),
            Strategy::Next => {
                free.first_block(self.after_cursor(), bits).or_else(|| free.first_block(0, bits))
            }
            Strategy::Random => {
                // The block around a random free value: each free block has the same probability.
                let start = self.random_single(None)? & !low_ones(bits);
                self.free().first_block(start, bits).or_else(|| self.free().first_block(0, bits))
            }
            Strategy::LeastRecentlyUsed => self
                .cold_block(bits)
                .or_else(|| self.released_block(bits))
                .or_else(|| free.best_fit_block(bits)),
        }
    }

    fn cold_block(&self, bits: u32) -> Option<u128> {
        if let Some(cold) = &self.pool.cold {
            return cold.best_fit_block(bits);
        }
        let mut base = self.free().first_block(0, bits)?;
        while let Some(piece) = self.pool.recent.overlapping(Span::block(base, bits)).last() {
            base = self.free().first_block(piece.span.last.checked_add(1)?, bits)?;
        }
        Some(base)
    }

    /// The block that was released first, of those that are large enough.
    fn released_block(&self, bits: u32) -> Option<u128> {
        let oldest = self.pool.recent.oldest_first().take(RELEASED_EXAMINED_MAX);
        oldest.filter_map(|piece| first_block_in(piece.span, bits)).next()
    }

    fn blocks(&mut self, bits: u32, count: u32) -> Option<Vec<Span>> {
        let free = &self.pool.free;
        let count = count as usize;
        let ascending = |from: u128| {
            std::iter::successors(free.first_block(from, bits), move |base| {
                Span::block(*base, bits)
                    .last
                    .checked_add(1)
                    .and_then(|next| free.first_block(next, bits))
            })
        };
        let bases: Vec<u128> = match self.strategy {
            Strategy::Lowest | Strategy::LeastRecentlyUsed => ascending(0).take(count).collect(),
            Strategy::Highest => {
                let descending = std::iter::successors(free.last_block(MAX, bits), |base| {
                    base.checked_sub(1).and_then(|before| free.last_block(before, bits))
                });
                descending.take(count).collect()
            }
            Strategy::Next | Strategy::Random => {
                let start = if self.strategy == Strategy::Next {
                    self.after_cursor()
                } else {
                    self.random_single(None)?
                };
                ascending(start)
                    .chain(ascending(0).take_while(|base| *base < start))
                    .take(count)
                    .collect()
            }
        };
        let mut blocks: Vec<Span> = bases.into_iter().map(|base| Span::block(base, bits)).collect();
        blocks.sort_unstable();
        (blocks.len() == count).then_some(blocks)
    }

    /// Contiguous blocks of one size, each aligned.
    fn blocks_in_a_row(&mut self, bits: u32, count: u32) -> Option<Vec<Span>> {
        let size = 1u128.checked_shl(bits)?;
        let Some(len) = size.checked_mul(count.into()) else {
            // Only the whole number line has that many values, and only if the blocks fill it.
            let fills = count.is_power_of_two() && bits + count.ilog2() == 128;
            let whole = self.free().covers(Span { first: 0, last: MAX });
            return (fills && whole).then(|| in_a_row(0, bits, count));
        };
        let base = match self.strategy {
            Strategy::Lowest | Strategy::LeastRecentlyUsed => self.row_from(0, size, len),
            Strategy::Highest => self.row_below(size, len),
            Strategy::Next => {
                let start = self.after_cursor();
                self.row_from(start, size, len).or_else(|| self.row_from(0, size, len))
            }
            Strategy::Random => {
                let start = self.random_single(None)?;
                self.row_from(start, size, len).or_else(|| self.row_from(0, size, len))
            }
        }?;
        Some(in_a_row(base, bits, count))
    }

    /// The lowest multiple of `size` at or after `from` at which `len` free values start.
    fn row_from(&self, mut from: u128, size: u128, len: u128) -> Option<u128> {
        for _ in 0..RUNS_EXAMINED_MAX {
            let run = self.free().first_run(from, len)?;
            let around = self.free().span_at(run)?;
            let base = run.checked_next_multiple_of(size)?;
            if base.checked_add(len - 1).is_some_and(|last| last <= around.last) {
                return Some(base);
            }
            from = around.last.checked_add(1)?;
        }
        let run = self.free().first_run(from, len.checked_add(size - 1)?)?;
        run.checked_next_multiple_of(size)
    }

    /// The highest multiple of `size` at which `len` free values start.
    fn row_below(&self, size: u128, len: u128) -> Option<u128> {
        let mut upto = MAX;
        for _ in 0..RUNS_EXAMINED_MAX {
            let run = self.free().last_run(upto, len)?;
            let around = self.free().span_at(run)?;
            let base = run - run % size;
            if base >= around.first {
                return Some(base);
            }
            upto = around.first.checked_sub(1)?;
        }
        let run = self.free().last_run(upto, len.checked_add(size - 1)?)?;
        run.checked_next_multiple_of(size)
    }
}

/// Contiguous blocks from `base` on.
fn in_a_row(base: u128, bits: u32, count: u32) -> Vec<Span> {
    (0..u128::from(count)).map(|n| Span::block(base + (n << bits), bits)).collect()
}

fn first(set: &SpanSet, from: u128, parity: Option<Parity>) -> Option<u128> {
    match parity {
        None => set.first_at_or_after(from),
        Some(parity) => set.first_of_parity(from, parity),
    }
}

fn last(set: &SpanSet, upto: u128, parity: Option<Parity>) -> Option<u128> {
    match parity {
        None => set.last_at_or_before(upto),
        Some(parity) => set.last_of_parity(upto, parity),
    }
}

fn nth(set: &SpanSet, rank: u128, parity: Option<Parity>) -> Option<u128> {
    match parity {
        None => set.nth(rank),
        Some(parity) => set.nth_of_parity(rank, parity),
    }
}

fn first_in(span: Span, parity: Option<Parity>) -> Option<u128> {
    match parity {
        Some(parity) if Parity::of(span.first) != parity => {
            (span.first < span.last).then(|| span.first + 1)
        }
        _ => Some(span.first),
    }
}

fn first_block_in(span: Span, bits: u32) -> Option<u128> {
    let size = 1u128.checked_shl(bits)?;
    let base = span.first.checked_next_multiple_of(size)?;
    span.covers(Span::block(base, bits)).then_some(base)
}

/// A random number below `n`; `None` when `n` is 0.
fn random_below(seed: &mut u64, n: u128) -> Option<u128> {
    let high = u128::from(random::next(seed)) << 64;
    (high | u128::from(random::next(seed))).checked_rem(n)
}

/// `count` different random numbers below `n`, by Floyd's method.
fn distinct_below(seed: &mut u64, n: u128, count: usize) -> Vec<u128> {
    let mut chosen = BTreeSet::new();
    let from = n.saturating_sub(count as u128);
    for upper in from..n {
        let number = random_below(seed, upper + 1).unwrap_or(0);
        if !chosen.insert(number) {
            chosen.insert(upper);
        }
    }
    chosen.into_iter().collect()
}
