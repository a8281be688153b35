//! A quick check whether the remaining slots can fit a tree at all.
//!
//! `false` is certain; `true` means that nothing rules it out. The check is a bipartite matching between slots and
//! members, which is polynomial and cheap compared with trying all assignments.

use super::Budget;
use super::assignment::Assignment;
use super::plan::SearchPlan;
use super::tree::{MemberIx, Tree};

/// With more slots than this the check is too expensive.
const SLOTS_MAX: usize = 256;

/// Whether the remaining slots may still be assigned.
pub(super) fn may_fit(
    plan: &SearchPlan<'_>,
    tree: &Tree,
    assigned: &Assignment,
    rest: &[usize],
    budget: &mut Budget,
) -> bool {
    if rest.len() > SLOTS_MAX {
        return true;
    }
    if plan.isolate {
        let is_free = |member: MemberIx| u64::from(!assigned.has_suffixed(member));
        let suffixed = rest.iter().copied().filter(|slot| plan.slots[*slot].suffixed);
        if !Matching::of(tree, suffixed.collect(), is_free).complete(budget) {
            return false;
        }
    }
    let mut classes = if plan.sums { 0..plan.contested.len() } else { 0..0 };
    classes.all(|class| class_may_fit(plan, tree, assigned, rest, class, budget))
}

fn class_may_fit(
    plan: &SearchPlan<'_>,
    tree: &Tree,
    assigned: &Assignment,
    rest: &[usize],
    class: usize,
    budget: &mut Budget,
) -> bool {
    let ask_of = |slot: usize| {
        plan.slots[slot].demands.iter().find(|demand| demand.contested == Some(class))
    };
    let asking: Vec<(usize, u64)> =
        rest.iter().filter_map(|slot| Some((*slot, ask_of(*slot)?.amount))).collect();
    let column = plan.capacity.column(plan.contested[class]);
    let free_at = |member: MemberIx| {
        let available =
            column.map_or_else(Default::default, |column| column.availability(tree.ix(member)));
        let most = available.free.clamp(0, i64::from(available.max_unit)) as u64;
        most.saturating_sub(assigned.taken(member, class))
    };

    let mut members: Vec<MemberIx> =
        asking.iter().flat_map(|(slot, _)| tree.options(*slot)).copied().collect();
    budget.spend(members.len());
    members.sort_unstable();
    members.dedup();
    let free: u64 = members.iter().map(|member| free_at(*member)).fold(0, u64::saturating_add);
    let asked = asking.iter().map(|(_, amount)| *amount).fold(0, u64::saturating_add);
    if asked > free {
        return false;
    }

    // Every slot that needs at least `portion` needs a member with that much free.
    let mut portions: Vec<u64> = asking.iter().map(|(_, amount)| *amount).collect();
    portions.sort_unstable();
    portions.dedup();
    portions.into_iter().filter(|portion| *portion > 0).all(|portion| {
        let slots = asking.iter().filter(|(_, amount)| *amount >= portion);
        let slots = slots.map(|(slot, _)| *slot).collect();
        Matching::of(tree, slots, |member| free_at(member) / portion).complete(budget)
    })
}

/// Matches each slot to one of its options; a member takes at most `holds` slots.
struct Matching<'t, F> {
    tree: &'t Tree,
    slots: Vec<usize>,
    holds: F,
    /// The member of each of `slots`.
    at: Vec<Option<MemberIx>>,
    /// By member: the number of slots matched to it.
    load: Vec<u64>,
    /// By member: the round that visited it last.
    seen: Vec<usize>,
}

impl<'t, F: Fn(MemberIx) -> u64> Matching<'t, F> {
    fn of(tree: &'t Tree, slots: Vec<usize>, holds: F) -> Matching<'t, F> {
        let (at, load) = (vec![None; slots.len()], vec![0; tree.members.len()]);
        let seen = vec![usize::MAX; tree.members.len()];
        Matching { tree, slots, holds, at, load, seen }
    }

    fn complete(mut self, budget: &mut Budget) -> bool {
        budget.spend(self.load.len() / 8);
        (0..self.slots.len()).all(|which| self.find_member(which, which, budget))
    }

    /// Finds a member for a slot; moves other slots if necessary (an augmenting path).
    fn find_member(&mut self, which: usize, round: usize, budget: &mut Budget) -> bool {
        let options = self.tree.options(self.slots[which]);
        budget.spend(1 + options.len() / 4);
        let free = options.iter().find(|at| self.load[**at as usize] < (self.holds)(**at));
        if let Some(&member) = free {
            self.at[which] = Some(member);
            self.load[member as usize] += 1;
            return true;
        }
        for &member in options {
            if std::mem::replace(&mut self.seen[member as usize], round) == round {
                continue;
            }
            for other in 0..self.slots.len() {
                if self.at[other] == Some(member) && self.find_member(other, round, budget) {
                    // The other slot has moved and left its place to this one.
                    self.at[which] = Some(member);
                    return true;
                }
            }
        }
        false
    }
}
