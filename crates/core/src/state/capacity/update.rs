//! All changes to capacity. Each function returns what it replaced, so that the change can be undone.
//!
//! Nothing here refuses or chooses. Indexes are updated here and nowhere else.

use std::sync::Arc;

use super::bits::Bits;
use super::column::Availability;
use super::consumer::Consumer;
use super::names::{NameEntry, NameIx};
use super::provider::{AggregateIx, Provider, ProviderIx, Stock};
use super::{Aggregate, AggregateTable, Capacity};
use crate::capacity::Uuid;

/// What a change replaced.
#[derive(Debug, Clone)]
pub(crate) enum CapacityUndo {
    ClassAdded(NameIx),
    ClassRemoved(NameEntry),
    ClassRenamed(NameIx, NameEntry),
    TraitAdded(NameIx),
    TraitRemoved(NameEntry),
    ProviderAdded(ProviderIx),
    ProviderRemoved(Box<Provider>),
    NameAndParent { ix: ProviderIx, name: Arc<str>, parent: Option<ProviderIx> },
    Stocks(ProviderIx, Vec<Stock>),
    Traits(ProviderIx, Vec<NameIx>),
    Aggregates(ProviderIx, Vec<Uuid>),
    Stamp { ix: ProviderIx, generation: u64, changed_ms: u64 },
    Consumer(Uuid, Option<Arc<Consumer>>),
}

impl Capacity {
    pub(crate) fn undo(&mut self, change: CapacityUndo) {
        match change {
            CapacityUndo::ClassAdded(ix) => drop(self.classes.remove(ix)),
            CapacityUndo::ClassRemoved(named) => drop(self.classes.add(named)),
            CapacityUndo::ClassRenamed(ix, named) => drop(self.rename_class(ix, named)),
            CapacityUndo::TraitAdded(ix) => drop(self.traits.remove(ix)),
            CapacityUndo::TraitRemoved(named) => drop(self.traits.add(named)),
            CapacityUndo::ProviderAdded(ix) => drop(self.remove_provider(ix)),
            CapacityUndo::ProviderRemoved(provider) => drop(self.add_provider(*provider)),
            CapacityUndo::NameAndParent { ix, name, parent } => {
                drop(self.put_name_and_parent(ix, name, parent))
            }
            CapacityUndo::Stocks(ix, stocks) => drop(self.put_stocks(ix, stocks)),
            CapacityUndo::Traits(ix, traits) => drop(self.put_traits(ix, traits)),
            CapacityUndo::Aggregates(ix, aggregates) => drop(self.put_aggregates(ix, aggregates)),
            CapacityUndo::Stamp { ix, generation, changed_ms } => {
                drop(self.put_stamp(ix, generation, changed_ms));
            }
            CapacityUndo::Consumer(uuid, consumer) => drop(self.put_consumer(uuid, consumer)),
        }
    }

    fn provider_mut(&mut self, ix: ProviderIx) -> Option<&mut Provider> {
        let provider = Arc::make_mut(self.providers.get_mut(ix)?);
        self.revision += 1;
        provider.revision = self.revision;
        Some(provider)
    }

    pub(crate) fn rename_class(&mut self, ix: NameIx, named: NameEntry) -> Option<CapacityUndo> {
        self.revision += 1;
        self.class_names_revision = self.revision;
        self.classes.rename(ix, named).map(|was| CapacityUndo::ClassRenamed(ix, was))
    }

    /// Adds a provider that has no children, inventories, traits, aggregates or consumers.
    pub(crate) fn add_provider(&mut self, provider: Provider) -> ProviderIx {
        let Provider { uuid, parent, .. } = provider;
        let name = provider.name.clone();
        let ix = self.providers.insert(Arc::new(provider));
        self.uuids.insert(uuid, ix);
        self.names.insert(name, ix);
        self.roots.insert(ix);
        if let Some(provider) = self.provider_mut(ix) {
            (provider.parent, provider.root) = (None, ix);
        }
        self.set_parent(ix, parent);
        ix
    }

