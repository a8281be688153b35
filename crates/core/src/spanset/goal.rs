//! The goals of a search in a set: any value, a value of one parity, a run, a block.
//!
//! A goal says from a summary whether a subtree has a match, and finds the lowest and the highest match in one span. The
//! descent is the same for all goals: `search` and `cursor`.

use crate::claim::Parity;
use crate::span::{Span, low_ones};

use super::summary::{Decomposition, SubtreeSummary};

pub(super) trait SearchGoal: Copy {
    /// Whether spans with this summary have a match. Exact, so that a search enters no subtree without a match.
    fn is_in(self, sum: &SubtreeSummary) -> bool;

    /// The lowest match in `span`.
    fn lowest(self, span: Span) -> Option<u128>;

    /// The highest match in `span`.
    fn highest(self, span: Span) -> Option<u128>;
}

/// Any value.
#[derive(Debug, Clone, Copy)]
pub(super) struct AnyValue;

impl SearchGoal for AnyValue {
    #[inline]
    fn is_in(self, sum: &SubtreeSummary) -> bool {
        sum.longest > 0
    }

    #[inline]
    fn lowest(self, span: Span) -> Option<u128> {
        Some(span.first)
    }

    #[inline]
    fn highest(self, span: Span) -> Option<u128> {
        Some(span.last)
    }
}

/// A value of this parity.
#[derive(Debug, Clone, Copy)]
pub(super) struct OfParity(pub Parity);

impl SearchGoal for OfParity {
    #[inline]
    fn is_in(self, sum: &SubtreeSummary) -> bool {
        sum.count(Some(self.0)) > 0
    }

    #[inline]
    fn lowest(self, span: Span) -> Option<u128> {
        if Parity::of(span.first) == self.0 {
            Some(span.first)
        } else {
            (span.first < span.last).then(|| span.first + 1)
        }
    }

    #[inline]
    fn highest(self, span: Span) -> Option<u128> {
        if Parity::of(span.last) == self.0 {
            Some(span.last)
        } else {
            (span.first < span.last).then(|| span.last - 1)
        }
    }
}

/// The start of a run of consecutive values.
#[derive(Debug, Clone, Copy)]
pub(super) struct FreeRun {
    /// The last value minus the first.
    reach: u128,
}

impl FreeRun {
    /// A run of `len` values; `None` when `len` is 0.
    pub fn of(len: u128) -> Option<FreeRun> {
        len.checked_sub(1).map(|reach| FreeRun { reach })
    }
}

impl SearchGoal for FreeRun {
    #[inline]
    fn is_in(self, sum: &SubtreeSummary) -> bool {
        sum.longest > self.reach
    }

    #[inline]
    fn lowest(self, span: Span) -> Option<u128> {
        (span.last - span.first >= self.reach).then_some(span.first)
    }

    #[inline]
    fn highest(self, span: Span) -> Option<u128> {
        (span.last - span.first >= self.reach).then(|| span.last - self.reach)
    }
}

/// The base of an aligned block of 2^`bits` values, alone or within a larger block.
#[derive(Debug, Clone, Copy)]
pub(super) struct FreeBlock {
    pub bits: u32,
}

impl SearchGoal for FreeBlock {
    #[inline]
    fn is_in(self, sum: &SubtreeSummary) -> bool {
        sum.has_block(self.bits)
    }

    #[inline]
    fn lowest(self, span: Span) -> Option<u128> {
        let offset = low_ones(self.bits);
        let base = span.first.checked_add(offset)? & !offset;
        (base | offset <= span.last).then_some(base)
    }

    #[inline]
    fn highest(self, span: Span) -> Option<u128> {
        let offset = low_ones(self.bits);
        let base = span.last.checked_sub(offset)? & !offset;
        (base >= span.first).then_some(base)
    }
}

/// The base of a block of exactly 2^`bits` in the decomposition of a whole span of the set.
#[derive(Debug, Clone, Copy)]
pub(super) struct ExactBlock {
    pub bits: u32,
}

impl ExactBlock {
    fn in_rising(self, span: Span, parts: Decomposition) -> Option<u128> {
        // Only smaller blocks come before it.
        (parts.rising >> self.bits & 1 == 1)
            .then(|| span.first + (parts.rising & low_ones(self.bits)))
    }

    fn in_falling(self, parts: Decomposition) -> Option<u128> {
        // Only larger blocks come before it.
        (parts.falling >> self.bits & 1 == 1)
            .then(|| parts.middle + (parts.falling & !low_ones(self.bits + 1)))
    }
}

impl SearchGoal for ExactBlock {
    #[inline]
    fn is_in(self, sum: &SubtreeSummary) -> bool {
        if self.bits < 128 { sum.blocks >> self.bits & 1 == 1 } else { sum.is_whole_line() }
    }

    #[inline]
    fn lowest(self, span: Span) -> Option<u128> {
        if self.bits >= 128 {
            return FreeBlock { bits: self.bits }.lowest(span);
        }
        let parts = Decomposition::of(span);
        self.in_rising(span, parts).or_else(|| self.in_falling(parts))
    }

    #[inline]
    fn highest(self, span: Span) -> Option<u128> {
        if self.bits >= 128 {
            return FreeBlock { bits: self.bits }.highest(span);
        }
        let parts = Decomposition::of(span);
        self.in_falling(parts).or_else(|| self.in_rising(span, parts))
    }
}
