//! Which free values a claim gets: the strategies, for single values, runs and blocks.
//!
//! Nothing here walks a range: each pick is a few look-ups in the pool's free set.

use std::collections::BTreeSet;

use crate::claim::{Parity, Want};
use crate::pool::Strategy;
use crate::span::{self, Span, low_ones};
use crate::spanset::{self, SpanSet};
use crate::state::pool::Pool;

const MAX: u128 = u128::MAX;

/// How many released spans are looked at for one of the right size or parity before any free one will do.
const RELEASED_LOOKED_AT_MAX: usize = 1000;

/// How many runs are looked at for one that has its blocks aligned before only one that surely has will do.
const RUNS_LOOKED_AT_MAX: usize = 1000;

/// The spans that the claim gets, in ascending order; `None` when there are not enough.
pub(super) fn pick(
    pool: &Pool,
    want: &Want,
    strategy: Strategy,
    dice: [u64; 2],
) -> Option<Vec<Span>> {
    let mut hand = Hand { pool, strategy, dice: Dice(dice) };
    let count = want.count;
    if let Some(bits) = block_bits(pool, want) {
        return match count {
            1 => hand.block(bits).map(|base| vec![Span::block(base, bits)]),
            _ if want.contiguous => hand.blocks_in_a_row(bits, count),
            _ => hand.blocks(bits, count),
        };
    }
    match count {
        1 => hand.single(want.parity).map(|value| vec![Span::one(value)]),
        _ if want.contiguous => {
            let first = hand.run(count.into())?;
            Some(vec![Span { first, last: first + u128::from(count) - 1 }])
        }
        _ => hand.singles(want.parity, count),
    }
}

/// The smallest value that is free in all of the pools.
pub(super) fn pick_common(pools: &[&Pool], want: &Want) -> Option<Span> {
    let sets: Vec<&SpanSet> = pools.iter().map(|pool| &pool.free).collect();
    if let Some(bits) = block_bits(pools.first()?, want) {
        return spanset::first_common_block(&sets, 0, bits).map(|base| Span::block(base, bits));
    }
    if want.count > 1 {
        let len = u128::from(want.count);
        return spanset::first_common_run(&sets, 0, len)
            .map(|first| Span { first, last: first + len - 1 });
    }
    spanset::first_common(&sets, 0, want.parity).map(Span::one)
}

/// What of a span would do for the claim, or for one of its values if they need not follow each other.
pub(super) fn within(pool: &Pool, want: &Want, span: Span) -> Option<Span> {
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

/// Which of the values of a pick came last, for the strategy that goes round.
pub(super) fn given_last(pool: &Pool, want: &Want, spans: &[Span]) -> Option<u128> {
    let highest = spans.iter().map(|span| span.last).max();
    if want.count == 1 || want.contiguous {
        return highest;
    }
    // What is below the start was given after what is above it.
    let start = after_cursor(pool);
    let below = spans.iter().filter(|span| span.first < start);
    let below = below
        .map(|span| if pool.spec.kind.is_prefix() { span.last } else { span.last.min(start - 1) });
    below.max().or(highest)
}

/// Where the next strategy starts to look.
fn after_cursor(pool: &Pool) -> u128 {
    pool.cursor.and_then(|cursor| cursor.checked_add(1)).unwrap_or(0)
}

/// The size of the block that is asked for, for pools of prefixes.
pub(super) fn block_bits(pool: &Pool, want: &Want) -> Option<u32> {
    let kind = pool.spec.kind;
    let len = want.prefix_len.or_else(|| kind.prefix_len(want.value?));
    if kind.is_prefix() { kind.block_bits(len?) } else { None }
}

struct Hand<'a> {
    pool: &'a Pool,
    strategy: Strategy,
    dice: Dice,
}

