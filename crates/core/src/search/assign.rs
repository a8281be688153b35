//! Enumerates assignments: one provider of a tree for each slot, such that all rules hold.
//!
//! Plain backtracking. The slot with the fewest options is assigned first, and an option is tried only if the
//! assignment so far allows it. After many dead ends, [`super::bound`] checks whether the request can fit the tree at
//! all, and on each further try whether the remaining slots can. That avoids an exhaustive search of a tree where the
//! request does not fit.

use super::assignment::Assignment;
use super::filter::BitFilter;
use super::plan::{SearchPlan, UnsuffixedGroup};
use super::tree::{MemberIx, Tree};
use super::{Budget, bound, subtree};

/// The number of consecutive dead ends after which bounds are checked.
const DEAD_ENDS_BEFORE_BOUNDS: usize = 16;

#[derive(Debug)]
pub(super) struct Assigner {
    pub tree: Tree,
    pub assigned: Assignment,
    /// The order in which slots are assigned.
    order: Vec<usize>,
    depth: usize,
    /// By depth: how many options have been tried, and the index of the first one.
    tried: Vec<(u32, u32)>,
    cover: TraitCover,
    /// Dead ends since the last complete assignment.
    dead_ends: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AssignProgress {
    /// All slots are assigned.
    Assigned,
    /// There are no more assignments.
    Exhausted,
    /// The tries of this turn, or the steps of the search, are used up.
    Paused,
}

/// Which required trait sets of the unsuffixed group each member has, as bit masks. Only the first 64 sets;
/// [`Assigner::is_covered`] checks all of them at the end.
#[derive(Debug, Default)]
struct TraitCover {
    all: u64,
    by_member: Vec<u64>,
    /// By depth: the sets that the options of the remaining slots could add.
    rest: Vec<u64>,
}

impl Assigner {
    pub fn new(
        plan: &SearchPlan<'_>,
        tree: Tree,
        seed: Option<u64>,
        budget: &mut Budget,
    ) -> Assigner {
        let traits = plan.unsuffixed.as_ref().map_or(0, |unsuffixed| unsuffixed.required.len());
        budget.spend(plan.slots.len() / 4 + tree.members.len() * traits.min(64) / 8);
        let order = order(plan, &tree);
        let tried = order.iter().map(|slot| {
            let count = tree.options(*slot).len() as u64;
            let mut seed = seed.map(|seed| seed ^ *slot as u64);
            (0, seed.as_mut().map_or(0, |seed| (crate::random::next(seed) % count.max(1)) as u32))
        });
        Assigner {
            tried: tried.collect(),
            cover: TraitCover::new(plan, &tree, &order),
            assigned: Assignment::empty(plan, tree.members.len()),
            depth: 0,
            dead_ends: 0,
            order,
            tree,
        }
    }

    /// Advances to the next assignment, with at most `tries_max` tries.
    pub fn next(
        &mut self,
        plan: &SearchPlan<'_>,
        tries_max: usize,
        budget: &mut Budget,
    ) -> AssignProgress {
        let mut tries_left = tries_max;
        if self.depth == self.order.len() {
            self.backtrack(plan);
        }
        loop {
            let slot = self.order[self.depth];
            let options = self.tree.options(slot);
            let (tried, start) = &mut self.tried[self.depth];
            if *tried as usize == options.len() {
                *tried = 0;
                if self.depth == 0 {
                    return AssignProgress::Exhausted;
                }
                self.backtrack(plan);
                self.dead_ends += 1;
                if self.dead_ends == DEAD_ENDS_BEFORE_BOUNDS && !self.may_fit_at_all(plan, budget) {
                    return AssignProgress::Exhausted;
                }
                continue;
            }
            if tries_left == 0 || budget.is_spent() {
                return AssignProgress::Paused;
            }
            let member = options[(*tried as usize + *start as usize) % options.len()];
            *tried += 1;
            tries_left -= 1;
            if !self.try_assign(plan, slot, member, budget) {
                continue;
            }
            self.depth += 1;
            if self.depth == self.order.len() {
                if self.is_covered(plan, budget) {
                    self.dead_ends = 0;
                    return AssignProgress::Assigned;
                }
                self.backtrack(plan);
            }
        }
    }

    fn backtrack(&mut self, plan: &SearchPlan<'_>) {
        self.depth -= 1;
        self.assigned.unassign(plan, self.order[self.depth]);
    }

