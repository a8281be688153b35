//! All candidates of a query, as many as are asked for, fair over the trees.
//!
//! One of each tree first, so that a short answer shows as many trees as there are; then one more of each, and so on. A tree
//! that takes long to say anything waits while the others have their turn.

use std::collections::VecDeque;

use hashbrown::{HashMap, HashSet};

use super::anchors::Anchors;
use super::assign::{Assign, Step};
use super::flat::Solo;
use super::plan::Plan;
use super::tree::Tree;
use super::{Budget, Cut, Found, Order, Query, SearchLimits, flat};
use crate::state::capacity::Capacity;
use crate::state::capacity::provider::ProviderIx;

/// How many trees are kept half finished, and how large they may be together. Of more of them it is only remembered that
/// they have had a turn; they are begun anew.
const TREES_MAX: usize = 1024;
const TREE_SIZES_MAX: usize = 1_000_000;

/// After so many tries without a candidate it is the next tree's turn.
const TRIES_PER_TURN: usize = 10_000;

pub fn candidates(capacity: &Capacity, query: &Query, limits: &SearchLimits) -> Found {
    let mut found = Found::new(query);
    if query.limit == Some(0) {
        return found;
    }
    let Some(plan) = Plan::new(capacity, query) else { return found };
    let mut budget = Budget::new(limits.steps_max);
    if plan.is_flat() {
        flat::run(&plan, query, limits.candidates_max, &mut budget, &mut found);
        found.steps = budget.used;
        return found;
    }
    let mut search = Search {
        plan: &plan,
        query,
        max: limits.candidates_max,
        found,
        budget,
        half: VecDeque::new(),
        sizes: 0,
        later: Vec::new(),
        twins: HashSet::new(),
        foreign: HashMap::new(),
    };
    search.run();
    search.found.steps = search.budget.used;
    search.found
}

struct Search<'p, 'a> {
    plan: &'p Plan<'a>,
    query: &'p Query,
    max: usize,
    found: Found,
    budget: Budget,
    /// Trees that have more.
    half: VecDeque<Assign>,
    sizes: usize,
    /// Trees that may have more but were let go after their first turn, and how many ways they showed in it.
    later: Vec<(ProviderIx, usize)>,
    /// Who serves each slot, for candidates that are served by sharing providers alone: another tree may find them again.
    twins: HashSet<Vec<ProviderIx>>,
    /// Trees that are served by others alone, by whom: the next that is served by the same has nothing new.
    foreign: HashMap<Vec<ProviderIx>, ProviderIx>,
}

/// Whether a tree may have more.
#[derive(PartialEq)]
enum Turn {
    More {
        shown: usize,
    },
    Done,
    /// Not only the tree, but the search.
    Over,
}

impl Search<'_, '_> {
    fn run(&mut self) {
        let mut anchors = Anchors::new(self.plan, self.query.seed);
        let solo = Solo::new(self.plan);
        while let Some(anchor) = anchors.next(&mut self.budget) {
            if self.plan.is_alone(anchor) {
                if solo.serves(anchor) && self.show_solo(&solo, anchor) == Turn::Over {
                    return;
                }
                continue;
            }
            if let Some(assign) = self.begin(anchor)
                && self.turn(assign, anchor) == Turn::Over
            {
                return;
            }
        }
        loop {
            while let Some(assign) = self.half.pop_front() {
                self.sizes -= assign.tree.size();
                let anchor = assign.tree.anchor;
                if self.turn(assign, anchor) == Turn::Over {
                    return;
                }
            }
            if self.later.is_empty() {
                break;
            }
            self.resume();
        }
        if self.budget.is_spent() {
            self.found.cut = Some(Cut::Steps);
        }
    }

    /// A tree of one has one way at most.
    fn show_solo(&mut self, solo: &Solo<'_, '_>, ix: ProviderIx) -> Turn {
        if self.found.len() == self.max {
            self.found.cut = Some(Cut::Candidates);
            return Turn::Over;
        }
        let written = solo.push(ix, &mut self.found);
        self.budget.spend(written);
        if self.query.limit == Some(self.found.len()) { Turn::Over } else { Turn::Done }
    }

