//! Providers with their inventories, traits and aggregates, and custom names: the events, and the rows of a checkpoint.

use allod_core::capacity::{Inventory, Ratio, Uuid};
use allod_core::event::capacity::{
    AggregatesSet, ClassDefined, ClassRemoved, InventoriesSet, InventorySet, ProviderCounted,
    ProviderDefined, ProviderRemoved, TraitDefined, TraitRemoved, TraitsSet,
};
use allod_core::state::capacity::image::{ProviderImage, StockImage};

use super::form::{StoredForm, stored_structs};

/// Sixteen bytes, big-endian.
#[derive(Debug, Clone, Copy, serde::Serialize, serde::Deserialize)]
pub(crate) struct UuidV1([u8; 16]);

impl StoredForm<'_, Uuid> for UuidV1 {
    fn store(uuid: &Uuid) -> UuidV1 {
        UuidV1(uuid.0.to_be_bytes())
    }

    fn load(self) -> Uuid {
        Uuid(u128::from_be_bytes(self.0))
    }
}

impl StoredForm<'_, Ratio> for f64 {
    fn store(ratio: &Ratio) -> f64 {
        ratio.0
    }

    fn load(self) -> Ratio {
        Ratio(self)
    }
}

stored_structs! {
    ProviderDefinedV1<'a> of ProviderDefined {
        provider: UuidV1,
        name: &'a str,
        parent: Option<UuidV1>,
        at_ms: u64,
    }

    ProviderRemovedV1<'a> of ProviderRemoved {
        provider: UuidV1,
        name: &'a str,
    }

    ProviderCountedV1 of ProviderCounted {
        provider: UuidV1,
        generation: u64,
        at_ms: u64,
    }

    InventoryV1 of Inventory {
        total: u32,
        reserved: u32,
        min_unit: u32,
        max_unit: u32,
        step_size: u32,
        allocation_ratio: f64,
    }

    InventoriesSetV1<'a> of InventoriesSet {
        provider: UuidV1,
        generation: u64,
        #[serde(borrow)]
        inventories: Vec<InventorySetV1<'a>>,
        at_ms: u64,
    }

    InventorySetV1<'a> of InventorySet {
        class: &'a str,
        inventory: InventoryV1,
        written: bool,
    }

    TraitsSetV1<'a> of TraitsSet {
        provider: UuidV1,
        generation: u64,
        #[serde(borrow)]
        traits: Vec<&'a str>,
        at_ms: u64,
    }

    AggregatesSetV1 of AggregatesSet {
        provider: UuidV1,
        generation: u64,
        aggregates: Vec<UuidV1>,
        at_ms: u64,
    }

    ClassDefinedV1<'a> of ClassDefined {
        class: &'a str,
        was: Option<&'a str>,
        at_ms: u64,
    }

    ClassRemovedV1<'a> of ClassRemoved {
        class: &'a str,
    }

    TraitDefinedV1<'a> of TraitDefined {
        name: &'a str,
        at_ms: u64,
    }

    TraitRemovedV1<'a> of TraitRemoved {
        name: &'a str,
    }

    CheckpointProviderV1<'a> of ProviderImage {
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

    StockV1<'a> of StockImage {
        class: &'a str,
        inventory: InventoryV1,
        changed_ms: u64,
    }
}
