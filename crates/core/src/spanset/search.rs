//! Read-only descents from the root to a leaf.

use crate::claim::Parity;
use crate::span::Span;

use super::SpanSet;
use super::goal::SearchGoal;
use super::node::TreeNode;
use super::ordered::count_leading;
use super::summary::SubtreeSummary;

impl SpanSet {
    /// The lowest match of the goal that begins at `from` or later.
    pub(super) fn first<S: SearchGoal>(&self, from: u128, goal: S) -> Option<u128> {
        if goal.is_in(&self.sum) { first(&self.root, from, goal) } else { None }
    }

    /// The highest match of the goal that ends at `to` or earlier.
    pub(super) fn last<S: SearchGoal>(&self, to: u128, goal: S) -> Option<u128> {
        if goal.is_in(&self.sum) { last(&self.root, to, goal) } else { None }
    }
}

/// Only the subtree that `from` lies in can have no match although its summary has one, so at most two paths are
/// searched.
fn first<S: SearchGoal>(node: &TreeNode, from: u128, goal: S) -> Option<u128> {
    match node {
        TreeNode::Leaf(spans) => {
            let at = count_leading(spans, |span| span.last < from);
            spans[at..]
                .iter()
                .find_map(|span| goal.lowest(Span { first: span.first.max(from), last: span.last }))
        }
        TreeNode::Inner(inner) => {
            let at = inner.child_for(from);
            if goal.is_in(&inner.sums[at])
                && let Some(found) = first(&inner.nodes[at], from, goal)
            {
                return Some(found);
            }
            let next = (at + 1..inner.len()).find(|&next| goal.is_in(&inner.sums[next]))?;
            first(&inner.nodes[next], from, goal)
        }
    }
}

/// The mirror image of [`first`].
fn last<S: SearchGoal>(node: &TreeNode, to: u128, goal: S) -> Option<u128> {
    match node {
        TreeNode::Leaf(spans) => {
            let end = count_leading(spans, |span| span.first <= to);
            spans[..end]
                .iter()
                .rev()
                .find_map(|span| goal.highest(Span { first: span.first, last: span.last.min(to) }))
        }
        TreeNode::Inner(inner) => {
            let at = inner.child_for(to);
            if goal.is_in(&inner.sums[at])
                && let Some(found) = last(&inner.nodes[at], to, goal)
            {
                return Some(found);
            }
            let next = (0..at).rev().find(|&next| goal.is_in(&inner.sums[next]))?;
            last(&inner.nodes[next], to, goal)
        }
    }
}

pub(super) fn span_at(mut node: &TreeNode, value: u128) -> Option<Span> {
    loop {
        match node {
            TreeNode::Leaf(spans) => {
                let after = count_leading(spans, |span| span.first <= value);
                let span = *spans.get(after.checked_sub(1)?)?;
                return span.contains(value).then_some(span);
            }
            TreeNode::Inner(inner) => node = &inner.nodes[inner.child_for(value)],
        }
    }
}

/// The number of values of `window` in the set, saturating.
pub(super) fn overlap_len(mut node: &TreeNode, window: Span) -> u128 {
    loop {
        match node {
            TreeNode::Leaf(spans) => {
                let from = count_leading(spans, |span| span.last < window.first);
                let met = spans[from..].iter().map_while(|span| span.intersection(window));
                return met.fold(0, |sum: u128, span| sum.saturating_add(span.len()));
            }
            TreeNode::Inner(inner) => {
                let (low, high) = (inner.child_for(window.first), inner.child_for(window.last));
                if low < high {
                    // There is more than one span, so this is not the whole number line, and the sums do not overflow.
                    return count_from(&inner.nodes[low], window.first)
                        + count_all(&inner.sums[low + 1..high])
                        + count_to(&inner.nodes[high], window.last);
                }
                node = &inner.nodes[low];
            }
        }
    }
}

/// The number of values from `first` on.
fn count_from(mut node: &TreeNode, first: u128) -> u128 {
    let mut count = 0;
    while let TreeNode::Inner(inner) = node {
        let at = inner.child_for(first);
        count += count_all(&inner.sums[at + 1..]);
        node = &inner.nodes[at];
    }
    count + overlap_len(node, Span { first, last: u128::MAX })
}

/// The number of values up to and including `last`.
fn count_to(mut node: &TreeNode, last: u128) -> u128 {
    let mut count = 0;
    while let TreeNode::Inner(inner) = node {
        let at = inner.child_for(last);
        count += count_all(&inner.sums[..at]);
        node = &inner.nodes[at];
    }
    count + overlap_len(node, Span { first: 0, last })
}

fn count_all(sums: &[SubtreeSummary]) -> u128 {
    sums.iter().map(|sum| sum.count(None)).sum()
}

/// The value with exactly `k` values below it, of this parity if one is given.
pub(super) fn nth(mut node: &TreeNode, mut k: u128, parity: Option<Parity>) -> Option<u128> {
    loop {
        match node {
            TreeNode::Leaf(spans) => {
                for &span in spans {
                    match nth_in_span(span, k, parity) {
                        Ok(value) => return Some(value),
                        Err(rest) => k = rest,
                    }
                }
                return None;
            }
            TreeNode::Inner(inner) => {
                let at = inner.sums.iter().position(|sum| {
                    let count = sum.count(parity);
                    let here = k < count;
                    if !here {
                        k -= count;
                    }
                    here
                })?;
                node = &inner.nodes[at];
            }
        }
    }
}

/// The value of `span` with `k` values below it in the span, or as the error what remains of `k` after the span. Counts
/// gaps and not values, so that the whole number line does not overflow.
fn nth_in_span(span: Span, k: u128, parity: Option<Parity>) -> Result<u128, u128> {
    // Values of one parity are two apart.
    let shift = u32::from(parity.is_some());
    let first = match parity {
        Some(parity) if Parity::of(span.first) != parity => {
            if span.first == span.last {
                return Err(k);
            }
            span.first + 1
        }
        _ => span.first,
    };
    let gaps = (span.last - first) >> shift;
    if k <= gaps { Ok(first + (k << shift)) } else { Err(k - gaps - 1) }
}
