//! A closed interval of values, and operations on lists of intervals.
//!
//! Ids, addresses and prefixes are points or intervals of a number line of 128 bits: an id is itself, an address is its
//! integer, a prefix is the span of its addresses. The pool's [`crate::value::Kind`] says which of them a span is.

use std::fmt;

/// All values from `first` to `last`, both included; `first <= last`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    pub first: u128,
    pub last: u128,
}

impl Span {
    /// The span from `first` to `last`; `None` when `last` is below `first`.
    pub fn new(first: u128, last: u128) -> Option<Span> {
        (first <= last).then_some(Span { first, last })
    }

    /// The span of one value.
    pub fn one(value: u128) -> Span {
        Span { first: value, last: value }
    }

    /// The aligned block of 2^`bits` values that starts at `base`.
    pub fn block(base: u128, bits: u32) -> Span {
        Span { first: base, last: base | low_ones(bits) }
    }

    /// The number of values. The 2^128 values of the whole number line saturate to `u128::MAX`.
    pub fn len(&self) -> u128 {
        (self.last - self.first).saturating_add(1)
    }

    /// Always false; Clippy wants it beside `len`.
    pub fn is_empty(&self) -> bool {
        false
    }

    pub fn contains(&self, value: u128) -> bool {
        self.first <= value && value <= self.last
    }

    pub fn covers(&self, other: Span) -> bool {
        self.first <= other.first && other.last <= self.last
    }

    pub fn overlaps(&self, other: Span) -> bool {
        self.first <= other.last && other.first <= self.last
    }

    /// The fewest aligned blocks of at most 2^`bits_max` values that make up the span, ascending.
    pub fn aligned_blocks(self, bits_max: u32) -> impl Iterator<Item = Span> {
        let mut rest = Some(self);
        std::iter::from_fn(move || {
            let Span { first, last } = rest?;
            let fits = (last - first).checked_add(1).map_or(128, u128::ilog2);
            let block = Span::block(first, first.trailing_zeros().min(fits).min(bits_max));
            rest = block.last.checked_add(1).and_then(|next| Span::new(next, last));
            Some(block)
        })
    }

    pub fn intersection(&self, other: Span) -> Option<Span> {
        Span::new(self.first.max(other.first), self.last.min(other.last))
    }
}

/// A number with the lowest `bits` bits set; `bits` may be 128.
pub fn low_ones(bits: u32) -> u128 {
    if bits >= 128 { u128::MAX } else { (1 << bits) - 1 }
}

impl fmt::Debug for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.first == self.last {
            write!(f, "{}", self.first)
        } else {
            write!(f, "{}-{}", self.first, self.last)
        }
    }
}

/// Sorts spans and merges those that overlap or touch, so that each value is covered once.
pub fn normalise(mut spans: Vec<Span>) -> Vec<Span> {
    spans.sort_unstable();
    let mut out: Vec<Span> = Vec::with_capacity(spans.len());
    for span in spans {
        match out.last_mut() {
            Some(last) if span.first <= last.last.saturating_add(1) => {
                last.last = last.last.max(span.last)
            }
            _ => out.push(span),
        }
    }
    out
}

/// The values of `from` that are in none of `minus`. Both must be sorted and disjoint.
pub fn subtract(from: &[Span], minus: &[Span]) -> Vec<Span> {
    let mut out = Vec::with_capacity(from.len());
    let mut next = 0;
    for &span in from {
        let mut rest = Some(span);
        while next < minus.len() && minus[next].last < span.first {
            next += 1;
        }
        for &cut in &minus[next..] {
            let Some(left) = rest else { break };
            if cut.first > left.last {
                break;
            }
            if cut.first > left.first {
                out.push(Span { first: left.first, last: cut.first - 1 });
            }
            rest = cut.last.checked_add(1).and_then(|first| Span::new(first, left.last));
        }
        out.extend(rest);
    }
    out
}