    /// Removes a provider that has no children, inventories, traits, aggregates or consumers.
    pub(crate) fn remove_provider(&mut self, ix: ProviderIx) -> Option<Provider> {
        let parent = self.at(ix)?.parent;
        self.set_parent(ix, None);
        let provider = self.providers.remove(ix)?;
        self.revision += 1;
        self.uuids.remove(&provider.uuid);
        self.names.remove(&provider.name);
        self.roots.remove(ix);
        let mut provider = Arc::unwrap_or_clone(provider);
        provider.parent = parent;
        Some(provider)
    }

    pub(crate) fn put_name_and_parent(
        &mut self,
        ix: ProviderIx,
        name: Arc<str>,
        parent: Option<ProviderIx>,
    ) -> Option<CapacityUndo> {
        let provider = self.provider_mut(ix)?;
        let before = CapacityUndo::NameAndParent {
            ix,
            name: provider.name.clone(),
            parent: provider.parent,
        };
        let old = std::mem::replace(&mut provider.name, name.clone());
        if old != name {
            self.names.remove(&old);
            self.names.insert(name, ix);
        }
        self.set_parent(ix, parent);
        Some(before)
    }

    fn set_parent(&mut self, ix: ProviderIx, parent: Option<ProviderIx>) {
        let Some(before) = self.at(ix).map(|provider| provider.parent) else { return };
        if before == parent {
            return;
        }
        if let Some(old) = before.and_then(|old| self.provider_mut(old)) {
            old.children.retain(|child| *child != ix);
        }
        if let Some(new) = parent.and_then(|new| self.provider_mut(new)) {
            let at = new.children.partition_point(|child| *child < ix);
            new.children.insert(at, ix);
        }
        match parent {
            Some(_) => self.roots.remove(ix),
            None => self.roots.insert(ix),
        }
        let root = parent.and_then(|new| self.at(new)).map_or(ix, |new| new.root);
        if let Some(provider) = self.provider_mut(ix) {
            provider.parent = parent;
        }
        for member in self.tree(ix) {
            if let Some(provider) = self.provider_mut(member) {
                provider.root = root;
            }
        }
    }

    pub(crate) fn put_stocks(
        &mut self,
        ix: ProviderIx,
        stocks: Vec<Stock>,
    ) -> Option<CapacityUndo> {
        let before = self.at(ix)?.stocks.clone();
        for stock in &before {
            self.set_availability(ix, stock.class, None);
        }
        for stock in &stocks {
            self.set_availability(ix, stock.class, Some(stock.into()));
        }
        self.provider_mut(ix)?.stocks = stocks;
        Some(CapacityUndo::Stocks(ix, before))
    }

    fn set_availability(&mut self, ix: ProviderIx, class: NameIx, available: Option<Availability>) {
        self.columns.entry(class as usize).set(ix, available);
    }

    pub(crate) fn put_traits(
        &mut self,
        ix: ProviderIx,
        mut traits: Vec<NameIx>,
    ) -> Option<CapacityUndo> {
        traits.sort_unstable();
        traits.dedup();
        let before = std::mem::take(&mut self.provider_mut(ix)?.traits);
        for &gone in &before {
            self.with_trait.entry(gone as usize).remove(ix);
        }
        for &new in &traits {
            self.with_trait.entry(new as usize).insert(ix);
        }
        self.provider_mut(ix)?.traits = traits;
        Some(CapacityUndo::Traits(ix, before))
    }

    pub(crate) fn put_aggregates(
        &mut self,
        ix: ProviderIx,
        uuids: Vec<Uuid>,
    ) -> Option<CapacityUndo> {
        let before = std::mem::take(&mut self.provider_mut(ix)?.aggregates);
        let was = before.iter().filter_map(|aggregate| self.aggregate(*aggregate)).collect();
        // Join before leaving, so that an aggregate that stays is not removed and created again.
        let mut now: Vec<AggregateIx> =
            uuids.into_iter().map(|uuid| self.aggregates.join(uuid, ix)).collect();
        now.sort_unstable();
        now.dedup();
        for gone in before.into_iter().filter(|aggregate| now.binary_search(aggregate).is_err()) {
            self.aggregates.leave(gone, ix);
        }
        self.provider_mut(ix)?.aggregates = now;
        Some(CapacityUndo::Aggregates(ix, was))
    }

