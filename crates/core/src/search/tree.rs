//! A tree under search: its providers, the sharing providers that serve it, and which of them can serve which slot.

use super::plan::SearchPlan;
use crate::state::capacity::provider::{AggregateIx, ProviderIx};

/// Index of a provider among the members of a search tree. The descendants of a member directly follow it.
pub(super) type MemberIx = u32;

#[derive(Debug, Clone)]
pub(super) struct Tree {
    pub anchor: ProviderIx,
    pub members: Vec<TreeMember>,
    /// The number of members that belong to the tree; the others are sharing providers.
    pub own: usize,
    /// The members that can serve each slot, slot after slot, in ascending order.
    options: Vec<MemberIx>,
    /// By slot: the end of its options.
    ends: Vec<usize>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct TreeMember {
    pub ix: ProviderIx,
    pub root: ProviderIx,
    pub parent: Option<MemberIx>,
    /// The index after its last descendant.
    pub end: MemberIx,
}

impl Tree {
    /// The tree of this root, or `None` if no member can serve some slot. Adds the number of members checked to `work`.
    pub fn new(plan: &SearchPlan<'_>, anchor: ProviderIx, work: &mut usize) -> Option<Tree> {
        let (mut tree, foreign) = Tree::empty(plan, anchor, work);
        let is_served = (0..plan.slots.len()).all(|slot| tree.fill(plan, slot, &foreign, work));
        is_served.then_some(tree)
    }

    /// The tree of this root, even if it cannot serve some slots.
    pub fn survey(plan: &SearchPlan<'_>, anchor: ProviderIx, work: &mut usize) -> Tree {
        let (mut tree, foreign) = Tree::empty(plan, anchor, work);
        for slot in 0..plan.slots.len() {
            tree.fill(plan, slot, &foreign, work);
        }
        tree
    }

    fn empty(plan: &SearchPlan<'_>, anchor: ProviderIx, work: &mut usize) -> (Tree, Vec<usize>) {
        let mut tree =
            Tree { anchor, members: Vec::new(), own: 0, options: Vec::new(), ends: Vec::new() };
        tree.add_own(plan);
        let foreign = tree.foreign(plan);
        tree.add_foreign(plan, &foreign);
        *work += tree.members.len();
        (tree, foreign)
    }

    /// Finds the members that can serve the next slot, and returns whether there are any.
    fn fill(
        &mut self,
        plan: &SearchPlan<'_>,
        at: usize,
        foreign: &[usize],
        work: &mut usize,
    ) -> bool {
        let (slot, anchor, start) = (&plan.slots[at], self.anchor, self.options.len());
        let unsuffixed = plan.unsuffixed.as_ref().filter(|_| !slot.suffixed);
        *work += self.members.len() * slot.weight();
        if unsuffixed.is_some_and(|unsuffixed| !unsuffixed.anchor.contains(anchor)) {
            self.ends.push(start);
            return false;
        }
        if slot.tree.is_none_or(|tree| tree == anchor) {
            // If the anchor is in the aggregates, its whole tree counts as a member.
            let member_of = unsuffixed.and_then(|unsuffixed| unsuffixed.member_of.as_ref());
            let member_of = member_of.filter(|sets| !sets.contains(anchor));
            for member in 0..self.own {
                let ix = self.members[member].ix;
                if slot.admits(ix) && member_of.is_none_or(|sets| sets.contains(ix)) {
                    self.options.push(member as MemberIx);
                }
            }
        }
        for (member, sharing) in (self.own..).zip(foreign) {
            if plan.sharing[*sharing].slots.contains(&at) {
                self.options.push(member as MemberIx);
            }
        }
        self.ends.push(self.options.len());
        self.options.len() > start
    }

    pub fn options(&self, slot: usize) -> &[MemberIx] {
        let start = slot.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.options[start..self.ends[slot]]
    }

    /// The sharing providers, if no provider of the tree itself can serve a slot.
    pub fn only_foreign(&self) -> Option<Vec<ProviderIx>> {
        let is_own = |member: &MemberIx| (*member as usize) < self.own;
        let foreign = || self.members[self.own..].iter().map(|member| member.ix).collect();
        (!self.options.iter().any(is_own)).then(foreign)
    }

    /// Approximate size in memory, in entries.
    pub fn size(&self) -> usize {
        self.options.len() + self.members.len()
    }

    pub fn ix(&self, member: MemberIx) -> ProviderIx {
        self.members[member as usize].ix
    }

    /// Whether the first is the second or an ancestor of it.
    pub fn is_above(&self, above: MemberIx, below: MemberIx) -> bool {
        above <= below && below < self.members[above as usize].end
    }

    fn add_own(&mut self, plan: &SearchPlan<'_>) {
        let mut next: Vec<(ProviderIx, Option<MemberIx>)> = vec![(self.anchor, None)];
        while let Some((ix, parent)) = next.pop() {
            let Some(provider) = plan.capacity.at(ix) else { continue };
            let member = self.members.len() as MemberIx;
            self.members.push(TreeMember { ix, root: self.anchor, parent, end: member + 1 });
            next.extend(provider.children.iter().rev().map(|child| (*child, Some(member))));
        }
        self.own = self.members.len();
        self.close(0);
    }

    /// Extends each parent's range to the end of its last descendant.
    fn close(&mut self, from: usize) {
        for member in (from..self.members.len()).rev() {
            let TreeMember { parent, end, .. } = self.members[member];
            if let Some(parent) = parent {
                let above = &mut self.members[parent as usize];
                above.end = above.end.max(end);
            }
        }
    }

    /// The sharing providers of other trees that serve this one, as indexes into the plan.
    fn foreign(&self, plan: &SearchPlan<'_>) -> Vec<usize> {
        if plan.shared_in.is_empty() {
            return Vec::new();
        }
        let mut aggregates: Vec<AggregateIx> = Vec::new();
        for member in &self.members {
            let provider = plan.capacity.at(member.ix);
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

    fn add_foreign(&mut self, plan: &SearchPlan<'_>, foreign: &[usize]) {
        for sharing in foreign {
            let sharing = &plan.sharing[*sharing];
            let member = self.members.len() as MemberIx;
            // Depth-first order: the parent, if present, is the previous member or one of its ancestors.
            let before = (member as usize > self.own).then(|| member - 1);
            let above = |other: &MemberIx| self.members[*other as usize].parent;
            let mut line = std::iter::successors(before, above);
            let parent = line.find(|other| sharing.path.contains(&self.ix(*other)));
            self.members.push(TreeMember {
                ix: sharing.ix,
                root: sharing.root(),
                parent,
                end: member + 1,
            });
        }
        self.close(self.own);
    }
}
