//! How refusals about providers, inventories and allocations are answered.

use allod_core::capacity::Uuid;
use allod_core::refusal::CapacityRefusal;
use http::StatusCode;

use crate::wire::{CapacityMembers, RefusalMembers, UuidText};

pub(super) fn status(refusal: &CapacityRefusal) -> StatusCode {
    match refusal {
        CapacityRefusal::ProviderUnknown { .. } | CapacityRefusal::ConsumerUnknown { .. } => {
            StatusCode::NOT_FOUND
        }
        CapacityRefusal::ProviderGenerationDiffers { .. }
        | CapacityRefusal::ConsumerGenerationDiffers { .. } => StatusCode::PRECONDITION_FAILED,
        CapacityRefusal::ProviderExists { .. }
        | CapacityRefusal::ParentUnknown { .. }
        | CapacityRefusal::ParentLoop { .. }
        | CapacityRefusal::ParentFixed { .. }
        | CapacityRefusal::ProviderHasChildren { .. }
        | CapacityRefusal::ProviderInUse { .. }
        | CapacityRefusal::ClassUnknown { .. }
        | CapacityRefusal::ClassExists { .. }
        | CapacityRefusal::ClassStandard { .. }
        | CapacityRefusal::ClassInUse { .. }
        | CapacityRefusal::TraitUnknown { .. }
        | CapacityRefusal::TraitStandard { .. }
        | CapacityRefusal::TraitInUse { .. }
        | CapacityRefusal::InventoryExists { .. }
        | CapacityRefusal::InventoryUnknown { .. }
        | CapacityRefusal::InventoryInUse { .. }
        | CapacityRefusal::NothingInStock { .. }
        | CapacityRefusal::NotInStock { .. }
        | CapacityRefusal::PortionViolated { .. }
        | CapacityRefusal::CapacityExceeded { .. } => StatusCode::CONFLICT,
    }
}

pub(super) fn title(refusal: &CapacityRefusal) -> &'static str {
    match refusal {
        CapacityRefusal::ProviderUnknown { .. } => "there is no such provider",
        CapacityRefusal::ProviderExists { .. } => "the provider exists",
        CapacityRefusal::ProviderGenerationDiffers { .. } => {
            "the provider is at another generation"
        }
        CapacityRefusal::ParentUnknown { .. } => "there is no such parent",
        CapacityRefusal::ParentLoop { .. } => "a provider cannot stand below itself",
        CapacityRefusal::ParentFixed { .. } => "the provider has a parent",
        CapacityRefusal::ProviderHasChildren { .. } => "the provider has others below it",
        CapacityRefusal::ProviderInUse { .. } => "the provider is in use",
        CapacityRefusal::ClassUnknown { .. } => "there is no such resource class",
        CapacityRefusal::ClassExists { .. } => "the resource class exists",
        CapacityRefusal::ClassStandard { .. } => "the resource class is a standard one",
        CapacityRefusal::ClassInUse { .. } => "the resource class is in use",
        CapacityRefusal::TraitUnknown { .. } => "there is no such trait",
        CapacityRefusal::TraitStandard { .. } => "the trait is a standard one",
        CapacityRefusal::TraitInUse { .. } => "the trait is in use",
        CapacityRefusal::InventoryExists { .. } => "the inventory exists",
        CapacityRefusal::InventoryUnknown { .. } => "there is no such inventory",
        CapacityRefusal::InventoryInUse { .. } => "the inventory is in use",
        CapacityRefusal::ConsumerUnknown { .. } => "the consumer holds nothing",
        CapacityRefusal::ConsumerGenerationDiffers { .. } => {
            "the consumer is at another generation"
        }
        CapacityRefusal::NothingInStock { .. } | CapacityRefusal::NotInStock { .. } => {
            "the provider has none of it"
        }
        CapacityRefusal::PortionViolated { .. } => "the provider does not give out this amount",
        CapacityRefusal::CapacityExceeded { .. } => "the provider has too little left",
    }
}

/// What such a refusal carries beyond its words.
pub(super) fn members(refusal: &CapacityRefusal) -> RefusalMembers<'_> {
    let (none, other) = (CapacityMembers::default(), RefusalMembers::default());
    let of = |provider: Uuid| CapacityMembers {
        provider: Some(UuidText(provider)),
        ..CapacityMembers::default()
    };
    let mut actual = None;
    let capacity = match refusal {
        CapacityRefusal::ProviderUnknown { provider }
        | CapacityRefusal::ProviderExists { provider, .. }
        | CapacityRefusal::ParentUnknown { provider, .. }
        | CapacityRefusal::ParentLoop { provider, .. }
        | CapacityRefusal::ParentFixed { provider, .. }
        | CapacityRefusal::ProviderHasChildren { provider, .. }
        | CapacityRefusal::ProviderInUse { provider, .. } => of(*provider),
        CapacityRefusal::ProviderGenerationDiffers { provider, expected, actual: found } => {
            actual = Some(*found);
            CapacityMembers { expected: Some(*expected), ..of(*provider) }
        }
        CapacityRefusal::ClassUnknown { class }
        | CapacityRefusal::ClassExists { class }
        | CapacityRefusal::ClassStandard { class }
        | CapacityRefusal::ClassInUse { class, .. } => {
            CapacityMembers { class: Some(class), ..none }
        }
        CapacityRefusal::TraitUnknown { traits } => {
            CapacityMembers { traits: traits.iter().map(|name| &**name).collect(), ..none }
        }
        CapacityRefusal::TraitStandard { name } | CapacityRefusal::TraitInUse { name, .. } => {
            CapacityMembers { traits: vec![name], ..none }
        }
        CapacityRefusal::InventoryExists { provider, class }
        | CapacityRefusal::InventoryUnknown { provider, class }
        | CapacityRefusal::NotInStock { provider, class } => {
            CapacityMembers { class: Some(class), ..of(*provider) }
        }
        CapacityRefusal::InventoryInUse { provider, classes } => CapacityMembers {
            classes: classes.iter().map(|class| &**class).collect(),
            ..of(*provider)
        },
        CapacityRefusal::ConsumerUnknown { consumer } => {
            CapacityMembers { consumer: Some(UuidText(*consumer)), ..none }
        }
        CapacityRefusal::ConsumerGenerationDiffers { consumer, expected, actual: found } => {
            actual = *found;
            let consumer = Some(UuidText(*consumer));
            CapacityMembers { consumer, expected: *expected, ..none }
        }
        CapacityRefusal::NothingInStock { providers, classes } => CapacityMembers {
            providers: providers.iter().map(|provider| UuidText(*provider)).collect(),
            classes: classes.iter().map(|class| &**class).collect(),
            ..none
        },
        CapacityRefusal::PortionViolated {
            provider,
            class,
            amount,
            min_unit,
            max_unit,
            step_size,
        } => CapacityMembers {
            class: Some(class),
            amount: Some(*amount),
            min_unit: Some(*min_unit),
            max_unit: Some(*max_unit),
            step_size: Some(*step_size),
            ..of(*provider)
        },
        CapacityRefusal::CapacityExceeded { provider, class, amount, capacity, used } => {
            CapacityMembers {
                class: Some(class),
                amount: Some(*amount),
                capacity: Some(*capacity),
                used: Some(*used),
                ..of(*provider)
            }
        }
    };
    RefusalMembers { actual, capacity, ..other }
}
