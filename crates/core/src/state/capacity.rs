//! Providers and consumers, with the indexes that candidate search needs.
//!
//! The rows of providers and consumers are the facts. Everything else is derived from them: bitmaps of the providers
//! with a trait, an aggregate or a class, columns with the free amount of each class, and the usage of each project.
//! Only [`update`] changes any of it.
//!
//! All tables are lists and maps whose copies share memory, so a clone of [`Capacity`] is a frozen copy that costs the
//! same for any number of providers and consumers. Searches and long lists work on such a copy.

pub mod bits;
pub mod column;
pub mod consumer;
pub mod image;
pub mod names;
pub mod provider;
pub(crate) mod update;
pub mod usage;

use std::sync::{Arc, LazyLock};

use super::shared_list::SharedList;
use super::shared_map::SharedMap;
use super::slots::Slots;
use crate::capacity::{Uuid, standard};
use bits::Bits;
use column::ClassColumn;
use consumer::Consumer;
use names::{NameIx, NameTable};
use provider::{AggregateIx, Provider, ProviderIx};
use usage::ProjectUsages;

#[derive(Debug, Clone)]
pub struct Capacity {
    pub(crate) classes: NameTable,
    pub(crate) traits: NameTable,
    pub(crate) providers: Slots<Arc<Provider>>,
    pub(crate) uuids: SharedMap<Uuid, ProviderIx>,
    pub(crate) names: SharedMap<Arc<str>, ProviderIx>,
    pub(crate) consumers: Slots<Arc<Consumer>>,
    pub(crate) holders: SharedMap<Uuid, u32>,
    /// The consumers that hold something of each provider.
    pub(crate) holders_of: SharedMap<(ProviderIx, Uuid), ()>,
    pub(crate) columns: SharedList<ClassColumn>,
    /// By trait: the providers with the trait.
    pub(crate) with_trait: SharedList<Bits>,
    pub(crate) aggregates: AggregateTable,
    /// Providers without a parent.
    pub(crate) roots: Bits,
    pub(crate) usages: ProjectUsages,
    /// Expiry times of consumers whose allocations the server releases.
    pub(crate) due: SharedMap<(u64, Uuid), ()>,
    /// Counts changes within this process.
    pub(crate) revision: u64,
    /// The value of `revision` when a class was last renamed, which changes no provider.
    pub(crate) class_names_revision: u64,
}

/// An aggregate exists while it has members.
#[derive(Debug, Clone, Default)]
pub(crate) struct AggregateTable {
    pub by_uuid: SharedMap<Uuid, AggregateIx>,
    pub rows: SharedList<Option<Aggregate>>,
    pub vacant: SharedList<AggregateIx>,
}

#[derive(Debug, Clone)]
pub(crate) struct Aggregate {
    pub uuid: Uuid,
    pub members: Bits,
}

impl Default for Capacity {
    fn default() -> Capacity {
        Capacity {
            classes: NameTable::new(&standard::CLASSES),
            traits: NameTable::new(&standard::TRAITS),
            providers: Slots::default(),
            uuids: SharedMap::default(),
            names: SharedMap::default(),
            consumers: Slots::default(),
            holders: SharedMap::default(),
            holders_of: SharedMap::default(),
            columns: SharedList::default(),
            with_trait: SharedList::default(),
            aggregates: AggregateTable::default(),
            roots: Bits::default(),
            usages: ProjectUsages::default(),
            due: SharedMap::default(),
            revision: 0,
            class_names_revision: 0,
        }
    }
}

static NO_PROVIDERS: LazyLock<Bits> = LazyLock::new(Bits::default);

impl Capacity {
    pub fn provider_ix(&self, uuid: Uuid) -> Option<ProviderIx> {
        self.uuids.get(&uuid).copied()
    }

    pub fn provider(&self, uuid: Uuid) -> Option<&Provider> {
        self.at(self.provider_ix(uuid)?)
    }

    pub fn at(&self, ix: ProviderIx) -> Option<&Provider> {
        self.providers.get(ix).map(Arc::as_ref)
    }

