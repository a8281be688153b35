//! Runs a query: collects candidates up to its limit, fairly over the trees.
//!
//! In breadth-first order each tree contributes one candidate, then each contributes one more, and so on, so a short
//! answer shows as many trees as possible. A tree that needs many tries waits while the others have their turn.

use std::collections::VecDeque;

use hashbrown::{HashMap, HashSet};

use super::anchors::Anchors;
use super::assign::{AssignProgress, Assigner};
use super::flat::SoloMatch;
use super::plan::SearchPlan;
use super::tree::Tree;
use super::{Budget, CandidateOrder, CandidateQuery, Candidates, LimitHit, SearchLimits, flat};
use crate::state::capacity::provider::ProviderIx;
use crate::view::capacity::CapacityView;

/// How many unfinished trees are kept in memory, and their maximum total size. For the others only the number of
/// candidates they have contributed is stored; they are searched again from the start.
const TREES_MAX: usize = 1024;
const TREE_SIZES_MAX: usize = 1_000_000;

/// A tree that finds no candidate within this number of tries yields to the next tree.
const TRIES_PER_TURN: usize = 10_000;

/// The approximate size of an entry of an unfinished tree, and of a remembered assignment without its providers.
const TREE_ENTRY_BYTES: u64 = 32;
const ASSIGNMENT_BYTES: u64 = 48;

/// The memory that a search needs beside its result, for so many candidates.
pub(super) fn work_bytes_max(found: u64) -> u64 {
    (TREE_SIZES_MAX as u64 * TREE_ENTRY_BYTES)
        .saturating_add(found.saturating_mul(ASSIGNMENT_BYTES))
}

pub fn candidates(
    view: CapacityView<'_>,
    query: &CandidateQuery,
    limits: &SearchLimits,
) -> Candidates {
    let mut found = Candidates::new(query);
    if query.limit == Some(0) {
        return found;
    }
    let mut budget = Budget::new(limits.steps_max);
    let Some(plan) = SearchPlan::new(view.capacity, query, &mut budget) else { return found };
    if plan.is_flat() {
        flat::run(&plan, query, limits.candidates_max, &mut budget, &mut found);
        found.steps = budget.used;
        return found;
    }
    let mut search = TreeSearch {
        plan: &plan,
        query,
        max: limits.candidates_max,
        found,
        budget,
        unfinished: VecDeque::new(),
        sizes: 0,
        evicted: Vec::new(),
        shared_only: HashSet::new(),
        first_with_sharing: HashMap::new(),
    };
    search.run();
    search.found.steps = search.budget.used;
    search.found
}

struct TreeSearch<'p, 'a> {
    plan: &'p SearchPlan<'a>,
    query: &'p CandidateQuery,
    max: usize,
    found: Candidates,
    budget: Budget,
    /// Trees that may have more candidates.
    unfinished: VecDeque<Assigner>,
    sizes: usize,
    /// Trees that may have more candidates but did not fit in memory, with the number of assignments that they have
    /// produced.
    evicted: Vec<(ProviderIx, usize)>,
    /// Assignments made up of sharing providers only. Several trees may produce the same one.
    shared_only: HashSet<Vec<ProviderIx>>,
    /// The first tree for each set of sharing providers, among trees that only sharing providers serve. A later tree
    /// with the same set has no new candidates.
    first_with_sharing: HashMap<Vec<ProviderIx>, ProviderIx>,
}

/// What one turn of a tree led to.
#[derive(PartialEq)]
enum TreeTurn {
    More {
        produced: usize,
    },
    Done,
    /// The whole search has ended.
    SearchEnded,
}

impl TreeSearch<'_, '_> {
    fn run(&mut self) {
        let mut anchors = Anchors::new(self.plan, self.query.seed);
        let solo = SoloMatch::new(self.plan);
        while let Some(anchor) = anchors.next(&mut self.budget) {
            if self.plan.is_alone(anchor) {
                self.budget.spend(solo.weight());
                if solo.serves(anchor) && self.add_solo(&solo, anchor) == TreeTurn::SearchEnded {
                    return;
                }
                continue;
            }
            if let Some(assigner) = self.start_tree(anchor)
                && self.turn(assigner, anchor) == TreeTurn::SearchEnded
            {
                return;
            }
        }
        loop {
            while let Some(assigner) = self.unfinished.pop_front() {
                self.sizes -= assigner.tree.size();
                let anchor = assigner.tree.anchor;
                if self.turn(assigner, anchor) == TreeTurn::SearchEnded {
                    return;
                }
            }
            if self.evicted.is_empty() {
                break;
            }
            self.resume();
        }
        if self.budget.is_spent() {
            self.found.limit_hit = Some(LimitHit::Steps);
        }
    }