/// The values that are in both lists. Both must be sorted and disjoint.
pub fn intersect(a: &[Span], b: &[Span]) -> Vec<Span> {
    let (mut i, mut j, mut out) = (0, 0, Vec::new());
    while i < a.len() && j < b.len() {
        out.extend(a[i].intersection(b[j]));
        if a[i].last < b[j].last { i += 1 } else { j += 1 }
    }
    out
}

/// Whether one of the sorted, disjoint `spans` contains `value`.
pub fn contains(spans: &[Span], value: u128) -> bool {
    let after = spans.partition_point(|span| span.first <= value);
    after > 0 && spans[after - 1].last >= value
}

/// The number of values of all `spans`, saturating.
pub fn total(spans: &[Span]) -> u128 {
    spans.iter().fold(0, |sum: u128, span| sum.saturating_add(span.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spans(list: &[(u128, u128)]) -> Vec<Span> {
        list.iter().map(|&(first, last)| Span { first, last }).collect()
    }

    #[test]
    fn normalise_merges_overlapping_and_touching_spans() {
        assert_eq!(
            normalise(spans(&[(20, 88), (8, 30), (89, 90), (1, 2)])),
            spans(&[(1, 2), (8, 90)])
        );
        assert_eq!(normalise(spans(&[(0, u128::MAX), (5, 6)])), spans(&[(0, u128::MAX)]));
    }

    #[test]
    fn subtract_removes_from_every_overlapping_span() {
        assert_eq!(
            subtract(&spans(&[(0, 10), (20, 30)]), &spans(&[(5, 25)])),
            spans(&[(0, 4), (26, 30)])
        );
        assert_eq!(
            subtract(&spans(&[(0, 100)]), &spans(&[(0, 0), (7, 9), (100, 100)])),
            spans(&[(1, 6), (10, 99)])
        );
        assert_eq!(
            subtract(&spans(&[(0, u128::MAX)]), &spans(&[(1, u128::MAX)])),
            spans(&[(0, 0)])
        );
        assert_eq!(subtract(&spans(&[(3, 4)]), &spans(&[(0, 9)])), spans(&[]));
        assert_eq!(
            subtract(&spans(&[(0, 1), (5, 6), (8, 9)]), &spans(&[(5, 8)])),
            spans(&[(0, 1), (9, 9)])
        );
    }

    #[test]
    fn intersect_returns_the_common_values() {
        assert_eq!(
            intersect(&spans(&[(0, 10), (20, 30)]), &spans(&[(5, 25), (30, 40)])),
            spans(&[(5, 10), (20, 25), (30, 30)])
        );
    }

    #[test]
    fn span_is_cut_into_the_fewest_aligned_blocks() {
        let cut = |first, last, bits_max| {
            Span { first, last }.aligned_blocks(bits_max).map(|block| (block.first, block.last))
        };
        let blocks = |first, last| cut(first, last, 128).collect::<Vec<_>>();
        let (max, half) = (u128::MAX, u128::MAX / 2);
        assert_eq!(blocks(1, 9), [(1, 1), (2, 3), (4, 7), (8, 9)]);
        assert_eq!(blocks(0, max), [(0, max)]);
        assert_eq!(blocks(0, half), [(0, half)]);
        assert_eq!(blocks(half + 1, max), [(half + 1, max)]);
        assert_eq!(blocks(max, max), [(max, max)]);
        assert_eq!(blocks(0, max - 1).len(), 128);
        assert_eq!(cut(0, max, 127).collect::<Vec<_>>(), [(0, half), (half + 1, max)]);
    }

    #[test]
    fn whole_number_line_is_an_ordinary_span() {
        let line = Span { first: 0, last: u128::MAX };
        assert_eq!(line.len(), u128::MAX);
        assert_eq!(Span::block(0, 128), line);
        assert!(line.covers(Span::one(u128::MAX)));
    }
}
