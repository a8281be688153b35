//! A query prepared for one snapshot: the slots to serve, the providers that can serve them, and the trees worth
//! examining.
//!
//! A query becomes slots. Exactly one provider serves each slot: a suffixed group is one slot, and each class of the
//! unsuffixed group is one. So a candidate is an assignment of one provider to each slot, and a tree never produces the
//! same candidate twice.

use super::filter::BitFilter;
use super::{Budget, CandidateQuery, RequestGroup};
use crate::capacity::standard::SHARES;
use crate::state::capacity::Capacity;
use crate::state::capacity::bits::Bits;
use crate::state::capacity::column::{Availability, ClassColumn};
use crate::state::capacity::names::NameIx;
use crate::state::capacity::provider::{AggregateIx, ProviderIx};

#[derive(Debug)]
pub(super) struct SearchPlan<'a> {
    pub capacity: &'a Capacity,
    pub slots: Vec<PlanSlot<'a>>,
    /// The roots that may anchor a candidate.
    pub roots: BitFilter<'a>,
    pub isolate: bool,
    pub nested: bool,
    /// Whether amounts that several slots take from one provider must fit together. Only an explanation turns this off.
    pub sums: bool,
    /// Classes that several slots need, in ascending order.
    pub contested: Vec<NameIx>,
    /// The `same_subtree` sets, as slots.
    pub subtrees: Vec<Vec<usize>>,
    /// By slot: the sets of `subtrees` that contain it.
    pub subtrees_of: Vec<Vec<usize>>,
    /// The unsuffixed group.
    pub unsuffixed: Option<UnsuffixedGroup<'a>>,
    /// Sharing providers that can serve a slot. Providers of one tree are in depth-first order.
    pub sharing: Vec<SharingProvider>,
    /// All sharing providers.
    pub shares: &'a Bits,
    /// Pairs of an aggregate and an index into `sharing`, sorted.
    pub shared_in: Vec<(AggregateIx, usize)>,
}

/// What one provider has to serve.
#[derive(Debug)]
pub(super) struct PlanSlot<'a> {
    /// Index of the group in the query.
    pub group: usize,
    pub suffixed: bool,
    /// Everything the provider must satisfy, except free amounts and the tree.
    pub filter: BitFilter<'a>,
    pub demands: Vec<Demand<'a>>,
    pub tree: Option<ProviderIx>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Demand<'a> {
    pub class: NameIx,
    pub amount: u64,
    pub column: Option<&'a ClassColumn>,
    /// Index into [`SearchPlan::contested`], if several slots need the class and one provider may have to serve them
    /// all.
    pub contested: Option<usize>,
}

/// Conditions on all slots of the unsuffixed group together.
#[derive(Debug)]
pub(super) struct UnsuffixedGroup<'a> {
    /// Sets of traits. The serving providers must have one of each set between them.
    pub required: Vec<BitFilter<'a>>,
    /// The provider or the anchor must be in these aggregates. For a sharing provider of another tree the anchor does
    /// not count.
    pub member_of: Option<BitFilter<'a>>,
    /// The anchor must not be in the forbidden aggregates either. The filters of the slots check the provider.
    pub anchor: BitFilter<'a>,
}

#[derive(Debug)]
pub(super) struct SharingProvider {
    pub ix: ProviderIx,
    /// The provider and its ancestors, from the root down.
    pub path: Vec<ProviderIx>,
    pub slots: Vec<usize>,
}

impl SharingProvider {
    pub fn root(&self) -> ProviderIx {
        self.path.first().copied().unwrap_or(self.ix)
    }
}

impl<'a> Demand<'a> {
    pub fn availability(&self, ix: ProviderIx) -> Availability {
        self.column.map_or_else(Availability::default, |column| column.availability(ix))
    }
}

impl PlanSlot<'_> {
    /// In steps: what it costs to look at one provider.
    pub fn weight(&self) -> usize {
        self.filter.weight() + self.demands.len() / 8
    }

    /// Whether a provider can serve this slot alone. Does not check its tree.
    pub fn admits(&self, ix: ProviderIx) -> bool {
        self.filter.contains(ix) && self.fits(ix)
    }

    pub fn fits(&self, ix: ProviderIx) -> bool {
        self.demands.iter().all(|demand| demand.availability(ix).fits(demand.amount))
    }
}

