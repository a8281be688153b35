//! Applies the constraints of each group to every provider.

use super::super::filter::BitFilter;
use super::super::{Budget, CandidateQuery, RequestGroup};
use super::{Constraint, GroupExplained, NearMiss, PartExplained, Stage};
use crate::state::capacity::Capacity;
use crate::state::capacity::column::Availability;
use crate::state::capacity::names::NameIx;
use crate::state::capacity::provider::{Provider, ProviderIx};

pub(super) fn explain(
    capacity: &Capacity,
    query: &CandidateQuery,
    budget: &mut Budget,
) -> Vec<GroupExplained> {
    let groups = query.groups.iter().map(|group| {
        let parts = if group.suffix.is_empty() {
            let classes = group.resources.iter();
            classes.map(|demand| part(capacity, group, Some(*demand), budget)).collect()
        } else {
            vec![part(capacity, group, None, budget)]
        };
        GroupExplained { parts, trees: 0 }
    });
    groups.collect()
}

type Passes<'a> = Box<dyn Fn(ProviderIx, &Provider) -> bool + 'a>;

struct ConstraintTest<'a> {
    constraint: Constraint,
    passes: Passes<'a>,
    removed: usize,
    nearest: Option<NearMiss>,
}

fn part(
    capacity: &Capacity,
    group: &RequestGroup,
    class: Option<(NameIx, u64)>,
    budget: &mut Budget,
) -> PartExplained {
    let mut tests = tests(capacity, group, class);
    let sets = group.traits.required.iter().map(Vec::len).sum::<usize>()
        + group.member_of.iter().map(Vec::len).sum::<usize>();
    let weight =
        tests.len() + (sets + group.not_member_of.len() + group.traits.forbidden.len()) / 8;
    let (mut all, mut left) = (0, 0);
    for (ix, provider) in capacity.providers() {
        budget.spend(weight);
        if budget.is_spent() {
            break;
        }
        all += 1;
        match tests.iter().position(|test| !(test.passes)(ix, provider)) {
            None => left += 1,
            Some(at) => {
                let absent = match tests[at].constraint {
                    Constraint::HasInventory(class) => Some(class),
                    _ => None,
                };
                // Without an inventory of the class, the later checks on that class fail as well and add nothing.
                let mut rest = tests[at + 1..].iter().filter(|test| match test.constraint {
                    Constraint::Units(class, _) | Constraint::Free(class, _) => {
                        Some(class) != absent
                    }
                    _ => true,
                });
                let only = rest.all(|test| (test.passes)(ix, provider));
                tests[at].remove(capacity, ix, only);
            }
        }
    }
    let mut before = all;
    let stages = tests.into_iter().map(|test| {
        let ConstraintTest { constraint, removed, nearest, .. } = test;
        let stage = Stage { constraint, before, removed, nearest };
        before -= removed;
        stage
    });
    PartExplained { class: class.map(|(class, _)| class), stages: stages.collect(), left }
}

impl ConstraintTest<'_> {
    fn remove(&mut self, capacity: &Capacity, provider: ProviderIx, only: bool) {
        self.removed += 1;
        let (available, missing) = match self.constraint {
            Constraint::Units(class, _) => (Some(availability(capacity, class, provider)), 0),
            Constraint::Free(class, amount) => {
                let available = availability(capacity, class, provider);
                (Some(available), (i128::from(amount) - i128::from(available.free)) as u64)
            }
            _ => (None, 0),
        };
        let near = NearMiss { provider, only, available, missing };
        let rank = |near: &NearMiss| (!near.only, near.missing);
        if self.nearest.is_none_or(|nearest| rank(&near) < rank(&nearest)) {
            self.nearest = Some(near);
        }
    }
}

fn availability(capacity: &Capacity, class: NameIx, ix: ProviderIx) -> Availability {
    capacity.column(class).map_or_else(Availability::default, |column| column.availability(ix))
}

fn tests<'a>(
    capacity: &'a Capacity,
    group: &'a RequestGroup,
    class: Option<(NameIx, u64)>,
) -> Vec<ConstraintTest<'a>> {
    let unsuffixed = group.suffix.is_empty();
    let mut tests: Vec<ConstraintTest<'a>> = Vec::new();
    let mut add = |constraint, passes: Passes<'a>| {
        tests.push(ConstraintTest { constraint, passes, removed: 0, nearest: None });
    };

    let is_open = group.traits.required.is_empty() && group.member_of.is_empty();
    if group.resources.is_empty() && is_open {
        add(Constraint::NoCondition, Box::new(|_, _| false));
    }
    // A group without resources ignores `in_tree`, unless there is no such tree.
    if let Some(uuid) = group.in_tree {
        let root = capacity.provider(uuid).map(|provider| provider.root);
        if !group.resources.is_empty() || root.is_none() {
            let passes = move |_, provider: &Provider| Some(provider.root) == root;
            add(Constraint::InTree(uuid), Box::new(passes));
        }
    }
    if unsuffixed && !group.member_of.is_empty() {
        let sets = BitFilter::default().member_of(capacity, &group.member_of);
        let passes =
            move |ix, provider: &Provider| sets.contains(ix) || sets.contains(provider.root);
        add(Constraint::MemberOf(group.member_of.clone()), Box::new(passes));
    } else {
        for set in &group.member_of {
            let one = BitFilter::default().member_of(capacity, std::slice::from_ref(set));
            let passes = move |ix, _: &Provider| one.contains(ix);
            add(Constraint::MemberOf(vec![set.clone()]), Box::new(passes));
        }
    }
    if !group.not_member_of.is_empty() {
        let none = BitFilter::default().not_member_of(capacity, &group.not_member_of);
        let passes = move |ix, provider: &Provider| {
            none.contains(ix) && (!unsuffixed || none.contains(provider.root))
        };
        add(Constraint::NotMemberOf(group.not_member_of.clone()), Box::new(passes));
    }
    for set in group.traits.required.iter().filter(|_| !unsuffixed) {
        let one = BitFilter::default().requiring(capacity, std::slice::from_ref(set));
        add(Constraint::Required(set.clone()), Box::new(move |ix, _| one.contains(ix)));
    }
    if !group.traits.forbidden.is_empty() {
        let none = BitFilter::default().forbidding(capacity, &group.traits.forbidden);
        let constraint = Constraint::Forbidden(group.traits.forbidden.clone());
        add(constraint, Box::new(move |ix, _| none.contains(ix)));
    }
    let resources = match class {
        Some(only) => vec![only],
        None => group.resources.clone(),
    };
    for (class, amount) in resources {
        let available = move |ix| availability(capacity, class, ix);
        let has = BitFilter::default().having(capacity, class);
        add(Constraint::HasInventory(class), Box::new(move |ix, _| has.contains(ix)));
        let units =
            move |ix, _: &Provider| Availability { free: i64::MAX, ..available(ix) }.fits(amount);
        add(Constraint::Units(class, amount), Box::new(units));
        let fits = move |ix, _: &Provider| {
            i64::try_from(amount).is_ok_and(|amount| amount <= available(ix).free)
        };
        add(Constraint::Free(class, amount), Box::new(fits));
    }
    tests
}
