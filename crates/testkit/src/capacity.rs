//! A naive model of capacity: what each provider has and what each consumer holds.
//!
//! It does not decide anything. It applies the events of the journal and reports what cannot be right: more allocated
//! than the capacity, a generation that repeats or skips, a change to something that does not exist.

use std::collections::BTreeMap;
use std::sync::Arc;

use allod_core::capacity::{Inventory, Uuid};
use allod_core::event::Event;
use allod_core::event::capacity::{Allocated, AllocationsSet, CapacityEvent, InventoriesSet};

#[derive(Debug, Clone, Default)]
pub struct CapacityModel {
    providers: BTreeMap<Uuid, ModelProvider>,
    consumers: BTreeMap<Uuid, ModelConsumer>,
    used: BTreeMap<(Uuid, Arc<str>), u64>,
    /// The usage before the current entry, of everything that the entry changes.
    before: BTreeMap<(Uuid, Arc<str>), u64>,
}

#[derive(Debug, Clone, Default)]
struct ModelProvider {
    generation: u64,
    inventories: BTreeMap<Arc<str>, Inventory>,
}

#[derive(Debug, Clone, Default)]
struct ModelConsumer {
    generation: u64,
    held: BTreeMap<(Uuid, Arc<str>), u64>,
}

impl CapacityModel {
    pub fn provider_generation(&self, provider: Uuid) -> Option<u64> {
        self.providers.get(&provider).map(|provider| provider.generation)
    }

    pub fn consumer_generation(&self, consumer: Uuid) -> Option<u64> {
        self.consumers.get(&consumer).map(|consumer| consumer.generation)
    }

    /// The usage of a class of a provider.
    pub fn used(&self, provider: Uuid, class: &str) -> u64 {
        self.used.get(&(provider, class.into())).copied().unwrap_or(0)
    }

    /// Checks at the end of an entry that its changes did not exceed a capacity. Within an entry, a consumer may take
    /// what another one releases a moment later.
    pub fn entry_ends(&mut self) -> Result<(), String> {
        for ((provider, class), before) in std::mem::take(&mut self.before) {
            let stock = self.providers.get(&provider);
            let stock = stock.and_then(|provider| provider.inventories.get(&class));
            let used = self.used(provider, &class);
            let fits = |all: i64| i64::try_from(used).is_ok_and(|used| used <= all);
            if used > before && !stock.is_some_and(|stock| fits(stock.capacity())) {
                return Err(format!(
                    "{used} of {class} of provider {provider} are allocated: {stock:?}"
                ));
            }
        }
        Ok(())
    }

    pub fn event(&mut self, event: &Event) -> Result<(), String> {
        match event {
            Event::Capacity(CapacityEvent::ProviderDefined(event)) => {
                self.providers.entry(event.provider).or_default();
            }
            Event::Capacity(CapacityEvent::ProviderRemoved(event)) => {
                let holds = |consumer: &ModelConsumer| {
                    consumer.held.keys().any(|(provider, _)| *provider == event.provider)
                };
                if self.consumers.values().any(holds) {
                    return Err(format!("provider {} is removed while in use", event.provider));
                }
                if self.providers.remove(&event.provider).is_none() {
                    return Err(format!("provider {} is removed twice", event.provider));
                }
            }
            Event::Capacity(CapacityEvent::ClassDefined(event)) => {
                if let Some(was) = &event.was {
                    self.renamed(was, &event.class);
                }
            }
            Event::Capacity(CapacityEvent::ProviderCounted(event)) => {
                self.counted(event.provider, event.generation, 1)?
            }
            Event::Capacity(CapacityEvent::InventoriesSet(event)) => self.inventories(event)?,
            Event::Capacity(CapacityEvent::TraitsSet(event)) => {
                self.counted(event.provider, event.generation, 1)?
            }
            // Before Placement 1.19 the generation does not change.
            Event::Capacity(CapacityEvent::AggregatesSet(event)) => {
                self.counted(event.provider, event.generation, 0)?
            }
            Event::Capacity(CapacityEvent::AllocationsSet(event)) => self.allocations(event)?,
            Event::Capacity(CapacityEvent::AllocationsExtended(event)) => {
                let consumer = self.consumers.get_mut(&event.consumer);
                let consumer = consumer.ok_or("the lease of an unknown consumer is extended")?;
                if consumer.generation + 1 != event.generation {
                    return Err(format!("consumer {} skips a generation", event.consumer));
                }
                consumer.generation = event.generation;
            }
            Event::Capacity(CapacityEvent::AllocationsReleased(event)) => {
                let Some(consumer) = self.consumers.remove(&event.consumer) else {
                    return Err(format!(
                        "consumer {} releases what it does not hold",
                        event.consumer
                    ));
                };
                self.hold(&consumer.held, false)?;
            }
            _ => {}
        }
        Ok(())
    }

