//! A place in a set that only moves up. A short step costs little, a long one as much as a walk from the root.

use crate::span::Span;

use super::inner::Inner;
use super::node::Node;
use super::ordered::count_leading;
use super::sought::{Any, Sought};

#[derive(Debug, Clone)]
pub(super) struct Cursor<'a> {
    /// The inner nodes on the way down, each with the number of its first subtree that was not entered yet.
    above: Vec<(&'a Inner, usize)>,
    /// The spans of the leaf that are not behind the cursor yet.
    leaf: &'a [Span],
}

impl<'a> Cursor<'a> {
    /// Before the first span that ends at `from` or later.
    pub fn new(root: &'a Node, from: u128) -> Cursor<'a> {
        let mut cursor = Cursor { above: Vec::new(), leaf: &[] };
        let mut node = root;
        loop {
            match node {
                Node::Leaf(spans) => {
                    cursor.leaf = &spans[count_leading(spans, |span| span.last < from)..];
                    return cursor;
                }
                Node::Inner(inner) => {
                    let at = inner.child_for(from);
                    cursor.above.push((inner, at + 1));
                    node = &inner.nodes[at];
                }
            }
        }
    }

    /// Steps over the next span.
    #[inline]
    pub fn next(&mut self) -> Option<Span> {
        loop {
            if let Some((&span, rest)) = self.leaf.split_first() {
                self.leaf = rest;
                return Some(span);
            }
            self.enter_next_leaf(0, Any)?;
        }
    }

    /// The lowest of what is sought that begins at `from` or later. From call to call `from` must not fall and what is
    /// sought must stay the same, for the cursor forgets what it has passed.
    pub fn first<S: Sought>(&mut self, from: u128, sought: S) -> Option<u128> {
        loop {
            if self.leaf.last().is_some_and(|last| last.last >= from) {
                if self.leaf[0].last < from {
                    let passed = count_leading(self.leaf, |span| span.last < from);
                    self.leaf = &self.leaf[passed..];
                }
                for (at, span) in self.leaf.iter().enumerate() {
                    let rest = Span { first: span.first.max(from), last: span.last };
                    if let Some(found) = sought.lowest(rest) {
                        self.leaf = &self.leaf[at..];
                        return Some(found);
                    }
                }
            }
            self.enter_next_leaf(from, sought)?;
        }
    }

    /// Leaves this leaf for the next one that has what is sought and does not lie wholly before `from`, as far as that
    /// can be seen from above. `None` when there is none.
    fn enter_next_leaf<S: Sought>(&mut self, from: u128, sought: S) -> Option<()> {
        self.leaf = &[];
        loop {
            // What is left of a node lies before `from` when the next subtree of a node above does not begin behind it.
            while let [.., (upper, next), _] = self.above[..]
                && upper.firsts.get(next).is_some_and(|&first| first <= from)
            {
                self.above.pop();
            }
            let (inner, next) = self.above.last_mut()?;
            let inner: &'a Inner = inner;
            let begin = inner.child_for(from).max(*next);
            let Some(at) = (begin..inner.len()).find(|&at| sought.is_in(&inner.sums[at])) else {
                self.above.pop();
                continue;
            };
            *next = at + 1;
            match &inner.nodes[at] {
                Node::Leaf(spans) => {
                    self.leaf = spans;
                    return Some(());
                }
                Node::Inner(lower) => self.above.push((lower, 0)),
            }
        }
    }
}
