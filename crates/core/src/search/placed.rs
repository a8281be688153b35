//! Who serves which slot of a tree so far, and what that takes of whom.

use super::plan::Plan;
use super::tree::Place;

const NOBODY: Place = Place::MAX;

#[derive(Debug)]
pub(super) struct Placed {
    /// By slot.
    at: Vec<Place>,
    /// By place: how many slots with a suffix are there. Only kept if they must be apart.
    guests: Vec<u32>,
    /// By place, and there by contested class: how much is taken.
    taken: Vec<u64>,
    classes: usize,
}

impl Placed {
    pub fn nothing(plan: &Plan<'_>, places: usize) -> Placed {
        let classes = plan.contested.len();
        Placed {
            at: vec![NOBODY; plan.slots.len()],
            guests: vec![0; if plan.isolate { places } else { 0 }],
            taken: vec![0; places * classes],
            classes,
        }
    }

    pub fn get(&self, slot: usize) -> Option<Place> {
        Some(self.at[slot]).filter(|place| *place != NOBODY)
    }

    /// Whether a slot with a suffix is there, if those must be apart.
    pub fn has_guest(&self, place: Place) -> bool {
        self.guests.get(place as usize).is_some_and(|guests| *guests > 0)
    }

    /// How much of a class, by its place among the contested ones, is taken of one place.
    pub fn taken(&self, place: Place, class: usize) -> u64 {
        self.taken[place as usize * self.classes + class]
    }

    pub fn put(&mut self, plan: &Plan<'_>, slot: usize, place: Place) {
        self.at[slot] = place;
        if let Some(guests) = self.guests.get_mut(place as usize) {
            *guests += u32::from(plan.slots[slot].suffixed);
        }
        for ask in &plan.slots[slot].asks {
            if let Some(class) = ask.contested {
                let taken = &mut self.taken[place as usize * self.classes + class];
                *taken = taken.saturating_add(ask.amount);
            }
        }
    }

    pub fn take_back(&mut self, plan: &Plan<'_>, slot: usize) {
        let Some(place) = self.get(slot) else { return };
        self.at[slot] = NOBODY;
        if let Some(guests) = self.guests.get_mut(place as usize) {
            *guests -= u32::from(plan.slots[slot].suffixed);
        }
        for ask in &plan.slots[slot].asks {
            if let Some(class) = ask.contested {
                let taken = &mut self.taken[place as usize * self.classes + class];
                *taken = taken.saturating_sub(ask.amount);
            }
        }
    }
}