    pub fn provider_named(&self, name: &str) -> Option<&Provider> {
        self.at(*self.names.get(name)?)
    }

    pub fn provider_count(&self) -> usize {
        self.providers.len()
    }

    /// All providers, in ascending order of their indexes.
    pub fn providers(&self) -> impl Iterator<Item = (ProviderIx, &Provider)> {
        self.providers.iter().map(|(ix, provider)| (ix, provider.as_ref()))
    }

    pub fn parent(&self, provider: &Provider) -> Option<Uuid> {
        provider.parent.and_then(|ix| self.at(ix)).map(|parent| parent.uuid)
    }

    pub fn root(&self, provider: &Provider) -> Uuid {
        self.at(provider.root).map_or(provider.uuid, |root| root.uuid)
    }

    /// All providers of the tree with this root, parents before their children.
    pub fn tree(&self, root: ProviderIx) -> Vec<ProviderIx> {
        let mut members = vec![root];
        let mut at = 0;
        while let Some(&ix) = members.get(at) {
            members.extend(self.at(ix).into_iter().flat_map(|provider| &provider.children));
            at += 1;
        }
        members
    }

    pub fn aggregates<'a>(&'a self, provider: &'a Provider) -> impl Iterator<Item = Uuid> + 'a {
        provider.aggregates.iter().filter_map(|ix| self.aggregate(*ix))
    }

    pub fn aggregate(&self, ix: AggregateIx) -> Option<Uuid> {
        Some(self.aggregates.rows.get(ix as usize)?.as_ref()?.uuid)
    }

    pub fn consumer(&self, uuid: Uuid) -> Option<&Consumer> {
        self.consumers.get(*self.holders.get(&uuid)?).map(Arc::as_ref)
    }

    pub fn consumer_count(&self) -> usize {
        self.consumers.len()
    }

    /// All consumers with this UUID or a greater one, in the order of their UUIDs.
    pub fn consumers_from(&self, from: Uuid) -> impl Iterator<Item = &Consumer> {
        let slots = self.holders.range_from(&from).map(|(_, slot)| *slot);
        slots.filter_map(|slot| self.consumers.get(slot)).map(Arc::as_ref)
    }

    /// The consumers with this UUID or a greater one that hold something of a provider, in the order of their UUIDs.
    pub fn consumers_of(&self, ix: ProviderIx, from: Uuid) -> impl Iterator<Item = Uuid> {
        let holders = self.holders_of.range_from(&(ix, from));
        holders.take_while(move |((of, _), ())| *of == ix).map(|((_, uuid), ())| *uuid)
    }

    /// Whether any provider has a parent.
    pub fn is_nested(&self) -> bool {
        self.roots.len() < self.providers.len()
    }

    /// The free amounts of a class; `None` if no provider has ever had the class.
    pub fn column(&self, class: NameIx) -> Option<&ClassColumn> {
        self.columns.get(class as usize)
    }

    /// Providers with an inventory of the class, full or not.
    pub fn with_class(&self, class: NameIx) -> &Bits {
        self.column(class).map_or(&*NO_PROVIDERS, |column| &column.have)
    }

    pub fn with_trait(&self, wanted: NameIx) -> &Bits {
        self.with_trait.get(wanted as usize).unwrap_or(&*NO_PROVIDERS)
    }

    pub fn members_of(&self, aggregate: Uuid) -> &Bits {
        self.aggregates.by_uuid.get(&aggregate).map_or(&*NO_PROVIDERS, |ix| self.members_at(*ix))
    }

    pub fn members_at(&self, ix: AggregateIx) -> &Bits {
        let row = self.aggregates.rows.get(ix as usize).and_then(Option::as_ref);
        row.map_or(&*NO_PROVIDERS, |aggregate| &aggregate.members)
    }

    /// When the next allocation expires and is released.
    pub fn next_due_ms(&self) -> Option<u64> {
        self.due.first().map(|((at, _), ())| *at)
    }
}
