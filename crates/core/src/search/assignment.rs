//! A partial assignment: which member of a tree serves which slot, and how much that takes.

use super::plan::SearchPlan;
use super::tree::MemberIx;

const NO_PROVIDERS: MemberIx = MemberIx::MAX;

#[derive(Debug)]
pub(super) struct Assignment {
    at: Vec<MemberIx>,
    /// By member: how many suffixed slots it serves. Empty unless groups are isolated.
    suffixed: Vec<u32>,
    /// By member, then by contested class: the amount taken.
    taken: Vec<u64>,
    classes: usize,
}

impl Assignment {
    pub fn empty(plan: &SearchPlan<'_>, members: usize) -> Assignment {
        let classes = plan.contested.len();
        Assignment {
            at: vec![NO_PROVIDERS; plan.slots.len()],
            suffixed: vec![0; if plan.isolate { members } else { 0 }],
            taken: vec![0; members * classes],
            classes,
        }
    }

    pub fn get(&self, slot: usize) -> Option<MemberIx> {
        Some(self.at[slot]).filter(|member| *member != NO_PROVIDERS)
    }

    /// Whether the member serves a suffixed slot. Always `false` unless groups are isolated.
    pub fn has_suffixed(&self, member: MemberIx) -> bool {
        self.suffixed.get(member as usize).is_some_and(|suffixed| *suffixed > 0)
    }

    /// The amount taken from a member; `class` is an index into [`SearchPlan::contested`].
    pub fn taken(&self, member: MemberIx, class: usize) -> u64 {
        self.taken[member as usize * self.classes + class]
    }

    pub fn assign(&mut self, plan: &SearchPlan<'_>, slot: usize, member: MemberIx) {
        self.at[slot] = member;
        if let Some(suffixed) = self.suffixed.get_mut(member as usize) {
            *suffixed += u32::from(plan.slots[slot].suffixed);
        }
        for demand in &plan.slots[slot].demands {
            if let Some(class) = demand.contested {
                let taken = &mut self.taken[member as usize * self.classes + class];
                *taken = taken.saturating_add(demand.amount);
            }
        }
    }

    pub fn unassign(&mut self, plan: &SearchPlan<'_>, slot: usize) {
        let Some(member) = self.get(slot) else { return };
        self.at[slot] = NO_PROVIDERS;
        if let Some(suffixed) = self.suffixed.get_mut(member as usize) {
            *suffixed -= u32::from(plan.slots[slot].suffixed);
        }
        for demand in &plan.slots[slot].demands {
            if let Some(class) = demand.contested {
                let taken = &mut self.taken[member as usize * self.classes + class];
                *taken = taken.saturating_sub(demand.amount);
            }
        }
    }
}