    /// Takes up as many of the trees that were let go as may be kept.
    fn resume(&mut self) {
        while let Some(&(anchor, shown)) = self.later.last() {
            let Some(mut assign) = self.begin(anchor) else {
                self.later.pop();
                continue;
            };
            if !self.has_room(assign.tree.size()) {
                return;
            }
            for _ in 0..shown {
                assign.next(self.plan, usize::MAX, &mut self.budget);
            }
            self.keep(assign);
            self.later.pop();
        }
    }

    /// Whether a tree of this size may be kept. One always may.
    fn has_room(&self, size: usize) -> bool {
        self.half.is_empty() || self.half.len() < TREES_MAX && self.sizes + size <= TREE_SIZES_MAX
    }

    fn keep(&mut self, assign: Assign) {
        self.sizes += assign.tree.size();
        self.half.push_back(assign);
    }

    fn begin(&mut self, anchor: ProviderIx) -> Option<Assign> {
        let mut work = 0;
        let tree = Tree::new(self.plan, anchor, &mut work);
        self.budget.spend(work);
        let tree = tree?;
        if let Some(foreign) = tree.only_foreign()
            && *self.foreign.entry(foreign).or_insert(anchor) != anchor
        {
            return None;
        }
        let spin = self.query.seed.map(|seed| seed ^ u64::from(anchor) << 32);
        Some(Assign::new(self.plan, tree, spin))
    }

    /// Lets a tree show its next way, or all of them, and keeps it if there may be more.
    fn turn(&mut self, mut assign: Assign, anchor: ProviderIx) -> Turn {
        let turn = self.show(&mut assign);
        if let Turn::More { shown } = turn {
            if self.has_room(assign.tree.size()) {
                self.keep(assign);
            } else {
                self.later.push((anchor, shown));
            }
        }
        turn
    }

    fn show(&mut self, assign: &mut Assign) -> Turn {
        let depth_first = self.query.order == Order::DepthFirst;
        let tries_max = if depth_first { usize::MAX } else { TRIES_PER_TURN };
        let mut shown = 0;
        loop {
            match assign.next(self.plan, tries_max, &mut self.budget) {
                Step::Done => return Turn::Done,
                Step::Tired if self.budget.is_spent() => {
                    self.found.cut = Some(Cut::Steps);
                    return Turn::Over;
                }
                Step::Tired => return Turn::More { shown },
                Step::Found => {}
            }
            shown += 1;
            if self.is_twin(assign) {
                continue;
            }
            if self.found.len() == self.max {
                self.found.cut = Some(Cut::Candidates);
                return Turn::Over;
            }
            self.take(assign);
            if self.query.limit == Some(self.found.len()) {
                return Turn::Over;
            }
            if !depth_first {
                return Turn::More { shown };
            }
        }
    }

    /// Whether another tree has had the same already. Only sharing providers serve more than one tree.
    fn is_twin(&mut self, assign: &Assign) -> bool {
        let plan = self.plan;
        if plan.sharing.is_empty() {
            return false;
        }
        let places = (0..plan.slots.len()).filter_map(|slot| assign.placed.get(slot));
        let mut servers = places.map(|place| assign.tree.ix(place));
        if !servers.clone().all(|ix| plan.shares.contains(ix)) {
            return false;
        }
        !self.twins.insert(servers.by_ref().collect())
    }

    fn take(&mut self, assign: &Assign) {
        let plan = self.plan;
        let server = |slot: usize| assign.placed.get(slot).map(|place| assign.tree.ix(place));
        let amounts = plan.slots.iter().enumerate().flat_map(|(at, slot)| {
            let asks = slot.asks.iter();
            asks.filter_map(move |ask| Some((server(at)?, ask.class, ask.amount)))
        });
        let servers_of = |suffixed: bool| {
            let slots = plan.slots.iter().enumerate();
            slots
                .filter(move |(_, slot)| slot.suffixed == suffixed)
                .filter_map(move |(at, _)| server(at))
        };
        let written =
            self.found.push(assign.tree.anchor, amounts, servers_of(false), servers_of(true));
        self.budget.spend(written);
    }
}
