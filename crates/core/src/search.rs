//! Which providers could serve a request, and why others could not.
//!
//! Works on the bitmaps and columns of [`crate::state::capacity`]; it changes nothing. Candidates are made one by one and
//! fair over the trees of providers, so that a request costs what it asks for and not what exists.

use std::sync::Arc;

use crate::capacity::Uuid;
use crate::state::capacity::names::NameIx;
use crate::state::capacity::provider::ProviderIx;

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

/// One way to serve a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// The root of the tree that it was found for.
    pub anchor: ProviderIx,
    /// What to take of whom: all of one provider together, each class once.
    pub amounts: Vec<(ProviderIx, NameIx, u64)>,
    /// For each group, in order: the providers that serve it.
    pub mappings: Vec<Vec<ProviderIx>>,
}
