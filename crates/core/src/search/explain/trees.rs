//! Applies the rules for whole trees.
//!
//! Each tree that can serve every group alone is searched with one rule, then with two, and so on. The rule that leaves
//! no assignment is the one that removed the tree.

use super::super::assign::{AssignProgress, Assigner};
use super::super::plan::SearchPlan;
use super::super::tree::Tree;
use super::super::{Budget, CandidateQuery};
use super::{GroupExplained, RuleExplained, TreeRule, TreesExplained};
use crate::state::capacity::Capacity;
use crate::state::capacity::provider::ProviderIx;

/// The maximum number of tries for one tree under one set of rules.
const TRIES_MAX: usize = 2_000;

pub(super) fn explain(
    capacity: &Capacity,
    query: &CandidateQuery,
    groups: &mut [GroupExplained],
    budget: &mut Budget,
) -> TreesExplained {
    let mut trees = TreesExplained { total: capacity.roots.len(), ..Default::default() };
    let Some(plan) = SearchPlan::new(capacity, query, budget) else { return trees };
    let mut rules = rules(query);
    let plans: Vec<SearchPlan<'_>> =
        rules.iter().filter_map(|rule| relaxed(capacity, query, rule.rule, budget)).collect();
    for anchor in capacity.roots.iter() {
        if budget.is_spent() {
            break;
        }
        trees.seen += 1;
        if !plan.roots.contains(anchor) {
            trees.root_removed += 1;
            budget.spend(1);
            continue;
        }
        let mut work = 0;
        let tree = Tree::survey(&plan, anchor, &mut work);
        budget.spend(work);
        let unserved = unserved(&plan, &tree);
        for (at, group) in groups.iter_mut().enumerate() {
            group.trees += usize::from(!unserved.contains(&at));
        }
        if !unserved.is_empty() {
            let fewest = trees.nearest.as_ref().map_or(groups.len(), |(_, least)| least.len());
            if unserved.len() < fewest {
                trees.nearest = Some((anchor, unserved));
            }
            continue;
        }
        trees.all_groups += 1;
        match outcome(&plan, &plans, tree, budget) {
            TreeOutcome::Candidate => trees.with_candidates += 1,
            TreeOutcome::Unknown => trees.undecided += 1,
            TreeOutcome::Removed(at) => {
                rules[at].removed += 1;
                rules[at].example.get_or_insert(anchor);
            }
        }
    }
    let mut before = trees.all_groups;
    for rule in &mut rules {
        rule.before = before;
        before -= rule.removed;
    }
    trees.rules = rules;
    trees
}

/// The groups that have a slot without options, as indexes into the query.
fn unserved(plan: &SearchPlan<'_>, tree: &Tree) -> Vec<usize> {
    let slots = plan.slots.iter().enumerate();
    let mut groups: Vec<usize> =
        slots.filter(|(at, _)| tree.options(*at).is_empty()).map(|(_, slot)| slot.group).collect();
    groups.dedup();
    groups
}

enum TreeOutcome {
    Candidate,
    /// The index of the rule.
    Removed(usize),
    Unknown,
}

fn outcome(
    plan: &SearchPlan<'_>,
    relaxed: &[SearchPlan<'_>],
    tree: Tree,
    budget: &mut Budget,
) -> TreeOutcome {
    // Try all rules first: most trees have a candidate or fail at once.
    match try_tree(plan, tree.clone(), budget) {
        AssignProgress::Assigned => return TreeOutcome::Candidate,
        AssignProgress::Paused => return TreeOutcome::Unknown,
        AssignProgress::Exhausted => {}
    }
    for (at, plan) in relaxed.iter().enumerate() {
        match try_tree(plan, tree.clone(), budget) {
            AssignProgress::Assigned => {}
            AssignProgress::Exhausted => return TreeOutcome::Removed(at),
            AssignProgress::Paused => return TreeOutcome::Unknown,
        }
    }
    TreeOutcome::Unknown
}

fn try_tree(plan: &SearchPlan<'_>, tree: Tree, budget: &mut Budget) -> AssignProgress {
    Assigner::new(plan, tree, None, budget).next(plan, TRIES_MAX, budget)
}

/// The rules that apply to this query, in order.
fn rules(query: &CandidateQuery) -> Vec<RuleExplained> {
    let suffixed = query.groups.iter().filter(|group| !group.suffix.is_empty()).count();
    let mut unsuffixed = query.groups.iter().filter(|group| group.suffix.is_empty());
    let rules = [
        (TreeRule::Traits, unsuffixed.any(|group| !group.traits.required.is_empty())),
        (TreeRule::Isolation, query.isolate && suffixed > 1),
        (TreeRule::Subtree, query.same_subtree.iter().any(|groups| groups.len() > 1)),
        (TreeRule::SumFits, query.groups.len() > 1),
        (TreeRule::OneProvider, !query.nested),
    ];
    let applies = rules.into_iter().filter(|(_, applies)| *applies);
    let example: Option<ProviderIx> = None;
    applies.map(|(rule, _)| RuleExplained { rule, before: 0, removed: 0, example }).collect()
}

/// The plan with the rules up to this one only.
fn relaxed<'a>(
    capacity: &'a Capacity,
    query: &CandidateQuery,
    last: TreeRule,
    budget: &mut Budget,
) -> Option<SearchPlan<'a>> {
    let mut plan = SearchPlan::new(capacity, query, budget)?;
    let applies = |rule: TreeRule| rule as u8 <= last as u8;
    plan.isolate &= applies(TreeRule::Isolation);
    if !applies(TreeRule::Subtree) {
        plan.subtrees.clear();
        plan.subtrees_of.iter_mut().for_each(Vec::clear);
    }
    plan.sums = applies(TreeRule::SumFits);
    plan.nested |= !applies(TreeRule::OneProvider);
    Some(plan)
}
