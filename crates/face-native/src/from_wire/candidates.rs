//! Translates a candidates request into a search.

use std::collections::BTreeSet;

use allod_core::refusal::CapacityRefusal;
use allod_core::search::{CandidateOrder, CandidateQuery, RequestGroup, TraitFilter};
use allod_core::view::capacity::{CapacityView, NameIx};
use allod_edge::Problem;

use crate::wire::{AnyOf, CandidatesBody, GroupBody, GroupPolicyName, OrderedMap};

/// The maximum and the default number of candidates in an answer.
const LIMIT_MAX: u64 = 1000;
const LIMIT_DEFAULT: u64 = 100;

/// Validates what does not depend on the state, and puts the unnamed group first.
pub(crate) fn validate(mut body: CandidatesBody) -> Result<CandidatesBody, Problem> {
    let wrong = |detail: String| Err(Problem::malformed(detail));
    if body.groups.is_empty() {
        return wrong("groups is empty; expected at least one".into());
    }
    let mut names = BTreeSet::new();
    for group in &body.groups {
        let name = &group.name;
        if !names.insert(&**name) {
            return wrong(match name.is_empty() {
                true => "two groups have no name; only one group can be unnamed".into(),
                false => format!("two groups have the name '{name}'"),
            });
        }
        if let Some((class, _)) = group.resources.0.iter().find(|(_, amount)| *amount == 0) {
            return wrong(format!("the amount of {class} is 0; omit the class or give an amount"));
        }
    }
    if let Some(unknown) = body.same_subtree.iter().flatten().find(|name| !names.contains(&***name))
    {
        return wrong(format!("same_subtree names '{unknown}'; no group has this name"));
    }
    if let Some(limit) = body.limit.filter(|limit| !(1..=LIMIT_MAX).contains(limit)) {
        return wrong(format!("limit is {limit}; expected 1 to {LIMIT_MAX}"));
    }
    body.groups.sort_by_key(|group| !group.name.is_empty());
    Ok(body)
}

/// Resolves the names; the error names what does not exist.
pub(crate) fn query(
    capacity: CapacityView<'_>,
    body: &CandidatesBody,
) -> Result<CandidateQuery, CapacityRefusal> {
    let groups: Result<Vec<RequestGroup>, _> =
        body.groups.iter().map(|group| self::group(capacity, group)).collect();
    let index_of = |name: &String| body.groups.iter().position(|group| group.name == *name);
    Ok(CandidateQuery {
        groups: groups?,
        isolate: body.group_policy == Some(GroupPolicyName::Isolate),
        same_subtree: body
            .same_subtree
            .iter()
            .map(|names| names.iter().filter_map(index_of).collect())
            .collect(),
        root: traits(capacity, &body.root_required, &body.root_forbidden)?,
        nested: true,
        limit: Some(body.limit.unwrap_or(LIMIT_DEFAULT) as usize),
        order: body.order.map_or(CandidateOrder::BreadthFirst, Into::into),
        seed: None,
    })
}

fn group(capacity: CapacityView<'_>, body: &GroupBody) -> Result<RequestGroup, CapacityRefusal> {
    let OrderedMap(resources) = &body.resources;
    let amount = |(class, amount): &(String, u64)| {
        let found = capacity.classes().find(class);
        let unknown = || CapacityRefusal::ClassUnknown { class: class.as_str().into() };
        Ok((found.ok_or_else(unknown)?, *amount))
    };
    let resources: Result<Vec<(NameIx, u64)>, CapacityRefusal> =
        resources.iter().map(amount).collect();
    let sets = body.member_of.iter().map(|AnyOf(set)| set.iter().map(|uuid| uuid.0).collect());
    Ok(RequestGroup {
        suffix: body.name.as_str().into(),
        resources: resources?,
        traits: traits(capacity, &body.required, &body.forbidden)?,
        member_of: sets.collect(),
        not_member_of: body.not_member_of.iter().map(|uuid| uuid.0).collect(),
        in_tree: body.in_tree.map(|uuid| uuid.0),
    })
}

fn traits(
    capacity: CapacityView<'_>,
    required: &[AnyOf<String>],
    forbidden: &[String],
) -> Result<TraitFilter, CapacityRefusal> {
    let named = required.iter().flat_map(|AnyOf(names)| names).chain(forbidden);
    let unknown = named.filter(|name| capacity.traits().find(name).is_none());
    let unknown: Vec<_> = unknown.map(|name| name.as_str().into()).collect();
    if !unknown.is_empty() {
        return Err(CapacityRefusal::TraitUnknown { traits: unknown });
    }
    let numbers = |names: &[String]| -> Vec<NameIx> {
        names.iter().filter_map(|name| capacity.traits().find(name)).collect()
    };
    let required = required.iter().map(|AnyOf(names)| numbers(names)).collect();
    Ok(TraitFilter { required, forbidden: numbers(forbidden) })
}
