//! Providers with their inventories, traits and aggregates, and custom names: the events, and the rows of a checkpoint.

use std::sync::Arc;

use allod_core::capacity::{Inventory, Ratio, Uuid};
use allod_core::event::capacity::{
    AggregatesSet, ClassDefined, InventoriesSet, InventorySet, ProviderCounted, ProviderDefined,
    ProviderRemoved, TraitDefined, TraitsSet,
};
use allod_core::state::capacity::image::{ProviderImage, StockImage};

/// Sixteen bytes, big-endian.
#[derive(Debug, Clone, Copy, serde::Serialize, serde::Deserialize)]
pub(crate) struct UuidV1([u8; 16]);

impl From<Uuid> for UuidV1 {
    fn from(uuid: Uuid) -> UuidV1 {
        UuidV1(uuid.0.to_be_bytes())
    }
}

impl From<UuidV1> for Uuid {
    fn from(stored: UuidV1) -> Uuid {
        Uuid(u128::from_be_bytes(stored.0))
    }
}

fn texts(list: &[Arc<str>]) -> Vec<&str> {
    list.iter().map(|text| &**text).collect()
}

pub(super) fn load<S, T: From<S>>(list: Vec<S>) -> Vec<T> {
    list.into_iter().map(T::from).collect()
}

pub(super) fn uuids(list: &[Uuid]) -> Vec<UuidV1> {
    list.iter().copied().map(UuidV1::from).collect()
}

#[derive(Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct ProviderDefinedV1<'a> {
    provider: UuidV1,
    name: &'a str,
    parent: Option<UuidV1>,
    at_ms: u64,
}

impl<'a> From<&'a ProviderDefined> for ProviderDefinedV1<'a> {
    fn from(event: &'a ProviderDefined) -> ProviderDefinedV1<'a> {
        ProviderDefinedV1 {
            provider: event.provider.into(),
            name: &event.name,
            parent: event.parent.map(UuidV1::from),
            at_ms: event.at_ms,
        }
    }
}

impl From<ProviderDefinedV1<'_>> for ProviderDefined {
    fn from(stored: ProviderDefinedV1<'_>) -> ProviderDefined {
        ProviderDefined {
            provider: stored.provider.into(),
            name: stored.name.into(),
            parent: stored.parent.map(Uuid::from),
            at_ms: stored.at_ms,
        }
    }
}

#[derive(Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct ProviderRemovedV1<'a> {
    provider: UuidV1,
    name: &'a str,
}

impl<'a> From<&'a ProviderRemoved> for ProviderRemovedV1<'a> {
    fn from(event: &'a ProviderRemoved) -> ProviderRemovedV1<'a> {
        ProviderRemovedV1 { provider: event.provider.into(), name: &event.name }
    }
}

impl From<ProviderRemovedV1<'_>> for ProviderRemoved {
    fn from(stored: ProviderRemovedV1<'_>) -> ProviderRemoved {
        ProviderRemoved { provider: stored.provider.into(), name: stored.name.into() }
    }
}

#[derive(Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct ProviderCountedV1 {
    provider: UuidV1,
    generation: u64,
    at_ms: u64,
}

impl From<&ProviderCounted> for ProviderCountedV1 {
    fn from(event: &ProviderCounted) -> ProviderCountedV1 {
        let &ProviderCounted { provider, generation, at_ms } = event;
        ProviderCountedV1 { provider: provider.into(), generation, at_ms }
    }
}

impl From<ProviderCountedV1> for ProviderCounted {
    fn from(stored: ProviderCountedV1) -> ProviderCounted {
        let ProviderCountedV1 { provider, generation, at_ms } = stored;
        ProviderCounted { provider: provider.into(), generation, at_ms }
    }
}

#[derive(Debug, Clone, Copy, serde::Serialize, serde::Deserialize)]
pub(crate) struct InventoryV1 {
    total: u32,
    reserved: u32,
    min_unit: u32,
    max_unit: u32,
    step_size: u32,
    allocation_ratio: f64,
}

impl From<Inventory> for InventoryV1 {
    fn from(inventory: Inventory) -> InventoryV1 {
        let Inventory { total, reserved, min_unit, max_unit, step_size, allocation_ratio } =
            inventory;
        let allocation_ratio = allocation_ratio.0;
        InventoryV1 { total, reserved, min_unit, max_unit, step_size, allocation_ratio }
    }
}

impl From<InventoryV1> for Inventory {
    fn from(stored: InventoryV1) -> Inventory {
        let InventoryV1 { total, reserved, min_unit, max_unit, step_size, allocation_ratio } =
            stored;
        let allocation_ratio = Ratio(allocation_ratio);
        Inventory { total, reserved, min_unit, max_unit, step_size, allocation_ratio }
    }
}

#[derive(Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct InventoriesSetV1<'a> {
    provider: UuidV1,
    generation: u64,
    #[serde(borrow)]
    inventories: Vec<InventorySetV1<'a>>,
    at_ms: u64,
}

#[derive(Debug, serde::Serialize, serde::Deserialize)]
struct InventorySetV1<'a> {
    class: &'a str,
    inventory: InventoryV1,
    written: bool,
}

impl<'a> From<&'a InventoriesSet> for InventoriesSetV1<'a> {
    fn from(event: &'a InventoriesSet) -> InventoriesSetV1<'a> {
        let set = |set: &'a InventorySet| InventorySetV1 {
            class: &set.class,
            inventory: set.inventory.into(),
            written: set.written,
        };
        InventoriesSetV1 {
            provider: event.provider.into(),
            generation: event.generation,
            inventories: event.inventories.iter().map(set).collect(),
            at_ms: event.at_ms,
        }
    }
}

