//! Whether what is still to be placed can fit at all, seen from afar.
//!
//! A `false` here is certain; a `true` is only that nothing speaks against it. Each look is cheap compared with trying all
//! ways: a matching between slots and places, which is polynomial.

use super::Budget;
use super::placed::Placed;
use super::plan::Plan;
use super::tree::{Place, Tree};

/// Above so many slots a look costs too much.
const SLOTS_MAX: usize = 256;

/// Whether the rest of the slots may still be placed.
pub(super) fn may_fit(
    plan: &Plan<'_>,
    tree: &Tree,
    placed: &Placed,
    rest: &[usize],
    budget: &mut Budget,
) -> bool {
    if rest.len() > SLOTS_MAX {
        return true;
    }
    if plan.isolate {
        let is_free = |place: Place| u64::from(!placed.has_guest(place));
        let suffixed = rest.iter().copied().filter(|slot| plan.slots[*slot].suffixed);
        if !Matching::of(tree, suffixed.collect(), is_free).complete(budget) {
            return false;
        }
    }
    let mut classes = if plan.sums { 0..plan.contested.len() } else { 0..0 };
    classes.all(|class| class_may_fit(plan, tree, placed, rest, class, budget))
}

fn class_may_fit(
    plan: &Plan<'_>,
    tree: &Tree,
    placed: &Placed,
    rest: &[usize],
    class: usize,
    budget: &mut Budget,
) -> bool {
    let ask_of =
        |slot: usize| plan.slots[slot].asks.iter().find(|ask| ask.contested == Some(class));
    let asking: Vec<(usize, u64)> =
        rest.iter().filter_map(|slot| Some((*slot, ask_of(*slot)?.amount))).collect();
    let column = plan.capacity.column(plan.contested[class]);
    let left = |place: Place| {
        let room = column.map_or_else(Default::default, |column| column.room(tree.ix(place)));
        let most = room.room.clamp(0, i64::from(room.max_unit)) as u64;
        most.saturating_sub(placed.taken(place, class))
    };

    let mut places: Vec<Place> =
        asking.iter().flat_map(|(slot, _)| tree.options(*slot)).copied().collect();
    budget.spend(places.len());
    places.sort_unstable();
    places.dedup();
    let room: u64 = places.iter().map(|place| left(*place)).fold(0, u64::saturating_add);
    let asked = asking.iter().map(|(_, amount)| *amount).fold(0, u64::saturating_add);
    if asked > room {
        return false;
    }

    // Whoever asks for at least this much needs at least this much, each.
    let mut portions: Vec<u64> = asking.iter().map(|(_, amount)| *amount).collect();
    portions.sort_unstable();
    portions.dedup();
    portions.into_iter().filter(|portion| *portion > 0).all(|portion| {
        let slots = asking.iter().filter(|(_, amount)| *amount >= portion);
        let slots = slots.map(|(slot, _)| *slot).collect();
        Matching::of(tree, slots, |place| left(place) / portion).complete(budget)
    })
}

/// Slots, each at one of its places, no more at a place than it can hold.
struct Matching<'t, F> {
    tree: &'t Tree,
    slots: Vec<usize>,
    holds: F,
    /// For each of `slots`.
    at: Vec<Option<Place>>,
    /// By place: how many are there.
    load: Vec<u64>,
    /// By place: for which of `slots` it was looked at last.
    seen: Vec<usize>,
}

impl<'t, F: Fn(Place) -> u64> Matching<'t, F> {
    fn of(tree: &'t Tree, slots: Vec<usize>, holds: F) -> Matching<'t, F> {
        let (at, load) = (vec![None; slots.len()], vec![0; tree.places.len()]);
        let seen = vec![usize::MAX; tree.places.len()];
        Matching { tree, slots, holds, at, load, seen }
    }

    fn complete(mut self, budget: &mut Budget) -> bool {
        budget.spend(self.load.len() / 8);
        (0..self.slots.len()).all(|which| self.find_place(which, which, budget))
    }

    /// Finds a place, moving others if need be.
    fn find_place(&mut self, which: usize, round: usize, budget: &mut Budget) -> bool {
        let options = self.tree.options(self.slots[which]);
        budget.spend(1 + options.len() / 4);
        let free = options.iter().find(|at| self.load[**at as usize] < (self.holds)(**at));
        if let Some(&place) = free {
            self.at[which] = Some(place);
            self.load[place as usize] += 1;
            return true;
        }
        for &place in options {
            if std::mem::replace(&mut self.seen[place as usize], round) == round {
                continue;
            }
            for other in 0..self.slots.len() {
                if self.at[other] == Some(place) && self.find_place(other, round, budget) {
                    // The other has gone elsewhere, and its place is this one's.
                    self.at[which] = Some(place);
                    return true;
                }
            }
        }
        false
    }
}
