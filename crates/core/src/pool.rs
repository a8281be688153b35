//! What an operator says about a pool.
//!
//! The spec as given and checked; what follows from it (which values are free, who holds what) is state, in `state/`.

use std::sync::Arc;

use crate::span::{self, Span};
use crate::value::Kind;

/// Short `key=value` notes, sorted by key.
pub type Labels = Arc<[(Arc<str>, Arc<str>)]>;

/// How a value is picked when the claim does not name one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Strategy {
    /// The lowest free value. For prefixes: the smallest free block that fits, and of those the lowest.
    Lowest,
    /// The highest free value. For prefixes: the smallest free block that fits, and of those the highest.
    Highest,
    /// The first free value after the one given last, starting over at the end.
    Next,
    /// Any free value, each as likely as the others.
    Random,
    /// The value that has been free for longest: first those never given, then by time of release.
    LeastRecentlyUsed,
}

impl Strategy {
    pub const ALL: [Strategy; 5] = [
        Strategy::Lowest,
        Strategy::Highest,
        Strategy::Next,
        Strategy::Random,
        Strategy::LeastRecentlyUsed,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Strategy::Lowest => "lowest",
            Strategy::Highest => "highest",
            Strategy::Next => "next",
            Strategy::Random => "random",
            Strategy::LeastRecentlyUsed => "least_recently_used",
        }
    }

    pub fn from_name(name: &str) -> Option<Strategy> {
        Strategy::ALL.into_iter().find(|strategy| strategy.name() == name)
    }
}

/// One range of a pool. `subnet_len` is set when it was given as a subnet, which is what the edge rule looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PoolRange {
    pub span: Span,
    pub subnet_len: Option<u8>,
}

/// A pool as its operator defines it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PoolSpec {
    pub kind: Kind,
    /// What the pool may hand out. Disjoint, in the order given.
    pub ranges: Vec<PoolRange>,
    /// Never handed out, not even by value. May overlap each other and reach outside the ranges.
    pub exclude: Vec<Span>,
    /// Handed out only to a claim that names the value.
    pub manual: Vec<Span>,
    /// No new claims; what is held stays held until it is released.
    pub draining: Vec<Span>,
    pub strategy: Strategy,
    /// Address pools: keep back the first and last address of each subnet that has more than two.
    pub keep_edges: bool,
    /// How long after its release a value is kept for its former owner. 0: not at all.
    pub quarantine_ms: u64,
    /// The lease of a claim that asks for none. `None`: held until released.
    pub lease_ms: Option<u64>,
    /// Whether an expired claim is released by the server itself rather than left until its value is needed.
    pub reap: bool,
    pub labels: Labels,
}

impl PoolSpec {
    /// A pool of this kind with these ranges and every choice at its default.
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
        }
    }

    /// All values of the pool: its ranges, sorted.
    pub fn members(&self) -> Vec<Span> {
        span::normalise(self.ranges.iter().map(|range| range.span).collect())
    }

    /// What is never given: exclusions, and the edges of subnets where the rule asks for it.
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

    /// What a claim that names its value may get.
    pub fn by_value(&self) -> Vec<Span> {
        let given = span::subtract(&self.members(), &self.excluded());
        span::subtract(&given, &span::normalise(self.draining.clone()))
    }

    /// What the server may pick by itself.
    pub fn automatic(&self) -> Vec<Span> {
        span::subtract(&self.by_value(), &span::normalise(self.manual.clone()))
    }
}
