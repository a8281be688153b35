//! One provider for each slot of a tree, in all ways that fit together, one way at a time.
//!
//! Plain backtracking: the slot with the fewest providers first, and a provider is tried only if all that is placed
//! already allows it. When it came to dead ends many times in a row, [`super::bound`] is asked whether the request can fit
//! into the tree at all, and at each further try whether the rest can, so that one that does not fit is found out without
//! trying all ways not to fit it.

use super::filter::Filter;
use super::placed::Placed;
use super::plan::{Loose, Plan};
use super::tree::{Place, Tree};
use super::{Budget, bound, subtree};

/// After so many dead ends without a candidate, bounds are looked at.
const DEAD_ENDS_BEFORE_BOUNDS: usize = 16;

#[derive(Debug)]
pub(super) struct Assign {
    pub tree: Tree,
    pub placed: Placed,
    /// In which order the slots are placed.
    order: Vec<usize>,
    depth: usize,
    /// For each of the order: how many options were tried, and with which it began.
    tried: Vec<(u32, u32)>,
    cover: Cover,
    /// How often nobody was left to try, since the last candidate.
    dead_ends: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// Every slot is placed.
    Found,
    /// There are no more ways.
    Done,
    /// The steps of this turn, or of the search, are used up.
    Tired,
}

/// Which of the sets of traits that a group needs of its providers together each of them covers; the first 64 sets.
#[derive(Debug, Default)]
struct Cover {
    all: u64,
    by_place: Vec<u64>,
    /// What the slots from here on could cover at best, by depth.
    rest: Vec<u64>,
}

impl Assign {
    pub fn new(plan: &Plan<'_>, tree: Tree, spin: Option<u64>, budget: &mut Budget) -> Assign {
        let traits = plan.loose.as_ref().map_or(0, |loose| loose.required.len());
        budget.spend(plan.slots.len() / 4 + tree.places.len() * traits.min(64) / 8);
        let order = order(plan, &tree);
        let tried = order.iter().map(|slot| {
            let count = tree.options(*slot).len() as u64;
            let mut spin = spin.map(|spin| spin ^ *slot as u64);
            (0, spin.as_mut().map_or(0, |spin| (crate::random::next(spin) % count.max(1)) as u32))
        });
        Assign {
            tried: tried.collect(),
            cover: Cover::new(plan, &tree, &order),
            placed: Placed::nothing(plan, tree.places.len()),
            depth: 0,
            dead_ends: 0,
            order,
            tree,
        }
    }

    /// Goes on to the next way, for at most so many tries.
    pub fn next(&mut self, plan: &Plan<'_>, tries_max: usize, budget: &mut Budget) -> Step {
        let mut tries_left = tries_max;
        if self.depth == self.order.len() {
            self.step_back(plan);
        }
        loop {
            let slot = self.order[self.depth];
            let options = self.tree.options(slot);
            let (tried, start) = &mut self.tried[self.depth];
            if *tried as usize == options.len() {
                *tried = 0;
                if self.depth == 0 {
                    return Step::Done;
                }
                self.step_back(plan);
                self.dead_ends += 1;
                if self.dead_ends == DEAD_ENDS_BEFORE_BOUNDS && !self.may_fit_at_all(plan, budget) {
                    return Step::Done;
                }
                continue;
            }
            if tries_left == 0 || budget.is_spent() {
                return Step::Tired;
            }
            let place = options[(*tried as usize + *start as usize) % options.len()];
            *tried += 1;
            tries_left -= 1;
            if !self.place(plan, slot, place, budget) {
                continue;
            }
            self.depth += 1;
            if self.depth == self.order.len() {
                if self.is_covered(plan, budget) {
                    self.dead_ends = 0;
                    return Step::Found;
                }
                self.step_back(plan);
            }
        }
    }

    fn step_back(&mut self, plan: &Plan<'_>) {
        self.depth -= 1;
        self.placed.take_back(plan, self.order[self.depth]);
    }

    /// Places a slot, if what is placed already allows it and the rest may still fit.
    fn place(&mut self, plan: &Plan<'_>, slot: usize, place: Place, budget: &mut Budget) -> bool {
        budget.spend(1);
        let is_allowed = self.is_apart(plan, slot, place, budget)
            && self.has_room(plan, slot, place)
            && self.covers(plan, slot, place, budget);
        if !is_allowed {
            return false;
        }
        self.placed.put(plan, slot, place);
        let mut sets = plan.subtrees_of[slot].iter().map(|set| &plan.subtrees[*set]);
        let may_fit = sets.all(|set| subtree::is_possible(&self.tree, set, &self.placed, budget))
            && (self.dead_ends < DEAD_ENDS_BEFORE_BOUNDS || {
                let rest = &self.order[self.depth + 1..];
                bound::may_fit(plan, &self.tree, &self.placed, rest, budget)
            });
        if !may_fit {
            self.placed.take_back(plan, slot);
        }
        may_fit
    }

