//! A naive search: all ways to assign providers to groups, without those that break a rule.
//!
//! Slow, without any index, and written from the rules alone. It shares no code with the real search.

use std::collections::{BTreeMap, BTreeSet};

use allod_core::capacity::Uuid;
use allod_core::capacity::standard::SHARES;
use allod_core::search::{CandidateQuery, RequestGroup};
use allod_core::view::capacity::{CapacityView, NameIx, ProviderView};

/// Amounts and mappings, which identify a candidate.
pub type Way = (BTreeMap<(Uuid, NameIx), u64>, Vec<BTreeSet<Uuid>>);

/// A served group: the provider of each class, or one provider and no class.
type Served = (Vec<(Uuid, NameIx, u64)>, BTreeSet<Uuid>);

pub fn candidates(capacity: CapacityView<'_>, query: &CandidateQuery) -> BTreeSet<Way> {
    let mut ways = BTreeSet::new();
    for root in all(capacity).filter(|provider| provider.parent().is_none()) {
        if !has_all(capacity, root, &query.root.required)
            || has_one(capacity, root, &query.root.forbidden)
        {
            continue;
        }
        let each: Vec<Vec<Served>> =
            query.groups.iter().map(|group| serve(capacity, root, group)).collect();
        let mut products: Vec<Vec<Served>> = vec![vec![]];
        for served in each {
            products = products
                .iter()
                .flat_map(|before| {
                    served.iter().map(|one| before.iter().chain([one]).cloned().collect())
                })
                .collect();
        }
        for product in products.iter().filter(|product| obeys(capacity, query, product)) {
            let mut amounts = BTreeMap::new();
            for (provider, class, amount) in product.iter().flat_map(|(amounts, _)| amounts) {
                *amounts.entry((*provider, *class)).or_default() += amount;
            }
            ways.insert((amounts, product.iter().map(|(_, servers)| servers.clone()).collect()));
        }
    }
    ways
}