    /// Adds the one possible candidate of a tree with a single provider.
    fn add_solo(&mut self, solo: &SoloMatch<'_, '_>, ix: ProviderIx) -> TreeTurn {
        if self.found.len() == self.max {
            self.found.limit_hit = Some(LimitHit::Candidates);
            return TreeTurn::SearchEnded;
        }
        let written = solo.push(ix, &mut self.found);
        self.budget.spend(written);
        if self.query.limit == Some(self.found.len()) {
            TreeTurn::SearchEnded
        } else {
            TreeTurn::Done
        }
    }

    /// Restarts trees from `evicted`, as many as fit in memory.
    fn resume(&mut self) {
        while let Some(&(anchor, produced)) = self.evicted.last() {
            let Some(mut assigner) = self.start_tree(anchor) else {
                self.evicted.pop();
                continue;
            };
            if !self.has_room(assigner.tree.size()) {
                return;
            }
            for _ in 0..produced {
                assigner.next(self.plan, usize::MAX, &mut self.budget);
            }
            self.keep(assigner);
            self.evicted.pop();
        }
    }

    /// Whether a tree of this size fits in memory. A single tree always does.
    fn has_room(&self, size: usize) -> bool {
        self.unfinished.is_empty()
            || self.unfinished.len() < TREES_MAX && self.sizes + size <= TREE_SIZES_MAX
    }

    fn keep(&mut self, assigner: Assigner) {
        self.sizes += assigner.tree.size();
        self.unfinished.push_back(assigner);
    }

    fn start_tree(&mut self, anchor: ProviderIx) -> Option<Assigner> {
        let mut work = 0;
        let tree = Tree::new(self.plan, anchor, &mut work);
        self.budget.spend(work);
        let tree = tree?;
        if let Some(foreign) = tree.only_foreign()
            && *self.first_with_sharing.entry(foreign).or_insert(anchor) != anchor
        {
            return None;
        }
        let seed = self.query.seed.map(|seed| seed ^ u64::from(anchor) << 32);
        Some(Assigner::new(self.plan, tree, seed, &mut self.budget))
    }

    /// Gives a tree its turn, and keeps it if it may have more.
    fn turn(&mut self, mut assigner: Assigner, anchor: ProviderIx) -> TreeTurn {
        let turn = self.advance(&mut assigner);
        if let TreeTurn::More { produced } = turn {
            if self.has_room(assigner.tree.size()) {
                self.keep(assigner);
            } else {
                self.evicted.push((anchor, produced));
            }
        }
        turn
    }

    fn advance(&mut self, assigner: &mut Assigner) -> TreeTurn {
        let depth_first = self.query.order == CandidateOrder::DepthFirst;
        let tries_max = if depth_first { usize::MAX } else { TRIES_PER_TURN };
        let mut produced = 0;
        loop {
            match assigner.next(self.plan, tries_max, &mut self.budget) {
                AssignProgress::Exhausted => return TreeTurn::Done,
                AssignProgress::Paused if self.budget.is_spent() => {
                    self.found.limit_hit = Some(LimitHit::Steps);
                    return TreeTurn::SearchEnded;
                }
                AssignProgress::Paused => return TreeTurn::More { produced },
                AssignProgress::Assigned => {}
            }
            produced += 1;
            if self.is_duplicate(assigner) {
                continue;
            }
            if self.found.len() == self.max {
                self.found.limit_hit = Some(LimitHit::Candidates);
                return TreeTurn::SearchEnded;
            }
            self.add_candidate(assigner);
            if self.query.limit == Some(self.found.len()) {
                return TreeTurn::SearchEnded;
            }
            if !depth_first {
                return TreeTurn::More { produced };
            }
        }
    }

    /// Whether another tree has produced the same assignment. Only sharing providers serve several trees.
    fn is_duplicate(&mut self, assigner: &Assigner) -> bool {
        let plan = self.plan;
        if plan.sharing.is_empty() {
            return false;
        }
        let members = (0..plan.slots.len()).filter_map(|slot| assigner.assigned.get(slot));
        let mut servers = members.map(|member| assigner.tree.ix(member));
        if !servers.clone().all(|ix| plan.shares.contains(ix)) {
            return false;
        }
        !self.shared_only.insert(servers.by_ref().collect())
    }

    fn add_candidate(&mut self, assigner: &Assigner) {
        let plan = self.plan;
        let server =
            |slot: usize| assigner.assigned.get(slot).map(|member| assigner.tree.ix(member));
        let amounts = plan.slots.iter().enumerate().flat_map(|(at, slot)| {
            let demands = slot.demands.iter();
            demands.filter_map(move |demand| Some((server(at)?, demand.class, demand.amount)))
        });
        let servers_of = |suffixed: bool| {
            let slots = plan.slots.iter().enumerate();
            slots
                .filter(move |(_, slot)| slot.suffixed == suffixed)
                .filter_map(move |(at, _)| server(at))
        };
        let written =
            self.found.push(assigner.tree.anchor, amounts, servers_of(false), servers_of(true));
        self.budget.spend(written);
    }
}
