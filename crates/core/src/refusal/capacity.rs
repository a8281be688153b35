//! Every way in which the core says no to a request about providers, inventories and allocations.
//!
//! In the order in which the checks are made. The words are the native interface's; Placement's are in its face.

use std::fmt;
use std::sync::Arc;

use super::Advice;
use crate::capacity::Uuid;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CapacityRefusal {
    ProviderUnknown {
        provider: Uuid,
    },
    /// `uuid`, `name`: which of the two is taken already.
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
    /// A provider cannot stand below itself. `own`: it named itself as its parent when it was created.
    ParentLoop {
        provider: Uuid,
        parent: Uuid,
        own: bool,
    },
    /// It has a parent, and the request may not take it away (`to` is `None`) or give it another one.
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
    /// A custom class must begin with `CUSTOM_`.
    ClassUnknown {
        class: Arc<str>,
    },
    ClassExists {
        class: Arc<str>,
    },
    /// One of the standard classes, which cannot be renamed or removed.
    ClassStandard {
        class: Arc<str>,
    },
    /// Some provider has an inventory of it.
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
    /// The provider has no inventory of the class that is to be changed or removed.
    InventoryUnknown {
        provider: Uuid,
        class: Arc<str>,
    },
    /// Consumers hold some of what is to be removed.
    InventoryInUse {
        provider: Uuid,
        classes: Vec<Arc<str>>,
    },
    ConsumerUnknown {
        consumer: Uuid,
    },
    ConsumerGenerationDiffers {
        consumer: Uuid,
        /// `None`: the caller took it for new.
        expected: Option<u64>,
        /// `None`: it holds nothing.
        actual: Option<u64>,
    },
    /// The allocation names a provider that has no inventory of any of the classes that are asked for in the whole request.
    NothingInStock {
        providers: Vec<Uuid>,
        classes: Vec<Arc<str>>,
    },
    /// The allocation names a class of which the provider has no inventory.
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
        /// What the request asks for in all.
        amount: u64,
        capacity: i64,
        /// By others.
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
                write!(f, "there is no provider {provider}")
            }
            CapacityRefusal::ProviderExists { provider, uuid: true, .. } => {
                write!(f, "provider {provider} exists already")
            }
            CapacityRefusal::ProviderExists { name, .. } => {
                let name = name.as_deref().unwrap_or_default();
                write!(f, "another provider has the name '{name}'")
            }
            CapacityRefusal::ProviderGenerationDiffers { provider, expected, actual } => {
                write!(f, "provider {provider} is at generation {actual}, not {expected}")
            }
            CapacityRefusal::ParentUnknown { parent, .. } => {
                write!(f, "there is no provider {parent} to be a parent")
            }
            CapacityRefusal::ParentLoop { provider, parent, .. } => {
                write!(f, "provider {parent} is {provider} itself or stands below it")
            }
            CapacityRefusal::ParentFixed { provider, to: Some(to) } => {
                write!(f, "provider {provider} has a parent already, and it is not {to}")
            }
            CapacityRefusal::ParentFixed { provider, to: None } => {
                write!(f, "provider {provider} has a parent and this request may not take it away")
            }
            CapacityRefusal::ProviderHasChildren { provider, children } => {
                write!(f, "{children} provider(s) stand below provider {provider}")
            }
            CapacityRefusal::ProviderInUse { provider, consumers } => {
                write!(f, "{consumers} consumer(s) hold something of provider {provider}")
            }
            CapacityRefusal::ClassUnknown { class } => {
                write!(f, "there is no resource class {class}")
            }
            CapacityRefusal::ClassExists { class } => {
                write!(f, "resource class {class} exists already")
            }
            CapacityRefusal::ClassStandard { class } => {
                write!(f, "{class} is a standard resource class and stays as it is")
            }
            CapacityRefusal::ClassInUse { class, providers } => {
                write!(f, "{providers} provider(s) have an inventory of {class}")
            }
            CapacityRefusal::TraitUnknown { traits } => {
                write!(f, "there is no trait {}", traits.join(", "))
            }
            CapacityRefusal::TraitStandard { name } => {
                write!(f, "{name} is a standard trait and stays as it is")
            }
            CapacityRefusal::TraitInUse { name, providers } => {
                write!(f, "{providers} provider(s) have the trait {name}")
            }
            CapacityRefusal::InventoryExists { provider, class } => {
                write!(f, "provider {provider} has an inventory of {class} already")
            }
            CapacityRefusal::InventoryUnknown { provider, class }
            | CapacityRefusal::NotInStock { provider, class } => {
                write!(f, "provider {provider} has no inventory of {class}")
            }
            CapacityRefusal::InventoryInUse { provider, classes } => {
                write!(f, "consumers hold {} of provider {provider}", classes.join(", "))
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
                "provider {provider} gives out {class} from {min_unit} to {max_unit} in steps of {step_size}, not {amount}"
            ),
            CapacityRefusal::CapacityExceeded { provider, class, amount, capacity, used } => {
                write!(
                    f,
                    "provider {provider} has {capacity} of {class}, of which {used} are used; {amount} more do not fit"
                )
            }
        }
    }
}
