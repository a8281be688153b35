//! Which providers could serve a request, and why others could not.
//!
//! Works on the bitmaps and columns of [`crate::state::capacity`]; it changes nothing. Candidates are made one by one and
//! fair over the trees of providers, so that a request costs what it asks for and not what exists.

mod anchors;
mod assign;
mod bound;
mod candidates;
pub mod explain;
mod filter;
mod flat;
mod found;
mod placed;
mod plan;
mod providers;
mod subtree;
mod tree;

use std::sync::Arc;

use crate::capacity::Uuid;
use crate::state::capacity::names::NameIx;

pub use candidates::candidates;
pub use explain::explain;
pub use found::{Candidate, Found, summaries};
pub use providers::{ProviderFilter, providers};

/// What a request needs. Names have become numbers by the state that is searched.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Query {
    /// The group without a suffix, if there is one, is the first.
    pub groups: Vec<Group>,
    /// No two groups with a suffix may be served by the same provider.
    pub isolate: bool,
    /// Groups (by their place in `groups`) of whose providers one must stand above all others, or be it.
    pub same_subtree: Vec<Vec<usize>>,
    /// What the root of a tree must have and must not have for the tree to be looked at.
    pub root: Traits,
    /// Whether a request may use several providers of one tree, as it may since version 1.29 of Placement's interface.
    pub nested: bool,
    /// How many candidates at most.
    pub limit: Option<usize>,
    /// All candidates of one tree before the next, or one of each tree in turn.
    pub order: Order,
    /// Look at the trees in another order for each seed; `None`: always in the same.
    pub seed: Option<u64>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Order {
    #[default]
    BreadthFirst,
    DepthFirst,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Group {
    /// Empty: the classes may come from different providers of a tree. Otherwise one provider serves all of the group.
    pub suffix: Arc<str>,
    pub resources: Vec<(NameIx, u64)>,
    pub traits: Traits,
    /// Of each of these sets the provider must be in at least one aggregate.
    pub member_of: Vec<Vec<Uuid>>,
    pub not_member_of: Vec<Uuid>,
    /// Any provider of the tree.
    pub in_tree: Option<Uuid>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Traits {
    /// Of each of these sets at least one.
    pub required: Vec<Vec<NameIx>>,
    pub forbidden: Vec<NameIx>,
}

/// How far one search may go, whatever it is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SearchLimits {
    /// How many candidates one answer may have, also when the request names no limit or a higher one.
    pub candidates_max: usize,
    /// How much work one search may be. A step is about ten nanoseconds: a word of a bitmap, a provider looked at for one
    /// group, an entry of the answer.
    pub steps_max: u64,
}

impl Default for SearchLimits {
    fn default() -> SearchLimits {
        SearchLimits { candidates_max: 100_000, steps_max: 5_000_000 }
    }
}

/// The limit that ended a search before it had seen everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    /// [`SearchLimits::candidates_max`].
    Candidates,
    /// [`SearchLimits::steps_max`].
    Steps,
}

/// The steps that a search still has.
#[derive(Debug, Clone, Copy)]
struct Budget {
    max: u64,
    used: u64,
}

impl Budget {
    fn new(max: u64) -> Budget {
        Budget { max, used: 0 }
    }

    /// A search finishes what it is at, so it may overdraw by a little; it looks at [`Budget::is_spent`] before it goes on.
    fn spend(&mut self, steps: usize) {
        self.used = self.used.saturating_add(steps as u64);
    }

    fn is_spent(&self) -> bool {
        self.used >= self.max
    }
}
