//! Replies to refusals about providers, inventories and allocations.

use allod_core::capacity::Uuid;
use allod_core::refusal::CapacityRefusal;

use super::{Head, conflict, differs, not_found};
use crate::wire::{CapacityMembers, RefusalMembers, UuidText};

pub(super) fn head(refusal: &CapacityRefusal) -> Head {
    match refusal {
        CapacityRefusal::ProviderUnknown { .. } => not_found("provider not found"),
        CapacityRefusal::ProviderExists { .. } => conflict("provider exists"),
        CapacityRefusal::ProviderGenerationDiffers { .. } => differs("provider generation differs"),
        CapacityRefusal::ParentUnknown { .. } => conflict("parent not found"),
        CapacityRefusal::ParentLoop { .. } => conflict("a provider cannot be its own ancestor"),
        CapacityRefusal::ParentFixed { .. } => conflict("the parent cannot change"),
        CapacityRefusal::ProviderHasChildren { .. } => conflict("provider has children"),
        CapacityRefusal::ProviderInUse { .. } => conflict("provider in use"),
        CapacityRefusal::ClassUnknown { .. } => conflict("resource class not found"),
        CapacityRefusal::ClassExists { .. } => conflict("resource class exists"),
        CapacityRefusal::ClassStandard { .. } => conflict("standard resource class"),
        CapacityRefusal::ClassInUse { .. } => conflict("resource class in use"),
        CapacityRefusal::TraitUnknown { .. } => conflict("trait not found"),
        CapacityRefusal::TraitStandard { .. } => conflict("standard trait"),
        CapacityRefusal::TraitInUse { .. } => conflict("trait in use"),
        CapacityRefusal::InventoryExists { .. } => conflict("inventory exists"),
        CapacityRefusal::InventoryUnknown { .. } => conflict("inventory not found"),
        CapacityRefusal::InventoryInUse { .. } => conflict("inventory in use"),
        CapacityRefusal::ConsumerUnknown { .. } => not_found("consumer not found"),
        CapacityRefusal::ConsumerGenerationDiffers { .. } => differs("consumer generation differs"),
        CapacityRefusal::NothingInStock { .. } | CapacityRefusal::NotInStock { .. } => {
            conflict("not in the provider's inventory")
        }
        CapacityRefusal::PortionViolated { .. } => {
            conflict("amount violates the inventory's units")
        }
        CapacityRefusal::CapacityExceeded { .. } => conflict("capacity exceeded"),
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
