//! Refusals of commands about providers, inventories and allocations, in the order of the checks.
//!
//! The texts are those of the native interface; the Placement face has its own.

use std::fmt;
use std::sync::Arc;

use super::Advice;
use crate::capacity::Uuid;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CapacityRefusal {
    ProviderUnknown {
        provider: Uuid,
    },
    /// `uuid` and `name` say which of the two is taken.
    ProviderExists {
        provider: Uuid,
        uuid: bool,
        name: Option<Arc<str>>,
    },
    ProviderGenerationDiffers {
        provider: Uuid,
        expected: u64,
        actual: u64,
    },
    ParentUnknown {
        provider: Uuid,
        parent: Uuid,
    },
    /// A provider cannot be its own ancestor. `own`: a new provider names itself as its parent.
    ParentLoop {
        provider: Uuid,
        parent: Uuid,
        own: bool,
    },
    /// The provider has a parent, and the request may not remove it (`to` is `None`) or change it.
    ParentFixed {
        provider: Uuid,
        to: Option<Uuid>,
    },
    ProviderHasChildren {
        provider: Uuid,
        children: u64,
    },
    ProviderInUse {
        provider: Uuid,
        consumers: u64,
    },
    ClassUnknown {
        class: Arc<str>,
    },
    ClassExists {
        class: Arc<str>,
    },
    /// Standard classes cannot be renamed or removed.
    ClassStandard {
        class: Arc<str>,
    },
    ClassInUse {
        class: Arc<str>,
        providers: u64,
    },
    TraitUnknown {
        traits: Vec<Arc<str>>,
    },
    TraitStandard {
        name: Arc<str>,
    },
    TraitInUse {
        name: Arc<str>,
        providers: u64,
    },
    InventoryExists {
        provider: Uuid,
        class: Arc<str>,
    },
    /// The provider has no inventory of this class to change or remove.
    InventoryUnknown {
        provider: Uuid,
        class: Arc<str>,
    },
    /// Consumers hold some of the inventory to be removed.
    InventoryInUse {
        provider: Uuid,
        classes: Vec<Arc<str>>,
    },
    ConsumerUnknown {
        consumer: Uuid,
    },
    ConsumerGenerationDiffers {
        consumer: Uuid,
        /// `None`: the caller expects a new consumer.
        expected: Option<u64>,
        /// `None`: it holds nothing.
        actual: Option<u64>,
    },
    /// An allocation names a provider that has no inventory of any class in the whole request.
    NothingInStock {
        providers: Vec<Uuid>,
        classes: Vec<Arc<str>>,
    },
    /// An allocation names a class that the provider has no inventory of.
    NotInStock {
        provider: Uuid,
        class: Arc<str>,
    },
    /// Below `min_unit`, above `max_unit`, or not in steps of `step_size`.
    PortionViolated {
        provider: Uuid,
        class: Arc<str>,
        amount: u64,
        min_unit: u32,
        max_unit: u32,
        step_size: u32,
    },
    CapacityExceeded {
        provider: Uuid,
        class: Arc<str>,
        /// The total that the request asks for.
        amount: u64,
        capacity: i64,
        /// Used by other consumers.
        used: u64,
    },
}

impl CapacityRefusal {
    pub(super) fn code(&self) -> &'static str {
        match self {
            CapacityRefusal::ProviderUnknown { .. } => "provider_unknown",
            CapacityRefusal::ProviderExists { .. } => "provider_exists",
            CapacityRefusal::ProviderGenerationDiffers { .. } => "provider_generation_differs",
            CapacityRefusal::ParentUnknown { .. } => "parent_unknown",
            CapacityRefusal::ParentLoop { .. } => "parent_loop",
            CapacityRefusal::ParentFixed { .. } => "parent_fixed",
            CapacityRefusal::ProviderHasChildren { .. } => "provider_has_children",
            CapacityRefusal::ProviderInUse { .. } => "provider_in_use",
            CapacityRefusal::ClassUnknown { .. } => "class_unknown",
            CapacityRefusal::ClassExists { .. } => "class_exists",
            CapacityRefusal::ClassStandard { .. } => "class_standard",
            CapacityRefusal::ClassInUse { .. } => "class_in_use",
            CapacityRefusal::TraitUnknown { .. } => "trait_unknown",
            CapacityRefusal::TraitStandard { .. } => "trait_standard",
            CapacityRefusal::TraitInUse { .. } => "trait_in_use",
            CapacityRefusal::InventoryExists { .. } => "inventory_exists",
            CapacityRefusal::InventoryUnknown { .. } => "inventory_unknown",
            CapacityRefusal::InventoryInUse { .. } => "inventory_in_use",
            CapacityRefusal::ConsumerUnknown { .. } => "consumer_unknown",
            CapacityRefusal::ConsumerGenerationDiffers { .. } => "consumer_generation_differs",
            CapacityRefusal::NothingInStock { .. } | CapacityRefusal::NotInStock { .. } => {
                "not_in_stock"
            }
            CapacityRefusal::PortionViolated { .. } => "portion_violated",
            CapacityRefusal::CapacityExceeded { .. } => "capacity_exceeded",
        }
    }

    pub(super) fn advice(&self) -> Advice {
        match self {
            CapacityRefusal::ProviderExists { .. }
            | CapacityRefusal::ParentLoop { .. }
            | CapacityRefusal::ParentFixed { .. }
            | CapacityRefusal::ClassUnknown { .. }
            | CapacityRefusal::ClassExists { .. }
            | CapacityRefusal::ClassStandard { .. }
            | CapacityRefusal::TraitUnknown { .. }
            | CapacityRefusal::TraitStandard { .. }
            | CapacityRefusal::NothingInStock { .. }
            | CapacityRefusal::NotInStock { .. }
            | CapacityRefusal::PortionViolated { .. } => Advice::Change,
            CapacityRefusal::ProviderUnknown { .. }
            | CapacityRefusal::ProviderGenerationDiffers { .. }
            | CapacityRefusal::ParentUnknown { .. }
            | CapacityRefusal::InventoryExists { .. }
            | CapacityRefusal::InventoryUnknown { .. }
            | CapacityRefusal::ConsumerUnknown { .. }
            | CapacityRefusal::ConsumerGenerationDiffers { .. } => Advice::Reread,
            CapacityRefusal::ProviderHasChildren { .. }
            | CapacityRefusal::ProviderInUse { .. }
            | CapacityRefusal::ClassInUse { .. }
            | CapacityRefusal::TraitInUse { .. }
            | CapacityRefusal::InventoryInUse { .. }
            | CapacityRefusal::CapacityExceeded { .. } => Advice::WaitForRelease,
        }
    }
}

