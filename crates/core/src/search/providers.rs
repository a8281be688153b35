//! The list of providers, with all that can be asked of each by itself.

use std::sync::Arc;

use super::Traits;
use super::filter::Filter;
use crate::capacity::Uuid;
use crate::state::capacity::Capacity;
use crate::state::capacity::names::NameIx;
use crate::state::capacity::provider::{Provider, ProviderIx};

/// What must hold of a provider. The default is nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProviderFilter {
    pub name: Option<Arc<str>>,
    pub uuid: Option<Uuid>,
    /// Any provider of the tree.
    pub in_tree: Option<Uuid>,
    /// There is room for all of it now.
    pub resources: Vec<(NameIx, u64)>,
    pub traits: Traits,
    /// Of each of these sets the provider must be in at least one aggregate.
    pub member_of: Vec<Vec<Uuid>>,
    pub not_member_of: Vec<Uuid>,
}

/// Who passes, in the order of their numbers.
pub fn providers(capacity: &Capacity, filter: &ProviderFilter) -> Vec<ProviderIx> {
    let mut sets = Filter::default()
        .with_traits(capacity, &filter.traits)
        .member_of(capacity, &filter.member_of)
        .not_member_of(capacity, &filter.not_member_of);
    for (class, _) in &filter.resources {
        sets = sets.having(capacity, *class);
    }
    let fits = |ix: &ProviderIx| {
        filter.resources.iter().all(|(class, amount)| {
            capacity.column(*class).is_some_and(|column| column.room(*ix).fits(*amount))
        })
    };
    let root = match filter.in_tree.map(|uuid| capacity.provider(uuid)) {
        Some(None) => return Vec::new(),
        Some(Some(provider)) => Some(provider.root),
        None => None,
    };
    let is_meant = |provider: &Provider| {
        filter.name.as_ref().is_none_or(|name| *name == provider.name)
            && filter.uuid.is_none_or(|uuid| uuid == provider.uuid)
            && root.is_none_or(|root| root == provider.root)
    };

    // The fewest to begin with: one, a tree, whoever is in the sets, or everybody.
    let named = filter.name.as_deref().map(|name| capacity.provider_named(name));
    let one = filter.uuid.map(|uuid| capacity.provider(uuid)).or(named);
    let begin: Vec<ProviderIx> = match (one, root) {
        (Some(one), _) => one.and_then(|one| capacity.provider_ix(one.uuid)).into_iter().collect(),
        (None, Some(root)) => {
            let mut tree = capacity.tree(root);
            tree.sort_unstable();
            tree
        }
        (None, None) if sets.is_open() => capacity.providers().map(|(ix, _)| ix).collect(),
        (None, None) => return sets.iter().filter(fits).collect(),
    };
    let pass =
        |ix: &ProviderIx| sets.contains(*ix) && fits(ix) && capacity.at(*ix).is_some_and(is_meant);
    begin.into_iter().filter(pass).collect()
}
