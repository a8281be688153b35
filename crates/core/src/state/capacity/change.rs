//! The only ways in which capacity changes. Each puts something in place and gives back what was there, which is how it is
//! undone: by putting that in place.
//!
//! Nothing here refuses or chooses. Indexes follow the rows here and nowhere else.

use std::sync::Arc;

use super::column::Room;
use super::consumer::Consumer;
use super::names::{NameIx, Named};
use super::provider::{AggregateIx, Provider, ProviderIx, Stock};
use super::{Aggregate, Aggregates, Capacity};
use crate::capacity::Uuid;

/// What was there before, to put in place again.
#[derive(Debug, Clone)]
pub(crate) enum Change {
    ClassAdded(NameIx),
    ClassRemoved(Named),
    ClassRenamed(NameIx, Named),
    TraitAdded(NameIx),
    TraitRemoved(Named),
    ProviderAdded(ProviderIx),
    ProviderRemoved(Box<Provider>),
    Place { ix: ProviderIx, name: Arc<str>, parent: Option<ProviderIx> },
    Stocks(ProviderIx, Vec<Stock>),
    Traits(ProviderIx, Vec<NameIx>),
    Aggregates(ProviderIx, Vec<Uuid>),
    Stamp { ix: ProviderIx, generation: u64, changed_ms: u64 },
    Consumer(Uuid, Option<Arc<Consumer>>),
}

impl Capacity {
    pub(crate) fn undo(&mut self, change: Change) {
        match change {
            Change::ClassAdded(ix) => drop(self.classes.remove(ix)),
            Change::ClassRemoved(named) => drop(self.classes.add(named)),
            Change::ClassRenamed(ix, named) => drop(self.rename_class(ix, named)),
            Change::TraitAdded(ix) => drop(self.traits.remove(ix)),
            Change::TraitRemoved(named) => drop(self.traits.add(named)),
            Change::ProviderAdded(ix) => drop(self.remove_provider(ix)),
            Change::ProviderRemoved(provider) => drop(self.add_provider(*provider)),
            Change::Place { ix, name, parent } => drop(self.put_place(ix, name, parent)),
            Change::Stocks(ix, stocks) => drop(self.put_stocks(ix, stocks)),
            Change::Traits(ix, traits) => drop(self.put_traits(ix, traits)),
            Change::Aggregates(ix, aggregates) => drop(self.put_aggregates(ix, aggregates)),
            Change::Stamp { ix, generation, changed_ms } => {
                drop(self.put_stamp(ix, generation, changed_ms));
            }
            Change::Consumer(uuid, consumer) => drop(self.put_consumer(uuid, consumer)),
        }
    }

    fn provider_mut(&mut self, ix: ProviderIx) -> Option<&mut Provider> {
        let provider = Arc::make_mut(self.providers.get_mut(ix)?);
        self.touches += 1;
        provider.touched = self.touches;
        Some(provider)
    }

    pub(crate) fn rename_class(&mut self, ix: NameIx, named: Named) -> Option<Change> {
        self.touches += 1;
        self.renamed = self.touches;
        self.classes.rename(ix, named).map(|was| Change::ClassRenamed(ix, was))
    }

    /// A provider without children, stocks, traits, aggregates or consumers.
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

    /// Of a provider as [`Capacity::add_provider`] makes it.
    pub(crate) fn remove_provider(&mut self, ix: ProviderIx) -> Option<Provider> {
        let parent = self.at(ix)?.parent;
        self.set_parent(ix, None);
        let provider = self.providers.remove(ix)?;
        self.touches += 1;
        self.uuids.remove(&provider.uuid);
        self.names.remove(&provider.name);
        self.roots.remove(ix);
        let mut provider = Arc::unwrap_or_clone(provider);
        provider.parent = parent;
        Some(provider)
    }

