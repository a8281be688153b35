//! Applies events about capacity. Frozen once released, as the rest of `apply`.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::capacity::Uuid;
use crate::event::capacity::{
    Allocated, AllocationsExtended, AllocationsSet, CapacityEvent, ClassDefined, InventoriesSet,
    ProviderDefined,
};
use crate::state::State;
use crate::state::capacity::Capacity;
use crate::state::capacity::consumer::{Consumer, HeldAmount};
use crate::state::capacity::names::{NameEntry, NameIx};
use crate::state::capacity::provider::{Provider, ProviderIx, Stock};
use crate::state::capacity::update::CapacityUndo;
use crate::state::undo;

impl State {
    fn note_capacity(&mut self, change: impl IntoIterator<Item = CapacityUndo>) {
        for change in change {
            self.note(undo::StateChange::Capacity(change));
        }
    }

    pub(super) fn apply_capacity(&mut self, event: &CapacityEvent) {
        match event {
            CapacityEvent::ProviderDefined(event) => self.provider_defined(event),
            CapacityEvent::ProviderRemoved(event) => self.provider_removed(event.provider),
            CapacityEvent::ProviderCounted(event) => {
                self.provider_counted(event.provider, event.generation, event.at_ms);
            }
            CapacityEvent::InventoriesSet(event) => self.inventories_set(event),
            CapacityEvent::TraitsSet(event) => {
                self.traits_set(event.provider, &event.traits);
                self.provider_counted(event.provider, event.generation, event.at_ms);
            }
            CapacityEvent::AggregatesSet(event) => {
                self.aggregates_set(event.provider, &event.aggregates);
                self.provider_counted(event.provider, event.generation, event.at_ms);
            }
            CapacityEvent::ClassDefined(event) => self.class_defined(event),
            CapacityEvent::ClassRemoved(event) => self.class_removed(&event.class),
            CapacityEvent::TraitDefined(event) => self.trait_defined(&event.name, event.at_ms),
            CapacityEvent::TraitRemoved(event) => self.trait_removed(&event.name),
            CapacityEvent::AllocationsSet(event) => self.allocations_set(event),
            CapacityEvent::AllocationsExtended(event) => self.allocations_extended(event),
            CapacityEvent::AllocationsReleased(event) => self.allocations_released(event.consumer),
        }
    }

    fn provider_defined(&mut self, event: &ProviderDefined) {
        let parent = event.parent.and_then(|parent| self.capacity.provider_ix(parent));
        let ix = match self.capacity.provider_ix(event.provider) {
            Some(ix) => {
                let change = self.capacity.put_name_and_parent(ix, event.name.clone(), parent);
                self.note_capacity(change);
                ix
            }
            None => {
                let provider = Provider::new(event.provider, event.name.clone(), parent);
                let ix = self.capacity.add_provider(provider);
                self.note_capacity([CapacityUndo::ProviderAdded(ix)]);
                ix
            }
        };
        let generation = self.capacity.at(ix).map_or(0, |provider| provider.generation);
        let change = self.capacity.put_stamp(ix, generation, event.at_ms);
        self.note_capacity(change);
    }

    fn provider_removed(&mut self, uuid: Uuid) {
        let Some(ix) = self.capacity.provider_ix(uuid) else { return };
        let capacity = &mut self.capacity;
        let emptied = [
            capacity.put_stocks(ix, Vec::new()),
            capacity.put_traits(ix, Vec::new()),
            capacity.put_aggregates(ix, Vec::new()),
        ];
        let removed = capacity.remove_provider(ix).map(Box::new).map(CapacityUndo::ProviderRemoved);
        self.note_capacity(emptied.into_iter().flatten().chain(removed));
    }

    fn provider_counted(&mut self, uuid: Uuid, generation: u64, at_ms: u64) {
        let Some(ix) = self.capacity.provider_ix(uuid) else { return };
        let change = self.capacity.put_stamp(ix, generation, at_ms);
        self.note_capacity(change);
    }

    fn inventories_set(&mut self, event: &InventoriesSet) {
        let Some(provider) = self.capacity.provider(event.provider) else { return };
        let Some(ix) = self.capacity.provider_ix(event.provider) else { return };
        let stock = |class: NameIx, inventory, written: bool| {
            let before = provider.stock(class);
            let kept_ms = before.filter(|_| !written).map(|stock| stock.changed_ms);
            Stock {
                class,
                inventory,
                used: before.map_or(0, |stock| stock.used),
                changed_ms: kept_ms.unwrap_or(event.at_ms),
            }
        };
        let mut stocks: Vec<Stock> = event
            .inventories
            .iter()
            .filter_map(|set| {
                let class = self.capacity.classes.find(&set.class)?;
                Some(stock(class, set.inventory, set.written))
            })
            .collect();
        stocks.sort_by_key(|stock| stock.class);
        stocks.dedup_by_key(|stock| stock.class);
        let change = self.capacity.put_stocks(ix, stocks);
        self.note_capacity(change);
        self.provider_counted(event.provider, event.generation, event.at_ms);
    }

