//! The configuration of a pool. Which values are free or held is in `state/`.

use std::sync::Arc;

use crate::named::named;
use crate::span::{self, Span};
use crate::value::Kind;

/// Pairs of key and value, sorted by key.
pub type Labels = Arc<[(Arc<str>, Arc<str>)]>;

named! {
    /// How a value is picked for a claim that names none.
    pub enum Strategy {
        /// The lowest free value. For prefixes: the lowest of the smallest free blocks that are large enough.
        Lowest = "lowest",
        /// The highest free value. For prefixes: the highest of the smallest free blocks that are large enough.
        Highest = "highest",
        /// The first free value after the one that was given last, wrapping around at the end.
        Next = "next",
        /// A random free value, with equal probability for each.
        Random = "random",
        /// The value that has been free for the longest time: values that were never given first, then by time of release.
        LeastRecentlyUsed = "least_recently_used",
    }
}

/// One range of a pool. `subnet_len` is set when it was given as a subnet; [`PoolSpec::keep_edges`] needs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PoolRange {
    pub span: Span,
    pub subnet_len: Option<u8>,
}

/// The configuration of a pool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PoolSpec {
    pub kind: Kind,
    /// The values of the pool. Disjoint, in the order given.
    pub ranges: Vec<PoolRange>,
    /// Never given, not even to a claim that names the value. May overlap each other and reach outside of the ranges.
    pub exclude: Vec<Span>,
    /// Given only to a claim that names the value.
    pub manual: Vec<Span>,
    /// Not given to new claims; values that are held stay held until they are released.
    pub draining: Vec<Span>,
    pub strategy: Strategy,
    /// Address pools: exclude the first and the last address of each subnet with more than two.
    pub keep_edges: bool,
    /// How long a released value is reserved for its former owner. 0: not at all.
    pub quarantine_ms: u64,
    /// The lease of a claim that has none of its own. `None`: held until released.
    pub lease_ms: Option<u64>,
    /// Whether the server releases expired claims at once. Otherwise they stay until their values are needed.
    pub reap: bool,
    pub labels: Labels,
    /// The inventory outside that grants the values. The ranges then only limit what it may grant, and may be empty.
    pub authority: Option<Arc<str>>,
}

impl PoolSpec {
    /// A pool of this kind with these ranges and the default of every option.
    pub fn new(kind: Kind, ranges: Vec<PoolRange>) -> PoolSpec {
        PoolSpec {
            kind,
            ranges,
            exclude: Vec::new(),
            manual: Vec::new(),
            draining: Vec::new(),
            strategy: Strategy::Lowest,
            keep_edges: kind.is_address(),
            quarantine_ms: 0,
            lease_ms: None,
            reap: false,
            labels: Labels::default(),
            authority: None,
        }
    }

    /// The ranges, sorted and merged.
    pub fn members(&self) -> Vec<Span> {
        span::normalise(self.ranges.iter().map(|range| range.span).collect())
    }

    /// The values that are never given: exclusions and, with `keep_edges`, the edges of subnets.
    pub fn excluded(&self) -> Vec<Span> {
        let edges = self.ranges.iter().filter(|range| self.has_edges(range));
        let edges =
            edges.flat_map(|range| [Span::one(range.span.first), Span::one(range.span.last)]);
        span::normalise(self.exclude.iter().copied().chain(edges).collect())
    }

    fn has_edges(&self, range: &PoolRange) -> bool {
        let widest = self.kind.width() - 2;
        self.keep_edges
            && self.kind.is_address()
            && range.subnet_len.is_some_and(|len| u32::from(len) <= widest)
    }

    /// The values that a claim may name.
    pub fn by_value(&self) -> Vec<Span> {
        let given = span::subtract(&self.members(), &self.excluded());
        span::subtract(&given, &span::normalise(self.draining.clone()))
    }

    /// The values that the server may pick.
    pub fn automatic(&self) -> Vec<Span> {
        span::subtract(&self.by_value(), &span::normalise(self.manual.clone()))
    }
}
