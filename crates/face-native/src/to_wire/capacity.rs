//! Providers, inventories and consumers as JSON.

use allod_core::capacity::{Inventory, Reclaim};

use crate::consumers::ConsumerRow;
use crate::providers::rows::{ProviderCopy, ProviderField, ProviderFields, StockRow};
use crate::wire::{self, HeldAllocations, OrderedMap, Time, UuidText};

/// A provider with the requested fields.
pub(crate) fn provider(row: &ProviderCopy, fields: ProviderFields) -> wire::Provider<'_> {
    let stock = |stock: &StockRow| wire::Inventory {
        used: Some(stock.used),
        free: Some(stock.free),
        ..inventory(&stock.inventory)
    };
    let inventories = || row.stocks.iter().map(|one| (&*one.class, stock(one))).collect();
    let traits = || row.traits.iter().map(|name| &**name).collect();
    let aggregates = || row.aggregates.iter().map(|uuid| UuidText(*uuid)).collect();
    wire::Provider {
        uuid: UuidText(row.uuid),
        name: fields.has(ProviderField::Name).then_some(&row.name),
        generation: fields.has(ProviderField::Generation).then_some(row.generation),
        parent: fields.has(ProviderField::Parent).then_some(row.parent.map(UuidText)),
        root: fields.has(ProviderField::Root).then_some(UuidText(row.root)),
        aggregates: fields.has(ProviderField::Aggregates).then(aggregates),
        traits: fields.has(ProviderField::Traits).then(traits),
        inventories: fields.has(ProviderField::Inventories).then(|| OrderedMap(inventories())),
        consumers: fields.has(ProviderField::Consumers).then_some(row.consumers),
        changed: fields.has(ProviderField::Changed).then_some(Time { ms: row.changed_ms }),
    }
}

/// An inventory without its usage.
pub(crate) fn inventory(inventory: &Inventory) -> wire::Inventory {
    wire::Inventory {
        total: inventory.total,
        reserved: inventory.reserved,
        min_unit: inventory.min_unit,
        max_unit: inventory.max_unit,
        step_size: inventory.step_size,
        allocation_ratio: inventory.allocation_ratio.0,
        capacity: inventory.capacity(),
        used: None,
        free: None,
    }
}

pub(crate) fn consumer(row: &ConsumerRow) -> wire::Consumer<'_> {
    wire::Consumer {
        uuid: UuidText(row.uuid),
        generation: row.generation,
        project: &row.project,
        user: &row.user,
        r#type: row.consumer_type.as_deref(),
        allocations: HeldAllocations(&row.held),
        written: Time { ms: row.written_ms },
        expires: row.expires_ms.map(|ms| Time { ms }),
        expired: row.is_expired,
        reclaim: row.expires_ms.map(|_| reclaim(row.reclaim)),
    }
}

pub(crate) fn reclaim(reclaim: Reclaim) -> &'static str {
    match reclaim {
        Reclaim::Reap => "reap",
        Reclaim::Keep => "keep",
    }
}
