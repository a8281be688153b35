//! The order in which free values were released, for the least recently used strategy.
//!
//! The number of entries is limited; values whose entry was dropped count as never used.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::pool::Strategy;
use crate::span::Span;

/// Released spans that are still free. A copy shares memory until one of the two changes.
#[derive(Debug, Clone, Default)]
pub(crate) struct RecentReleases(Arc<ReleasedSpans>);

/// By value and by age.
#[derive(Debug, Clone, Default)]
struct ReleasedSpans {
    pieces: BTreeMap<u128, (u128, u64)>,
    by_age: BTreeSet<(u64, u128)>,
}

/// A released span. A higher age is a later release.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ReleasedSpan {
    pub span: Span,
    pub age: u64,
}

/// The most released spans that a pool stores. Replaying a journal depends on it, so it must never change and is not
/// configurable.
pub(crate) fn pieces_max(strategy: Strategy) -> usize {
    match strategy {
        Strategy::LeastRecentlyUsed => 4096,
        // For claims that override the strategy: few enough to skip one by one.
        Strategy::Lowest | Strategy::Highest | Strategy::Next | Strategy::Random => 64,
    }
}

impl RecentReleases {
    pub fn len(&self) -> usize {
        self.0.pieces.len()
    }

    pub fn add(&mut self, piece: ReleasedSpan) {
        let all = Arc::make_mut(&mut self.0);
        all.pieces.insert(piece.span.first, (piece.span.last, piece.age));
        all.by_age.insert((piece.age, piece.span.first));
    }

    pub fn remove(&mut self, piece: ReleasedSpan) {
        let all = Arc::make_mut(&mut self.0);
        all.pieces.remove(&piece.span.first);
        all.by_age.remove(&(piece.age, piece.span.first));
    }

    /// The last entry that overlaps this span.
    pub fn last_overlapping(&self, span: Span) -> Option<ReleasedSpan> {
        self.0
            .pieces
            .range(..=span.last)
            .next_back()
            .map(piece)
            .filter(|piece| piece.span.last >= span.first)
    }

    /// The entries that overlap this span.
    pub fn overlapping(&self, span: Span) -> Vec<ReleasedSpan> {
        let Some(last) = self.last_overlapping(span) else { return Vec::new() };
        if last.span.first <= span.first {
            return vec![last];
        }
        let before = self
            .0
            .pieces
            .range(..span.first)
            .next_back()
            .filter(|(_, (last, _))| *last >= span.first);
        let within = self.0.pieces.range(span.first..=span.last);
        before.into_iter().chain(within).map(piece).collect()
    }

    pub fn oldest_first(&self) -> impl Iterator<Item = ReleasedSpan> + '_ {
        self.0
            .by_age
            .iter()
            .filter_map(|&(_, first)| self.0.pieces.get_key_value(&first).map(piece))
    }
}

fn piece((&first, &(last, age)): (&u128, &(u128, u64))) -> ReleasedSpan {
    ReleasedSpan { span: Span { first, last }, age }
}