fn all(capacity: CapacityView<'_>) -> impl Iterator<Item = ProviderView<'_>> {
    capacity.providers_from(Uuid(0))
}

fn has_all(capacity: CapacityView<'_>, provider: ProviderView<'_>, sets: &[Vec<NameIx>]) -> bool {
    sets.iter().all(|set| has_one(capacity, provider, set))
}

fn has_one(capacity: CapacityView<'_>, provider: ProviderView<'_>, traits: &[NameIx]) -> bool {
    traits.iter().any(|one| {
        let wanted = capacity.traits().name(*one);
        provider.traits().any(|row| row.name == wanted)
    })
}

/// All ways to serve one group for one tree.
fn serve(capacity: CapacityView<'_>, root: ProviderView<'_>, group: &RequestGroup) -> Vec<Served> {
    let suffixed = !group.suffix.is_empty();
    let tree = match group.in_tree.map(|uuid| capacity.provider(uuid)) {
        Some(None) => return vec![],
        Some(Some(provider)) => Some(provider.root()),
        None => None,
    };
    let anchor = root.uuid();
    let providers = all(capacity).filter(|one| reaches(capacity, *one, anchor));
    if suffixed {
        if group.resources.is_empty()
            && group.traits.required.is_empty()
            && group.member_of.is_empty()
        {
            return vec![];
        }
        return providers
            .filter(|one| {
                (group.resources.is_empty() || tree.is_none_or(|tree| one.root() == tree))
                    && has_all(capacity, *one, &group.traits.required)
                    && !has_one(capacity, *one, &group.traits.forbidden)
                    && is_member(*one, group)
                    && !is_unwanted(*one, group)
                    && group.resources.iter().all(|(class, amount)| fits(*one, *class, *amount))
            })
            .map(|one| {
                let uuid = one.uuid();
                let amounts = group.resources.iter().map(|(class, amount)| (uuid, *class, *amount));
                (amounts.collect(), BTreeSet::from([uuid]))
            })
            .collect();
    }
    if is_unwanted(root, group) {
        return vec![];
    }
    let providers: Vec<_> = providers
        .filter(|one| {
            let is_own = one.root() == anchor;
            tree.is_none_or(|tree| is_own && anchor == tree)
                && !is_unwanted(*one, group)
                && (is_member(*one, group) || is_own && is_member(root, group))
                && !has_one(capacity, *one, &group.traits.forbidden)
        })
        .collect();
    let mut ways: Vec<Served> = vec![(vec![], BTreeSet::new())];
    for (class, amount) in &group.resources {
        let with = |(amounts, servers): &Served| {
            let fitting = providers.iter().filter(|one| fits(**one, *class, *amount));
            let ways = fitting.map(|one| {
                let uuid = one.uuid();
                let amounts = amounts.iter().copied().chain([(uuid, *class, *amount)]).collect();
                (amounts, servers.iter().copied().chain([uuid]).collect())
            });
            ways.collect::<Vec<Served>>()
        };
        ways = ways.iter().flat_map(with).collect();
    }
    ways.retain(|(_, servers)| {
        let has = |set: &Vec<NameIx>| {
            servers.iter().any(|uuid| has_one(capacity, provider(capacity, *uuid), set))
        };
        group.traits.required.iter().all(has)
    });
    ways
}

/// Whether the provider is in the tree, or is a sharing provider with an aggregate of one of its members.
fn reaches(capacity: CapacityView<'_>, provider: ProviderView<'_>, anchor: Uuid) -> bool {
    let aggregates: Vec<Uuid> = provider.aggregates().collect();
    let meets = |member: ProviderView<'_>| member.aggregates().any(|one| aggregates.contains(&one));
    provider.root() == anchor
        || provider.traits().any(|row| *row.name == *SHARES)
            && all(capacity).any(|member| member.root() == anchor && meets(member))
}

fn is_member(provider: ProviderView<'_>, group: &RequestGroup) -> bool {
    let of: Vec<_> = provider.aggregates().collect();
    group.member_of.iter().all(|set| set.iter().any(|uuid| of.contains(uuid)))
}

fn is_unwanted(provider: ProviderView<'_>, group: &RequestGroup) -> bool {
    provider.aggregates().any(|uuid| group.not_member_of.contains(&uuid))
}

fn fits(provider: ProviderView<'_>, class: NameIx, amount: u64) -> bool {
    provider
        .inventory(class)
        .is_some_and(|stock| stock.inventory.allows(amount) && amount as i64 <= stock.free())
}

fn provider(capacity: CapacityView<'_>, uuid: Uuid) -> ProviderView<'_> {
    capacity.provider(uuid).expect("there")
}

/// The rules for all groups together.
fn obeys(capacity: CapacityView<'_>, query: &CandidateQuery, product: &[Served]) -> bool {
    let suffixed: Vec<&Served> = query
        .groups
        .iter()
        .zip(product)
        .filter(|(group, _)| !group.suffix.is_empty())
        .map(|(_, served)| served)
        .collect();
    let distinct: BTreeSet<Uuid> =
        suffixed.iter().flat_map(|(_, servers)| servers).copied().collect();
    if query.isolate && distinct.len() < suffixed.len() {
        return false;
    }
    for groups in &query.same_subtree {
        let all: BTreeSet<Uuid> =
            groups.iter().flat_map(|group| &product[*group].1).copied().collect();
        if !all.iter().any(|top| all.iter().all(|one| is_above(capacity, *top, *one))) {
            return false;
        }
    }
    let mut sums: BTreeMap<(Uuid, NameIx), u64> = BTreeMap::new();
    for (provider, class, amount) in product.iter().flat_map(|(amounts, _)| amounts) {
        *sums.entry((*provider, *class)).or_default() += amount;
    }
    let fit = sums.iter().all(|((provider, class), amount)| {
        let stock = self::provider(capacity, *provider).inventory(*class).expect("it fits");
        *amount as i64 <= stock.free() && *amount <= u64::from(stock.inventory.max_unit)
    });
    let givers: BTreeSet<Uuid> = sums.keys().map(|(provider, _)| *provider).collect();
    let roots: BTreeSet<Uuid> =
        givers.iter().map(|uuid| provider(capacity, *uuid).root()).collect();
    fit && (query.nested || roots.len() == givers.len())
}

fn is_above(capacity: CapacityView<'_>, top: Uuid, one: Uuid) -> bool {
    let parent = provider(capacity, one).parent();
    top == one || parent.is_some_and(|parent| is_above(capacity, top, parent))
}
