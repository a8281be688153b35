//! The nodes of the tree, and the edits of them.
//!
//! All leaves have the same depth. The size of every node but the root is between its minimum and its maximum. An edit
//! may leave one node of each level outside these bounds; its parent rebalances it.

use crate::span::Span;

use super::inner::InnerNode;
use super::ordered::count_leading;
use super::summary::SubtreeSummary;

// Small nodes in unit tests, so that a few dozen spans make a tree of several levels. The maximum is one less than a
// power of two because a node is split when it has one item more.
pub(super) const LEAF_MAX: usize = if cfg!(test) { 5 } else { 31 };
pub(super) const FAN_MAX: usize = if cfg!(test) { 4 } else { 63 };
// A third and not half: a node that was just split or merged takes many edits until the next split or merge.
pub(super) const LEAF_MIN: usize = if cfg!(test) { 2 } else { LEAF_MAX / 3 };
pub(super) const FAN_MIN: usize = if cfg!(test) { 2 } else { FAN_MAX / 3 };

/// Capacity that a node adds or drops at once. Doubling would leave a quarter of the memory unused.
const STEP: usize = 8;

#[derive(Debug, Clone)]
pub(super) enum TreeNode {
    Leaf(Vec<Span>),
    Inner(Box<InnerNode>),
}

impl TreeNode {
    /// A tree over spans that are sorted, disjoint and do not touch; and its summary.
    pub fn build(spans: &[Span]) -> (TreeNode, SubtreeSummary) {
        // Not full, so that the first inserts do not split every leaf.
        let mut level = InnerNode::default();
        for group in spans.chunks(LEAF_MAX - LEAF_MAX / 8) {
            level.push(TreeNode::Leaf(group.to_vec()));
        }
        loop {
            if level.len() > 1 {
                level.rebalance(level.len() - 1);
            }
            if level.len() <= 1 {
                break;
            }
            level = level.into_groups(FAN_MAX - FAN_MAX / 8);
        }
        match (level.nodes.pop(), level.sums.pop()) {
            (Some(root), Some(sum)) => (root, sum),
            _ => (TreeNode::Leaf(Vec::new()), SubtreeSummary::NOTHING),
        }
    }

    /// Applies `change` to the leaf for `key` and updates the nodes above it. `change` also gets the lowest value of the
    /// next leaf. `sum` is the summary of this node, `next` the lowest value after it.
    pub fn edit<R>(
        &mut self,
        sum: &mut SubtreeSummary,
        key: u128,
        next: Option<u128>,
        change: impl FnOnce(&mut LeafEdit<'_>, Option<u128>) -> R,
    ) -> R {
        match self {
            TreeNode::Leaf(spans) => change(&mut LeafEdit { spans, sum }, next),
            TreeNode::Inner(inner) => {
                let at = inner.child_for(key);
                let next = inner.firsts.get(at + 1).copied().or(next);
                let before = inner.sums[at];
                let node = &mut inner.nodes[at];
                let result = node.edit(&mut inner.sums[at], key, next, change);
                inner.firsts[at] = node.first();
                sum.exchange(before, inner.sums[at], || inner.sums.iter().copied());
                inner.rebalance(at);
                result
            }
        }
    }

    /// Splits a root that is too large under a new root; replaces a root with one child by that child.
    pub fn fit_height(&mut self) {
        if self.is_over() {
            let mut inner = InnerNode::default();
            inner.push(std::mem::replace(self, TreeNode::Leaf(Vec::new())));
            inner.rebalance(0);
            *self = TreeNode::Inner(Box::new(inner));
        }
        while let TreeNode::Inner(inner) = self
            && inner.len() == 1
            && let Some(only) = inner.nodes.pop()
        {
            *self = only;
        }
    }

    pub fn is_over(&self) -> bool {
        match self {
            TreeNode::Leaf(spans) => spans.len() > LEAF_MAX,
            TreeNode::Inner(inner) => inner.len() > FAN_MAX,
        }
    }

    pub fn is_under(&self) -> bool {
        match self {
            TreeNode::Leaf(spans) => spans.len() < LEAF_MIN,
            TreeNode::Inner(inner) => inner.len() < FAN_MIN,
        }
    }

    /// The lowest value. Meaningless for an empty node, which exists only until the parent has merged it.
    pub fn first(&self) -> u128 {
        match self {
            TreeNode::Leaf(spans) => spans.first().map_or(0, |span| span.first),
            TreeNode::Inner(inner) => inner.firsts.first().copied().unwrap_or(0),
        }
    }

    pub fn sum(&self) -> SubtreeSummary {
        match self {
            TreeNode::Leaf(spans) => sum_of(spans),
            TreeNode::Inner(inner) => {
                inner.sums.iter().copied().fold(SubtreeSummary::NOTHING, SubtreeSummary::and)
            }
        }
    }

    /// Splits off the upper half.
    pub fn split(&mut self) -> TreeNode {
        match self {
            TreeNode::Leaf(spans) => TreeNode::Leaf(upper_half(spans)),
            TreeNode::Inner(inner) => TreeNode::Inner(Box::new(inner.split())),
        }
    }

    /// Appends all items of the sibling to the right.
    pub fn append(&mut self, right: TreeNode) {
        match (self, right) {
            (TreeNode::Leaf(spans), TreeNode::Leaf(more)) => {
                spans.reserve_exact(more.len());
                spans.extend(more);
            }
            (TreeNode::Inner(inner), TreeNode::Inner(more)) => inner.append(*more),
            // All leaves have the same depth, so siblings are both leaves or both inner nodes.
            _ => debug_assert!(false, "a leaf beside an inner node"),
        }
    }
}

pub(super) fn upper_half<T>(items: &mut Vec<T>) -> Vec<T> {
    let half = items.split_off(items.len() / 2);
    items.shrink_to_fit();
    half
}

/// Reserves capacity for one more item.
pub(super) fn reserve_step<T>(items: &mut Vec<T>) {
    if items.len() == items.capacity() {
        items.reserve_exact(STEP);
    }
}

fn sum_of(spans: &[Span]) -> SubtreeSummary {
    spans
        .iter()
        .map(|&span| SubtreeSummary::of(span))
        .fold(SubtreeSummary::NOTHING, SubtreeSummary::and)
}

/// A leaf being edited.
pub(super) struct LeafEdit<'a> {
    spans: &'a mut Vec<Span>,
    sum: &'a mut SubtreeSummary,
}

