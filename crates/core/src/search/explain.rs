//! Why a search finds nothing, or little: which constraint removed how many providers and trees, and who came nearest.
//!
//! Plain data, as large as the query and no larger; the faces make words of it. The constraints of each group are applied one
//! after the other to each provider by itself, in [`groups`]; what must hold of a tree is in [`trees`].

mod groups;
mod trees;

use super::{Budget, Cut, Query, SearchLimits};
use crate::capacity::Uuid;
use crate::state::capacity::Capacity;
use crate::state::capacity::column::Room;
use crate::state::capacity::names::NameIx;
use crate::state::capacity::provider::ProviderIx;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explanation {
    /// How many there are.
    pub providers: usize,
    /// For each group of the query, in order.
    pub groups: Vec<GroupExplained>,
    pub trees: TreesExplained,
    /// The limit that ended the explanation early; what is there is right as far as it goes.
    pub cut: Option<Cut>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GroupExplained {
    /// What one provider has to serve: all of a group with a suffix, or one class of a group without.
    pub parts: Vec<PartExplained>,
    /// In how many trees the group could be served, of those that were looked at, were it alone.
    pub trees: usize,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PartExplained {
    /// The class, for a group without a suffix.
    pub class: Option<NameIx>,
    /// In the order in which they are applied.
    pub stages: Vec<Stage>,
    /// How many providers passed all.
    pub left: usize,
}

/// One constraint and what it did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stage {
    pub constraint: Constraint,
    /// How many providers had passed everything before.
    pub before: usize,
    pub removed: usize,
    /// The one of the removed that came nearest.
    pub nearest: Option<Near>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Constraint {
    /// In the tree of this provider.
    InTree(Uuid),
    /// In one aggregate of each set; in a group without a suffix it is enough if the root is.
    MemberOf(Vec<Vec<Uuid>>),
    /// In none of these aggregates; in a group without a suffix the root neither.
    NotMemberOf(Vec<Uuid>),
    /// At least one of these traits. A group without a suffix needs it of its providers together, see [`TreeRule::Traits`].
    Required(Vec<NameIx>),
    Forbidden(Vec<NameIx>),
    /// A group that asks for no resources has to say what its provider must have or be in.
    Anything,
    /// It has an inventory of the class.
    Has(NameIx),
    /// It gives portions of this size.
    Portion(NameIx, u64),
    /// It has this much left.
    Room(NameIx, u64),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Near {
    pub provider: ProviderIx,
    /// Whether this constraint is all that stands against it.
    pub only: bool,
    /// What it has of the class, for [`Constraint::Portion`] and [`Constraint::Room`].
    pub room: Option<Room>,
    /// How much is missing, for [`Constraint::Room`].
    pub missing: u64,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TreesExplained {
    /// How many there are, and how many of them were looked at.
    pub total: usize,
    pub seen: usize,
    /// How many had a root that lacks what a root must have, or has what it must not.
    pub root_removed: usize,
    /// How many of the others can serve each group, were it alone.
    pub all_groups: usize,
    /// The tree that can serve the most groups but not all, and which it cannot.
    pub nearest: Option<(ProviderIx, Vec<usize>)>,
    /// What else must hold of a tree, for those that can serve each group alone: in the order in which it is applied.
    pub rules: Vec<RuleExplained>,
    /// How many have a candidate.
    pub with_candidates: usize,
    /// Of how many it is not known, because finding out takes too long.
    pub undecided: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RuleExplained {
    pub rule: TreeRule,
    pub before: usize,
    pub removed: usize,
    /// The root of one of the removed.
    pub example: Option<ProviderIx>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TreeRule {
    /// The providers that serve the group without a suffix have its required traits together.
    Traits,
    /// The groups with a suffix are served by different providers.
    Isolation,
    /// What must be served in one subtree is.
    Subtree,
    /// What is taken of one provider for several groups fits together.
    Room,
    /// No two providers of one tree, for a request that knows no trees.
    OneProvider,
}

pub fn explain(capacity: &Capacity, query: &Query, limits: &SearchLimits) -> Explanation {
    let mut budget = Budget::new(limits.steps_max);
    let mut groups = groups::explain(capacity, query, &mut budget);
    let trees = trees::explain(capacity, query, &mut groups, &mut budget);
    let cut = budget.is_spent().then_some(Cut::Steps);
    Explanation { providers: capacity.provider_count(), groups, trees, cut }
}
