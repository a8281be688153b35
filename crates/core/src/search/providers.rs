//! Lists providers by conditions on each single provider.

use std::sync::Arc;

use super::TraitFilter;
use super::filter::BitFilter;
use crate::capacity::Uuid;
use crate::state::capacity::names::NameIx;
use crate::state::capacity::provider::{Provider, ProviderIx};
use crate::view::capacity::CapacityView;

/// Conditions on a provider. The default matches all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProviderFilter {
    pub name: Option<Arc<str>>,
    pub uuid: Option<Uuid>,
    /// The UUID of any provider of the tree.
    pub in_tree: Option<Uuid>,
    /// These amounts are free now.
    pub resources: Vec<(NameIx, u64)>,
    pub traits: TraitFilter,
    /// The provider must be in at least one aggregate of each set.
    pub member_of: Vec<Vec<Uuid>>,
    pub not_member_of: Vec<Uuid>,
}

/// The matching providers, in ascending order of their indexes.
pub fn providers(view: CapacityView<'_>, filter: &ProviderFilter) -> Vec<ProviderIx> {
    let capacity = view.capacity;
    let mut sets = BitFilter::default()
        .with_traits(capacity, &filter.traits)
        .member_of(capacity, &filter.member_of)
        .not_member_of(capacity, &filter.not_member_of);
    for (class, _) in &filter.resources {
        sets = sets.having(capacity, *class);
    }
    let fits = |ix: &ProviderIx| {
        filter.resources.iter().all(|(class, amount)| {
            capacity.column(*class).is_some_and(|column| column.availability(*ix).fits(*amount))
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

    // Start from the smallest set: one provider, a tree, the bitmaps, or all providers.
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