impl LeafEdit<'_> {
    /// Adds `span`, merged with all spans that it overlaps or touches, and returns the change of the number of spans. If
    /// the first span of the next leaf is one of these, changes nothing and returns its lowest value as the error: the
    /// caller has to remove it first.
    pub fn unite(&mut self, span: Span, next: Option<u128>) -> Result<isize, u128> {
        let from = count_leading(self.spans, |other| other.last.saturating_add(1) < span.first);
        let beyond = span.last.saturating_add(1);
        let met = self.spans[from..].iter().take_while(|other| other.first <= beyond).count();
        let mut whole = span;
        if let [first, ..] = self.spans[from..from + met] {
            whole.first = whole.first.min(first.first);
        }
        if let [.., last] = self.spans[from..from + met] {
            whole.last = whole.last.max(last.last);
        }
        match next {
            Some(next) if next <= whole.last.saturating_add(1) => Err(next),
            _ => Ok(self.replace(from, met, &[whole])),
        }
    }

    /// Removes the values of `span` from the leaf, and returns the change of the number of spans.
    pub fn subtract(&mut self, span: Span) -> isize {
        let from = count_leading(self.spans, |other| other.last < span.first);
        let met = self.spans[from..].iter().take_while(|other| other.first <= span.last).count();
        let [first, ..] = self.spans[from..from + met] else { return 0 };
        let last = self.spans[from + met - 1];
        let below = Span { first: first.first, last: span.first.wrapping_sub(1) };
        let above = Span { first: span.last.wrapping_add(1), last: last.last };
        match (first.first < span.first, span.last < last.last) {
            (false, false) => self.replace(from, met, &[]),
            (true, false) => self.replace(from, met, &[below]),
            (false, true) => self.replace(from, met, &[above]),
            (true, true) => self.replace(from, met, &[below, above]),
        }
    }

    /// Replaces `count` spans from `from` on by `new`.
    #[inline]
    fn replace(&mut self, from: usize, count: usize, new: &[Span]) -> isize {
        let spans = &mut *self.spans;
        let gone = sum_of(&spans[from..from + count]);
        let kept = count.min(new.len());
        spans[from..from + kept].copy_from_slice(&new[..kept]);
        for (at, &span) in new.iter().enumerate().skip(kept) {
            reserve_step(spans);
            spans.insert(from + at, span);
        }
        if kept < count {
            spans.drain(from + kept..from + count);
            if spans.capacity() > spans.len() + 2 * STEP {
                spans.shrink_to(spans.len() + STEP);
            }
        }
        self.sum.exchange(gone, sum_of(new), || spans.iter().map(|&span| SubtreeSummary::of(span)));
        new.len() as isize - count as isize
    }
}
