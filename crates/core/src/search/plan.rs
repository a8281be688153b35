//! A query made ready for one state: what has to be served, by whom it could be, and which trees are worth a look.
//!
//! A query becomes slots. Each slot is served by exactly one provider: a group with a suffix is one slot, and of the group
//! without one each class is. So a candidate is nothing but one provider for each slot, and two candidates of one tree are
//! never the same.

use super::filter::Filter;
use super::{Group, Query};
use crate::capacity::standard::SHARES;
use crate::state::capacity::Capacity;
use crate::state::capacity::bits::Bits;
use crate::state::capacity::column::{Column, Room};
use crate::state::capacity::names::NameIx;
use crate::state::capacity::provider::{AggregateIx, ProviderIx};

#[derive(Debug)]
pub(super) struct Plan<'a> {
    pub capacity: &'a Capacity,
    pub slots: Vec<Slot<'a>>,
    /// Which roots may anchor a candidate.
    pub roots: Filter<'a>,
    pub isolate: bool,
    pub nested: bool,
    /// Whether what several slots take of one provider must fit together. Only an explanation looks away from it.
    pub sums: bool,
    /// Classes that several slots ask for, in order.
    pub contested: Vec<NameIx>,
    /// Slots of whose providers one must stand above all others, or be it.
    pub subtrees: Vec<Vec<usize>>,
    /// The group without a suffix, if there is one.
    pub loose: Option<Loose<'a>>,
    /// Providers that serve other trees too and could serve a slot. Of one tree so that a parent comes before its children,
    /// and what is below one follows it.
    pub sharing: Vec<Sharing>,
    /// Everybody who serves other trees.
    pub shares: &'a Bits,
    /// For each aggregate of those, which of them: in order.
    pub shared_in: Vec<(AggregateIx, usize)>,
}

/// What one provider has to give.
#[derive(Debug)]
pub(super) struct Slot<'a> {
    /// By its place in the query.
    pub group: usize,
    pub suffixed: bool,
    /// What must hold of the provider, room and tree aside.
    pub filter: Filter<'a>,
    pub asks: Vec<Ask<'a>>,
    pub tree: Option<ProviderIx>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Ask<'a> {
    pub class: NameIx,
    pub amount: u64,
    pub column: Option<&'a Column>,
    /// If another slot asks for the same class, so that one provider may have to serve both: its place among such classes.
    pub contested: Option<usize>,
}

/// What concerns the slots of the group without a suffix together.
#[derive(Debug)]
pub(super) struct Loose<'a> {
    /// Sets of traits. The providers together must have one of each.
    pub required: Vec<Filter<'a>>,
    /// The provider or the anchor must be in these aggregates. A provider of another tree must be so itself.
    pub member_of: Option<Filter<'a>>,
    /// Neither the provider nor the anchor may be in one of the aggregates: the slots have it for the provider, this is for
    /// the anchor.
    pub anchor: Filter<'a>,
}

#[derive(Debug)]
pub(super) struct Sharing {
    pub ix: ProviderIx,
    /// It and all above it, from the root down.
    pub path: Vec<ProviderIx>,
    pub slots: Vec<usize>,
}

impl Sharing {
    pub fn root(&self) -> ProviderIx {
        self.path.first().copied().unwrap_or(self.ix)
    }
}

impl<'a> Ask<'a> {
    pub fn room(&self, ix: ProviderIx) -> Room {
        self.column.map_or_else(Room::default, |column| column.room(ix))
    }
}

impl Slot<'_> {
    /// Whether a provider could serve this and nothing else. Whose tree it is in is looked at elsewhere.
    pub fn admits(&self, ix: ProviderIx) -> bool {
        self.filter.contains(ix) && self.fits(ix)
    }

    pub fn fits(&self, ix: ProviderIx) -> bool {
        self.asks.iter().all(|ask| ask.room(ix).fits(ask.amount))
    }
}

