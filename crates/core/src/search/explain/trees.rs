//! What must hold of a tree as a whole.
//!
//! Each tree that can serve each group alone is searched under more and more of the rules, until no way is left: the last
//! rule removed it.

use super::super::assign::{Assign, Step};
use super::super::plan::Plan;
use super::super::tree::Tree;
use super::super::{Budget, Query};
use super::{GroupExplained, RuleExplained, TreeRule, TreesExplained};
use crate::state::capacity::Capacity;
use crate::state::capacity::provider::ProviderIx;

/// How long one tree may take under one rule.
const TRIES_MAX: usize = 2_000;

pub(super) fn explain(
    capacity: &Capacity,
    query: &Query,
    groups: &mut [GroupExplained],
    budget: &mut Budget,
) -> TreesExplained {
    let mut trees = TreesExplained { total: capacity.roots().len(), ..Default::default() };
    let Some(plan) = Plan::new(capacity, query) else { return trees };
    let mut rules = rules(query);
    let plans: Vec<Plan<'_>> =
        rules.iter().filter_map(|rule| relaxed(capacity, query, rule.rule)).collect();
    for anchor in capacity.roots().iter() {
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
            Outcome::Candidate => trees.with_candidates += 1,
            Outcome::Unknown => trees.undecided += 1,
            Outcome::Removed(at) => {
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

/// The groups, by their place in the query, for which nobody can serve some slot. Each once.
fn unserved(plan: &Plan<'_>, tree: &Tree) -> Vec<usize> {
    let slots = plan.slots.iter().enumerate();
    let mut groups: Vec<usize> =
        slots.filter(|(at, _)| tree.options(*at).is_empty()).map(|(_, slot)| slot.group).collect();
    groups.dedup();
    groups
}

enum Outcome {
    Candidate,
    /// By which rule.
    Removed(usize),
    Unknown,
}

fn outcome(plan: &Plan<'_>, relaxed: &[Plan<'_>], tree: Tree, budget: &mut Budget) -> Outcome {
    // Most trees have a candidate or fail at once, so everything is tried first.
    match try_tree(plan, tree.clone(), budget) {
        Step::Found => return Outcome::Candidate,
        Step::Tired => return Outcome::Unknown,
        Step::Done => {}
    }
    for (at, plan) in relaxed.iter().enumerate() {
        match try_tree(plan, tree.clone(), budget) {
            Step::Found => {}
            Step::Done => return Outcome::Removed(at),
            Step::Tired => return Outcome::Unknown,
        }
    }
    Outcome::Unknown
}

fn try_tree(plan: &Plan<'_>, tree: Tree, budget: &mut Budget) -> Step {
    Assign::new(plan, tree, None).next(plan, TRIES_MAX, budget)
}

/// The rules that this query has at all, in order.
fn rules(query: &Query) -> Vec<RuleExplained> {
    let suffixed = query.groups.iter().filter(|group| !group.suffix.is_empty()).count();
    let mut unsuffixed = query.groups.iter().filter(|group| group.suffix.is_empty());
    let rules = [
        (TreeRule::Traits, unsuffixed.any(|group| !group.traits.required.is_empty())),
        (TreeRule::Isolation, query.isolate && suffixed > 1),
        (TreeRule::Subtree, query.same_subtree.iter().any(|groups| groups.len() > 1)),
        (TreeRule::Room, query.groups.len() > 1),
        (TreeRule::OneProvider, !query.nested),
    ];
    let applies = rules.into_iter().filter(|(_, applies)| *applies);
    let example: Option<ProviderIx> = None;
    applies.map(|(rule, _)| RuleExplained { rule, before: 0, removed: 0, example }).collect()
}

/// The query with this rule and those before it, and none after.
fn relaxed<'a>(capacity: &'a Capacity, query: &Query, last: TreeRule) -> Option<Plan<'a>> {
    let mut plan = Plan::new(capacity, query)?;
    let applies = |rule: TreeRule| rule as u8 <= last as u8;
    plan.isolate &= applies(TreeRule::Isolation);
    if !applies(TreeRule::Subtree) {
        plan.subtrees.clear();
    }
    plan.sums = applies(TreeRule::Room);
    plan.nested |= !applies(TreeRule::OneProvider);
    Some(plan)
}
