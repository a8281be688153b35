//! The free addresses of a request pool that a host can use.
//!
//! The first and the last address of a configured subnet (an edge) are not for hosts. A free edge alone is useless, but
//! a larger free block with an edge in it still has a usable address beside it. So this index has an edge only while
//! the other address of its aligned pair is free too: then the smallest free block always serves a host, and finding it
//! never walks over useless edges.
//!
//! The numbers of usable addresses are kept up to date, because alarms read them after every change.

use super::AddressSupply;
use crate::span::Span;
use crate::spanset::SpanSet;

#[derive(Debug, Clone)]
pub(crate) struct Hosts {
    /// Sorted.
    edges: Vec<u128>,
    /// The free set without useless edges.
    set: SpanSet,
    /// The number of hosts for which the whole pool has addresses.
    pub total: u128,
    /// The number of hosts for which the free set has addresses.
    pub left: u128,
}

impl Hosts {
    pub fn new(supply: &AddressSupply, free: &SpanSet) -> Hosts {
        let total = supply.blocks().into_iter().map(usable).fold(0, u128::saturating_add);
        let left = free.iter().map(usable_in).fold(0, u128::wrapping_add);
        Hosts::of(supply.edges(), free, total, left)
    }

    fn of(edges: Vec<u128>, free: &SpanSet, total: u128, left: u128) -> Hosts {
        let mut hosts = Hosts { edges, set: free.clone(), total, left };
        for edge in hosts.edges.clone() {
            hosts.update_edge(edge, free);
        }
        hosts
    }

    /// An address for a host, from the lowest of the smallest free blocks.
    pub fn best_fit(&self) -> Option<u128> {
        let base = self.set.best_fit_block(0)?;
        // A block of several addresses starts with an even one, and the next one is never an edge.
        if self.is_edge(base) { Some(base + 1) } else { Some(base) }
    }

    pub fn is_edge(&self, address: u128) -> bool {
        self.edges.binary_search(&address).is_ok()
    }

    /// The whole part has become free or taken; `free` is the free set after that.
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
            self.update_edge(self.edges[at], free);
        }
    }

    fn update_edge(&mut self, edge: u128, free: &SpanSet) {
        let one = Span::one(edge);
        if free.contains(edge) && free.contains(edge ^ 1) {
            self.set.unite(one);
        } else {
            self.set.subtract(one);
        }
    }

    /// Whether the index equals one that is built from the free set.
    pub fn is_sound(&self, free: &SpanSet) -> bool {
        let left = free.iter().map(usable_in).fold(0, u128::wrapping_add);
        let new = Hosts::of(self.edges.clone(), free, self.total, left);
        new.set.iter().eq(self.set.iter()) && new.left == self.left
    }
}

/// The numbers of hosts that the free values on both sides of a part can serve: without the part, and joined by it.
fn without_and_with(part: Span, free: &SpanSet) -> (u128, u128) {
    let (mut apart, mut joined) = (0, part);
    if let Some(below) = part.first.checked_sub(1)
        && let Some(span) = free.span_at(below)
    {
        joined.first = span.first;
        apart += usable_in(Span { first: span.first, last: below });
    }
    if let Some(above) = part.last.checked_add(1)
        && let Some(span) = free.span_at(above)
    {
        joined.last = span.last;
        apart += usable_in(Span { first: above, last: span.last });
    }
    (apart, usable_in(joined))
}

/// The number of hosts that the aligned blocks of a span can serve.
fn usable_in(span: Span) -> u128 {
    span.aligned_blocks(128).map(usable).sum()
}

/// A block of more than two addresses has a network and a broadcast address, which no host gets.
fn usable(block: Span) -> u128 {
    match block.len() {
        few @ 1..=2 => few,
        many => many - 2,
    }
}