impl<'a> SearchPlan<'a> {
    /// Returns `None` if nothing can match.
    pub fn new(
        capacity: &'a Capacity,
        query: &CandidateQuery,
        budget: &mut Budget,
    ) -> Option<SearchPlan<'a>> {
        let mut slots = Vec::new();
        let mut unsuffixed = None;
        for (at, group) in query.groups.iter().enumerate() {
            let tree = match group.in_tree {
                Some(uuid) => Some(capacity.provider(uuid)?.root),
                None => None,
            };
            if group.suffix.is_empty() {
                slots.extend(unsuffixed_slots(capacity, at, group, tree));
                unsuffixed = Some(UnsuffixedGroup::new(capacity, group));
                if group.resources.is_empty() {
                    return None;
                }
            } else {
                slots.push(suffixed_slot(capacity, at, group, tree)?);
            }
        }
        if slots.is_empty() {
            return None;
        }
        let contested = contest(&mut slots);
        let subtrees = query.same_subtree.iter().map(|groups| {
            let named = |slot: &usize| groups.contains(&slots[*slot].group);
            (0..slots.len()).filter(named).collect::<Vec<usize>>()
        });
        let subtrees: Vec<Vec<usize>> = subtrees.filter(|slots| slots.len() > 1).collect();
        let mut subtrees_of = vec![Vec::new(); slots.len()];
        for (at, set) in subtrees.iter().enumerate() {
            set.iter().for_each(|slot: &usize| subtrees_of[*slot].push(at));
        }
        let mut plan = SearchPlan {
            capacity,
            roots: BitFilter::default().only(&capacity.roots).with_traits(capacity, &query.root),
            isolate: query.isolate,
            nested: query.nested,
            sums: true,
            contested,
            subtrees,
            subtrees_of,
            unsuffixed,
            sharing: Vec::new(),
            shares: capacity.with_trait(capacity.traits.find(SHARES).unwrap_or(NameIx::MAX)),
            shared_in: Vec::new(),
            slots,
        };
        plan.find_sharing(budget);
        Some(plan)
    }

    /// Whether every provider is a tree of its own and no sharing provider can serve a slot.
    pub fn is_flat(&self) -> bool {
        !self.capacity.is_nested() && self.sharing.is_empty()
    }

    /// Whether the root is the only provider of its tree and shares no aggregate with a sharing provider.
    pub fn is_alone(&self, root: ProviderIx) -> bool {
        let is_shared = |aggregate: &AggregateIx| {
            let at = self.shared_in.partition_point(|(other, _)| other < aggregate);
            self.shared_in.get(at).is_some_and(|(other, _)| other == aggregate)
        };
        self.capacity.at(root).is_some_and(|provider| {
            provider.children.is_empty()
                && (self.shared_in.is_empty() || !provider.aggregates.iter().any(is_shared))
        })
    }

    /// Finds the sharing providers. A sharing provider serves every tree that has a member in one of its aggregates.
    fn find_sharing(&mut self, budget: &mut Budget) {
        let above = |ix: &ProviderIx| self.capacity.at(*ix).and_then(|provider| provider.parent);
        let weight: usize = self.slots.iter().map(PlanSlot::weight).sum();
        for ix in self.shares.iter() {
            budget.spend(weight);
            if budget.is_spent() {
                break;
            }
            let slots: Vec<usize> =
                (0..self.slots.len()).filter(|slot| self.shares(ix, &self.slots[*slot])).collect();
            if !slots.is_empty() {
                let mut path: Vec<ProviderIx> = std::iter::successors(Some(ix), above).collect();
                path.reverse();
                self.sharing.push(SharingProvider { ix, path, slots });
            }
        }
        self.sharing.sort_unstable_by(|one, other| one.path.cmp(&other.path));
        for (at, sharing) in self.sharing.iter().enumerate() {
            let provider = self.capacity.at(sharing.ix).into_iter();
            let aggregates = provider.flat_map(|provider| &provider.aggregates);
            self.shared_in.extend(aggregates.map(|aggregate| (*aggregate, at)));
        }
        self.shared_in.sort_unstable();
    }

    /// Whether a provider can serve a slot for trees other than its own.
    fn shares(&self, ix: ProviderIx, slot: &PlanSlot<'_>) -> bool {
        let placed = match (slot.suffixed, slot.tree, &self.unsuffixed) {
            (false, Some(_), _) => false,
            (false, None, Some(UnsuffixedGroup { member_of: Some(sets), .. })) => sets.contains(ix),
            (true, Some(tree), _) => {
                self.capacity.at(ix).is_some_and(|provider| provider.root == tree)
            }
            _ => true,
        };
        placed && slot.admits(ix)
    }
}

