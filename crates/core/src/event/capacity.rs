//! Events about providers, inventories and consumers.

use std::sync::Arc;

use crate::capacity::{Inventory, Reclaim, Uuid};
use crate::event::{ReleaseCause, event_group};

event_group!(Capacity: CapacityEvent {
    ProviderDefined(ProviderDefined),
    ProviderRemoved(ProviderRemoved),
    ProviderCounted(ProviderCounted),
    InventoriesSet(InventoriesSet),
    TraitsSet(TraitsSet),
    AggregatesSet(AggregatesSet),
    ClassDefined(ClassDefined),
    ClassRemoved(ClassRemoved),
    TraitDefined(TraitDefined),
    TraitRemoved(TraitRemoved),
    AllocationsSet(AllocationsSet),
    AllocationsExtended(AllocationsExtended),
    AllocationsReleased(AllocationsReleased),
});

/// A provider was created, renamed or moved. A new provider has generation 0; this event does not change the
/// generation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderDefined {
    pub provider: Uuid,
    pub name: Arc<str>,
    pub parent: Option<Uuid>,
    pub at_ms: u64,
}

/// Its inventories, traits and aggregates are removed with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderRemoved {
    pub provider: Uuid,
    pub name: Arc<str>,
}

/// All inventories of a provider were replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InventoriesSet {
    pub provider: Uuid,
    pub generation: u64,
    /// The complete list: new, rewritten and unchanged inventories.
    pub inventories: Vec<InventorySet>,
    pub at_ms: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InventorySet {
    pub class: Arc<str>,
    pub inventory: Inventory,
    /// Whether this change wrote it, even with the same numbers. Otherwise its time of change stays.
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
    /// The previous name, if it was renamed.
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

/// The allocations of a consumer were replaced.
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
    /// Providers that the consumer held before and holds no more. Ignored by `apply`; for watchers of these providers.
    pub left: Vec<Uuid>,
    pub at_ms: u64,
}

/// An allocation from one provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Allocated {
    pub provider: Uuid,
    pub resources: Vec<(Arc<str>, u32)>,
}

/// The generation of a provider was incremented because its allocations changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderCounted {
    pub provider: Uuid,
    pub generation: u64,
    pub at_ms: u64,
}

/// The lease of a consumer's allocations was changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllocationsExtended {
    pub consumer: Uuid,
    pub generation: u64,
    /// `None`: no expiry.
    pub expires_ms: Option<u64>,
    pub reclaim: Reclaim,
}

/// A consumer released everything and was removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllocationsReleased {
    pub consumer: Uuid,
    /// The last generation.
    pub generation: u64,
    pub project: Arc<str>,
    pub user: Arc<str>,
    pub cause: ReleaseCause,
    /// What it held. Ignored by `apply`.
    pub was: Vec<Allocated>,
}
