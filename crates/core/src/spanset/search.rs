//! Walks from the root to a leaf that change nothing.

use crate::claim::Parity;
use crate::span::Span;

use super::SpanSet;
use super::node::Node;
use super::ordered::count_leading;
use super::sought::Sought;
use super::summary::Summary;

impl SpanSet {
    /// The lowest of what is sought that begins at `from` or later.
    pub(super) fn first<S: Sought>(&self, from: u128, sought: S) -> Option<u128> {
        if sought.is_in(&self.sum) { first(&self.root, from, sought) } else { None }
    }

    /// The highest of what is sought that ends at `to` or earlier.
    pub(super) fn last<S: Sought>(&self, to: u128, sought: S) -> Option<u128> {
        if sought.is_in(&self.sum) { last(&self.root, to, sought) } else { None }
    }
}

/// Only the subtree that `from` cuts through can fail although its summary promises something, so at most two paths
/// are walked.
fn first<S: Sought>(node: &Node, from: u128, sought: S) -> Option<u128> {
    match node {
        Node::Leaf(spans) => {
            let at = count_leading(spans, |span| span.last < from);
            spans[at..].iter().find_map(|span| {
                sought.lowest(Span { first: span.first.max(from), last: span.last })
            })
        }
        Node::Inner(inner) => {
            let at = inner.child_for(from);
            if sought.is_in(&inner.sums[at])
                && let Some(found) = first(&inner.nodes[at], from, sought)
            {
                return Some(found);
            }
            let next = (at + 1..inner.len()).find(|&next| sought.is_in(&inner.sums[next]))?;
            first(&inner.nodes[next], from, sought)
        }
    }
}

/// The mirror image of [`first`].
fn last<S: Sought>(node: &Node, to: u128, sought: S) -> Option<u128> {
    match node {
        Node::Leaf(spans) => {
            let end = count_leading(spans, |span| span.first <= to);
            spans[..end].iter().rev().find_map(|span| {
                sought.highest(Span { first: span.first, last: span.last.min(to) })
            })
        }
        Node::Inner(inner) => {
            let at = inner.child_for(to);
            if sought.is_in(&inner.sums[at])
                && let Some(found) = last(&inner.nodes[at], to, sought)
            {
                return Some(found);
            }
            let next = (0..at).rev().find(|&next| sought.is_in(&inner.sums[next]))?;
            last(&inner.nodes[next], to, sought)
        }
    }
}

pub(super) fn span_at(mut node: &Node, value: u128) -> Option<Span> {
    loop {
        match node {
            Node::Leaf(spans) => {
                let after = count_leading(spans, |span| span.first <= value);
                let span = *spans.get(after.checked_sub(1)?)?;
                return span.contains(value).then_some(span);
            }
            Node::Inner(inner) => node = &inner.nodes[inner.child_for(value)],
        }
    }
}

/// How many values of `window` are there, saturating.
pub(super) fn overlap_len(mut node: &Node, window: Span) -> u128 {
    loop {
        match node {
            Node::Leaf(spans) => {
                let from = count_leading(spans, |span| span.last < window.first);
                let met = spans[from..].iter().map_while(|span| span.intersection(window));
                return met.fold(0, |sum: u128, span| sum.saturating_add(span.len()));
            }
            Node::Inner(inner) => {
                let (low, high) = (inner.child_for(window.first), inner.child_for(window.last));
                if low < high {
                    // There is more than one span, so this cannot be the whole line, and the sums fit.
                    return count_from(&inner.nodes[low], window.first)
                        + count_all(&inner.sums[low + 1..high])
                        + count_to(&inner.nodes[high], window.last);
                }
                node = &inner.nodes[low];
            }
        }
    }
}

/// How many values there are from `first` on.
fn count_from(mut node: &Node, first: u128) -> u128 {
    let mut count = 0;
    while let Node::Inner(inner) = node {
        let at = inner.child_for(first);
        count += count_all(&inner.sums[at + 1..]);
        node = &inner.nodes[at];
    }
    count + overlap_len(node, Span { first, last: u128::MAX })
}

/// How many values there are up to and with `last`.
fn count_to(mut node: &Node, last: u128) -> u128 {
    let mut count = 0;
    while let Node::Inner(inner) = node {
        let at = inner.child_for(last);
        count += count_all(&inner.sums[..at]);
        node = &inner.nodes[at];
    }
    count + overlap_len(node, Span { first: 0, last })
}

fn count_all(sums: &[Summary]) -> u128 {
    sums.iter().map(|sum| sum.count(None)).sum()
}

/// The value that has `k` others of this parity, or of any, below it.
pub(super) fn nth(mut node: &Node, mut k: u128, parity: Option<Parity>) -> Option<u128> {
    loop {
        match node {
            Node::Leaf(spans) => {
                for &span in spans {
                    match nth_in_span(span, k, parity) {
                        Ok(value) => return Some(value),
                        Err(rest) => k = rest,
                    }
                }
                return None;
            }
            Node::Inner(inner) => {
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

/// The value in `span` that has `k` others below it in the span, or what is left of `k` behind the span. Counts gaps
/// and not values, so that the whole line needs no care.
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
