//! The spans of a set, one after the other.

use crate::span::Span;

use super::cursor::Cursor;
use super::node::Node;

/// Ascending spans, cut to a window. Made by [`super::SpanSet::iter`] and its kin.
#[derive(Debug, Clone)]
pub struct Iter<'a> {
    cursor: Cursor<'a>,
    /// `None` once the spans lie behind it.
    window: Option<Span>,
}

impl<'a> Iter<'a> {
    pub(super) fn new(root: &'a Node, window: Span) -> Iter<'a> {
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
