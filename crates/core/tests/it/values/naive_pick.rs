//! The strategies of the naive model, which examine every free value.

use std::collections::BTreeSet;

use allod_core::claim::Want;
use allod_core::pool::Strategy;
use allod_core::span::Span;
use allod_core::value::Kind;

use crate::values::naive::{as_spans, each, of_parity};

type Free = BTreeSet<u128>;

/// The number of points of one wanted value.
fn size(kind: Kind, want: &Want) -> u128 {
    if !kind.is_prefix() {
        return 1;
    }
    let len = want.prefix_len.or_else(|| kind.prefix_len(want.value?)).expect("a length");
    1 << (kind.width() - u32::from(len))
}

/// All free positions of one value of this size, ascending.
fn positions(free: &Free, size: u128, want: &Want) -> Vec<Span> {
    let starts = free.iter().filter(|first| *first % size == 0 && of_parity(**first, want.parity));
    let spans = starts.filter_map(|first| Span::new(*first, first.checked_add(size - 1)?));
    spans.filter(|span| each(*span).all(|value| free.contains(&value))).collect()
}

/// All free positions of `count` consecutive values of this size, ascending.
fn rows(free: &Free, size: u128, want: &Want) -> Vec<Span> {
    let whole = |place: Span| {
        let last = place.first.checked_add(size * u128::from(want.count) - 1)?;
        let row = Span::new(place.first, last)?;
        each(row).all(|value| free.contains(&value)).then_some(row)
    };
    positions(free, size, want).into_iter().filter_map(whole).collect()
}

/// The aligned free blocks that are not part of a larger one.
fn whole_blocks(free: &Free) -> Vec<Span> {
    let any = Want::any();
    let all: Vec<Span> = (0..7).flat_map(|bits| positions(free, 1 << bits, &any)).collect();
    let inner = |block: &Span| all.iter().any(|other| other != block && other.covers(*block));
    all.iter().filter(|block| !inner(block)).copied().collect()
}

/// The spans that a strategy picks, and the value that it picked last.
pub fn pick(
    kind: Kind,
    free: &Free,
    want: &Want,
    strategy: Strategy,
    cursor: Option<u128>,
) -> Option<(Vec<Span>, Option<u128>)> {
    let size = size(kind, want);
    let start = cursor.map_or(0, |cursor| cursor.checked_add(1).unwrap_or(0));
    let ordered = |mut places: Vec<Span>| {
        match strategy {
            Strategy::Highest => places.reverse(),
            Strategy::Next => {
                let above = places.iter().filter(|place| place.first >= start);
                let below = places.iter().filter(|place| place.first < start);
                places = above.chain(below).copied().collect();
            }
            _ => {}
        }
        places
    };
    if want.contiguous && want.count > 1 {
        let row = *ordered(rows(free, size, want)).first()?;
        let values = (0..u128::from(want.count)).map(|n| {
            let first = row.first + n * size;
            Span { first, last: first + (size - 1) }
        });
        let spans = if kind.is_prefix() { values.collect() } else { vec![row] };
        return Some((spans, Some(row.last)));
    }
    if kind.is_prefix() && want.count == 1 && strategy != Strategy::Next {
        // The lowest or the highest of the smallest blocks that are large enough.
        let blocks = whole_blocks(free);
        let fitting = || blocks.iter().filter(|block| block.last - block.first >= size - 1);
        let least = fitting().map(|block| block.last - block.first).min()?;
        let mut best = fitting().filter(|block| block.last - block.first == least);
        let value = if strategy == Strategy::Highest {
            let last = best.next_back()?.last;
            Span { first: last - (size - 1), last }
        } else {
            let first = best.next()?.first;
            Span { first, last: first + (size - 1) }
        };
        return Some((vec![value], None));
    }
    let values: Vec<Span> = ordered(positions(free, size, want));
    let values = values.get(..want.count as usize)?;
    let last = values.last().map(|value| value.last);
    Some((shown(kind, values), last))
}

fn shown(kind: Kind, values: &[Span]) -> Vec<Span> {
    if !kind.is_prefix() {
        return as_spans(values.iter().map(|value| value.first));
    }
    let mut values = values.to_vec();
    values.sort();
    values
}

/// Whether any strategy may pick these values.
pub fn may_be_picked(kind: Kind, free: &Free, want: &Want, spans: &[Span]) -> bool {
    fits(kind, want, spans) && spans.iter().all(|span| each(*span).all(|v| free.contains(&v)))
}

/// Whether these values satisfy the claim.
pub fn fits(kind: Kind, want: &Want, spans: &[Span]) -> bool {
    let size = size(kind, want);
    let total: u128 = spans.iter().map(|span| span.last - span.first + 1).sum();
    let follow = spans.windows(2).all(|pair| pair[1].first - pair[0].last == 1);
    let one_by_one = !kind.is_prefix()
        || spans.iter().all(|span| span.last - span.first + 1 == size && span.first % size == 0);
    let parity = spans.iter().all(|span| each(*span).all(|v| of_parity(v, want.parity)));
    total == size * u128::from(want.count) && one_by_one && parity && (!want.contiguous || follow)
}

/// The lowest value, run or block that is free in all sets.
pub fn pick_common(kind: Kind, free: &[Free], want: &Want) -> Option<Span> {
    let mut common = free[0].clone();
    common.retain(|value| free.iter().all(|free| free.contains(value)));
    rows(&common, size(kind, want), want).first().copied()
}

/// The part of a span that satisfies the claim, or one of its values.
pub fn serves(kind: Kind, want: &Want, span: Span) -> Option<Span> {
    let all: Free = each(span).collect();
    let size = size(kind, want);
    if want.contiguous && want.count > 1 {
        let row = *rows(&all, size, want).first()?;
        let first = Span { first: row.first, last: row.first + (size - 1) };
        return Some(if kind.is_prefix() { first } else { row });
    }
    positions(&all, size, want).first().copied()
}
