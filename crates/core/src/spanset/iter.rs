//! Iterates over the spans of a set.

use crate::span::Span;

use super::cursor::Cursor;
use super::node::TreeNode;

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