impl From<InventoriesSetV1<'_>> for InventoriesSet {
    fn from(stored: InventoriesSetV1<'_>) -> InventoriesSet {
        let set = |set: InventorySetV1<'_>| InventorySet {
            class: set.class.into(),
            inventory: set.inventory.into(),
            written: set.written,
        };
        InventoriesSet {
            provider: stored.provider.into(),
            generation: stored.generation,
            inventories: stored.inventories.into_iter().map(set).collect(),
            at_ms: stored.at_ms,
        }
    }
}

#[derive(Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct TraitsSetV1<'a> {
    provider: UuidV1,
    generation: u64,
    #[serde(borrow)]
    traits: Vec<&'a str>,
    at_ms: u64,
}

impl<'a> From<&'a TraitsSet> for TraitsSetV1<'a> {
    fn from(event: &'a TraitsSet) -> TraitsSetV1<'a> {
        TraitsSetV1 {
            provider: event.provider.into(),
            generation: event.generation,
            traits: texts(&event.traits),
            at_ms: event.at_ms,
        }
    }
}

impl From<TraitsSetV1<'_>> for TraitsSet {
    fn from(stored: TraitsSetV1<'_>) -> TraitsSet {
        TraitsSet {
            provider: stored.provider.into(),
            generation: stored.generation,
            traits: load(stored.traits),
            at_ms: stored.at_ms,
        }
    }
}

#[derive(Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct AggregatesSetV1 {
    provider: UuidV1,
    generation: u64,
    aggregates: Vec<UuidV1>,
    at_ms: u64,
}

impl From<&AggregatesSet> for AggregatesSetV1 {
    fn from(event: &AggregatesSet) -> AggregatesSetV1 {
        AggregatesSetV1 {
            provider: event.provider.into(),
            generation: event.generation,
            aggregates: uuids(&event.aggregates),
            at_ms: event.at_ms,
        }
    }
}

impl From<AggregatesSetV1> for AggregatesSet {
    fn from(stored: AggregatesSetV1) -> AggregatesSet {
        AggregatesSet {
            provider: stored.provider.into(),
            generation: stored.generation,
            aggregates: load(stored.aggregates),
            at_ms: stored.at_ms,
        }
    }
}

#[derive(Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct ClassDefinedV1<'a> {
    class: &'a str,
    was: Option<&'a str>,
    at_ms: u64,
}

impl<'a> From<&'a ClassDefined> for ClassDefinedV1<'a> {
    fn from(event: &'a ClassDefined) -> ClassDefinedV1<'a> {
        ClassDefinedV1 { class: &event.class, was: event.was.as_deref(), at_ms: event.at_ms }
    }
}

impl From<ClassDefinedV1<'_>> for ClassDefined {
    fn from(stored: ClassDefinedV1<'_>) -> ClassDefined {
        ClassDefined {
            class: stored.class.into(),
            was: stored.was.map(Arc::from),
            at_ms: stored.at_ms,
        }
    }
}

#[derive(Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct TraitDefinedV1<'a> {
    name: &'a str,
    at_ms: u64,
}

impl<'a> From<&'a TraitDefined> for TraitDefinedV1<'a> {
    fn from(event: &'a TraitDefined) -> TraitDefinedV1<'a> {
        TraitDefinedV1 { name: &event.name, at_ms: event.at_ms }
    }
}

impl From<TraitDefinedV1<'_>> for TraitDefined {
    fn from(stored: TraitDefinedV1<'_>) -> TraitDefined {
        TraitDefined { name: stored.name.into(), at_ms: stored.at_ms }
    }
}

/// A class or a trait was removed.
#[derive(Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct NameRemovedV1<'a> {
    pub name: &'a str,
}

#[derive(Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct CheckpointProviderV1<'a> {
    uuid: UuidV1,
    name: &'a str,
    generation: u64,
    parent: Option<UuidV1>,
    #[serde(borrow)]
    stocks: Vec<StockV1<'a>>,
    #[serde(borrow)]
    traits: Vec<&'a str>,
    aggregates: Vec<UuidV1>,
    changed_ms: u64,
}

#[derive(Debug, serde::Serialize, serde::Deserialize)]
struct StockV1<'a> {
    class: &'a str,
    inventory: InventoryV1,
    changed_ms: u64,
}

impl<'a> From<&'a StockImage> for StockV1<'a> {
    fn from(stock: &'a StockImage) -> StockV1<'a> {
        let inventory = stock.inventory.into();
        StockV1 { class: &stock.class, inventory, changed_ms: stock.changed_ms }
    }
}

impl From<StockV1<'_>> for StockImage {
    fn from(stored: StockV1<'_>) -> StockImage {
        let inventory = stored.inventory.into();
        StockImage { class: stored.class.into(), inventory, changed_ms: stored.changed_ms }
    }
}

impl<'a> From<&'a ProviderImage> for CheckpointProviderV1<'a> {
    fn from(image: &'a ProviderImage) -> CheckpointProviderV1<'a> {
        CheckpointProviderV1 {
            uuid: image.uuid.into(),
            name: &image.name,
            generation: image.generation,
            parent: image.parent.map(UuidV1::from),
            stocks: image.stocks.iter().map(StockV1::from).collect(),
            traits: texts(&image.traits),
            aggregates: uuids(&image.aggregates),
            changed_ms: image.changed_ms,
        }
    }
}

impl From<CheckpointProviderV1<'_>> for ProviderImage {
    fn from(stored: CheckpointProviderV1<'_>) -> ProviderImage {
        ProviderImage {
            uuid: stored.uuid.into(),
            name: stored.name.into(),
            generation: stored.generation,
            parent: stored.parent.map(Uuid::from),
            stocks: load(stored.stocks),
            traits: load(stored.traits),
            aggregates: load(stored.aggregates),
            changed_ms: stored.changed_ms,
        }
    }
}
