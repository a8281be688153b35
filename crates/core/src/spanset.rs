//! A set of values, kept as the fewest spans that cover it: the free list of every pool.
//!
//! The spans stand in a B+-tree whose inner nodes know, for each subtree, how many even and odd values it has, how long
//! its longest span is and which sizes of aligned blocks it offers. So every question that a strategy asks (lowest,
//! highest, the k-th, a run, the tightest block) is one walk from the root to a leaf, whether the set is one span of
//! 2^128 values or four million single ones.
//!
//! Nothing here knows what a value means or who holds it, and nothing chooses between strategies.

mod check;
mod cursor;
mod inner;
mod iter;
mod meet;
mod node;
mod ordered;
mod search;
mod sought;
mod summary;
#[cfg(test)]
mod tests;

use std::fmt;

use crate::claim::Parity;
use crate::span::{self, Span, low_ones};

pub use iter::Iter;
pub use meet::{first_common, first_common_block, first_common_run};

use node::Node;
use sought::{Any, Block, ExactBlock, OfParity, Run};
use summary::Summary;

/// A set of values of the line from 0 to `u128::MAX`.
///
/// Two sets are equal when they have the same values, however they came about. Counts saturate at `u128::MAX`; only the
/// whole line, with its 2^128 values, is affected by that.
#[derive(Clone)]
pub struct SpanSet {
    root: Node,
    sum: Summary,
    span_count: usize,
}

impl SpanSet {
    pub fn new() -> SpanSet {
        SpanSet { root: Node::Leaf(Vec::new()), sum: Summary::NOTHING, span_count: 0 }
    }

    /// The set of all values in `spans`. Linear when they are sorted; they need not be, and may touch or overlap.
    pub fn from_spans(spans: impl IntoIterator<Item = Span>) -> SpanSet {
        let spans = span::normalise(spans.into_iter().collect());
        let span_count = spans.len();
        let (root, sum) = Node::build(&spans);
        SpanSet { root, sum, span_count }
    }

    /// Puts in values of which none is in the set yet.
    pub fn insert(&mut self, span: Span) {
        debug_assert!(self.overlap_len(span) == 0, "{span:?} is already in the set, in part");
        self.unite(span);
    }

    /// Takes out values that are all in the set.
    pub fn remove(&mut self, span: Span) {
        debug_assert!(self.covers(span), "{span:?} is not wholly in the set");
        self.subtract(span);
    }

    /// Puts in those values of `span` that are not in the set yet.
    pub fn unite(&mut self, mut span: Span) {
        loop {
            let united = self
                .root
                .edit(&mut self.sum, span.first, None, |leaf, next| leaf.unite(span, next));
            match united {
                Ok(change) => return self.settle(change),
                // The next leaf begins with a span that has to become part of this one.
                Err(next) => {
                    let Some(absorbed) = self.span_at(next) else { return };
                    self.subtract(absorbed);
                    span.last = span.last.max(absorbed.last);
                }
            }
        }
    }

    /// Takes out those values of `span` that are in the set.
    pub fn subtract(&mut self, span: Span) {
        let mut rest = Some(span);
        while let Some(span) = rest {
            let (change, next) = self
                .root
                .edit(&mut self.sum, span.first, None, |leaf, next| (leaf.subtract(span), next));
            self.settle(change);
            rest = next.and_then(|next| Span::new(next, span.last));
        }
    }

    /// After an edit below the root: the new number of spans, and a root of the right height.
    fn settle(&mut self, change: isize) {
        self.span_count = self.span_count.wrapping_add_signed(change);
        self.root.fit_height();
    }

    /// How many values it has.
    pub fn len(&self) -> u128 {
        self.sum.count(None)
    }

    pub fn is_empty(&self) -> bool {
        self.span_count == 0
    }

    /// How many maximal spans it consists of.
    pub fn span_count(&self) -> usize {
        self.span_count
    }

    /// How many values of this parity it has; of either when `None`.
    pub fn count_of(&self, parity: Option<Parity>) -> u128 {
        self.sum.count(parity)
    }

    /// The maximal span of the set that has `value` in it.
    pub fn span_at(&self, value: u128) -> Option<Span> {
        search::span_at(&self.root, value)
    }

    pub fn contains(&self, value: u128) -> bool {
        self.span_at(value).is_some()
    }

    /// Whether all values of `span` are in the set.
    pub fn covers(&self, span: Span) -> bool {
        self.span_at(span.first).is_some_and(|found| found.last >= span.last)
    }

    /// How many values of `span` are in the set.
    pub fn overlap_len(&self, span: Span) -> u128 {
        search::overlap_len(&self.root, span)
    }

    /// The lowest value that is not below `value`.
    pub fn first_at_or_after(&self, value: u128) -> Option<u128> {
        self.first(value, Any)
    }

