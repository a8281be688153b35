//! A set of values, stored as the fewest spans that cover it: the free list of every pool.
//!
//! The spans are in a B+-tree. Its inner nodes know, for each subtree, the number of even and odd values, the length of
//! the longest span, and the sizes of the aligned blocks. So every lookup of a strategy (lowest, highest, k-th value, a
//! run, the best fitting block) is one descent from the root to a leaf, whether the set is one span of 2^128 values or
//! four million single values.
//!
//! What a value means, its holder and the choice of a strategy are not here.

mod check;
mod cursor;
mod goal;
mod inner;
mod meet;
mod node;
mod ordered;
mod search;
mod summary;
#[cfg(test)]
mod tests;

use std::fmt;

use crate::claim::Parity;
use crate::span::{self, Span, low_ones};

pub use cursor::Iter;
pub use meet::{CommonMatch, StepsUsedUp, first_common, first_common_block, first_common_run};

use goal::{AnyValue, ExactBlock, FreeBlock, FreeRun, OfParity};
use node::TreeNode;
use summary::SubtreeSummary;

/// A set of values from 0 to `u128::MAX`.
///
/// Sets with the same values are equal, in whatever order these were added. Counts saturate at `u128::MAX`, which affects
/// only the whole number line with its 2^128 values.
#[derive(Clone)]
pub struct SpanSet {
    root: TreeNode,
    sum: SubtreeSummary,
    span_count: usize,
}

impl SpanSet {
    pub fn new() -> SpanSet {
        SpanSet { root: TreeNode::Leaf(Vec::new()), sum: SubtreeSummary::NOTHING, span_count: 0 }
    }

    /// The set of all values in `spans`, which may touch, overlap and have any order. Linear when they are sorted.
    pub fn from_spans(spans: impl IntoIterator<Item = Span>) -> SpanSet {
        let spans = span::normalise(spans.into_iter().collect());
        let span_count = spans.len();
        let (root, sum) = TreeNode::build(&spans);
        SpanSet { root, sum, span_count }
    }

    /// Adds values. The set must not contain any of them yet.
    pub fn insert(&mut self, span: Span) {
        debug_assert!(self.overlap_len(span) == 0, "{span:?} is already in the set, in part");
        self.unite(span);
    }

    /// Removes values that are all in the set.
    pub fn remove(&mut self, span: Span) {
        debug_assert!(self.covers(span), "{span:?} is not entirely in the set");
        self.subtract(span);
    }

    /// Adds the values of `span` that are not in the set yet.
    pub fn unite(&mut self, mut span: Span) {
        loop {
            let united = self
                .root
                .edit(&mut self.sum, span.first, None, |leaf, next| leaf.unite(span, next));
            match united {
                Ok(change) => return self.finish_edit(change),
                // The next leaf begins with a span that has to be merged into this one.
                Err(next) => {
                    let Some(absorbed) = self.span_at(next) else { return };
                    self.subtract(absorbed);
                    span.last = span.last.max(absorbed.last);
                }
            }
        }
    }

    /// Removes the values of `span` that are in the set.
    pub fn subtract(&mut self, span: Span) {
        let mut rest = Some(span);
        while let Some(span) = rest {
            let (change, next) = self
                .root
                .edit(&mut self.sum, span.first, None, |leaf, next| (leaf.subtract(span), next));
            self.finish_edit(change);
            rest = next.and_then(|next| Span::new(next, span.last));
        }
    }

    /// Updates the number of spans and the height of the tree after an edit.
    fn finish_edit(&mut self, change: isize) {
        self.span_count = self.span_count.wrapping_add_signed(change);
        self.root.fit_height();
    }

    /// The number of values.
    pub fn len(&self) -> u128 {
        self.sum.count(None)
    }

    pub fn is_empty(&self) -> bool {
        self.span_count == 0
    }

    /// The number of maximal spans.
    pub fn span_count(&self) -> usize {
        self.span_count
    }

    /// The number of values of this parity; of all values when `None`.
    pub fn count_of(&self, parity: Option<Parity>) -> u128 {
        self.sum.count(parity)
    }

