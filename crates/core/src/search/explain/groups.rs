//! The constraints of a group on each provider by itself.

use super::super::filter::Filter;
use super::super::{Budget, Group, Query};
use super::{Constraint, GroupExplained, Near, PartExplained, Stage};
use crate::state::capacity::Capacity;
use crate::state::capacity::column::Room;
use crate::state::capacity::names::NameIx;
use crate::state::capacity::provider::{Provider, ProviderIx};

pub(super) fn explain(
    capacity: &Capacity,
    query: &Query,
    budget: &mut Budget,
) -> Vec<GroupExplained> {
    let groups = query.groups.iter().map(|group| {
        let parts = if group.suffix.is_empty() {
            let classes = group.resources.iter();
            classes.map(|ask| part(capacity, group, Some(*ask), budget)).collect()
        } else {
            vec![part(capacity, group, None, budget)]
        };
        GroupExplained { parts, trees: 0 }
    });
    groups.collect()
}

type Passes<'a> = Box<dyn Fn(ProviderIx, &Provider) -> bool + 'a>;

/// Something that a provider passes or not.
struct Test<'a> {
    constraint: Constraint,
    passes: Passes<'a>,
    removed: usize,
    nearest: Option<Near>,
}

fn part(
    capacity: &Capacity,
    group: &Group,
    class: Option<(NameIx, u64)>,
    budget: &mut Budget,
) -> PartExplained {
    let mut tests = tests(capacity, group, class);
    let (mut all, mut left) = (0, 0);
    for (ix, provider) in capacity.providers() {
        budget.spend(tests.len());
        if budget.is_spent() {
            break;
        }
        all += 1;
        match tests.iter().position(|test| !(test.passes)(ix, provider)) {
            None => left += 1,
            Some(at) => {
                let absent = match tests[at].constraint {
                    Constraint::Has(class) => Some(class),
                    _ => None,
                };
                // Of a class that is not there no portion fits either, which says nothing more.
                let mut rest = tests[at + 1..].iter().filter(|test| match test.constraint {
                    Constraint::Portion(class, _) | Constraint::Room(class, _) => {
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
        let Test { constraint, removed, nearest, .. } = test;
        let stage = Stage { constraint, before, removed, nearest };
        before -= removed;
        stage
    });
    PartExplained { class: class.map(|(class, _)| class), stages: stages.collect(), left }
}

impl Test<'_> {
    fn remove(&mut self, capacity: &Capacity, provider: ProviderIx, only: bool) {
        self.removed += 1;
        let (room, missing) = match self.constraint {
            Constraint::Portion(class, _) => (Some(room(capacity, class, provider)), 0),
            Constraint::Room(class, amount) => {
                let room = room(capacity, class, provider);
                (Some(room), (i128::from(amount) - i128::from(room.room)) as u64)
            }
            _ => (None, 0),
        };
        let near = Near { provider, only, room, missing };
        let rank = |near: &Near| (!near.only, near.missing);
        if self.nearest.is_none_or(|nearest| rank(&near) < rank(&nearest)) {
            self.nearest = Some(near);
        }
    }
}

fn room(capacity: &Capacity, class: NameIx, ix: ProviderIx) -> Room {
    capacity.column(class).map_or_else(Room::default, |column| column.room(ix))
}

fn tests<'a>(
    capacity: &'a Capacity,
    group: &'a Group,
    class: Option<(NameIx, u64)>,
) -> Vec<Test<'a>> {
    let loose = group.suffix.is_empty();
    let mut tests: Vec<Test<'a>> = Vec::new();
    let mut add = |constraint, passes: Passes<'a>| {
        tests.push(Test { constraint, passes, removed: 0, nearest: None });
    };

    let is_open = group.traits.required.is_empty() && group.member_of.is_empty();
    if group.resources.is_empty() && is_open {
        add(Constraint::Anything, Box::new(|_, _| false));
    }
    // The tree makes no difference to a group that asks for no resources, if there is such a tree.
    if let Some(uuid) = group.in_tree {
        let root = capacity.provider(uuid).map(|provider| provider.root);
        if !group.resources.is_empty() || root.is_none() {
            let passes = move |_, provider: &Provider| Some(provider.root) == root;
            add(Constraint::InTree(uuid), Box::new(passes));
        }
    }
    if loose && !group.member_of.is_empty() {
        let sets = Filter::default().member_of(capacity, &group.member_of);
        let passes =
            move |ix, provider: &Provider| sets.contains(ix) || sets.contains(provider.root);
        add(Constraint::MemberOf(group.member_of.clone()), Box::new(passes));
    } else {
        for set in &group.member_of {
            let one = Filter::default().member_of(capacity, std::slice::from_ref(set));
            let passes = move |ix, _: &Provider| one.contains(ix);
            add(Constraint::MemberOf(vec![set.clone()]), Box::new(passes));
        }
    }
    if !group.not_member_of.is_empty() {
        let none = Filter::default().not_member_of(capacity, &group.not_member_of);
        let passes = move |ix, provider: &Provider| {
            none.contains(ix) && (!loose || none.contains(provider.root))
        };
        add(Constraint::NotMemberOf(group.not_member_of.clone()), Box::new(passes));
    }
    for set in group.traits.required.iter().filter(|_| !loose) {
        let one = Filter::default().requiring(capacity, std::slice::from_ref(set));
        add(Constraint::Required(set.clone()), Box::new(move |ix, _| one.contains(ix)));
    }
    if !group.traits.forbidden.is_empty() {
        let none = Filter::default().forbidding(capacity, &group.traits.forbidden);
        let constraint = Constraint::Forbidden(group.traits.forbidden.clone());
        add(constraint, Box::new(move |ix, _| none.contains(ix)));
    }
    let resources = match class {
        Some(only) => vec![only],
        None => group.resources.clone(),
    };
    for (class, amount) in resources {
        let room = move |ix| room(capacity, class, ix);
        let has = Filter::default().having(capacity, class);
        add(Constraint::Has(class), Box::new(move |ix, _| has.contains(ix)));
        let portion = move |ix, _: &Provider| {
            let room = room(ix);
            Room { room: i64::MAX, ..room }.fits(amount)
        };
        add(Constraint::Portion(class, amount), Box::new(portion));
        let fits = move |ix, _: &Provider| {
            i64::try_from(amount).is_ok_and(|amount| amount <= room(ix).room)
        };
        add(Constraint::Room(class, amount), Box::new(fits));
    }
    tests
}
