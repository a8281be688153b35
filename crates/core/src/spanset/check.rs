//! Checks the invariants of a set, with none of the code that maintains them.

use crate::span::Span;

use super::SpanSet;
use super::node::{FAN_MAX, FAN_MIN, LEAF_MAX, LEAF_MIN, TreeNode};
use super::summary::SubtreeSummary;

impl SpanSet {
    /// Checks every span and every summary, and describes the first violation. Linear; for tests and for checks of a
    /// whole state.
    pub fn check(&self) -> Result<(), String> {
        let mut audit = Audit { spans: Vec::new(), leaf_depth: None };
        let sum = audit.visit(&self.root, 0)?;
        expect(sum == self.sum, || format!("the set sums up to {sum:?}, not {:?}", self.sum))?;
        for pair in audit.spans.windows(2) {
            let apart = pair[1].first > pair[0].last && pair[1].first - pair[0].last > 1;
            expect(apart, || format!("{:?} is followed by {:?}", pair[0], pair[1]))?;
        }
        let count = audit.spans.len();
        expect(count == self.span_count, || format!("{count} spans, not {}", self.span_count))
    }
}

fn expect(holds: bool, what: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(what()) }
}

struct Audit {
    spans: Vec<Span>,
    leaf_depth: Option<usize>,
}

impl Audit {
    fn visit(&mut self, node: &TreeNode, depth: usize) -> Result<SubtreeSummary, String> {
        let (len, min, max) = match node {
            TreeNode::Leaf(spans) => (spans.len(), if depth == 0 { 0 } else { LEAF_MIN }, LEAF_MAX),
            TreeNode::Inner(inner) => (inner.len(), if depth == 0 { 2 } else { FAN_MIN }, FAN_MAX),
        };
        expect(min <= len && len <= max, || format!("a node of {len} at depth {depth}"))?;
        let mut total = SubtreeSummary::NOTHING;
        match node {
            TreeNode::Leaf(spans) => {
                let leaf_depth = *self.leaf_depth.get_or_insert(depth);
                expect(leaf_depth == depth, || format!("leaves at {leaf_depth} and {depth}"))?;
                for &span in spans {
                    expect(span.first <= span.last, || format!("{span:?} ends before it starts"))?;
                    add(&mut total, sum_of(span));
                }
                self.spans.extend(spans);
            }
            TreeNode::Inner(inner) => {
                let even = inner.firsts.len() == len && inner.sums.len() == len;
                expect(even, || format!("columns of unequal length at depth {depth}"))?;
                for (at, child) in inner.nodes.iter().enumerate() {
                    let begin = self.spans.len();
                    let (sum, kept) = (self.visit(child, depth + 1)?, inner.sums[at]);
                    expect(sum == kept, || format!("{sum:?} is stored as {kept:?}"))?;
                    let (first, kept) = (self.spans[begin].first, inner.firsts[at]);
                    expect(first == kept, || format!("{first} is stored as {kept}"))?;
                    add(&mut total, sum);
                }
            }
        }
        Ok(total)
    }
}

fn add(total: &mut SubtreeSummary, sum: SubtreeSummary) {
    total.even += sum.even;
    total.odd += sum.odd;
    total.longest = total.longest.max(sum.longest);
    total.blocks |= sum.blocks;
}

/// Cuts off block after block from the low end, each as large as alignment and the rest allow.
fn sum_of(span: Span) -> SubtreeSummary {
    let half = (span.last - span.first) / 2;
    let both_ends_alike = (span.last - span.first).is_multiple_of(2);
    let first_is_odd = span.first % 2 == 1;
    // Ends of the same parity: one more value of that parity. Ends of different parity: equal counts.
    let odd = half + u128::from(!both_ends_alike || first_is_odd);
    let even = half + u128::from(!both_ends_alike || !first_is_odd);
    let mut blocks = 0;
    let mut rest = Some(span);
    while let Some(Span { first, last }) = rest {
        let aligned = first.trailing_zeros().min(127);
        let fits = (0..=aligned).rev().find(|bits| last - first >= (1 << bits) - 1).unwrap_or(0);
        blocks |= 1 << fits;
        let block_last = first + ((1 << fits) - 1);
        rest = block_last.checked_add(1).and_then(|first| Span::new(first, last));
    }
    SubtreeSummary { even, odd, longest: span.len(), blocks }
}
