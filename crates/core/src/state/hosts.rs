//! Which free blocks can serve a host: all but single addresses that are the first or the last of a subnet.
//!
//! Such an edge is no use by itself, but a larger block that has one is: it gives the address beside it. So an edge counts as
//! long as its neighbour within the same pair of addresses is free too, and the best fit for a host is found without looking at
//! the edges that are left over everywhere.
//!
//! How many hosts the pool is good for, and how many are left, is counted along: the alarms ask after every change.

use crate::resource::{GivenAddresses, blocks_of};
use crate::span::Span;
use crate::spanset::SpanSet;

#[derive(Debug, Clone)]
pub(crate) struct Hosts {
    /// Sorted.
    edges: Vec<u128>,
    /// What is free, without edges that stand alone.
    set: SpanSet,
    /// How many hosts what was configured is good for.
    pub total: u128,
    /// How many hosts what is free is good for.
    pub left: u128,
}

impl Hosts {
    pub fn new(given: &GivenAddresses, free: &SpanSet) -> Hosts {
        let total = given.blocks().into_iter().map(usable).fold(0, u128::saturating_add);
        let left = free.iter().map(good_for).fold(0, u128::wrapping_add);
        Hosts::of(given.edges(), free, total, left)
    }

    fn of(edges: Vec<u128>, free: &SpanSet, total: u128, left: u128) -> Hosts {
        let mut hosts = Hosts { edges, set: free.clone(), total, left };
        for edge in hosts.edges.clone() {
            hosts.settle(edge, free);
        }
        hosts
    }

    /// An address for a host: out of the smallest free block, and of those the lowest.
    pub fn best_fit(&self) -> Option<u128> {
        let base = self.set.best_fit_block(0)?;
        // A block of more than one begins with an even address, and the one after it is then no edge.
        if self.is_edge(base) { Some(base + 1) } else { Some(base) }
    }

    pub fn is_edge(&self, address: u128) -> bool {
        self.edges.binary_search(&address).is_ok()
    }

    /// All of these addresses have become free, or none of them is any more; `free` is how it is now.
    pub fn changed(&mut self, part: Span, free: &SpanSet) {
        let (apart, joined) = without_and_with(part, free);
        if free.covers(part) {
            self.set.unite(part);
            self.left = self.left.wrapping_sub(apart).wrapping_add(joined);
        } else {
            self.set.subtract(part);
            self.left = self.left.wrapping_sub(joined).wrapping_add(apart);
        }
        let around = Span { first: part.first & !1, last: part.last | 1 };
        let from = self.edges.partition_point(|edge| *edge < around.first);
        let to = self.edges.partition_point(|edge| *edge <= around.last);
        for at in from..to {
            self.settle(self.edges[at], free);
        }
    }

    fn settle(&mut self, edge: u128, free: &SpanSet) {
        let one = Span::one(edge);
        if free.contains(edge) && free.contains(edge ^ 1) {
            self.set.unite(one);
        } else {
            self.set.subtract(one);
        }
    }

    /// Whether it is what a new one would be.
    pub fn is_sound(&self, free: &SpanSet) -> bool {
        let left = free.iter().map(good_for).fold(0, u128::wrapping_add);
        let new = Hosts::of(self.edges.clone(), free, self.total, left);
        new.set.iter().eq(self.set.iter()) && new.left == self.left
    }
}

/// How many hosts a part and what is free on both sides of it are good for: without the part, and with it.
fn without_and_with(part: Span, free: &SpanSet) -> (u128, u128) {
    let (mut apart, mut joined) = (0, part);
    if let Some(below) = part.first.checked_sub(1)
        && let Some(span) = free.span_at(below)
    {
        joined.first = span.first;
        apart += good_for(Span { first: span.first, last: below });
    }
    if let Some(above) = part.last.checked_add(1)
        && let Some(span) = free.span_at(above)
    {
        joined.last = span.last;
        apart += good_for(Span { first: above, last: span.last });
    }
    (apart, good_for(joined))
}

/// How many hosts the blocks of a span are good for.
fn good_for(span: Span) -> u128 {
    blocks_of(span).into_iter().map(usable).sum()
}

/// A block has an address for its network and one for everybody in it, unless it is too small for that.
fn usable(block: Span) -> u128 {
    match block.len() {
        few @ 1..=2 => few,
        many => many - 2,
    }
}
