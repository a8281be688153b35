//! What has happened to providers, inventories and consumers.

use std::sync::Arc;

use crate::capacity::{Inventory, Reclaim, Uuid};
use crate::event::ReleaseCause;

/// A provider has come to be, or has another name or parent. Its generation is 0 when it comes and not changed by this.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderDefined {
    pub provider: Uuid,
    pub name: Arc<str>,
    pub parent: Option<Uuid>,
    pub at_ms: u64,
}

/// With its inventories, traits and aggregates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderRemoved {
    pub provider: Uuid,
    pub name: Arc<str>,
}

/// What a provider has of everything, from now on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InventoriesSet {
    pub provider: Uuid,
    pub generation: u64,
    /// Those that are new or written again, and those that stay as they were; whatever is not here is gone.
    pub inventories: Vec<InventorySet>,
    pub at_ms: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InventorySet {
    pub class: Arc<str>,
    pub inventory: Inventory,
    /// Whether it was written now, be it with the same numbers; one that was not keeps its time.
    pub written: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraitsSet {
    pub provider: Uuid,
    pub generation: u64,
    pub traits: Vec<Arc<str>>,
    pub at_ms: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AggregatesSet {
    pub provider: Uuid,
    pub generation: u64,
    pub aggregates: Vec<Uuid>,
    pub at_ms: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClassDefined {
    pub class: Arc<str>,
    /// The name that it had until now, if it had one.
    pub was: Option<Arc<str>>,
    pub at_ms: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClassRemoved {
    pub class: Arc<str>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraitDefined {
    pub name: Arc<str>,
    pub at_ms: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraitRemoved {
    pub name: Arc<str>,
}

/// A consumer holds exactly this from now on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllocationsSet {
    pub consumer: Uuid,
    pub generation: u64,
    pub project: Arc<str>,
    pub user: Arc<str>,
    pub consumer_type: Option<Arc<str>>,
    pub allocations: Vec<Allocated>,
    pub expires_ms: Option<u64>,
    pub reclaim: Reclaim,
    /// Providers of which it held something and no longer does. `apply` does not look; who watches a provider does.
    pub left: Vec<Uuid>,
    pub at_ms: u64,
}

/// What is held of one provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Allocated {
    pub provider: Uuid,
    pub resources: Vec<(Arc<str>, u32)>,
}

/// The generation of a provider goes up because of what is held of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderCounted {
    pub provider: Uuid,
    pub generation: u64,
    pub at_ms: u64,
}

/// The allocations of a consumer last until another time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllocationsExtended {
    pub consumer: Uuid,
    pub generation: u64,
    /// `None`: held until given up.
    pub expires_ms: Option<u64>,
    pub reclaim: Reclaim,
}

/// A consumer holds nothing any more and is forgotten.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllocationsReleased {
    pub consumer: Uuid,
    /// The generation that it had.
    pub generation: u64,
    pub project: Arc<str>,
    pub user: Arc<str>,
    pub cause: ReleaseCause,
    /// What it held. `apply` does not look.
    pub was: Vec<Allocated>,
}