    pub(crate) fn put_place(
        &mut self,
        ix: ProviderIx,
        name: Arc<str>,
        parent: Option<ProviderIx>,
    ) -> Option<Change> {
        let provider = self.provider_mut(ix)?;
        let before = Change::Place { ix, name: provider.name.clone(), parent: provider.parent };
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

    pub(crate) fn put_stocks(&mut self, ix: ProviderIx, stocks: Vec<Stock>) -> Option<Change> {
        let before = self.at(ix)?.stocks.clone();
        for stock in &before {
            self.set_room(ix, stock.class, None);
        }
        for stock in &stocks {
            self.set_room(ix, stock.class, Some(stock.into()));
        }
        self.provider_mut(ix)?.stocks = stocks;
        Some(Change::Stocks(ix, before))
    }

    fn set_room(&mut self, ix: ProviderIx, class: NameIx, room: Option<Room>) {
        if class as usize >= self.columns.len() {
            self.columns.resize_with(class as usize + 1, Default::default);
        }
        self.columns[class as usize].set(ix, room);
    }

    pub(crate) fn put_traits(&mut self, ix: ProviderIx, mut traits: Vec<NameIx>) -> Option<Change> {
        traits.sort_unstable();
        traits.dedup();
        let before = std::mem::take(&mut self.provider_mut(ix)?.traits);
        for &gone in &before {
            self.with_trait[gone as usize].remove(ix);
        }
        for &new in &traits {
            if new as usize >= self.with_trait.len() {
                self.with_trait.resize_with(new as usize + 1, Default::default);
            }
            self.with_trait[new as usize].insert(ix);
        }
        self.provider_mut(ix)?.traits = traits;
        Some(Change::Traits(ix, before))
    }

    pub(crate) fn put_aggregates(&mut self, ix: ProviderIx, uuids: Vec<Uuid>) -> Option<Change> {
        let before = std::mem::take(&mut self.provider_mut(ix)?.aggregates);
        let was = before.iter().filter_map(|aggregate| self.aggregate(*aggregate)).collect();
        // Joined before left, so that a set that stays is not made anew.
        let mut now: Vec<AggregateIx> =
            uuids.into_iter().map(|uuid| self.aggregates.join(uuid, ix)).collect();
        now.sort_unstable();
        now.dedup();
        for gone in before.into_iter().filter(|aggregate| now.binary_search(aggregate).is_err()) {
            self.aggregates.leave(gone, ix);
        }
        self.provider_mut(ix)?.aggregates = now;
        Some(Change::Aggregates(ix, was))
    }

    pub(crate) fn put_stamp(
        &mut self,
        ix: ProviderIx,
        generation: u64,
        changed_ms: u64,
    ) -> Option<Change> {
        let provider = self.provider_mut(ix)?;
        let before =
            Change::Stamp { ix, generation: provider.generation, changed_ms: provider.changed_ms };
        (provider.generation, provider.changed_ms) = (generation, changed_ms);
        Some(before)
    }

    /// What a consumer holds from now on; `None`: nothing, and it is forgotten.
    pub(crate) fn put_consumer(&mut self, uuid: Uuid, consumer: Option<Arc<Consumer>>) -> Change {
        self.touches += 1;
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
                consumer.due_ms().map(|at| self.due.insert((at, uuid)));
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
        Change::Consumer(uuid, before)
    }

    fn hold(&mut self, consumer: Uuid, ix: ProviderIx, class: NameIx, amount: i64) {
        let Some(provider) = self.provider_mut(ix) else { return };
        if amount > 0 {
            provider.consumers.insert(consumer);
        } else {
            provider.consumers.remove(&consumer);
        }
        let Ok(at) = provider.stocks.binary_search_by_key(&class, |stock| stock.class) else {
            return;
        };
        let stock = &mut provider.stocks[at];
        stock.used = stock.used.saturating_add_signed(amount);
        let room = Room::from(&*stock);
        self.set_room(ix, class, Some(room));
    }
}

impl Aggregates {
    fn join(&mut self, uuid: Uuid, provider: ProviderIx) -> AggregateIx {
        let ix = self.by_uuid.get(&uuid).copied().unwrap_or_else(|| {
            let ix = self.vacant.pop().unwrap_or_else(|| {
                self.rows.push(None);
                (self.rows.len() - 1) as AggregateIx
            });
            self.by_uuid.insert(uuid, ix);
            self.rows[ix as usize] = Some(Aggregate { uuid, members: Default::default() });
            ix
        });
        if let Some(aggregate) = self.rows[ix as usize].as_mut() {
            aggregate.members.insert(provider);
        }
        ix
    }

    fn leave(&mut self, ix: AggregateIx, provider: ProviderIx) {
        let Some(aggregate) = self.rows.get_mut(ix as usize).and_then(Option::as_mut) else {
            return;
        };
        aggregate.members.remove(provider);
        if aggregate.members.is_empty() {
            self.by_uuid.remove(&aggregate.uuid);
            self.rows[ix as usize] = None;
            self.vacant.push(ix);
        }
    }
}