    fn may_fit_at_all(&self, plan: &Plan<'_>, budget: &mut Budget) -> bool {
        let nothing = Placed::nothing(plan, self.tree.places.len());
        bound::may_fit(plan, &self.tree, &nothing, &self.order, budget)
    }

    /// Isolation, and one provider of a tree for whoever knows no trees.
    fn is_apart(&self, plan: &Plan<'_>, slot: usize, place: Place, budget: &mut Budget) -> bool {
        if plan.slots[slot].suffixed && self.placed.has_guest(place) {
            return false;
        }
        if plan.nested || plan.slots[slot].asks.is_empty() {
            return true;
        }
        budget.spend(self.depth / 8);
        let root = |place: Place| self.tree.places[place as usize].root;
        let mut givers =
            self.order[..self.depth].iter().filter(|other| !plan.slots[**other].asks.is_empty());
        givers.all(|other| {
            self.placed.get(*other).is_none_or(|at| at == place || root(at) != root(place))
        })
    }

    /// What several slots take of the same class of the same provider must fit together. Each alone does already.
    fn has_room(&self, plan: &Plan<'_>, slot: usize, place: Place) -> bool {
        !plan.sums
            || plan.slots[slot].asks.iter().all(|ask| {
                let Some(class) = ask.contested else { return true };
                let taken = self.placed.taken(place, class);
                taken == 0 || ask.room(self.tree.ix(place)).holds(taken.saturating_add(ask.amount))
            })
    }

    /// Whether the traits that the group without a suffix needs can still come together.
    fn covers(&self, plan: &Plan<'_>, slot: usize, place: Place, budget: &mut Budget) -> bool {
        if self.cover.all == 0 || plan.slots[slot].suffixed {
            return true;
        }
        budget.spend(self.depth / 8);
        let so_far = self.order[..self.depth].iter().filter(|other| !plan.slots[**other].suffixed);
        let of = |place: Place| self.cover.by_place[place as usize];
        let places = so_far.filter_map(|other| self.placed.get(*other));
        let covered = places.fold(of(place), |all, place| all | of(place));
        (covered | self.cover.rest[self.depth + 1]) & self.cover.all == self.cover.all
    }

    /// The same, exactly and for all sets, once everything is placed.
    fn is_covered(&self, plan: &Plan<'_>, budget: &mut Budget) -> bool {
        let Some(Loose { required, .. }) = &plan.loose else { return true };
        budget.spend(required.iter().map(Filter::weight).sum());
        required.iter().all(|set| {
            let mut slots = (0..plan.slots.len()).filter(|slot| !plan.slots[*slot].suffixed);
            let is_in = |place| set.contains(self.tree.ix(place));
            slots.any(|slot| self.placed.get(slot).is_some_and(is_in))
        })
    }
}

/// The slot with the fewest options first, and after it those that must be near it.
fn order(plan: &Plan<'_>, tree: &Tree) -> Vec<usize> {
    let mut by_count: Vec<usize> = (0..plan.slots.len()).collect();
    by_count.sort_by_key(|slot| tree.options(*slot).len());
    if plan.subtrees.is_empty() {
        return by_count;
    }
    let mut order = Vec::with_capacity(by_count.len());
    let (mut is_in, mut is_done) = (vec![false; by_count.len()], vec![false; plan.subtrees.len()]);
    let mut at = 0;
    for slot in by_count {
        if !std::mem::replace(&mut is_in[slot], true) {
            order.push(slot);
        }
        while let Some(&slot) = order.get(at) {
            for &set in &plan.subtrees_of[slot] {
                if std::mem::replace(&mut is_done[set], true) {
                    continue;
                }
                let near = plan.subtrees[set].iter();
                order.extend(near.filter(|near| !std::mem::replace(&mut is_in[**near], true)));
            }
            at += 1;
        }
    }
    order
}

impl Cover {
    fn new(plan: &Plan<'_>, tree: &Tree, order: &[usize]) -> Cover {
        let required = plan.loose.as_ref().map_or(&[][..], |loose| &loose.required);
        if required.is_empty() {
            return Cover::default();
        }
        let of = |ix| {
            let sets = required.iter().take(64).enumerate();
            sets.fold(0, |covered, (bit, set)| covered | u64::from(set.contains(ix)) << bit)
        };
        let by_place: Vec<u64> = tree.places.iter().map(|standing| of(standing.ix)).collect();
        let mut rest = vec![0; order.len() + 1];
        for (depth, slot) in order.iter().enumerate().rev() {
            let options = tree.options(*slot).iter().filter(|_| !plan.slots[*slot].suffixed);
            rest[depth] = options.fold(rest[depth + 1], |all, at| all | by_place[*at as usize]);
        }
        let all = u64::MAX >> (64 - required.len().min(64));
        Cover { all, by_place, rest }
    }
}