impl Hand<'_> {
    fn free(&self) -> &SpanSet {
        &self.pool.free
    }

    fn after_cursor(&self) -> u128 {
        after_cursor(self.pool)
    }

    /// A free value, each as likely.
    fn anywhere(&mut self, parity: Option<Parity>) -> Option<u128> {
        let count = self.free().count_of(parity);
        let rank = self.dice.below(count)?;
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
            Strategy::Random => self.anywhere(parity),
            Strategy::LeastRecentlyUsed => self.least_recent(0, parity),
        }
    }

    /// The lowest value from `from` on that was never given or long ago, else the one released first.
    fn least_recent(&self, from: u128, parity: Option<Parity>) -> Option<u128> {
        let released = || {
            let oldest = self.pool.recent.oldest_first().take(RELEASED_LOOKED_AT_MAX);
            oldest.filter_map(|piece| first_in(piece.span, parity)).next()
        };
        self.first_cold(from, parity).or_else(released).or_else(|| first(self.free(), 0, parity))
    }

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
                let ranks = self.dice.distinct_below(total, count);
                ranks.into_iter().filter_map(|rank| nth(free, rank, parity)).collect()
            }
            Strategy::LeastRecentlyUsed => {
                let cold = std::iter::successors(self.first_cold(0, parity), |value| {
                    value.checked_add(1).and_then(|next| self.first_cold(next, parity))
                });
                let oldest = self.pool.recent.oldest_first().take(RELEASED_LOOKED_AT_MAX + count);
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

    /// The start of values that follow each other.
    fn run(&mut self, len: u128) -> Option<u128> {
        let free = self.free();
        match self.strategy {
            Strategy::Lowest => free.first_run(0, len),
            Strategy::Highest => free.last_run(MAX, len),
            Strategy::Next => {
                free.first_run(self.after_cursor(), len).or_else(|| free.first_run(0, len))
            }
            Strategy::Random => {
                let start = self.anywhere(None)?;
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
                // The block around a free value, so that each whole free block is as likely as the others.
                let start = self.anywhere(None)? & !low_ones(bits);
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

    /// The block released first, of those that are large enough.
    fn released_block(&self, bits: u32) -> Option<u128> {
        let oldest = self.pool.recent.oldest_first().take(RELEASED_LOOKED_AT_MAX);
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
                    self.anywhere(None)?
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

    /// Blocks of one size that follow each other, each aligned.
    fn blocks_in_a_row(&mut self, bits: u32, count: u32) -> Option<Vec<Span>> {
        let size = 1u128.checked_shl(bits)?;
        let Some(len) = size.checked_mul(count.into()) else {
            // Only the whole line has that many, and only as blocks that fill it.
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
                let start = self.anywhere(None)?;
                self.row_from(start, size, len).or_else(|| self.row_from(0, size, len))
            }
        }?;
        Some(in_a_row(base, bits, count))
    }

    /// The lowest multiple of `size` from `from` on that has `len` free values behind it.
    fn row_from(&self, mut from: u128, size: u128, len: u128) -> Option<u128> {
        for _ in 0..RUNS_LOOKED_AT_MAX {
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

    /// The highest multiple of `size` that has `len` free values behind it.
    fn row_below(&self, size: u128, len: u128) -> Option<u128> {
        let mut upto = MAX;
        for _ in 0..RUNS_LOOKED_AT_MAX {
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

/// Blocks that follow each other.
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

/// Random numbers out of two.
struct Dice([u64; 2]);

impl Dice {
    fn roll(&mut self) -> u128 {
        let [a, b] = &mut self.0;
        *a = a.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        *b ^= *b << 13;
        *b ^= *b >> 7;
        *b ^= *b << 17;
        (u128::from(*a ^ b.rotate_left(32)) << 64) | u128::from(a.rotate_left(17) ^ *b)
    }

    /// A number below `n`.
    fn below(&mut self, n: u128) -> Option<u128> {
        self.roll().checked_rem(n)
    }

    /// Different numbers below `n`, by Floyd's method: one roll for each.
    fn distinct_below(&mut self, n: u128, count: usize) -> Vec<u128> {
        let mut chosen = BTreeSet::new();
        let from = n.saturating_sub(count as u128);
        for upper in from..n {
            let roll = self.below(upper + 1).unwrap_or(0);
            if !chosen.insert(roll) {
                chosen.insert(upper);
            }
        }
        chosen.into_iter().collect()
    }
}
