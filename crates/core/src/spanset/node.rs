//! The nodes of the tree and the ways to change them.
//!
//! All leaves are at the same depth. Every node but the root is between its least and its greatest size; an edit may
//! leave one node of a level outside these bounds, and its parent puts that right on the way up.

use crate::span::Span;

use super::inner::Inner;
use super::ordered::count_leading;
use super::summary::Summary;

// Small nodes in unit tests, so that a few dozen spans make a tree of several levels. The greatest sizes are one less
// than a round number because a node is split when it has one too many.
pub(super) const LEAF_MAX: usize = if cfg!(test) { 5 } else { 31 };
pub(super) const FAN_MAX: usize = if cfg!(test) { 4 } else { 63 };
// A third and not half, so that a node that was just split or joined takes many edits to need it again.
pub(super) const LEAF_MIN: usize = if cfg!(test) { 2 } else { LEAF_MAX / 3 };
pub(super) const FAN_MIN: usize = if cfg!(test) { 2 } else { FAN_MAX / 3 };

/// Nodes grow and shrink by so many places at a time. Doubling would leave a quarter of the memory unused.
const STEP: usize = 8;

#[derive(Debug, Clone)]
pub(super) enum Node {
    Leaf(Vec<Span>),
    Inner(Box<Inner>),
}

impl Node {
    /// A tree over spans that are sorted, disjoint and do not touch; and its summary.
    pub fn build(spans: &[Span]) -> (Node, Summary) {
        // Not quite full, so that the first inserts do not split every leaf.
        let mut level = Inner::default();
        for group in spans.chunks(LEAF_MAX - LEAF_MAX / 8) {
            level.push(Node::Leaf(group.to_vec()));
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
            _ => (Node::Leaf(Vec::new()), Summary::NOTHING),
        }
    }

    /// Applies `change` to the leaf where `key` belongs and brings everything above it up to date. `change` also gets the
    /// lowest value of the next leaf. `sum` is the summary of this node, `next` the lowest value behind it.
    pub fn edit<R>(
        &mut self,
        sum: &mut Summary,
        key: u128,
        next: Option<u128>,
        change: impl FnOnce(&mut Leaf<'_>, Option<u128>) -> R,
    ) -> R {
        match self {
            Node::Leaf(spans) => change(&mut Leaf { spans, sum }, next),
            Node::Inner(inner) => {
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

    /// Makes a root that outgrew its size the child of a new one, and an only child the root.
    pub fn fit_height(&mut self) {
        if self.is_over() {
            let mut inner = Inner::default();
            inner.push(std::mem::replace(self, Node::Leaf(Vec::new())));
            inner.rebalance(0);
            *self = Node::Inner(Box::new(inner));
        }
        while let Node::Inner(inner) = self
            && inner.len() == 1
            && let Some(only) = inner.nodes.pop()
        {
            *self = only;
        }
    }

    pub fn is_over(&self) -> bool {
        match self {
            Node::Leaf(spans) => spans.len() > LEAF_MAX,
            Node::Inner(inner) => inner.len() > FAN_MAX,
        }
    }

    pub fn is_under(&self) -> bool {
        match self {
            Node::Leaf(spans) => spans.len() < LEAF_MIN,
            Node::Inner(inner) => inner.len() < FAN_MIN,
        }
    }

    /// The lowest value; of no meaning when there is none, which lasts only until the parent has joined the node.
    pub fn first(&self) -> u128 {
        match self {
            Node::Leaf(spans) => spans.first().map_or(0, |span| span.first),
            Node::Inner(inner) => inner.firsts.first().copied().unwrap_or(0),
        }
    }

    pub fn sum(&self) -> Summary {
        match self {
            Node::Leaf(spans) => sum_of(spans),
            Node::Inner(inner) => inner.sums.iter().copied().fold(Summary::NOTHING, Summary::and),
        }
    }

    /// Gives away the upper half.
    pub fn split(&mut self) -> Node {
        match self {
            Node::Leaf(spans) => Node::Leaf(upper_half(spans)),
            Node::Inner(inner) => Node::Inner(Box::new(inner.split())),
        }
    }

    /// Takes over all that a sibling to the right has.
    pub fn append(&mut self, right: Node) {
        match (self, right) {
            (Node::Leaf(spans), Node::Leaf(more)) => {
                spans.reserve_exact(more.len());
                spans.extend(more);
            }
            (Node::Inner(inner), Node::Inner(more)) => inner.append(*more),
            // All leaves are at the same depth, so siblings are of one kind.
            _ => debug_assert!(false, "a leaf beside an inner node"),
        }
    }
}

pub(super) fn upper_half<T>(items: &mut Vec<T>) -> Vec<T> {
    let half = items.split_off(items.len() / 2);
    items.shrink_to_fit();
    half
}

/// Makes room for one more.
pub(super) fn reserve_step<T>(items: &mut Vec<T>) {
    if items.len() == items.capacity() {
        items.reserve_exact(STEP);
    }
}

fn sum_of(spans: &[Span]) -> Summary {
    spans.iter().map(|&span| Summary::of(span)).fold(Summary::NOTHING, Summary::and)
}

/// A leaf being edited.
pub(super) struct Leaf<'a> {
    spans: &'a mut Vec<Span>,
    sum: &'a mut Summary,
}

impl Leaf<'_> {
    /// Puts `span` in, together with all spans that it overlaps or touches, and says by how many spans there are more.
    /// When the next leaf's first span is one of these, nothing is changed and that span's lowest value returned: it
    /// has to be taken out first.
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

    /// Takes out what of `span` is here, and says by how many spans there are more.
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

    /// Puts `new` in the place of `count` spans from `from` on.
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
        self.sum.exchange(gone, sum_of(new), || spans.iter().map(|&span| Summary::of(span)));
        new.len() as isize - count as isize
    }
}
