//! Candidate search: which providers can serve a request, and why others cannot.
//!
//! The search reads the bitmaps and columns of [`crate::state::capacity`] and changes nothing. It produces candidates
//! one at a time, in turn over the trees of providers, so its cost depends on how many candidates are wanted and not on
//! how many exist.

mod anchors;
mod assign;
mod assignment;
mod bound;
mod candidates;
mod chunks;
pub mod explain;
mod filter;
mod flat;
mod plan;
mod providers;
mod results;
mod subtree;
mod tree;

use std::sync::Arc;

use crate::capacity::Uuid;
use crate::state::capacity::names::NameIx;

pub use candidates::candidates;
pub use explain::explain;
pub use providers::{ProviderFilter, providers};
pub use results::{Candidate, Candidates, summaries};

/// What a request needs. Classes and traits are indexes of the snapshot that is searched.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CandidateQuery {
    /// The unsuffixed group, if there is one, comes first.
    pub groups: Vec<RequestGroup>,
    /// Each suffixed group needs a provider of its own (`group_policy=isolate`).
    pub isolate: bool,
    /// Sets of groups, as indexes into `groups`. In each set, one of the serving providers must be an ancestor of all
    /// the others.
    pub same_subtree: Vec<Vec<usize>>,
    /// Traits that the root of a tree must have and must not have.
    pub root: TraitFilter,
    /// Whether one candidate may use several providers of one tree (Placement 1.29 and later).
    pub nested: bool,
    /// The maximum number of candidates.
    pub limit: Option<usize>,
    pub order: CandidateOrder,
    /// Visit the trees in an order that depends on this seed; `None`: always in the same order.
    pub seed: Option<u64>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CandidateOrder {
    #[default]
    BreadthFirst,
    DepthFirst,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RequestGroup {
    /// If empty, different providers of a tree may serve the classes. Otherwise one provider serves the whole group.
    pub suffix: Arc<str>,
    pub resources: Vec<(NameIx, u64)>,
    pub traits: TraitFilter,
    /// The provider must be in at least one aggregate of each set.
    pub member_of: Vec<Vec<Uuid>>,
    pub not_member_of: Vec<Uuid>,
    /// The UUID of any provider of the tree.
    pub in_tree: Option<Uuid>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TraitFilter {
    /// At least one trait of each set.
    pub required: Vec<Vec<NameIx>>,
    pub forbidden: Vec<NameIx>,
}

/// Limits on the work of one search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SearchLimits {
    /// The maximum number of candidates in an answer, even if the request has no limit or a higher one.
    pub candidates_max: usize,
    /// The maximum number of steps. A step takes about ten nanoseconds: reading a word of a bitmap, checking a provider
    /// for one group, or writing an entry of the answer.
    pub steps_max: u64,
}

impl SearchLimits {
    /// The steps that a search may take on a thread that serves connections: about 50 microseconds.
    pub const SMALL_STEPS_MAX: u64 = 5000;

    /// The limits for a search on a thread that serves connections. A search that reaches them is made again elsewhere.
    pub fn small(self) -> SearchLimits {
        SearchLimits { steps_max: self.steps_max.min(SearchLimits::SMALL_STEPS_MAX), ..self }
    }

    /// The most memory that one search needs, in bytes: for its result, whose entries are one step each, and for what it
    /// keeps until it has ended.
    pub fn bytes_max(&self) -> u64 {
        let found = self.steps_max.min(self.candidates_max as u64);
        Candidates::bytes_max(found, self.steps_max)
            .saturating_add(candidates::work_bytes_max(found))
    }
}

impl Default for SearchLimits {
    fn default() -> SearchLimits {
        SearchLimits { candidates_max: 100_000, steps_max: 5_000_000 }
    }
}

/// The limit that ended a search early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LimitHit {
    /// [`SearchLimits::candidates_max`].
    Candidates,
    /// [`SearchLimits::steps_max`].
    Steps,
}

/// Counts the steps of a search.
#[derive(Debug, Clone, Copy)]
struct Budget {
    max: u64,
    used: u64,
}

impl Budget {
    fn new(max: u64) -> Budget {
        Budget { max, used: 0 }
    }

    /// Does not fail: a search finishes its current unit of work and may exceed the budget slightly. It checks
    /// [`Budget::is_spent`] before it continues.
    fn spend(&mut self, steps: usize) {
        self.used = self.used.saturating_add(steps as u64);
    }

    fn is_spent(&self) -> bool {
        self.used >= self.max
    }
}