    fn traits_set(&mut self, provider: Uuid, traits: &[Arc<str>]) {
        let Some(ix) = self.capacity.provider_ix(provider) else { return };
        let traits = traits.iter().filter_map(|name| self.capacity.traits.find(name)).collect();
        let change = self.capacity.put_traits(ix, traits);
        self.note_capacity(change);
    }

    fn aggregates_set(&mut self, provider: Uuid, aggregates: &[Uuid]) {
        let Some(ix) = self.capacity.provider_ix(provider) else { return };
        let change = self.capacity.put_aggregates(ix, aggregates.to_vec());
        self.note_capacity(change);
    }

    fn class_defined(&mut self, event: &ClassDefined) {
        let named = NameEntry { name: event.class.clone(), changed_ms: event.at_ms };
        let classes = &mut self.capacity.classes;
        if classes.find(&event.class).is_some() {
            return;
        }
        let renamed = event.was.as_ref().and_then(|was| classes.find(was));
        let change = match renamed {
            Some(ix) => self.capacity.rename_class(ix, named),
            None => Some(CapacityUndo::ClassAdded(classes.add(named))),
        };
        self.note_capacity(change);
    }

    fn class_removed(&mut self, class: &str) {
        let classes = &mut self.capacity.classes;
        let change = classes.find(class).and_then(|ix| classes.remove(ix));
        self.note_capacity(change.map(CapacityUndo::ClassRemoved));
    }

    fn trait_defined(&mut self, name: &Arc<str>, at_ms: u64) {
        if self.capacity.traits.find(name).is_none() {
            let named = NameEntry { name: name.clone(), changed_ms: at_ms };
            let ix = self.capacity.traits.add(named);
            self.note_capacity([CapacityUndo::TraitAdded(ix)]);
        }
    }

    fn trait_removed(&mut self, name: &str) {
        let traits = &mut self.capacity.traits;
        let change = traits.find(name).and_then(|ix| traits.remove(ix));
        self.note_capacity(change.map(CapacityUndo::TraitRemoved));
    }

    fn allocations_set(&mut self, event: &AllocationsSet) {
        let held = self.capacity.held(&event.allocations);
        if held.is_empty() {
            return;
        }
        let consumer = Consumer {
            uuid: event.consumer,
            generation: event.generation,
            project: event.project.clone(),
            user: event.user.clone(),
            consumer_type: event.consumer_type.clone(),
            held,
            written_ms: event.at_ms,
            expires_ms: event.expires_ms,
            reclaim: event.reclaim,
        };
        let change = self.capacity.put_consumer(event.consumer, Some(Arc::new(consumer)));
        self.note_capacity([change]);
    }

    fn allocations_extended(&mut self, event: &AllocationsExtended) {
        let Some(consumer) = self.capacity.consumer(event.consumer) else { return };
        let consumer = Consumer {
            generation: event.generation,
            expires_ms: event.expires_ms,
            reclaim: event.reclaim,
            ..consumer.clone()
        };
        let change = self.capacity.put_consumer(event.consumer, Some(Arc::new(consumer)));
        self.note_capacity([change]);
    }

    fn allocations_released(&mut self, consumer: Uuid) {
        if self.capacity.consumer(consumer).is_some() {
            let change = self.capacity.put_consumer(consumer, None);
            self.note_capacity([change]);
        }
    }
}

impl Capacity {
    /// Resolves the names in a list of allocations. Skips unknown providers and classes, and all but the first entry
    /// for a provider and class.
    pub(crate) fn held(&self, allocations: &[Allocated]) -> Box<[HeldAmount]> {
        let mut seen: BTreeSet<(ProviderIx, NameIx)> = BTreeSet::new();
        let mut held = Vec::with_capacity(allocations.iter().map(|one| one.resources.len()).sum());
        for Allocated { provider, resources } in allocations {
            let Some(provider) = self.provider_ix(*provider) else { continue };
            for (class, amount) in resources {
                let Some(class) = self.classes.find(class) else { continue };
                if *amount > 0 && seen.insert((provider, class)) {
                    held.push(HeldAmount { provider, class, amount: *amount });
                }
            }
        }
        held.into()
    }
}