    /// Renames a class everywhere.
    fn renamed(&mut self, was: &Arc<str>, class: &Arc<str>) {
        let rename = |map: &mut BTreeMap<(Uuid, Arc<str>), u64>| {
            let names = |(what, amount): ((Uuid, Arc<str>), u64)| match what {
                (uuid, name) if name == *was => ((uuid, class.clone()), amount),
                what => (what, amount),
            };
            *map = std::mem::take(map).into_iter().map(names).collect();
        };
        rename(&mut self.used);
        self.consumers.values_mut().for_each(|consumer| rename(&mut consumer.held));
        for provider in self.providers.values_mut() {
            let inventory = provider.inventories.remove(was);
            provider.inventories.extend(inventory.map(|inventory| (class.clone(), inventory)));
        }
    }

    fn counted(&mut self, provider: Uuid, generation: u64, least: u64) -> Result<(), String> {
        let known = self.providers.get_mut(&provider);
        let known = known.ok_or_else(|| format!("provider {provider} does not exist"))?;
        let step = generation.checked_sub(known.generation);
        if !step.is_some_and(|step| (least..=1).contains(&step)) {
            let was = known.generation;
            return Err(format!("provider {provider} goes from generation {was} to {generation}"));
        }
        known.generation = generation;
        Ok(())
    }

    fn inventories(&mut self, event: &InventoriesSet) -> Result<(), String> {
        self.counted(event.provider, event.generation, 1)?;
        let now: BTreeMap<Arc<str>, Inventory> =
            event.inventories.iter().map(|set| (set.class.clone(), set.inventory)).collect();
        let uuid = event.provider;
        let Some(provider) = self.providers.get(&uuid) else { return Ok(()) };
        let gone: Vec<Arc<str>> = provider
            .inventories
            .keys()
            .filter(|class| !now.contains_key(*class))
            .cloned()
            .collect();
        if let Some(class) = gone.iter().find(|class| self.used(uuid, class) > 0) {
            return Err(format!("provider {uuid} loses {class} while it is held"));
        }
        if let Some(provider) = self.providers.get_mut(&uuid) {
            provider.inventories = now;
        }
        Ok(())
    }

    fn allocations(&mut self, event: &AllocationsSet) -> Result<(), String> {
        let uuid = event.consumer;
        let before = self.consumers.remove(&uuid).unwrap_or_default();
        if event.generation != before.generation + 1 {
            return Err(format!("consumer {uuid} skips to generation {}", event.generation));
        }
        let mut held = BTreeMap::new();
        for Allocated { provider, resources } in &event.allocations {
            for (class, amount) in resources {
                held.insert((*provider, class.clone()), u64::from(*amount));
            }
        }
        self.hold(&before.held, false)?;
        self.hold(&held, true)?;
        self.consumers.insert(uuid, ModelConsumer { generation: event.generation, held });
        Ok(())
    }
    fn hold(&mut self, held: &BTreeMap<(Uuid, Arc<str>), u64>, more: bool) -> Result<(), String> {
        for (what, amount) in held {
            let used = self.used.entry(what.clone()).or_default();
            self.before.entry(what.clone()).or_insert(*used);
            let now = if more { used.checked_add(*amount) } else { used.checked_sub(*amount) };
            *used = now.ok_or_else(|| format!("the usage of {what:?} is wrong"))?;
        }
        Ok(())
    }
}
