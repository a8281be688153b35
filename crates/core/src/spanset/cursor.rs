//! Walks over the spans of a set: an iterator, and the cursor that it uses.
//!
//! A cursor only moves up. A short step is cheap; a long one costs as much as a descent from the root.

use crate::span::Span;

use super::goal::{AnyValue, SearchGoal};
use super::inner::InnerNode;
use super::node::TreeNode;
use super::ordered::count_leading;

#[derive(Debug, Clone)]
pub(super) struct Cursor<'a> {
    /// The inner nodes above the leaf, each with the index of its first subtree that was not entered yet.
    above: Vec<(&'a InnerNode, usize)>,
    /// The spans of the leaf that the cursor has not passed.
    leaf: &'a [Span],
}

impl<'a> Cursor<'a> {
    /// A cursor before the first span that ends at `from` or later.
    pub fn new(root: &'a TreeNode, from: u128) -> Cursor<'a> {
        let mut cursor = Cursor { above: Vec::new(), leaf: &[] };
        let mut node = root;
        loop {
            match node {
                TreeNode::Leaf(spans) => {
                    cursor.leaf = &spans[count_leading(spans, |span| span.last < from)..];
                    return cursor;
                }
                TreeNode::Inner(inner) => {
                    let at = inner.child_for(from);
                    cursor.above.push((inner, at + 1));
                    node = &inner.nodes[at];
                }
            }
        }
    }

    /// Returns the next span and moves past it.
    #[inline]
    pub fn next(&mut self) -> Option<Span> {
        loop {
            if let Some((&span, rest)) = self.leaf.split_first() {
                self.leaf = rest;
                return Some(span);
            }
            self.enter_next_leaf(0, AnyValue)?;
        }
    }

    /// The lowest match of the goal that begins at `from` or later. From call to call `from` must not decrease and the
    /// goal must not change, because the cursor cannot go back.
    pub fn first<S: SearchGoal>(&mut self, from: u128, goal: S) -> Option<u128> {
        loop {
            if self.leaf.last().is_some_and(|last| last.last >= from) {
                if self.leaf[0].last < from {
                    let passed = count_leading(self.leaf, |span| span.last < from);
                    self.leaf = &self.leaf[passed..];
                }
                for (at, span) in self.leaf.iter().enumerate() {
                    let rest = Span { first: span.first.max(from), last: span.last };
                    if let Some(found) = goal.lowest(rest) {
                        self.leaf = &self.leaf[at..];
                        return Some(found);
                    }
                }
            }
            self.enter_next_leaf(from, goal)?;
        }
    }

    /// Moves to the next leaf that has a match and, as far as the nodes above show, does not end before `from`. `None`
    /// when there is none.
    fn enter_next_leaf<S: SearchGoal>(&mut self, from: u128, goal: S) -> Option<()> {
        self.leaf = &[];
        loop {
            // The rest of a node lies before `from` when the next subtree of its parent begins at or before `from`.
            while let [.., (upper, next), _] = self.above[..]
                && upper.firsts.get(next).is_some_and(|&first| first <= from)
            {
                self.above.pop();
            }
            let (inner, next) = self.above.last_mut()?;
            let inner: &'a InnerNode = inner;
            let begin = inner.child_for(from).max(*next);
            let Some(at) = (begin..inner.len()).find(|&at| goal.is_in(&inner.sums[at])) else {
                self.above.pop();
                continue;
            };
            *next = at + 1;
            match &inner.nodes[at] {
                TreeNode::Leaf(spans) => {
                    self.leaf = spans;
                    return Some(());
                }
                TreeNode::Inner(lower) => self.above.push((lower, 0)),
            }
        }
    }
}

/// Ascending spans, clipped to a window.
#[derive(Debug, Clone)]
pub struct Iter<'a> {
    cursor: Cursor<'a>,
    /// `None` after the last span of the window.
    window: Option<Span>,
}

impl<'a> Iter<'a> {
    pub(super) fn new(root: &'a TreeNode, window: Span) -> Iter<'a> {
        Iter { cursor: Cursor::new(root, window.first), window: Some(window) }
    }
}

impl Iterator for Iter<'_> {
    type Item = Span;

    fn next(&mut self) -> Option<Span> {
        let cut = self.cursor.next()?.intersection(self.window?);
        if cut.is_none() {
            self.window = None;
        }
        cut
    }
}

impl std::iter::FusedIterator for Iter<'_> {}
