//! Capacity as it is written to a checkpoint and restored from one.
//!
//! Images refer to things by name or UUID and are sorted, because indexes differ between servers.

use std::sync::Arc;

use super::Capacity;
use super::consumer::{Consumer, HeldAmount};
use super::names::{NameEntry, NameIx, NameTable};
use super::provider::{Provider, ProviderIx, Stock};
use crate::capacity::{Inventory, Uuid};
use crate::event::capacity::Allocated;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderImage {
    pub uuid: Uuid,
    pub name: Arc<str>,
    pub generation: u64,
    pub parent: Option<Uuid>,
    pub stocks: Vec<StockImage>,
    pub traits: Vec<Arc<str>>,
    pub aggregates: Vec<Uuid>,
    pub changed_ms: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StockImage {
    pub class: Arc<str>,
    pub inventory: Inventory,
    pub changed_ms: u64,
}

/// A consumer that names the providers and classes of what it holds.
pub type ConsumerImage = Consumer<Vec<Allocated>>;

/// An immutable copy that shares memory with its original.
#[derive(Debug, Clone)]
pub struct FrozenCapacity(pub(crate) Capacity);

impl FrozenCapacity {
    /// A copy with the names and these providers only, with their parents and roots.
    pub fn only(&self, providers: impl IntoIterator<Item = ProviderIx>) -> FrozenCapacity {
        let all = &self.0;
        let mut few = Capacity {
            classes: all.classes.clone(),
            traits: all.traits.clone(),
            revision: all.revision,
            class_names_revision: all.class_names_revision,
            ..Capacity::default()
        };
        let mut keep = |ix: ProviderIx| {
            let provider = all.providers.get(ix).filter(|_| few.providers.get(ix).is_none())?;
            few.providers.insert_at(ix, provider.clone());
            Some(provider)
        };
        for ix in providers {
            if let Some(provider) = keep(ix) {
                provider.parent.map(&mut keep);
                keep(provider.root);
            }
        }
        FrozenCapacity(few)
    }

    /// Custom classes, in the order of their names.
    pub fn classes(&self) -> impl Iterator<Item = &NameEntry> {
        by_name(&self.0.classes)
    }

    /// Custom traits, in the order of their names.
    pub fn traits(&self) -> impl Iterator<Item = &NameEntry> {
        by_name(&self.0.traits)
    }

    /// In no particular order.
    pub fn providers(&self) -> impl Iterator<Item = ProviderImage> {
        self.0.providers().map(|(_, provider)| self.provider(provider))
    }

    /// In no particular order.
    pub fn consumers(&self) -> impl Iterator<Item = ConsumerImage> {
        self.0.consumers.iter().map(|(_, consumer)| self.consumer(consumer))
    }

    fn provider(&self, provider: &Provider) -> ProviderImage {
        let stock = |stock: &Stock| StockImage {
            class: self.0.classes.name(stock.class),
            inventory: stock.inventory,
            changed_ms: stock.changed_ms,
        };
        let mut stocks: Vec<StockImage> = provider.stocks.iter().map(stock).collect();
        let mut traits: Vec<Arc<str>> =
            provider.traits.iter().map(|ix| self.0.traits.name(*ix)).collect();
        let mut aggregates: Vec<Uuid> = self.0.aggregates(provider).collect();
        stocks.sort_unstable_by(|one, other| one.class.cmp(&other.class));
        traits.sort_unstable();
        aggregates.sort_unstable();
        ProviderImage {
            uuid: provider.uuid,
            name: provider.name.clone(),
            generation: provider.generation,
            parent: self.0.parent(provider),
            stocks,
            traits,
            aggregates,
            changed_ms: provider.changed_ms,
        }
    }

    fn consumer(&self, consumer: &Consumer) -> ConsumerImage {
        consumer.with_held(self.0.allocated(consumer))
    }
}

fn by_name(names: &NameTable) -> impl Iterator<Item = &NameEntry> {
    let mut custom: Vec<&NameEntry> = names.custom().map(|(_, named)| named).collect();
    custom.sort_unstable_by(|one, other| one.name.cmp(&other.name));
    custom.into_iter()
}

impl Capacity {
    pub fn freeze(&self) -> FrozenCapacity {
        FrozenCapacity(self.clone())
    }

    /// What a consumer holds, with the names of providers and classes.
    pub fn allocated(&self, consumer: &Consumer) -> Vec<Allocated> {
        let uuid = |ix| self.at(ix).map_or(Uuid::default(), |provider| provider.uuid);
        let resources = |held: &[HeldAmount]| -> Vec<_> {
            held.iter().map(|held| (self.classes.name(held.class), held.amount)).collect()
        };
        let of_provider = |held: &[HeldAmount]| Allocated {
            provider: uuid(held[0].provider),
            resources: resources(held),
        };
        consumer.by_provider().map(of_provider).collect()
    }

    /// Returns the provider and its parent, which may be restored later; see [`Capacity::restore_parents`].
    pub(crate) fn restore_provider(&mut self, image: ProviderImage) -> Option<(Uuid, Uuid)> {
        let ix = self.add_provider(Provider::new(image.uuid, image.name, None));
        let stocks = image.stocks.iter().filter_map(|stock| {
            let class = self.classes.find(&stock.class)?;
            let StockImage { inventory, changed_ms, .. } = *stock;
            Some(Stock { class, inventory, used: 0, changed_ms })
        });
        let mut stocks: Vec<Stock> = stocks.collect();
        stocks.sort_by_key(|stock| stock.class);
        let traits: Vec<NameIx> =
            image.traits.iter().filter_map(|name| self.traits.find(name)).collect();
        self.put_stocks(ix, stocks);
        self.put_traits(ix, traits);
        self.put_aggregates(ix, image.aggregates);
        self.put_stamp(ix, image.generation, image.changed_ms);
        image.parent.map(|parent| (image.uuid, parent))
    }

    pub(crate) fn restore_parents(&mut self, parents: Vec<(Uuid, Uuid)>) {
        for (child, parent) in parents {
            let places = (self.provider_ix(child), self.provider_ix(parent));
            let (Some(child), Some(parent)) = places else { continue };
            let Some(name) = self.at(child).map(|provider| provider.name.clone()) else { continue };
            self.put_name_and_parent(child, name, Some(parent));
        }
    }

    pub(crate) fn restore_consumer(&mut self, image: ConsumerImage) {
        let consumer = image.with_held(self.held(&image.held));
        self.put_consumer(image.uuid, Some(Arc::new(consumer)));
    }
}
