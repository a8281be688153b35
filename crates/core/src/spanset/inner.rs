//! An inner node: its subtrees, with the lowest value and the summary of each.

use super::node::{TreeNode, reserve_step, upper_half};
use super::ordered::count_leading;
use super::summary::SubtreeSummary;

/// Three columns of equal length and not one list of rows: a descent reads all of `firsts`, one entry of `nodes`, and
/// usually nothing of `sums`, which is the widest.
#[derive(Debug, Clone, Default)]
pub(super) struct InnerNode {
    /// The lowest value of each subtree.
    pub firsts: Vec<u128>,
    pub nodes: Vec<TreeNode>,
    pub sums: Vec<SubtreeSummary>,
}

impl InnerNode {
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// The last subtree that does not begin after `value`.
    #[inline]
    pub fn child_for(&self, value: u128) -> usize {
        count_leading(&self.firsts, |&first| first <= value).saturating_sub(1)
    }

    pub fn push(&mut self, node: TreeNode) {
        self.firsts.push(node.first());
        self.sums.push(node.sum());
        self.nodes.push(node);
    }

    /// Splits off the upper half.
    pub fn split(&mut self) -> InnerNode {
        InnerNode {
            firsts: upper_half(&mut self.firsts),
            nodes: upper_half(&mut self.nodes),
            sums: upper_half(&mut self.sums),
        }
    }

    /// Appends all subtrees of the sibling to the right.
    pub fn append(&mut self, mut right: InnerNode) {
        self.firsts.append(&mut right.firsts);
        self.nodes.append(&mut right.nodes);
        self.sums.append(&mut right.sums);
    }

    /// The level above this one: nodes of up to `size` subtrees each.
    pub fn into_groups(self, size: usize) -> InnerNode {
        let mut upper = InnerNode::default();
        let mut rest = self.nodes.into_iter().peekable();
        while rest.peek().is_some() {
            let mut group = InnerNode::default();
            rest.by_ref().take(size).for_each(|node| group.push(node));
            upper.push(TreeNode::Inner(Box::new(group)));
        }
        upper
    }

    /// Splits the subtree at `at` when its root is too large. Merges it with a sibling when it is too small, and splits
    /// the result evenly when that is too large. The summary of all subtrees together does not change.
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
