//! One tree under search: its providers, those of other trees that serve it, and who of them could serve which slot.

use super::plan::Plan;
use crate::state::capacity::provider::{AggregateIx, ProviderIx};

/// Where a provider stands among those that a tree can use. All that stand below one follow it directly.
pub(super) type Place = u32;

#[derive(Debug)]
pub(super) struct Tree {
    pub anchor: ProviderIx,
    pub places: Vec<Standing>,
    /// How many of the places are the tree itself; the others are providers that serve it from outside.
    pub own: usize,
    /// Who could serve each slot, one after the other; for each slot in order of their places.
    options: Vec<Place>,
    /// Where the options of each slot end.
    ends: Vec<usize>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Standing {
    pub ix: ProviderIx,
    pub root: ProviderIx,
    pub parent: Option<Place>,
    /// The first place after those that stand below.
    pub end: Place,
}

impl Tree {
    /// The tree of this root, if each slot has somebody who could serve it. `work` counts who was looked at.
    pub fn new(plan: &Plan<'_>, anchor: ProviderIx, work: &mut usize) -> Option<Tree> {
        if plan.loose.as_ref().is_some_and(|loose| !loose.anchor.contains(anchor)) {
            return None;
        }
        let mut tree =
            Tree { anchor, places: Vec::new(), own: 0, options: Vec::new(), ends: Vec::new() };
        tree.add_own(plan);
        let foreign = tree.foreign(plan);
        tree.add_foreign(plan, &foreign);
        *work += tree.places.len();
        for (at, slot) in plan.slots.iter().enumerate() {
            let start = tree.options.len();
            *work += tree.places.len();
            if slot.tree.is_none_or(|wanted| wanted == anchor) {
                let anchored = match &plan.loose {
                    Some(loose) if !slot.suffixed => &loose.member_of,
                    _ => &None,
                };
                let anchored = anchored.as_ref().filter(|sets| !sets.contains(anchor));
                for place in 0..tree.own {
                    let ix = tree.places[place].ix;
                    if slot.admits(ix) && anchored.is_none_or(|sets| sets.contains(ix)) {
                        tree.options.push(place as Place);
                    }
                }
            }
            for (place, sharing) in (tree.own..).zip(&foreign) {
                if plan.sharing[*sharing].slots.contains(&at) {
                    tree.options.push(place as Place);
                }
            }
            if tree.options.len() == start {
                return None;
            }
            tree.ends.push(tree.options.len());
        }
        Some(tree)
    }

    pub fn options(&self, slot: usize) -> &[Place] {
        let start = slot.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.options[start..self.ends[slot]]
    }

    /// About how large it is.
    pub fn size(&self) -> usize {
        self.options.len() + self.places.len()
    }

    pub fn ix(&self, place: Place) -> ProviderIx {
        self.places[place as usize].ix
    }

    /// Whether one stands above the other, or is it.
    pub fn is_above(&self, above: Place, below: Place) -> bool {
        above <= below && below < self.places[above as usize].end
    }

    fn add_own(&mut self, plan: &Plan<'_>) {
        let mut next: Vec<(ProviderIx, Option<Place>)> = vec![(self.anchor, None)];
        while let Some((ix, parent)) = next.pop() {
            let Some(provider) = plan.capacity.at(ix) else { continue };
            let place = self.places.len() as Place;
            self.places.push(Standing { ix, root: self.anchor, parent, end: place + 1 });
            next.extend(provider.children.iter().rev().map(|child| (*child, Some(place))));
        }
        self.own = self.places.len();
        self.close(0);
    }

    /// Passes on to each parent where those below it end.
    fn close(&mut self, from: usize) {
        for place in (from..self.places.len()).rev() {
            let Standing { parent, end, .. } = self.places[place];
            if let Some(parent) = parent {
                let above = &mut self.places[parent as usize];
                above.end = above.end.max(end);
            }
        }
    }

    /// Providers of other trees that serve this one, by their place in the plan.
    fn foreign(&self, plan: &Plan<'_>) -> Vec<usize> {
        if plan.shared_in.is_empty() {
            return Vec::new();
        }
        let mut aggregates: Vec<AggregateIx> = Vec::new();
        for standing in &self.places {
            let provider = plan.capacity.at(standing.ix);
            aggregates.extend(provider.into_iter().flat_map(|provider| &provider.aggregates));
        }
        aggregates.sort_unstable();
        aggregates.dedup();
        let mut foreign: Vec<usize> = Vec::new();
        for aggregate in aggregates {
            let first = plan.shared_in.partition_point(|(other, _)| *other < aggregate);
            let same = plan.shared_in[first..].iter().take_while(|(other, _)| *other == aggregate);
            foreign.extend(same.map(|(_, sharing)| *sharing));
        }
        foreign.sort_unstable();
        foreign.dedup();
        foreign.retain(|sharing| plan.sharing[*sharing].root() != self.anchor);
        foreign
    }

    fn add_foreign(&mut self, plan: &Plan<'_>, foreign: &[usize]) {
        for sharing in foreign {
            let sharing = &plan.sharing[*sharing];
            let place = self.places.len() as Place;
            let parent = (self.own as Place..place)
                .rev()
                .find(|other| sharing.path.contains(&self.places[*other as usize].ix));
            self.places.push(Standing {
                ix: sharing.ix,
                root: sharing.root(),
                parent,
                end: place + 1,
            });
        }
        self.close(self.own);
    }
}