    /// The highest value that is not above `value`.
    pub fn last_at_or_before(&self, value: u128) -> Option<u128> {
        self.last(value, Any)
    }

    /// The lowest value of this parity that is not below `value`.
    pub fn first_of_parity(&self, value: u128, parity: Parity) -> Option<u128> {
        self.first(value, OfParity(parity))
    }

    /// The highest value of this parity that is not above `value`.
    pub fn last_of_parity(&self, value: u128, parity: Parity) -> Option<u128> {
        self.last(value, OfParity(parity))
    }

    /// The value that has `k` values of the set below it.
    pub fn nth(&self, k: u128) -> Option<u128> {
        search::nth(&self.root, k, None)
    }

    /// The value of this parity that has `k` values of the same parity below it.
    pub fn nth_of_parity(&self, k: u128, parity: Parity) -> Option<u128> {
        search::nth(&self.root, k, Some(parity))
    }

    /// How many values the longest span has; 0 when the set is empty.
    pub fn longest_run(&self) -> u128 {
        self.sum.longest
    }

    /// The lowest `start >= at_or_after` such that `len` values from `start` on are in the set. There is no run of
    /// no values.
    pub fn first_run(&self, at_or_after: u128, len: u128) -> Option<u128> {
        self.first(at_or_after, Run::of(len)?)
    }

    /// The highest `start` such that `len` values from `start` on are in the set and none is above `at_or_before`.
    pub fn last_run(&self, at_or_before: u128, len: u128) -> Option<u128> {
        self.last(at_or_before, Run::of(len)?)
    }

    /// The lowest base, not below `at_or_after`, of an aligned block of 2^`bits` values that are all in the set.
    pub fn first_block(&self, at_or_after: u128, bits: u32) -> Option<u128> {
        self.first(at_or_after, Block { bits })
    }

    /// The highest base of an aligned block of 2^`bits` values that are all in the set and not above `at_or_before`.
    pub fn last_block(&self, at_or_before: u128, bits: u32) -> Option<u128> {
        self.last(at_or_before, Block { bits })
    }

    /// The base of an aligned block of 2^`bits` values, cut so that larger blocks stay whole where they can: from the
    /// smallest block that is large enough, of those the lowest, and of that the low end.
    pub fn best_fit_block(&self, bits: u32) -> Option<u128> {
        let source = self.sum.smallest_block(bits)?;
        self.first(0, ExactBlock { bits: source })
    }

    /// The lowest base, not below `at_or_after`, of a block of exactly 2^`bits` values: one that is not part of a larger
    /// one. A span that has `at_or_after` in it counts from there.
    pub fn first_exact_block(&self, at_or_after: u128, bits: u32) -> Option<u128> {
        self.first(at_or_after, ExactBlock { bits })
    }

    /// Like [`SpanSet::best_fit_block`] from the other end: of the smallest blocks that are large enough the highest,
    /// and of that the high end.
    pub fn best_fit_block_high(&self, bits: u32) -> Option<u128> {
        let source = self.sum.smallest_block(bits)?;
        let base = self.last(u128::MAX, ExactBlock { bits: source })?;
        Some(base + (low_ones(source) - low_ones(bits)))
    }

    /// The size, as a power of two, of the largest aligned block whose values are all in the set.
    pub fn largest_block_bits(&self) -> Option<u32> {
        self.sum.largest_block()
    }

    /// All spans, ascending.
    pub fn iter(&self) -> Iter<'_> {
        self.iter_within(Span { first: 0, last: u128::MAX })
    }

    /// All spans from `value` on; one that has `value` in it begins there.
    pub fn iter_from(&self, value: u128) -> Iter<'_> {
        self.iter_within(Span { first: value, last: u128::MAX })
    }

    /// What of the set lies in `window`, as spans cut to it.
    pub fn iter_within(&self, window: Span) -> Iter<'_> {
        Iter::new(&self.root, window)
    }
}

impl Default for SpanSet {
    fn default() -> SpanSet {
        SpanSet::new()
    }
}

impl PartialEq for SpanSet {
    fn eq(&self, other: &SpanSet) -> bool {
        self.span_count == other.span_count && self.iter().eq(other.iter())
    }
}

impl Eq for SpanSet {}

impl fmt::Debug for SpanSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self).finish()
    }
}

impl FromIterator<Span> for SpanSet {
    fn from_iter<I: IntoIterator<Item = Span>>(spans: I) -> SpanSet {
        SpanSet::from_spans(spans)
    }
}

impl<'a> IntoIterator for &'a SpanSet {
    type Item = Span;
    type IntoIter = Iter<'a>;

    fn into_iter(self) -> Iter<'a> {
        self.iter()
    }
}
