//! One provider: its place in a tree and its inventories.

use std::sync::Arc;

use super::names::NameIx;
use crate::capacity::{Inventory, Uuid};

/// Index of a provider. It does not change while the provider exists.
pub type ProviderIx = u32;

/// Index of an aggregate.
pub type AggregateIx = u32;

#[derive(Debug, Clone)]
pub struct Provider {
    pub uuid: Uuid,
    pub name: Arc<str>,
    pub generation: u64,
    pub parent: Option<ProviderIx>,
    /// The top of its tree; itself if it has no parent.
    pub root: ProviderIx,
    pub children: Vec<ProviderIx>,
    /// Sorted by class.
    pub stocks: Vec<Stock>,
    /// Sorted.
    pub traits: Vec<NameIx>,
    /// Sorted.
    pub aggregates: Vec<AggregateIx>,
    /// How many consumers hold something of it.
    pub consumers: usize,
    /// When the provider was last written.
    pub changed_ms: u64,
    /// Grows with every change within this process; lets caches detect changes.
    pub revision: u64,
}

/// An inventory and its usage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stock {
    pub class: NameIx,
    pub inventory: Inventory,
    pub used: u64,
    pub changed_ms: u64,
}

impl Stock {
    /// Capacity minus usage; negative after the inventory has shrunk below its usage.
    pub fn free(&self) -> i64 {
        self.inventory.capacity().saturating_sub_unsigned(self.used)
    }
}

impl Provider {
    /// A provider without inventories. [`Capacity::add_provider`](super::Capacity::add_provider) sets its root.
    pub(crate) fn new(uuid: Uuid, name: Arc<str>, parent: Option<ProviderIx>) -> Provider {
        Provider {
            uuid,
            name,
            generation: 0,
            parent,
            root: 0,
            children: Vec::new(),
            stocks: Vec::new(),
            traits: Vec::new(),
            aggregates: Vec::new(),
            consumers: 0,
            changed_ms: 0,
            revision: 0,
        }
    }

    pub fn stock(&self, class: NameIx) -> Option<&Stock> {
        let at = self.stocks.binary_search_by_key(&class, |stock| stock.class).ok()?;
        self.stocks.get(at)
    }
}
