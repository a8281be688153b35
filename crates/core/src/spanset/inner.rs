//! An inner node: subtrees, with what is known about each.

use super::node::{Node, reserve_step, upper_half};
use super::ordered::count_leading;
use super::summary::Summary;

/// Three columns of equal length and not one list of rows: a walk down looks at all of the first column, at one entry of
/// the last, and most often at none of the widest.
#[derive(Debug, Clone, Default)]
pub(super) struct Inner {
    /// The lowest value of each subtree.
    pub firsts: Vec<u128>,
    pub nodes: Vec<Node>,
    pub sums: Vec<Summary>,
}

impl Inner {
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Which subtree has the spans from `value` on, unless they are behind it: the last that does not begin after
    /// `value`.
    #[inline]
    pub fn child_for(&self, value: u128) -> usize {
        count_leading(&self.firsts, |&first| first <= value).saturating_sub(1)
    }

    pub fn push(&mut self, node: Node) {
        self.firsts.push(node.first());
        self.sums.push(node.sum());
        self.nodes.push(node);
    }

    /// Gives away the upper half.
    pub fn split(&mut self) -> Inner {
        Inner {
            firsts: upper_half(&mut self.firsts),
            nodes: upper_half(&mut self.nodes),
            sums: upper_half(&mut self.sums),
        }
    }

    /// Takes over all that a sibling to the right has.
    pub fn append(&mut self, mut right: Inner) {
        self.firsts.append(&mut right.firsts);
        self.nodes.append(&mut right.nodes);
        self.sums.append(&mut right.sums);
    }

    /// The level above this one: nodes that take up to `size` subtrees each.
    pub fn into_groups(self, size: usize) -> Inner {
        let mut upper = Inner::default();
        let mut rest = self.nodes.into_iter().peekable();
        while rest.peek().is_some() {
            let mut group = Inner::default();
            rest.by_ref().take(size).for_each(|node| group.push(node));
            upper.push(Node::Inner(Box::new(group)));
        }
        upper
    }

    /// Splits the subtree at `at` when its root is too large; joins it with a sibling when it is too small, and splits
    /// the two again, evenly, when together they are too large. What all subtrees sum up to stays as it is.
    pub fn rebalance(&mut self, mut at: usize) {
        if self.nodes[at].is_under() && self.len() > 1 {
            at = at.saturating_sub(1);
            self.firsts.remove(at + 1);
            let right = self.nodes.remove(at + 1);
            let right_sum = self.sums.remove(at + 1);
            self.nodes[at].append(right);
            self.firsts[at] = self.nodes[at].first();
            self.sums[at] = self.sums[at].and(right_sum);
        }
        if self.nodes[at].is_over() {
            let right = self.nodes[at].split();
            self.sums[at] = self.nodes[at].sum();
            reserve_step(&mut self.firsts);
            self.firsts.insert(at + 1, right.first());
            reserve_step(&mut self.sums);
            self.sums.insert(at + 1, right.sum());
            reserve_step(&mut self.nodes);
            self.nodes.insert(at + 1, right);
        }
    }
}
