//! The summary that an inner node has of each subtree, and the decomposition of a span into aligned blocks.

use crate::claim::Parity;
use crate::span::Span;

/// The number of even values of the whole number line, and of odd ones.
const HALF_LINE: u128 = 1 << 127;

/// Counts of some spans. Even and odd values are counted separately: each count fits in 128 bits for the whole number
/// line, their sum does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SubtreeSummary {
    pub even: u128,
    pub odd: u128,
    /// The length of the longest span, saturating.
    pub longest: u128,
    /// Bit `e` is set when the decomposition of a span has a block of 2^`e`. The block of 2^128 has no bit; it counts as
    /// one of 2^127, and [`SubtreeSummary::is_whole_line`] distinguishes them.
    pub blocks: u128,
}

impl SubtreeSummary {
    pub const NOTHING: SubtreeSummary = SubtreeSummary { even: 0, odd: 0, longest: 0, blocks: 0 };

    #[inline]
    pub fn of(span: Span) -> SubtreeSummary {
        SubtreeSummary {
            even: span.last / 2 + 1 - (span.first / 2 + (span.first & 1)),
            odd: span.last / 2 + (span.last & 1) - span.first / 2,
            longest: span.len(),
            blocks: Decomposition::of(span).sizes(),
        }
    }

    #[inline]
    pub fn and(self, other: SubtreeSummary) -> SubtreeSummary {
        SubtreeSummary {
            even: self.even + other.even,
            odd: self.odd + other.odd,
            longest: self.longest.max(other.longest),
            blocks: self.blocks | other.blocks,
        }
    }

    /// Updates the summary after `gone` was replaced by `come`. `all` returns the parts after the change; it is called
    /// only when a maximum or a block size was lost that another part may still have.
    #[inline]
    pub fn exchange<I>(&mut self, gone: SubtreeSummary, come: SubtreeSummary, all: impl Fn() -> I)
    where
        I: Iterator<Item = SubtreeSummary>,
    {
        self.even = self.even - gone.even + come.even;
        self.odd = self.odd - gone.odd + come.odd;
        if come.longest >= self.longest {
            self.longest = come.longest;
        } else if gone.longest == self.longest {
            self.longest = all().map(|part| part.longest).max().unwrap_or(0);
        }
        let lost = gone.blocks & !come.blocks;
        let mut kept = 0;
        if lost != 0 {
            for part in all() {
                kept |= part.blocks & lost;
                if kept == lost {
                    break;
                }
            }
        }
        self.blocks = (self.blocks & !lost) | come.blocks | kept;
    }

    #[inline]
    pub fn count(&self, parity: Option<Parity>) -> u128 {
        match parity {
            None => self.even.saturating_add(self.odd),
            Some(Parity::Even) => self.even,
            Some(Parity::Odd) => self.odd,
        }
    }

    pub fn is_whole_line(&self) -> bool {
        self.even == HALF_LINE && self.odd == HALF_LINE
    }

    /// Whether there is an aligned block of 2^`bits` values, alone or within a larger block.
    #[inline]
    pub fn has_block(&self, bits: u32) -> bool {
        if bits < 128 { self.blocks >> bits != 0 } else { bits == 128 && self.is_whole_line() }
    }

    /// The size, as log2, of the smallest block with at least 2^`bits` values.
    pub fn smallest_block(&self, bits: u32) -> Option<u32> {
        if !self.has_block(bits) {
            None
        } else if self.is_whole_line() {
            Some(128)
        } else {
            Some(bits + (self.blocks >> bits).trailing_zeros())
        }
    }

    pub fn largest_block(&self) -> Option<u32> {
        if self.is_whole_line() { Some(128) } else { self.blocks.checked_ilog2() }
    }
}

/// The fewest aligned blocks that make up a span. Their sizes grow up to `middle`, which is the most aligned point in
/// the span or directly after it, and shrink from there on. In each part no size occurs twice, so the sizes of a part
/// are the bits of its length.
#[derive(Debug, Clone, Copy)]
pub(super) struct Decomposition {
    /// The length of the growing part, which begins where the span does.
    pub rising: u128,
    pub middle: u128,
    /// The length of the shrinking part, which begins at `middle`.
    pub falling: u128,
}

impl Decomposition {
    #[inline]
    pub fn of(span: Span) -> Decomposition {
        let first = span.first;
        match span.last.checked_add(1) {
            Some(end) => {
                // The most aligned point has zeros below the highest bit in which the ends differ.
                let shift = (first ^ end).ilog2();
                let middle = end >> shift << shift;
                Decomposition { rising: middle - first, middle, falling: end - middle }
            }
            // The middle would be 2^128, so all blocks are in the growing part.
            None if first > 0 => {
                Decomposition { rising: first.wrapping_neg(), middle: 0, falling: 0 }
            }
            None => Decomposition { rising: HALF_LINE, middle: HALF_LINE, falling: HALF_LINE },
        }
    }

    /// One bit for each size of block.
    #[inline]
    pub fn sizes(&self) -> u128 {
        self.rising | self.falling
    }
}