impl fmt::Display for CapacityRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CapacityRefusal::ProviderUnknown { provider } => {
                write!(f, "provider {provider} does not exist")
            }
            CapacityRefusal::ProviderExists { provider, uuid: true, .. } => {
                write!(f, "provider {provider} already exists")
            }
            CapacityRefusal::ProviderExists { name, .. } => {
                let name = name.as_deref().unwrap_or_default();
                write!(f, "another provider has the name '{name}'")
            }
            CapacityRefusal::ProviderGenerationDiffers { provider, expected, actual } => {
                write!(f, "provider {provider} is at generation {actual}, not {expected}")
            }
            CapacityRefusal::ParentUnknown { parent, .. } => {
                write!(f, "parent provider {parent} does not exist")
            }
            CapacityRefusal::ParentLoop { provider, parent, .. } => {
                write!(f, "provider {parent} is {provider} itself or one of its descendants")
            }
            CapacityRefusal::ParentFixed { provider, to: Some(to) } => {
                write!(f, "provider {provider} already has a parent, which is not {to}")
            }
            CapacityRefusal::ParentFixed { provider, to: None } => {
                write!(f, "provider {provider} has a parent, which this request may not remove")
            }
            CapacityRefusal::ProviderHasChildren { provider, children } => {
                write!(f, "provider {provider} has {children} child provider(s)")
            }
            CapacityRefusal::ProviderInUse { provider, consumers } => {
                write!(f, "{consumers} consumer(s) hold allocations from provider {provider}")
            }
            CapacityRefusal::ClassUnknown { class } => {
                write!(f, "resource class {class} does not exist")
            }
            CapacityRefusal::ClassExists { class } => {
                write!(f, "resource class {class} already exists")
            }
            CapacityRefusal::ClassStandard { class } => {
                write!(f, "{class} is a standard resource class and cannot be changed")
            }
            CapacityRefusal::ClassInUse { class, providers } => {
                write!(f, "{providers} provider(s) have an inventory of {class}")
            }
            CapacityRefusal::TraitUnknown { traits } => {
                write!(f, "unknown trait(s): {}", traits.join(", "))
            }
            CapacityRefusal::TraitStandard { name } => {
                write!(f, "{name} is a standard trait and cannot be changed")
            }
            CapacityRefusal::TraitInUse { name, providers } => {
                write!(f, "{providers} provider(s) have the trait {name}")
            }
            CapacityRefusal::InventoryExists { provider, class } => {
                write!(f, "provider {provider} already has an inventory of {class}")
            }
            CapacityRefusal::InventoryUnknown { provider, class }
            | CapacityRefusal::NotInStock { provider, class } => {
                write!(f, "provider {provider} has no inventory of {class}")
            }
            CapacityRefusal::InventoryInUse { provider, classes } => {
                write!(f, "consumers hold {} from provider {provider}", classes.join(", "))
            }
            CapacityRefusal::ConsumerUnknown { consumer } => {
                write!(f, "consumer {consumer} holds nothing")
            }
            CapacityRefusal::ConsumerGenerationDiffers {
                consumer, actual: Some(actual), ..
            } => {
                write!(f, "consumer {consumer} is at generation {actual}")
            }
            CapacityRefusal::ConsumerGenerationDiffers { consumer, actual: None, .. } => {
                write!(f, "consumer {consumer} holds nothing and has no generation")
            }
            CapacityRefusal::NothingInStock { providers, classes } => {
                let providers: Vec<String> = providers.iter().map(Uuid::to_string).collect();
                let classes = classes.join(", ");
                write!(f, "provider {} has no inventory of {classes}", providers.join(", "))
            }
            CapacityRefusal::PortionViolated {
                provider,
                class,
                amount,
                min_unit,
                max_unit,
                step_size,
            } => write!(
                f,
                "provider {provider} allocates {class} from {min_unit} to {max_unit} in steps of {step_size}, not {amount}"
            ),
            CapacityRefusal::CapacityExceeded { provider, class, amount, capacity, used } => {
                write!(
                    f,
                    "provider {provider} has {capacity} {class} and {used} are in use; {amount} more do not fit"
                )
            }
        }
    }
}
