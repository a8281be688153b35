//! The things that can be looked for in a set. Each knows from a summary whether a subtree has one, and finds its lowest
//! and its highest in a single span; the walk through the tree is the same for all (`search`, `cursor`).

use crate::claim::Parity;
use crate::span::{Span, low_ones};

use super::summary::{Decomposition, Summary};

pub(super) trait Sought: Copy {
    /// Whether spans with this summary have one. Exact, so that no subtree is entered in vain.
    fn is_in(self, sum: &Summary) -> bool;

    /// The lowest in `span`.
    fn lowest(self, span: Span) -> Option<u128>;

    /// The highest in `span`.
    fn highest(self, span: Span) -> Option<u128>;
}

/// Any value.
#[derive(Debug, Clone, Copy)]
pub(super) struct Any;

impl Sought for Any {
    #[inline]
    fn is_in(self, sum: &Summary) -> bool {
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

impl Sought for OfParity {
    #[inline]
    fn is_in(self, sum: &Summary) -> bool {
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

/// The start of a run of values without a gap.
#[derive(Debug, Clone, Copy)]
pub(super) struct Run {
    /// How far its last value is from its first.
    reach: u128,
}

impl Run {
    /// A run of `len` values; `None` for none.
    pub fn of(len: u128) -> Option<Run> {
        len.checked_sub(1).map(|reach| Run { reach })
    }
}

impl Sought for Run {
    #[inline]
    fn is_in(self, sum: &Summary) -> bool {
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

/// The base of an aligned block of 2^`bits`, wherever it can be cut from.
#[derive(Debug, Clone, Copy)]
pub(super) struct Block {
    pub bits: u32,
}

impl Sought for Block {
    #[inline]
    fn is_in(self, sum: &Summary) -> bool {
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
        // Smaller blocks come before it.
        (parts.rising >> self.bits & 1 == 1)
            .then(|| span.first + (parts.rising & low_ones(self.bits)))
    }

    fn in_falling(self, parts: Decomposition) -> Option<u128> {
        // Larger blocks come before it.
        (parts.falling >> self.bits & 1 == 1)
            .then(|| parts.middle + (parts.falling & !low_ones(self.bits + 1)))
    }
}

impl Sought for ExactBlock {
    #[inline]
    fn is_in(self, sum: &Summary) -> bool {
        if self.bits < 128 { sum.blocks >> self.bits & 1 == 1 } else { sum.is_whole_line() }
    }

    #[inline]
    fn lowest(self, span: Span) -> Option<u128> {
        if self.bits >= 128 {
            return Block { bits: self.bits }.lowest(span);
        }
        let parts = Decomposition::of(span);
        self.in_rising(span, parts).or_else(|| self.in_falling(parts))
    }

    #[inline]
    fn highest(self, span: Span) -> Option<u128> {
        if self.bits >= 128 {
            return Block { bits: self.bits }.highest(span);
        }
        let parts = Decomposition::of(span);
        self.in_falling(parts).or_else(|| self.in_rising(span, parts))
    }
}
