//! One provider: its place in a tree, what it has, and who holds some of it.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::names::NameIx;
use crate::capacity::{Inventory, Uuid};

/// Where a provider stands in the list of all. It stays there for as long as the provider exists.
pub type ProviderIx = u32;

/// Where an aggregate stands in the list of all.
pub type AggregateIx = u32;

#[derive(Debug, Clone)]
pub struct Provider {
    pub uuid: Uuid,
    pub name: Arc<str>,
    pub generation: u64,
    pub parent: Option<ProviderIx>,
    /// The provider at the top of its tree; itself, if it has no parent.
    pub root: ProviderIx,
    pub children: Vec<ProviderIx>,
    /// In the order of their classes.
    pub stocks: Vec<Stock>,
    /// In order.
    pub traits: Vec<NameIx>,
    /// In order.
    pub aggregates: Vec<AggregateIx>,
    pub consumers: BTreeSet<Uuid>,
    /// When anything about it was written last.
    pub changed_ms: u64,
    /// Grows whenever anything about it changes, within one run of the program. For whoever keeps what it looked like.
    pub touched: u64,
}

/// An inventory and what is held of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stock {
    pub class: NameIx,
    pub inventory: Inventory,
    pub used: u64,
    pub changed_ms: u64,
}

impl Stock {
    /// What can still be given out; below zero after an inventory has shrunk.
    pub fn room(&self) -> i64 {
        self.inventory.capacity().saturating_sub_unsigned(self.used)
    }
}

impl Provider {
    /// One that has nothing yet. Where it stands in its tree is settled when it is added.
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
            consumers: BTreeSet::new(),
            changed_ms: 0,
            touched: 0,
        }
    }

    pub fn stock(&self, class: NameIx) -> Option<&Stock> {
        let at = self.stocks.binary_search_by_key(&class, |stock| stock.class).ok()?;
        self.stocks.get(at)
    }

    pub fn has_trait(&self, wanted: NameIx) -> bool {
        self.traits.binary_search(&wanted).is_ok()
    }

    pub fn has_aggregate(&self, wanted: AggregateIx) -> bool {
        self.aggregates.binary_search(&wanted).is_ok()
    }
}