    pub(crate) fn put_stamp(
        &mut self,
        ix: ProviderIx,
        generation: u64,
        changed_ms: u64,
    ) -> Option<CapacityUndo> {
        let provider = self.provider_mut(ix)?;
        let before = CapacityUndo::Stamp {
            ix,
            generation: provider.generation,
            changed_ms: provider.changed_ms,
        };
        (provider.generation, provider.changed_ms) = (generation, changed_ms);
        Some(before)
    }

    /// Replaces what a consumer holds; `None` removes the consumer.
    pub(crate) fn put_consumer(
        &mut self,
        uuid: Uuid,
        consumer: Option<Arc<Consumer>>,
    ) -> CapacityUndo {
        self.revision += 1;
        let slot = self.holders.get(&uuid).copied();
        let before = slot.and_then(|slot| self.consumers.get(slot)).cloned();
        if let Some(before) = &before {
            self.usages.remove(before);
            before.due_ms().map(|at| self.due.remove(&(at, uuid)));
            for held in &before.held {
                self.hold(uuid, held.provider, held.class, -i64::from(held.amount));
            }
        }
        match (slot, consumer) {
            (Some(slot), None) => {
                self.consumers.remove(slot);
                self.holders.remove(&uuid);
            }
            (None, None) => {}
            (slot, Some(mut consumer)) => {
                self.usages.add(Arc::make_mut(&mut consumer));
                consumer.due_ms().map(|at| self.due.insert((at, uuid), ()));
                for held in &consumer.held {
                    self.hold(uuid, held.provider, held.class, i64::from(held.amount));
                }
                match slot.and_then(|slot| self.consumers.get_mut(slot)) {
                    Some(place) => *place = consumer,
                    None => {
                        let slot = self.consumers.insert(consumer);
                        self.holders.insert(uuid, slot);
                    }
                }
            }
        }
        CapacityUndo::Consumer(uuid, before)
    }

    fn hold(&mut self, consumer: Uuid, ix: ProviderIx, class: NameIx, amount: i64) {
        if self.at(ix).is_none() {
            return;
        }
        let holder = (ix, consumer);
        let (joins, leaves) = if amount > 0 {
            (self.holders_of.insert(holder, ()).is_none(), false)
        } else {
            (false, self.holders_of.remove(&holder).is_some())
        };
        let Some(provider) = self.provider_mut(ix) else { return };
        provider.consumers += usize::from(joins);
        provider.consumers -= usize::from(leaves);
        let Ok(at) = provider.stocks.binary_search_by_key(&class, |stock| stock.class) else {
            return;
        };
        let stock = &mut provider.stocks[at];
        stock.used = stock.used.saturating_add_signed(amount);
        let available = Availability::from(&*stock);
        self.set_availability(ix, class, Some(available));
    }
}

impl AggregateTable {
    fn join(&mut self, uuid: Uuid, provider: ProviderIx) -> AggregateIx {
        let ix = self.by_uuid.get(&uuid).copied().unwrap_or_else(|| {
            let ix = self.vacant.pop().unwrap_or(self.rows.len() as AggregateIx);
            self.by_uuid.insert(uuid, ix);
            ix
        });
        let row = self.rows.entry(ix as usize);
        row.get_or_insert_with(|| Aggregate { uuid, members: Bits::default() })
            .members
            .insert(provider);
        ix
    }

    fn leave(&mut self, ix: AggregateIx, provider: ProviderIx) {
        let Some(aggregate) = self.rows.get_mut(ix as usize).and_then(Option::as_mut) else {
            return;
        };
        aggregate.members.remove(provider);
        if aggregate.members.is_empty() {
            self.by_uuid.remove(&aggregate.uuid);
            *self.rows.entry(ix as usize) = None;
            self.vacant.push(ix);
        }
    }
}
