//! Explains why a search finds few candidates or none: how many providers and trees each constraint removed, and which
//! came closest.
//!
//! The result is plain data, proportional to the query; faces turn it into text or JSON. [`groups`] applies the
//! constraints of each group to every provider; [`trees`] applies the rules for whole trees.

mod groups;
mod trees;

use super::{Budget, CandidateQuery, LimitHit, SearchLimits};
use crate::capacity::Uuid;
use crate::state::capacity::column::Availability;
use crate::state::capacity::names::NameIx;
use crate::state::capacity::provider::ProviderIx;
use crate::view::capacity::CapacityView;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explanation {
    /// The number of providers that exist.
    pub providers: usize,
    pub groups: Vec<GroupExplained>,
    pub trees: TreesExplained,
    /// The limit that ended the explanation early. The counts are then too low.
    pub limit_hit: Option<LimitHit>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GroupExplained {
    /// What one provider has to serve: the whole group if it has a suffix, otherwise one of its classes.
    pub parts: Vec<PartExplained>,
    /// The number of examined trees that could serve this group alone.
    pub trees: usize,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PartExplained {
    /// The class, for the unsuffixed group.
    pub class: Option<NameIx>,
    /// In the order of application.
    pub stages: Vec<Stage>,
    /// The number of providers that passed all stages.
    pub left: usize,
}

/// One constraint and its effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stage {
    pub constraint: Constraint,
    /// The number of providers before this stage.
    pub before: usize,
    pub removed: usize,
    /// The removed provider that came closest.
    pub nearest: Option<NearMiss>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Constraint {
    /// In the tree of this provider.
    InTree(Uuid),
    /// In one aggregate of each set. For the unsuffixed group it is enough if the root is.
    MemberOf(Vec<Vec<Uuid>>),
    /// In none of these aggregates. For the unsuffixed group this applies to the root as well.
    NotMemberOf(Vec<Uuid>),
    /// At least one of these traits. For the unsuffixed group see [`TreeRule::Traits`].
    Required(Vec<NameIx>),
    Forbidden(Vec<NameIx>),
    /// A group without resources must require a trait or an aggregate.
    NoCondition,
    /// Has an inventory of the class.
    HasInventory(NameIx),
    /// The amount is allowed by `min_unit`, `max_unit` and `step_size`.
    Units(NameIx, u64),
    /// The amount is free.
    Free(NameIx, u64),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NearMiss {
    pub provider: ProviderIx,
    /// Whether it fails no other constraint.
    pub only: bool,
    /// What is available of the class, for [`Constraint::Units`] and [`Constraint::Free`].
    pub available: Option<Availability>,
    /// The missing amount, for [`Constraint::Free`].
    pub missing: u64,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TreesExplained {
    /// The number of trees, and how many of them were examined.
    pub total: usize,
    pub seen: usize,
    /// Trees whose root fails `root_required`.
    pub root_removed: usize,
    /// Trees that can serve each group alone.
    pub all_groups: usize,
    /// The tree that can serve all but the fewest groups, and those groups.
    pub nearest: Option<(ProviderIx, Vec<usize>)>,
    /// Rules for a whole tree, applied in this order to the trees that can serve each group alone.
    pub rules: Vec<RuleExplained>,
    pub with_candidates: usize,
    /// Trees for which the search took too long.
    pub undecided: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RuleExplained {
    pub rule: TreeRule,
    pub before: usize,
    pub removed: usize,
    /// The root of one removed tree.
    pub example: Option<ProviderIx>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TreeRule {
    /// The providers that serve the unsuffixed group have all its required traits between them.
    Traits,
    /// Each suffixed group has a provider of its own.
    Isolation,
    /// The `same_subtree` sets are respected.
    Subtree,
    /// The amounts that several groups take from one provider fit together.
    SumFits,
    /// At most one provider of a tree, for requests before 1.29.
    OneProvider,
}

pub fn explain(
    view: CapacityView<'_>,
    query: &CandidateQuery,
    limits: &SearchLimits,
) -> Explanation {
    let capacity = view.capacity;
    let mut budget = Budget::new(limits.steps_max);
    let mut groups = groups::explain(capacity, query, &mut budget);
    let trees = trees::explain(capacity, query, &mut groups, &mut budget);
    let limit_hit = budget.is_spent().then_some(LimitHit::Steps);
    Explanation { providers: capacity.provider_count(), groups, trees, limit_hit }
}