    /// Assigns a slot if the assignment so far allows it and the remaining slots may still fit.
    fn try_assign(
        &mut self,
        plan: &SearchPlan<'_>,
        slot: usize,
        member: MemberIx,
        budget: &mut Budget,
    ) -> bool {
        budget.spend(1);
        let is_allowed = self.is_apart(plan, slot, member, budget)
            && self.has_room(plan, slot, member)
            && self.covers(plan, slot, member, budget);
        if !is_allowed {
            return false;
        }
        self.assigned.assign(plan, slot, member);
        let mut sets = plan.subtrees_of[slot].iter().map(|set| &plan.subtrees[*set]);
        let may_fit = sets.all(|set| subtree::is_possible(&self.tree, set, &self.assigned, budget))
            && (self.dead_ends < DEAD_ENDS_BEFORE_BOUNDS || {
                let rest = &self.order[self.depth + 1..];
                bound::may_fit(plan, &self.tree, &self.assigned, rest, budget)
            });
        if !may_fit {
            self.assigned.unassign(plan, slot);
        }
        may_fit
    }

    fn may_fit_at_all(&self, plan: &SearchPlan<'_>, budget: &mut Budget) -> bool {
        let nothing = Assignment::empty(plan, self.tree.members.len());
        bound::may_fit(plan, &self.tree, &nothing, &self.order, budget)
    }

    /// Checks isolation and, for requests before 1.29, that a tree contributes one provider only.
    fn is_apart(
        &self,
        plan: &SearchPlan<'_>,
        slot: usize,
        member: MemberIx,
        budget: &mut Budget,
    ) -> bool {
        if plan.slots[slot].suffixed && self.assigned.has_suffixed(member) {
            return false;
        }
        if plan.nested || plan.slots[slot].demands.is_empty() {
            return true;
        }
        budget.spend(self.depth / 8);
        let root = |member: MemberIx| self.tree.members[member as usize].root;
        let mut givers =
            self.order[..self.depth].iter().filter(|other| !plan.slots[**other].demands.is_empty());
        givers.all(|other| {
            self.assigned.get(*other).is_none_or(|at| at == member || root(at) != root(member))
        })
    }

    /// Amounts that several slots take of one class of one provider must fit together. Each amount fits alone.
    fn has_room(&self, plan: &SearchPlan<'_>, slot: usize, member: MemberIx) -> bool {
        !plan.sums
            || plan.slots[slot].demands.iter().all(|demand| {
                let Some(class) = demand.contested else { return true };
                let taken = self.assigned.taken(member, class);
                taken == 0
                    || demand
                        .availability(self.tree.ix(member))
                        .fits_sum(taken.saturating_add(demand.amount))
            })
    }

    /// Whether the required traits of the unsuffixed group can still be satisfied.
    fn covers(
        &self,
        plan: &SearchPlan<'_>,
        slot: usize,
        member: MemberIx,
        budget: &mut Budget,
    ) -> bool {
        if self.cover.all == 0 || plan.slots[slot].suffixed {
            return true;
        }
        budget.spend(self.depth / 8);
        let so_far = self.order[..self.depth].iter().filter(|other| !plan.slots[**other].suffixed);
        let of = |member: MemberIx| self.cover.by_member[member as usize];
        let members = so_far.filter_map(|other| self.assigned.get(*other));
        let covered = members.fold(of(member), |all, member| all | of(member));
        (covered | self.cover.rest[self.depth + 1]) & self.cover.all == self.cover.all
    }

    /// The same check for a complete assignment, for all sets.
    fn is_covered(&self, plan: &SearchPlan<'_>, budget: &mut Budget) -> bool {
        let Some(UnsuffixedGroup { required, .. }) = &plan.unsuffixed else { return true };
        budget.spend(required.iter().map(BitFilter::weight).sum());
        required.iter().all(|set| {
            let mut slots = (0..plan.slots.len()).filter(|slot| !plan.slots[*slot].suffixed);
            let is_in = |member| set.contains(self.tree.ix(member));
            slots.any(|slot| self.assigned.get(slot).is_some_and(is_in))
        })
    }
}

/// The slot with the fewest options first, each followed by the slots that share a `same_subtree` rule with it.
fn order(plan: &SearchPlan<'_>, tree: &Tree) -> Vec<usize> {
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

impl TraitCover {
    fn new(plan: &SearchPlan<'_>, tree: &Tree, order: &[usize]) -> TraitCover {
        let required = plan.unsuffixed.as_ref().map_or(&[][..], |unsuffixed| &unsuffixed.required);
        if required.is_empty() {
            return TraitCover::default();
        }
        let of = |ix| {
            let sets = required.iter().take(64).enumerate();
            sets.fold(0, |covered, (bit, set)| covered | u64::from(set.contains(ix)) << bit)
        };
        let by_member: Vec<u64> = tree.members.iter().map(|member| of(member.ix)).collect();
        let mut rest = vec![0; order.len() + 1];
        for (depth, slot) in order.iter().enumerate().rev() {
            let options = tree.options(*slot).iter().filter(|_| !plan.slots[*slot].suffixed);
            rest[depth] = options.fold(rest[depth + 1], |all, at| all | by_member[*at as usize]);
        }
        let all = u64::MAX >> (64 - required.len().min(64));
        TraitCover { all, by_member, rest }
    }
}