fn suffixed_slot<'a>(
    capacity: &'a Capacity,
    at: usize,
    group: &RequestGroup,
    tree: Option<ProviderIx>,
) -> Option<PlanSlot<'a>> {
    let demands = demands(capacity, &group.resources);
    let mut filter = BitFilter::default();
    for demand in &demands {
        filter = filter.having(capacity, demand.class);
    }
    filter = filter
        .with_traits(capacity, &group.traits)
        .member_of(capacity, &group.member_of)
        .not_member_of(capacity, &group.not_member_of);
    // A group without resources must require a trait or an aggregate. Forbidden traits and aggregates alone match
    // nothing, and `in_tree` is ignored, as in Placement.
    if filter.is_open() {
        return None;
    }
    let tree = tree.filter(|_| !demands.is_empty());
    Some(PlanSlot { group: at, suffixed: true, filter, demands, tree })
}

fn unsuffixed_slots<'a>(
    capacity: &'a Capacity,
    at: usize,
    group: &RequestGroup,
    tree: Option<ProviderIx>,
) -> impl Iterator<Item = PlanSlot<'a>> {
    let demands = demands(capacity, &group.resources).into_iter();
    demands.map(move |demand| PlanSlot {
        group: at,
        suffixed: false,
        filter: BitFilter::default()
            .having(capacity, demand.class)
            .forbidding(capacity, &group.traits.forbidden)
            .not_member_of(capacity, &group.not_member_of),
        demands: vec![demand],
        tree,
    })
}

impl<'a> UnsuffixedGroup<'a> {
    fn new(capacity: &'a Capacity, group: &RequestGroup) -> UnsuffixedGroup<'a> {
        let sets = group.traits.required.iter();
        let member_of = BitFilter::default().member_of(capacity, &group.member_of);
        UnsuffixedGroup {
            required: sets
                .map(|set| BitFilter::default().requiring(capacity, std::slice::from_ref(set)))
                .collect(),
            member_of: (!group.member_of.is_empty()).then_some(member_of),
            anchor: BitFilter::default().not_member_of(capacity, &group.not_member_of),
        }
    }
}

fn demands<'a>(capacity: &'a Capacity, resources: &[(NameIx, u64)]) -> Vec<Demand<'a>> {
    let mut demands: Vec<Demand<'a>> = Vec::new();
    for &(class, amount) in resources {
        match demands.iter_mut().find(|demand| demand.class == class) {
            Some(demand) => demand.amount = demand.amount.saturating_add(amount),
            None => {
                let column = capacity.column(class);
                demands.push(Demand { class, amount, column, contested: None });
            }
        }
    }
    demands
}

/// Finds the classes that several slots need.
fn contest(slots: &mut [PlanSlot<'_>]) -> Vec<NameIx> {
    let demands = slots.iter().flat_map(|slot| &slot.demands);
    let mut classes: Vec<NameIx> = demands.map(|demand| demand.class).collect();
    classes.sort_unstable();
    let mut contested: Vec<NameIx> =
        classes.windows(2).filter(|two| two[0] == two[1]).map(|two| two[0]).collect();
    contested.dedup();
    for demand in slots.iter_mut().flat_map(|slot| &mut slot.demands) {
        demand.contested = contested.binary_search(&demand.class).ok();
    }
    contested
}
