//! One provider for each slot of a tree, in all ways that fit together, one way at a time.
//!
//! Plain backtracking: the slot with the fewest providers first, and a provider is tried only if all that is placed already
//! allows it. When many tries in a row came to nothing, [`super::bound`] is asked at each further one whether the rest can be
//! placed at all, so that a request that does not fit is found out without trying all ways not to fit it.

use super::plan::{Loose, Plan};
use super::tree::{Place, Tree};
use super::{Budget, bound, subtree};

/// After so many tries without a candidate, bounds are looked at.
const TRIES_BEFORE_BOUNDS: usize = 64;

/// For each slot: who serves it, so far.
#[derive(Debug)]
pub(super) struct Placed(Vec<Place>);

const NOBODY: Place = Place::MAX;

impl Placed {
    pub fn get(&self, slot: usize) -> Option<Place> {
        Some(self.0[slot]).filter(|place| *place != NOBODY)
    }

    /// How much of a class the placed slots take of one place.
    pub fn taken(&self, plan: &Plan<'_>, place: Place, class: u32) -> u64 {
        let here = self.0.iter().zip(&plan.slots).filter(|(other, _)| **other == place);
        let asks = here.flat_map(|(_, slot)| &slot.asks).filter(|ask| ask.class == class);
        asks.map(|ask| ask.amount).sum()
    }
}

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
    /// Tries since the last candidate.
    tries: usize,
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
    pub fn new(plan: &Plan<'_>, tree: Tree, spin: Option<u64>) -> Assign {
        let order = order(plan, &tree);
        let tried = order.iter().map(|slot| {
            let count = tree.options(*slot).len() as u64;
            let mut spin = spin.map(|spin| spin ^ *slot as u64);
            (0, spin.as_mut().map_or(0, |spin| (crate::dice::roll(spin) % count.max(1)) as u32))
        });
        Assign {
            tried: tried.collect(),
            cover: Cover::new(plan, &tree, &order),
            placed: Placed(vec![NOBODY; plan.slots.len()]),
            depth: 0,
            tries: 0,
            order,
            tree,
        }
    }

    /// Goes on to the next way, for at most so many tries.
    pub fn next(&mut self, plan: &Plan<'_>, tries_max: usize, budget: &mut Budget) -> Step {
        let mut tries_left = tries_max;
        if self.depth == self.order.len() {
            self.step_back();
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
                self.step_back();
                continue;
            }
            if tries_left == 0 || budget.is_spent() {
                return Step::Tired;
            }
            let place = options[(*tried as usize + *start as usize) % options.len()];
            *tried += 1;
            tries_left -= 1;
            self.tries += 1;
            if !self.place(plan, slot, place, budget) {
                continue;
            }
            self.depth += 1;
            if self.depth == self.order.len() {
                if self.is_covered(plan) {
                    self.tries = 0;
                    return Step::Found;
                }
                self.step_back();
            }
        }
    }

    fn step_back(&mut self) {
        self.depth -= 1;
        self.placed.0[self.order[self.depth]] = NOBODY;
    }

    /// Places a slot, if what is placed already allows it and the rest may still fit.
    fn place(&mut self, plan: &Plan<'_>, slot: usize, place: Place, budget: &mut Budget) -> bool {
        budget.spend(1 + self.depth / 16);
        if !self.is_apart(plan, slot, place) || !self.covers(plan, slot, place) {
            return false;
        }
        self.placed.0[slot] = place;
        let mut sets = plan.subtrees.iter().filter(|set| set.contains(&slot));
        let fits = self.has_room(plan, slot, place)
            && sets.all(|set| subtree::is_possible(&self.tree, set, &self.placed, budget))
            && (self.tries < TRIES_BEFORE_BOUNDS || {
                let rest = &self.order[self.depth + 1..];
                bound::may_fit(plan, &self.tree, &self.placed, rest, budget)
            });
        if !fits {
            self.placed.0[slot] = NOBODY;
        }
        fits
    }

    /// Isolation, and one provider of a tree for whoever knows no trees.
    fn is_apart(&self, plan: &Plan<'_>, slot: usize, place: Place) -> bool {
        if !plan.isolate && plan.nested {
            return true;
        }
        let gives = |slot: usize| !plan.slots[slot].asks.is_empty();
        let root = |place: Place| self.tree.places[place as usize].root;
        self.order[..self.depth].iter().all(|&other| {
            let there = self.placed.0[other];
            if there == place {
                !plan.isolate || !plan.slots[slot].suffixed || !plan.slots[other].suffixed
            } else {
                plan.nested || !gives(slot) || !gives(other) || root(there) != root(place)
            }
        })
    }

    /// What several slots take of the same class of the same provider must fit together. Each alone does already.
    fn has_room(&self, plan: &Plan<'_>, slot: usize, place: Place) -> bool {
        plan.slots[slot].asks.iter().filter(|ask| ask.contested).all(|ask| {
            let taken = self.placed.taken(plan, place, ask.class);
            let room = ask.room(self.tree.ix(place));
            i64::try_from(taken).is_ok_and(|taken| taken <= room.room)
                && taken <= u64::from(room.max_unit)
        })
    }

    /// Whether the traits that the group without a suffix needs can still come together.
    fn covers(&self, plan: &Plan<'_>, slot: usize, place: Place) -> bool {
        if self.cover.all == 0 || plan.slots[slot].suffixed {
            return true;
        }
        let so_far = self.order[..self.depth].iter().filter(|other| !plan.slots[**other].suffixed);
        let of = |place: Place| self.cover.by_place[place as usize];
        let covered = so_far.fold(of(place), |all, other| all | of(self.placed.0[*other]));
        (covered | self.cover.rest[self.depth + 1]) & self.cover.all == self.cover.all
    }

    /// The same, exactly and for all sets, once everything is placed.
    fn is_covered(&self, plan: &Plan<'_>) -> bool {
        let Some(Loose { required, .. }) = &plan.loose else { return true };
        required.iter().all(|set| {
            let slots = self.placed.0.iter().zip(&plan.slots).filter(|(_, slot)| !slot.suffixed);
            slots.into_iter().any(|(place, _)| set.contains(self.tree.ix(*place)))
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
    let mut is_in = vec![false; by_count.len()];
    let mut at = 0;
    for slot in by_count {
        if !std::mem::replace(&mut is_in[slot], true) {
            order.push(slot);
        }
        while let Some(&slot) = order.get(at) {
            for near in plan.subtrees.iter().filter(|set| set.contains(&slot)).flatten() {
                if !std::mem::replace(&mut is_in[*near], true) {
                    order.push(*near);
                }
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
