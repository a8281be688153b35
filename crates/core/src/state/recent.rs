//! Which free values were released, and in what order: the memory of the least recently used strategy.
//!
//! The memory is bounded; what it forgets counts as never used, which is what "long ago" means here.

use std::collections::{BTreeMap, BTreeSet};

use crate::pool::Strategy;
use crate::span::Span;

/// Released spans that are still free, with the number of their release.
#[derive(Debug, Clone, Default)]
pub(crate) struct Recent {
    pieces: BTreeMap<u128, (u128, u64)>,
    by_age: BTreeSet<(u64, u128)>,
}

/// A released span and its number in the order of releases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Piece {
    pub span: Span,
    pub age: u64,
}

/// How many released spans a pool remembers. Part of the meaning of the journal: it must never change for a pool that
/// has been written, so it is no limit that an operator sets.
pub(crate) fn pieces_max(strategy: Strategy) -> usize {
    match strategy {
        Strategy::LeastRecentlyUsed => 4096,
        // For claims that override the strategy: few enough to step over one by one.
        Strategy::Lowest | Strategy::Highest | Strategy::Next | Strategy::Random => 64,
    }
}

impl Recent {
    pub fn len(&self) -> usize {
        self.pieces.len()
    }

    pub fn add(&mut self, piece: Piece) {
        self.pieces.insert(piece.span.first, (piece.span.last, piece.age));
        self.by_age.insert((piece.age, piece.span.first));
    }

    pub fn remove(&mut self, piece: Piece) {
        self.pieces.remove(&piece.span.first);
        self.by_age.remove(&(piece.age, piece.span.first));
    }

    /// The last piece that has values of this span.
    pub fn last_overlapping(&self, span: Span) -> Option<Piece> {
        self.pieces
            .range(..=span.last)
            .next_back()
            .map(piece)
            .filter(|piece| piece.span.last >= span.first)
    }

    /// The pieces that have values of this span.
    pub fn overlapping(&self, span: Span) -> Vec<Piece> {
        let Some(last) = self.last_overlapping(span) else { return Vec::new() };
        if last.span.first <= span.first {
            return vec![last];
        }
        let before = self
            .pieces
            .range(..span.first)
            .next_back()
            .filter(|(_, (last, _))| *last >= span.first);
        let within = self.pieces.range(span.first..=span.last);
        before.into_iter().chain(within).map(piece).collect()
    }

    pub fn oldest_first(&self) -> impl Iterator<Item = Piece> + '_ {
        self.by_age.iter().filter_map(|&(_, first)| self.pieces.get_key_value(&first).map(piece))
    }
}

fn piece((&first, &(last, age)): (&u128, &(u128, u64))) -> Piece {
    Piece { span: Span { first, last }, age }
}
