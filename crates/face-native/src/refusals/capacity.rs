//! Replies to refusals about providers, inventories and allocations.

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
        CapacityRefusal::ProviderUnknown { .. } => "provider not found",
        CapacityRefusal::ProviderExists { .. } => "provider exists",
        CapacityRefusal::ProviderGenerationDiffers { .. } => "provider generation differs",
        CapacityRefusal::ParentUnknown { .. } => "parent not found",
        CapacityRefusal::ParentLoop { .. } => "a provider cannot be its own ancestor",
        CapacityRefusal::ParentFixed { .. } => "the parent cannot change",
        CapacityRefusal::ProviderHasChildren { .. } => "provider has children",
        CapacityRefusal::ProviderInUse { .. } => "provider in use",
        CapacityRefusal::ClassUnknown { .. } => "resource class not found",
        CapacityRefusal::ClassExists { .. } => "resource class exists",
        CapacityRefusal::ClassStandard { .. } => "standard resource class",
        CapacityRefusal::ClassInUse { .. } => "resource class in use",
        CapacityRefusal::TraitUnknown { .. } => "trait not found",
        CapacityRefusal::TraitStandard { .. } => "standard trait",
        CapacityRefusal::TraitInUse { .. } => "trait in use",
        CapacityRefusal::InventoryExists { .. } => "inventory exists",
        CapacityRefusal::InventoryUnknown { .. } => "inventory not found",
        CapacityRefusal::InventoryInUse { .. } => "inventory in use",
        CapacityRefusal::ConsumerUnknown { .. } => "consumer not found",
        CapacityRefusal::ConsumerGenerationDiffers { .. } => "consumer generation differs",
        CapacityRefusal::NothingInStock { .. } | CapacityRefusal::NotInStock { .. } => {
            "not in the provider's inventory"
        }
        CapacityRefusal::PortionViolated { .. } => "amount violates the inventory's units",
        CapacityRefusal::CapacityExceeded { .. } => "capacity exceeded",
    }
}

/// The additional members of the reply.
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
