//! Which free blocks can serve a host: all but single addresses that are the first or the last of a subnet.
//!
//! Such an edge is no use by itself, but a larger block that has one is: it gives the address beside it. So an edge counts as
//! long as its neighbour within the same pair of addresses is free too, and the best fit for a host is found without looking at
//! the edges that are left over everywhere.

use crate::span::Span;
use crate::spanset::SpanSet;

#[derive(Debug, Clone)]
pub(crate) struct Hosts {
    /// Sorted.
    edges: Vec<u128>,
    /// What is free, without edges that stand alone.
    set: SpanSet,
}

impl Hosts {
    pub fn new(edges: Vec<u128>, free: &SpanSet) -> Hosts {
        let mut hosts = Hosts { edges, set: free.clone() };
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

    /// These addresses have become free, or are no longer; `free` is how it is now.
    pub fn changed(&mut self, part: Span, free: &SpanSet) {
        if free.covers(part) {
            self.set.unite(part);
        } else {
            self.set.subtract(part);
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
        Hosts::new(self.edges.clone(), free).set.iter().eq(self.set.iter())
    }
}
