//! Refusals of commands about providers, inventories and allocations, in the order of the checks.
//!
//! The texts are those of the native interface; the Placement face has its own.

use std::sync::Arc;

use super::refusals;
use crate::capacity::Uuid;

refusals! {
    pub enum CapacityRefusal {
        ProviderUnknown { provider: Uuid }
            => "provider_unknown", Reread, "provider {provider} does not exist";
        /// `uuid` and `name` say which of the two is taken.
        ProviderExists { provider: Uuid, uuid: bool, name: Option<Arc<str>> }
            => "provider_exists", Change, "{}", match uuid {
                true => format!("provider {provider} already exists"),
                false => format!("another provider has the name '{}'", name.as_deref().unwrap_or_default()),
            };
        ProviderGenerationDiffers { provider: Uuid, expected: u64, actual: u64 }
            => "provider_generation_differs", Reread,
               "provider {provider} is at generation {actual}, not {expected}";
        ParentUnknown { provider: Uuid, parent: Uuid }
            => "parent_unknown", Reread, "parent provider {parent} does not exist";
        /// A provider cannot be its own ancestor. `own`: a new provider names itself as its parent.
        ParentLoop { provider: Uuid, parent: Uuid, own: bool }
            => "parent_loop", Change, "provider {parent} is {provider} itself or one of its descendants";
        /// The provider has a parent, and the request may not remove it (`to` is `None`) or change it.
        ParentFixed { provider: Uuid, to: Option<Uuid> }
            => "parent_fixed", Change, "provider {provider} {}", match to {
                Some(to) => format!("already has a parent, which is not {to}"),
                None => "has a parent, which this request may not remove".into(),
            };
        ProviderHasChildren { provider: Uuid, children: u64 }
            => "provider_has_children", WaitForRelease, "provider {provider} has {children} child provider(s)";
        ProviderInUse { provider: Uuid, consumers: u64 }
            => "provider_in_use", WaitForRelease, "{consumers} consumer(s) hold allocations from provider {provider}";
        ClassUnknown { class: Arc<str> }
            => "class_unknown", Change, "resource class {class} does not exist";
        ClassExists { class: Arc<str> }
            => "class_exists", Change, "resource class {class} already exists";
        /// Standard classes cannot be renamed or removed.
        ClassStandard { class: Arc<str> }
            => "class_standard", Change, "{class} is a standard resource class and cannot be changed";
        ClassInUse { class: Arc<str>, providers: u64 }
            => "class_in_use", WaitForRelease, "{providers} provider(s) have an inventory of {class}";
        TraitUnknown { traits: Vec<Arc<str>> }
            => "trait_unknown", Change, "unknown trait(s): {}", traits.join(", ");
        TraitStandard { name: Arc<str> }
            => "trait_standard", Change, "{name} is a standard trait and cannot be changed";
        TraitInUse { name: Arc<str>, providers: u64 }
            => "trait_in_use", WaitForRelease, "{providers} provider(s) have the trait {name}";
        InventoryExists { provider: Uuid, class: Arc<str> }
            => "inventory_exists", Reread, "provider {provider} already has an inventory of {class}";
        /// The provider has no inventory of this class to change or remove.
        InventoryUnknown { provider: Uuid, class: Arc<str> }
            => "inventory_unknown", Reread, "provider {provider} has no inventory of {class}";
        /// Consumers hold some of the inventory to be removed.
        InventoryInUse { provider: Uuid, classes: Vec<Arc<str>> }
            => "inventory_in_use", WaitForRelease, "consumers hold {} from provider {provider}", classes.join(", ");
        ConsumerUnknown { consumer: Uuid }
            => "consumer_unknown", Reread, "consumer {consumer} holds nothing";
        /// `expected` is `None` for a new consumer, `actual` for one that holds nothing.
        ConsumerGenerationDiffers { consumer: Uuid, expected: Option<u64>, actual: Option<u64> }
            => "consumer_generation_differs", Reread, "consumer {consumer} {}", match actual {
                Some(actual) => format!("is at generation {actual}"),
                None => "holds nothing and has no generation".into(),
            };
        /// An allocation names a provider that has no inventory of any class in the whole request.
        NothingInStock { providers: Vec<Uuid>, classes: Vec<Arc<str>> }
            => "not_in_stock", Change, "provider {} has no inventory of {}",
               providers.iter().map(Uuid::to_string).collect::<Vec<_>>().join(", "), classes.join(", ");
        /// An allocation names a class that the provider has no inventory of.
        NotInStock { provider: Uuid, class: Arc<str> }
            => "not_in_stock", Change, "provider {provider} has no inventory of {class}";
        /// Below `min_unit`, above `max_unit`, or not in steps of `step_size`.
        PortionViolated {
            provider: Uuid, class: Arc<str>, amount: u64, min_unit: u32, max_unit: u32, step_size: u32
        }
            => "portion_violated", Change,
               "provider {provider} allocates {class} from {min_unit} to {max_unit} in steps of {step_size}, \
                not {amount}";
        /// `amount` is the total that the request asks for, `used` what other consumers have.
        CapacityExceeded { provider: Uuid, class: Arc<str>, amount: u64, capacity: i64, used: u64 }
            => "capacity_exceeded", WaitForRelease,
               "provider {provider} has {capacity} {class} and {used} are in use; {amount} more do not fit";
    }
}
