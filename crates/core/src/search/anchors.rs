//! Enumerates the trees that may have candidates, each once.
//!
//! The slot that the fewest providers can serve leads. Only trees that contain such a provider, or that such a sharing
//! provider serves, can have a candidate. Nothing is collected up front: trees are found while walking the bitmaps.

use super::Budget;
use super::filter::{BitFilter, BitWalk};
use super::plan::SearchPlan;
use crate::state::capacity::provider::ProviderIx;

pub(super) struct Anchors<'p, 'a> {
    plan: &'p SearchPlan<'a>,
    lead: usize,
    /// The tree that the leading slot requires (`in_tree`), until it has been returned.
    named: Option<ProviderIx>,
    own: BitWalk,
    seed: Option<u64>,
    /// Members of the aggregates of sharing providers that can serve the leading slot.
    shared: Vec<BitFilter<'a>>,
    sharing: Option<BitWalk>,
    /// By root: whether it has been returned.
    seen: Vec<u64>,
}

impl<'p, 'a> Anchors<'p, 'a> {
    pub fn new(plan: &'p SearchPlan<'a>, seed: Option<u64>) -> Anchors<'p, 'a> {
        let slots = plan.slots.iter().enumerate();
        // A slot with `in_tree` has one tree, which is the minimum.
        let few = |slot: &super::plan::PlanSlot<'_>| {
            if slot.tree.is_some() { 0 } else { slot.filter.at_most() }
        };
        let lead = slots.min_by_key(|(_, slot)| few(slot)).map_or(0, |(at, _)| at);
        let named = plan.slots.get(lead).and_then(|slot| slot.tree);
        let words = match plan.slots.get(lead) {
            Some(slot) if named.is_none() => slot.filter.words(),
            _ => 0,
        };
        let mut aggregates: Vec<_> = plan
            .shared_in
            .iter()
            .filter(|(_, at)| plan.sharing[*at].slots.contains(&lead))
            .map(|(aggregate, _)| *aggregate)
            .collect();
        aggregates.dedup();
        let shared = aggregates.into_iter().rev();
        let shared =
            shared.map(|aggregate| BitFilter::default().only(plan.capacity.members_at(aggregate)));
        Anchors {
            plan,
            lead,
            named,
            own: BitWalk::new(words, seed),
            seed,
            shared: shared.collect(),
            sharing: None,
            seen: vec![0; plan.capacity.roots.words()],
        }
    }

    pub fn next(&mut self, budget: &mut Budget) -> Option<ProviderIx> {
        let lead = &self.plan.slots[self.lead];
        let weight = lead.weight();
        if let Some(root) = self.named.take()
            && self.first_time(root)
        {
            return Some(root);
        }
        let mut words = 0;
        while let Some(ix) = self.own.next(&lead.filter, &mut words) {
            budget.spend((words + 1) * weight);
            words = 0;
            if budget.is_spent() {
                return None;
            }
            if lead.fits(ix) && self.first_time(self.root_of(ix)) {
                return Some(self.root_of(ix));
            }
        }
        budget.spend(words * weight);
        while let Some(members) = self.shared.last() {
            let walk = self.sharing.get_or_insert_with(|| BitWalk::new(members.words(), self.seed));
            let mut words = 0;
            let Some(ix) = walk.next(members, &mut words) else {
                self.sharing = None;
                self.shared.pop();
                continue;
            };
            budget.spend(words + 1);
            if budget.is_spent() {
                return None;
            }
            let root = self.root_of(ix);
            if self.first_time(root) {
                return Some(root);
            }
        }
        None
    }

    fn root_of(&self, ix: ProviderIx) -> ProviderIx {
        self.plan.capacity.at(ix).map_or(ix, |provider| provider.root)
    }

    /// Whether the tree is allowed and has not been returned yet.
    fn first_time(&mut self, root: ProviderIx) -> bool {
        let Some(word) = self.seen.get_mut(root as usize / 64) else { return false };
        let bit = 1 << (root % 64);
        let first = *word & bit == 0 && self.plan.roots.contains(root);
        *word |= bit;
        first
    }
}
