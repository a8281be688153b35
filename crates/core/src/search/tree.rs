//! One tree under search: its providers, those of other trees that serve it, and who of them could serve which slot.

use super::plan::Plan;
use crate::state::capacity::provider::{AggregateIx, ProviderIx};

/// Where a provider stands among those that a tree can use. All that stand below one follow it directly.
pub(super) type Place = u32;

#[derive(Debug, Clone)]
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
        let (mut tree, foreign) = Tree::empty(plan, anchor, work);
        let is_served = (0..plan.slots.len()).all(|slot| tree.fill(plan, slot, &foreign, work));
        is_served.then_some(tree)
    }

    /// The tree of this root, also if it cannot serve some slots.
    pub fn survey(plan: &Plan<'_>, anchor: ProviderIx, work: &mut usize) -> Tree {
        let (mut tree, foreign) = Tree::empty(plan, anchor, work);
        for slot in 0..plan.slots.len() {
            tree.fill(plan, slot, &foreign, work);
        }
        tree
    }

    fn empty(plan: &Plan<'_>, anchor: ProviderIx, work: &mut usize) -> (Tree, Vec<usize>) {
        let mut tree =
            Tree { anchor, places: Vec::new(), own: 0, options: Vec::new(), ends: Vec::new() };
        tree.add_own(plan);
        let foreign = tree.foreign(plan);
        tree.add_foreign(plan, &foreign);
        *work += tree.places.len();
        (tree, foreign)
    }

    /// Finds who could serve the next slot, and says whether there is anybody.
    fn fill(&mut self, plan: &Plan<'_>, at: usize, foreign: &[usize], work: &mut usize) -> bool {
        let (slot, anchor, start) = (&plan.slots[at], self.anchor, self.options.len());
        let loose = plan.loose.as_ref().filter(|_| !slot.suffixed);
        *work += self.places.len();
        if loose.is_some_and(|loose| !loose.anchor.contains(anchor)) {
            self.ends.push(start);
            return false;
        }
        if slot.tree.is_none_or(|tree| tree == anchor) {
            // An anchor that is in the aggregates is so for its whole tree.
            let member_of = loose.and_then(|loose| loose.member_of.as_ref());
            let member_of = member_of.filter(|sets| !sets.contains(anchor));
            for place in 0..self.own {
                let ix = self.places[place].ix;
                if slot.admits(ix) && member_of.is_none_or(|sets| sets.contains(ix)) {
                    self.options.push(place as Place);
                }
            }
        }
        for (place, sharing) in (self.own..).zip(foreign) {
            if plan.sharing[*sharing].slots.contains(&at) {
                self.options.push(place as Place);
            }
        }
        self.ends.push(self.options.len());
        self.options.len() > start
    }

    pub fn options(&self, slot: usize) -> &[Place] {
        let start = slot.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.options[start..self.ends[slot]]
    }

    /// If nobody of the tree itself could serve anything: those of other trees who could, by which all is said.
    pub fn only_foreign(&self) -> Option<Vec<ProviderIx>> {
        let is_own = |place: &Place| (*place as usize) < self.own;
        let foreign = || self.places[self.own..].iter().map(|standing| standing.ix).collect();
        (!self.options.iter().any(is_own)).then(foreign)
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
            // They come in an order in which whoever stands above is the one before, or above that.
            let before = (place as usize > self.own).then(|| place - 1);
            let above = |other: &Place| self.places[*other as usize].parent;
            let mut line = std::iter::successors(before, above);
            let parent = line.find(|other| sharing.path.contains(&self.ix(*other)));
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
