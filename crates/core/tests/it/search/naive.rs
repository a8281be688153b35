//! A search as the rules are told: all ways to give each group to somebody, and then away with those that break a rule.
//!
//! Slow, without any index, and written from the rules alone. It shares no code with the search.

use std::collections::{BTreeMap, BTreeSet};

use allod_core::capacity::standard::SHARES;
use allod_core::search::{Group, Query};
use allod_core::state::capacity::Capacity;
use allod_core::state::capacity::names::NameIx;
use allod_core::state::capacity::provider::{Provider, ProviderIx};

/// Amounts and mappings: what makes two candidates the same.
pub type Way = (BTreeMap<(ProviderIx, NameIx), u64>, Vec<BTreeSet<ProviderIx>>);

/// A group served: each class by a provider, or one provider and no class.
type Served = (Vec<(ProviderIx, NameIx, u64)>, BTreeSet<ProviderIx>);

pub fn candidates(capacity: &Capacity, query: &Query) -> BTreeSet<Way> {
    let mut ways = BTreeSet::new();
    for (anchor, root) in capacity.providers().filter(|(_, provider)| provider.parent.is_none()) {
        if !has_all(root, &query.root.required) || has_one(root, &query.root.forbidden) {
            continue;
        }
        let each: Vec<Vec<Served>> =
            query.groups.iter().map(|group| serve(capacity, anchor, group)).collect();
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

fn has_all(provider: &Provider, sets: &[Vec<NameIx>]) -> bool {
    sets.iter().all(|set| has_one(provider, set))
}

fn has_one(provider: &Provider, traits: &[NameIx]) -> bool {
    traits.iter().any(|one| provider.traits.contains(one))
}

/// All ways to serve one group for one tree.
fn serve(capacity: &Capacity, anchor: ProviderIx, group: &Group) -> Vec<Served> {
    let suffixed = !group.suffix.is_empty();
    let tree = match group.in_tree.map(|uuid| capacity.provider(uuid)) {
        Some(None) => return vec![],
        Some(Some(provider)) => Some(provider.root),
        None => None,
    };
    let providers = capacity.providers().filter(|(_, one)| reaches(capacity, one, anchor));
    if suffixed {
        if group.resources.is_empty()
            && group.traits.required.is_empty()
            && group.member_of.is_empty()
        {
            return vec![];
        }
        return providers
            .filter(|(_, one)| {
                (group.resources.is_empty() || tree.is_none_or(|tree| one.root == tree))
                    && has_all(one, &group.traits.required)
                    && !has_one(one, &group.traits.forbidden)
                    && is_member(capacity, one, group)
                    && !is_unwanted(capacity, one, group)
                    && group.resources.iter().all(|(class, amount)| fits(one, *class, *amount))
            })
            .map(|(ix, _)| {
                let amounts = group.resources.iter().map(|(class, amount)| (ix, *class, *amount));
                (amounts.collect(), BTreeSet::from([ix]))
            })
            .collect();
    }
    let root = capacity.at(anchor).expect("a root");
    if is_unwanted(capacity, root, group) {
        return vec![];
    }
    let providers: Vec<_> = providers
        .filter(|(_, one)| {
            let is_own = one.root == anchor;
            tree.is_none_or(|tree| is_own && anchor == tree)
                && !is_unwanted(capacity, one, group)
                && (is_member(capacity, one, group) || is_own && is_member(capacity, root, group))
                && !has_one(one, &group.traits.forbidden)
        })
        .collect();
    let mut ways: Vec<Served> = vec![(vec![], BTreeSet::new())];
    for (class, amount) in &group.resources {
        let with = |(amounts, servers): &Served| {
            let who = providers.iter().filter(|(_, one)| fits(one, *class, *amount));
            let ways = who.map(|(ix, _)| {
                let amounts = amounts.iter().copied().chain([(*ix, *class, *amount)]).collect();
                (amounts, servers.iter().copied().chain([*ix]).collect())
            });
            ways.collect::<Vec<Served>>()
        };
        ways = ways.iter().flat_map(with).collect();
    }
    ways.retain(|(_, servers)| {
        let has = |set: &Vec<NameIx>| {
            servers.iter().any(|ix| has_one(capacity.at(*ix).expect("there"), set))
        };
        group.traits.required.iter().all(has)
    });
    ways
}

/// In the tree itself, or a sharing provider that is in an aggregate with any of its members.
fn reaches(capacity: &Capacity, provider: &Provider, anchor: ProviderIx) -> bool {
    let shares = capacity.traits().find(SHARES).expect("standard");
    provider.root == anchor
        || provider.traits.contains(&shares)
            && capacity.providers().any(|(_, member)| {
                member.root == anchor
                    && member.aggregates.iter().any(|one| provider.aggregates.contains(one))
            })
}

fn is_member(capacity: &Capacity, provider: &Provider, group: &Group) -> bool {
    let of: Vec<_> = capacity.aggregates(provider).collect();
    group.member_of.iter().all(|set| set.iter().any(|uuid| of.contains(uuid)))
}

fn is_unwanted(capacity: &Capacity, provider: &Provider, group: &Group) -> bool {
    capacity.aggregates(provider).any(|uuid| group.not_member_of.contains(&uuid))
}

fn fits(provider: &Provider, class: NameIx, amount: u64) -> bool {
    provider
        .stock(class)
        .is_some_and(|stock| stock.inventory.portions(amount) && amount as i64 <= stock.room())
}

/// What must hold of the groups together.
fn obeys(capacity: &Capacity, query: &Query, product: &[Served]) -> bool {
    let suffixed: Vec<&Served> = query
        .groups
        .iter()
        .zip(product)
        .filter(|(group, _)| !group.suffix.is_empty())
        .map(|(_, served)| served)
        .collect();
    let distinct: BTreeSet<ProviderIx> =
        suffixed.iter().flat_map(|(_, servers)| servers).copied().collect();
    if query.isolate && distinct.len() < suffixed.len() {
        return false;
    }
    for groups in &query.same_subtree {
        let all: BTreeSet<ProviderIx> =
            groups.iter().flat_map(|group| &product[*group].1).copied().collect();
        if !all.iter().any(|top| all.iter().all(|one| is_above(capacity, *top, *one))) {
            return false;
        }
    }
    let mut sums: BTreeMap<(ProviderIx, NameIx), u64> = BTreeMap::new();
    for (provider, class, amount) in product.iter().flat_map(|(amounts, _)| amounts) {
        *sums.entry((*provider, *class)).or_default() += amount;
    }
    let fit = sums.iter().all(|((provider, class), amount)| {
        let stock = capacity.at(*provider).and_then(|one| one.stock(*class)).expect("it fits");
        *amount as i64 <= stock.room() && *amount <= u64::from(stock.inventory.max_unit)
    });
    let givers: BTreeSet<ProviderIx> = sums.keys().map(|(provider, _)| *provider).collect();
    let roots: BTreeSet<ProviderIx> =
        givers.iter().map(|ix| capacity.at(*ix).expect("there").root).collect();
    fit && (query.nested || roots.len() == givers.len())
}

fn is_above(capacity: &Capacity, top: ProviderIx, one: ProviderIx) -> bool {
    top == one
        || capacity
            .at(one)
            .and_then(|provider| provider.parent)
            .is_some_and(|parent| is_above(capacity, top, parent))
}
