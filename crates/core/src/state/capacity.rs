//! Providers and consumers of one moment, with the indexes that a search needs.
//!
//! The facts are in the rows of providers and consumers; all else here follows from them: bitmaps of who has a trait, an
//! aggregate or a class, columns of what is left of each class, and what each project uses. How all of it changes is in
//! [`change`]; nothing else may write.

pub mod bits;
pub(crate) mod change;
pub mod column;
pub mod consumer;
pub mod image;
pub mod names;
pub mod provider;
pub mod usage;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use super::slots::Slots;
use crate::capacity::{Uuid, standard};
use bits::Bits;
use column::Column;
use consumer::Consumer;
use names::{NameIx, Names};
use provider::{AggregateIx, Provider, ProviderIx};
use usage::Usages;

#[derive(Debug, Clone)]
pub struct Capacity {
    pub(crate) classes: Names,
    pub(crate) traits: Names,
    pub(crate) providers: Slots<Arc<Provider>>,
    pub(crate) uuids: BTreeMap<Uuid, ProviderIx>,
    pub(crate) names: HashMap<Arc<str>, ProviderIx>,
    pub(crate) consumers: Slots<Arc<Consumer>>,
    pub(crate) holders: BTreeMap<Uuid, u32>,
    /// By class.
    pub(crate) columns: Vec<Column>,
    /// By trait: the providers that have it.
    pub(crate) with_trait: Vec<Bits>,
    pub(crate) aggregates: Aggregates,
    /// Providers without a parent.
    pub(crate) roots: Bits,
    pub(crate) usages: Usages,
    /// When time takes back what a consumer holds.
    pub(crate) due: BTreeSet<(u64, Uuid)>,
    /// How often anything has changed, within one run of the program.
    pub(crate) touches: u64,
    /// What `touches` was when a class got another name last, which touches no provider.
    pub(crate) renamed: u64,
}

/// The sets that providers are in. A set exists while it has members.
#[derive(Debug, Clone, Default)]
pub(crate) struct Aggregates {
    pub by_uuid: HashMap<Uuid, AggregateIx>,
    pub rows: Vec<Option<Aggregate>>,
    pub vacant: Vec<AggregateIx>,
}

#[derive(Debug, Clone)]
pub(crate) struct Aggregate {
    pub uuid: Uuid,
    pub members: Bits,
}

impl Default for Capacity {
    fn default() -> Capacity {
        Capacity {
            classes: Names::new(&standard::CLASSES),
            traits: Names::new(&standard::TRAITS),
            providers: Slots::default(),
            uuids: BTreeMap::new(),
            names: HashMap::new(),
            consumers: Slots::default(),
            holders: BTreeMap::new(),
            columns: Vec::new(),
            with_trait: Vec::new(),
            aggregates: Aggregates::default(),
            roots: Bits::default(),
            usages: Usages::default(),
            due: BTreeSet::new(),
            touches: 0,
            renamed: 0,
        }
    }
}

static NOBODY: Bits = Bits::EMPTY;

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

    /// All providers, in the order of their numbers.
    pub fn providers(&self) -> impl Iterator<Item = (ProviderIx, &Provider)> {
        self.providers.iter().map(|(ix, provider)| (ix, provider.as_ref()))
    }

    /// All providers from this one on, in the order of their uuids.
    pub fn providers_from(&self, from: Uuid) -> impl Iterator<Item = &Provider> {
        self.uuids.range(from..).filter_map(|(_, ix)| self.at(*ix))
    }

    pub fn parent(&self, provider: &Provider) -> Option<Uuid> {
        provider.parent.and_then(|ix| self.at(ix)).map(|parent| parent.uuid)
    }

    pub fn root(&self, provider: &Provider) -> Uuid {
        self.at(provider.root).map_or(provider.uuid, |root| root.uuid)
    }

    /// Every provider of the tree that this one is the root of, parents before their children.
    pub fn tree(&self, root: ProviderIx) -> Vec<ProviderIx> {
        let mut members = vec![root];
        let mut at = 0;
        while let Some(&ix) = members.get(at) {
            members.extend(self.at(ix).into_iter().flat_map(|provider| &provider.children));
            at += 1;
        }
        members
    }

    pub fn classes(&self) -> &Names {
        &self.classes
    }

    pub fn traits(&self) -> &Names {
        &self.traits
    }

    /// The names of a provider's traits.
    pub fn trait_names<'a>(&'a self, provider: &'a Provider) -> impl Iterator<Item = &'a Arc<str>> {
        provider.traits.iter().filter_map(|ix| self.traits.get(*ix)).map(|named| &named.name)
    }

    /// The sets that a provider is in.
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

    /// All consumers from this one on, in the order of their uuids.
    pub fn consumers_from(&self, from: Uuid) -> impl Iterator<Item = &Consumer> {
        let slots = self.holders.range(from..).map(|(_, slot)| *slot);
        slots.filter_map(|slot| self.consumers.get(slot)).map(Arc::as_ref)
    }

    pub fn usages(&self) -> &Usages {
        &self.usages
    }

    // --- for a search ------------------------------------------------------------------------------------------

    pub fn roots(&self) -> &Bits {
        &self.roots
    }

    /// Whether any provider stands below another one.
    pub fn is_nested(&self) -> bool {
        self.roots.len() < self.providers.len()
    }

    /// What is left of a class everywhere; `None`: nobody has ever had any.
    pub fn column(&self, class: NameIx) -> Option<&Column> {
        self.columns.get(class as usize)
    }

    /// Who has a trait.
    pub fn with_trait(&self, wanted: NameIx) -> &Bits {
        self.with_trait.get(wanted as usize).unwrap_or(&NOBODY)
    }

    /// Who is in an aggregate.
    pub fn members_of(&self, aggregate: Uuid) -> &Bits {
        self.aggregates.by_uuid.get(&aggregate).map_or(&NOBODY, |ix| self.members_at(*ix))
    }

    pub fn members_at(&self, ix: AggregateIx) -> &Bits {
        let row = self.aggregates.rows.get(ix as usize).and_then(Option::as_ref);
        row.map_or(&NOBODY, |aggregate| &aggregate.members)
    }

    /// Grows whenever anything about any provider or consumer changes.
    pub fn touched(&self) -> u64 {
        self.touches
    }

    /// Grows whenever a class gets another name.
    pub fn renamed(&self) -> u64 {
        self.renamed
    }

    /// When time will next take back what a consumer holds.
    pub fn next_due_ms(&self) -> Option<u64> {
        self.due.first().map(|(at, _)| *at)
    }
}