    /// The maximal span of the set that contains `value`.
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

    /// The number of values of `span` in the set.
    pub fn overlap_len(&self, span: Span) -> u128 {
        search::overlap_len(&self.root, span)
    }

    /// The lowest value at or after `value`.
    pub fn first_at_or_after(&self, value: u128) -> Option<u128> {
        self.first(value, AnyValue)
    }

    /// The highest value at or before `value`.
    pub fn last_at_or_before(&self, value: u128) -> Option<u128> {
        self.last(value, AnyValue)
    }

    /// The lowest value of this parity at or after `value`.
    pub fn first_of_parity(&self, value: u128, parity: Parity) -> Option<u128> {
        self.first(value, OfParity(parity))
    }

    /// The highest value of this parity at or before `value`.
    pub fn last_of_parity(&self, value: u128, parity: Parity) -> Option<u128> {
        self.last(value, OfParity(parity))
    }

    /// The value with exactly `k` values of the set below it.
    pub fn nth(&self, k: u128) -> Option<u128> {
        search::nth(&self.root, k, None)
    }

    /// The value of this parity with exactly `k` values of the same parity below it.
    pub fn nth_of_parity(&self, k: u128, parity: Parity) -> Option<u128> {
        search::nth(&self.root, k, Some(parity))
    }

    /// The length of the longest span; 0 when the set is empty.
    pub fn longest_run(&self) -> u128 {
        self.sum.longest
    }

    /// The lowest `start >= at_or_after` such that `len` values from `start` on are in the set. `None` when `len` is 0.
    pub fn first_run(&self, at_or_after: u128, len: u128) -> Option<u128> {
        self.first(at_or_after, FreeRun::of(len)?)
    }

    /// The highest `start` such that `len` values from `start` on are in the set and none is above `at_or_before`.
    pub fn last_run(&self, at_or_before: u128, len: u128) -> Option<u128> {
        self.last(at_or_before, FreeRun::of(len)?)
    }

    /// The lowest base, not below `at_or_after`, of an aligned block of 2^`bits` values that are all in the set.
    pub fn first_block(&self, at_or_after: u128, bits: u32) -> Option<u128> {
        self.first(at_or_after, FreeBlock { bits })
    }

    /// The highest base of an aligned block of 2^`bits` values that are all in the set and not above `at_or_before`.
    pub fn last_block(&self, at_or_before: u128, bits: u32) -> Option<u128> {
        self.last(at_or_before, FreeBlock { bits })
    }

    /// The base of an aligned block of 2^`bits` values, chosen so that large blocks stay whole: the low end of the lowest
    /// of the smallest blocks that are large enough.
    pub fn best_fit_block(&self, bits: u32) -> Option<u128> {
        let source = self.sum.smallest_block(bits)?;
        self.first(0, ExactBlock { bits: source })
    }

    /// The lowest base, not below `at_or_after`, of a block of exactly 2^`bits` values that is not part of a larger block.
    /// A span that contains `at_or_after` counts from there.
    pub fn first_exact_block(&self, at_or_after: u128, bits: u32) -> Option<u128> {
        self.first(at_or_after, ExactBlock { bits })
    }

    /// Like [`SpanSet::best_fit_block`], from the other end: the high end of the highest of these blocks.
    pub fn best_fit_block_high(&self, bits: u32) -> Option<u128> {
        let source = self.sum.smallest_block(bits)?;
        let base = self.last(u128::MAX, ExactBlock { bits: source })?;
        Some(base + (low_ones(source) - low_ones(bits)))
    }

    /// The size, as log2, of the largest aligned block whose values are all in the set.
    pub fn largest_block_bits(&self) -> Option<u32> {
        self.sum.largest_block()
    }

    /// All spans, ascending.
    pub fn iter(&self) -> Iter<'_> {
        self.iter_within(Span { first: 0, last: u128::MAX })
    }

    /// All spans from `value` on; a span that contains `value` is clipped to begin there.
    pub fn iter_from(&self, value: u128) -> Iter<'_> {
        self.iter_within(Span { first: value, last: u128::MAX })
    }

    /// The spans of the set, clipped to `window`.
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