impl<'a> Plan<'a> {
    /// `None`: nothing can match.
    pub fn new(capacity: &'a Capacity, query: &Query) -> Option<Plan<'a>> {
        let mut slots = Vec::new();
        let mut slot_of = Vec::new();
        let mut loose = None;
        for (at, group) in query.groups.iter().enumerate() {
            let tree = match group.in_tree {
                Some(uuid) => Some(capacity.provider(uuid)?.root),
                None => None,
            };
            slot_of.push(slots.len());
            if group.suffix.is_empty() {
                slots.extend(loose_slots(capacity, at, group, tree));
                loose = Some(Loose::new(capacity, group));
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
            let mut named: Vec<usize> =
                groups.iter().filter_map(|group| slot_of.get(*group).copied()).collect();
            named.sort_unstable();
            named.dedup();
            named
        });
        let mut plan = Plan {
            capacity,
            roots: Filter::default().only(capacity.roots()).with_traits(capacity, &query.root),
            isolate: query.isolate,
            nested: query.nested,
            sums: true,
            contested,
            subtrees: subtrees.filter(|slots| slots.len() > 1).collect(),
            loose,
            sharing: Vec::new(),
            shares: capacity.with_trait(capacity.traits().find(SHARES).unwrap_or(NameIx::MAX)),
            shared_in: Vec::new(),
            slots,
        };
        plan.find_sharing();
        Some(plan)
    }

    /// Whether every provider is a tree of its own that nobody else serves.
    pub fn is_flat(&self) -> bool {
        !self.capacity.is_nested() && self.sharing.is_empty()
    }

    /// Whether the tree of this root is the root alone, and nobody serves it or is served by it.
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

    /// Providers that share serve every tree of which a member is in an aggregate with them.
    fn find_sharing(&mut self) {
        let above = |ix: &ProviderIx| self.capacity.at(*ix).and_then(|provider| provider.parent);
        for ix in self.shares.iter() {
            let slots: Vec<usize> =
                (0..self.slots.len()).filter(|slot| self.shares(ix, &self.slots[*slot])).collect();
            if !slots.is_empty() {
                let mut path: Vec<ProviderIx> = std::iter::successors(Some(ix), above).collect();
                path.reverse();
                self.sharing.push(Sharing { ix, path, slots });
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

    /// Whether a provider could serve a slot of other trees than its own.
    fn shares(&self, ix: ProviderIx, slot: &Slot<'_>) -> bool {
        let placed = match (slot.suffixed, slot.tree, &self.loose) {
            (false, Some(_), _) => false,
            (false, None, Some(Loose { member_of: Some(sets), .. })) => sets.contains(ix),
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
    group: &Group,
    tree: Option<ProviderIx>,
) -> Option<Slot<'a>> {
    let asks = asks(capacity, &group.resources);
    let mut filter = Filter::default();
    for ask in &asks {
        filter = filter.having(capacity, ask.class);
    }
    filter = filter
        .with_traits(capacity, &group.traits)
        .member_of(capacity, &group.member_of)
        .not_member_of(capacity, &group.not_member_of);
    // A group that asks for no resources goes by what its provider must have or be in, and by nothing else: only naming
    // what it must not have matches nobody, and its tree makes no difference.
    if filter.is_open() {
        return None;
    }
    let tree = tree.filter(|_| !asks.is_empty());
    Some(Slot { group: at, suffixed: true, filter, asks, tree })
}

fn loose_slots<'a>(
    capacity: &'a Capacity,
    at: usize,
    group: &Group,
    tree: Option<ProviderIx>,
) -> impl Iterator<Item = Slot<'a>> {
    let asks = asks(capacity, &group.resources).into_iter();
    asks.map(move |ask| Slot {
        group: at,
        suffixed: false,
        filter: Filter::default()
            .having(capacity, ask.class)
            .forbidding(capacity, &group.traits.forbidden)
            .not_member_of(capacity, &group.not_member_of),
        asks: vec![ask],
        tree,
    })
}

impl<'a> Loose<'a> {
    fn new(capacity: &'a Capacity, group: &Group) -> Loose<'a> {
        let sets = group.traits.required.iter();
        let member_of = Filter::default().member_of(capacity, &group.member_of);
        Loose {
            required: sets
                .map(|set| Filter::default().requiring(capacity, std::slice::from_ref(set)))
                .collect(),
            member_of: (!group.member_of.is_empty()).then_some(member_of),
            anchor: Filter::default().not_member_of(capacity, &group.not_member_of),
        }
    }
}

fn asks<'a>(capacity: &'a Capacity, resources: &[(NameIx, u64)]) -> Vec<Ask<'a>> {
    let mut asks: Vec<Ask<'a>> = Vec::new();
    for &(class, amount) in resources {
        match asks.iter_mut().find(|ask| ask.class == class) {
            Some(ask) => ask.amount = ask.amount.saturating_add(amount),
            None => {
                let column = capacity.column(class);
                asks.push(Ask { class, amount, column, contested: None });
            }
        }
    }
    asks
}

/// Finds the classes that several slots ask for.
fn contest(slots: &mut [Slot<'_>]) -> Vec<NameIx> {
    let asks = slots.iter().flat_map(|slot| &slot.asks);
    let mut classes: Vec<NameIx> = asks.map(|ask| ask.class).collect();
    classes.sort_unstable();
    let mut contested: Vec<NameIx> =
        classes.windows(2).filter(|two| two[0] == two[1]).map(|two| two[0]).collect();
    contested.dedup();
    for ask in slots.iter_mut().flat_map(|slot| &mut slot.asks) {
        ask.contested = contested.binary_search(&ask.class).ok();
    }
    contested
}
