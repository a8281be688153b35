//! What a subtree knows about its spans without looking at them, and the aligned blocks that one span consists of.

use crate::claim::Parity;
use crate::span::Span;

/// The whole line has this many even values, and as many odd ones.
const HALF_LINE: u128 = 1 << 127;

/// The sum of some spans. Even and odd values are counted apart because each count fits even for the whole line,
/// while their sum does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Summary {
    pub even: u128,
    pub odd: u128,
    /// The length of the longest span, saturating.
    pub longest: u128,
    /// Bit `e` is set when a span has a block of 2^`e` in its decomposition. The block of 2^128 has no bit of its own
    /// and counts as one of 2^127; [`Summary::is_whole_line`] tells them apart.
    pub blocks: u128,
}

impl Summary {
    pub const NOTHING: Summary = Summary { even: 0, odd: 0, longest: 0, blocks: 0 };

    #[inline]
    pub fn of(span: Span) -> Summary {
        Summary {
            even: span.last / 2 + 1 - (span.first / 2 + (span.first & 1)),
            odd: span.last / 2 + (span.last & 1) - span.first / 2,
            longest: span.len(),
            blocks: Decomposition::of(span).sizes(),
        }
    }

    #[inline]
    pub fn and(self, other: Summary) -> Summary {
        Summary {
            even: self.even + other.even,
            odd: self.odd + other.odd,
            longest: self.longest.max(other.longest),
            blocks: self.blocks | other.blocks,
        }
    }

    /// Follows a change by which `gone` became `come`. `all` are the parts that there are after the change; they are
    /// only looked at when something was lost that another part may still have.
    #[inline]
    pub fn exchange<I>(&mut self, gone: Summary, come: Summary, all: impl Fn() -> I)
    where
        I: Iterator<Item = Summary>,
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

    /// Whether there is an aligned block of 2^`bits`, alone or as part of a larger one.
    #[inline]
    pub fn has_block(&self, bits: u32) -> bool {
        if bits < 128 { self.blocks >> bits != 0 } else { bits == 128 && self.is_whole_line() }
    }

    /// The size of the smallest block that is at least 2^`bits`.
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

/// The fewest aligned blocks that make up a span. They grow up to the point `middle`, which is the most aligned one
/// in the span or just behind it, and shrink from there on. In each part no size comes twice, so the sizes of a part
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
                // The highest bit in which the ends differ is where the most aligned point gets its last one.
                let shift = (first ^ end).ilog2();
                let middle = end >> shift << shift;
                Decomposition { rising: middle - first, middle, falling: end - middle }
            }
            // The middle is 2^128, so all blocks lie in the growing part.
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
