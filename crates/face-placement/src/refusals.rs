//! How each refusal is told in Placement's words: its status, its code, and the sentence that its clients know.
//!
//! The same refusal has other words for other requests, so what was being done comes with it. The table matches without a
//! wildcard over refusals: a new one does not build until it has words here.

use allod_core::capacity::Uuid;
use allod_core::refusal::{CapacityRefusal, Refusal};
use allod_engine::EngineError;
use http::StatusCode;

use crate::fault::{Code, Fault};

/// What a request is about.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Doing<'a> {
    CreateProvider {
        uuid: Uuid,
        name: &'a str,
    },
    UpdateProvider {
        uuid: Uuid,
        name: &'a str,
    },
    DeleteProvider,
    AddInventory(Uuid),
    UpdateInventory,
    RemoveInventory(&'a str),
    ReplaceInventories(Uuid),
    RemoveInventories,
    SetTraits,
    SetAggregates,
    CreateClass,
    RenameClass,
    DeleteClass,
    PutTrait,
    DeleteTrait,
    /// Of one consumer.
    PutAllocations(Uuid),
    /// Of several.
    PostAllocations,
    DeleteAllocations(&'a str),
    /// With the providers whose inventories it sets.
    Reshape(&'a [Uuid]),
}

pub(crate) fn fault(refusal: &Refusal, doing: &Doing<'_>) -> Fault {
    match refusal {
        Refusal::Capacity(refusal) => capacity(refusal, doing),
        Refusal::Invalid { .. } | Refusal::LimitExceeded { .. } => {
            Fault::bad_request(refusal.to_string())
        }
        // About pools and claims, of which this face asks nothing.
        Refusal::Ids(_)
        | Refusal::Resource(_)
        | Refusal::IdempotencyDiffers { .. }
        | Refusal::PoolUnknown { .. }
        | Refusal::PoolGenerationDiffers { .. }
        | Refusal::PoolKindDiffers { .. }
        | Refusal::ValueMalformed { .. }
        | Refusal::PoolInUse { .. }
        | Refusal::HeldOutside { .. }
        | Refusal::ClaimUnknown { .. }
        | Refusal::ClaimVersionDiffers { .. }
        | Refusal::ParamsDiffer { .. }
        | Refusal::NoLease { .. }
        | Refusal::ValueOutside { .. }
        | Refusal::ValueExcluded { .. }
        | Refusal::ValueDraining { .. }
        | Refusal::ValueTaken { .. }
        | Refusal::ValueQuarantined { .. }
        | Refusal::SyncDiffers { .. }
        | Refusal::PoolExhausted { .. }
        | Refusal::SyncExhausted { .. }
        | Refusal::CheckFailed { .. } => Fault::conflict(refusal.to_string()),
    }
}

fn capacity(refusal: &CapacityRefusal, doing: &Doing<'_>) -> Fault {
    match refusal {
        CapacityRefusal::ProviderUnknown { provider } => provider_unknown(*provider, doing),
        CapacityRefusal::ProviderExists { provider, uuid, name } => {
            provider_exists(*provider, *uuid, name.as_deref(), doing)
        }
        CapacityRefusal::ProviderGenerationDiffers { provider, expected, actual } => {
            let message = match doing {
                Doing::SetTraits | Doing::SetAggregates => {
                    "Resource provider's generation already changed. Please update the generation and try again."
                        .to_owned()
                }
                Doing::Reshape(_) => format!(
                    "resource provider generation conflict for provider {provider}: actual: {actual}, given: {expected}"
                ),
                _ => "resource provider generation conflict".to_owned(),
            };
            Fault::conflict(message).coded(Code::ConcurrentUpdate)
        }
        CapacityRefusal::ParentUnknown { .. } => {
            placed(doing, "create", "parent provider UUID does not exist.")
        }
        CapacityRefusal::ParentLoop { own: true, .. } => placed(
            doing,
            "create",
            "parent provider UUID cannot be same as UUID. Please set parent provider UUID to None if there is no parent.",
        ),
        CapacityRefusal::ParentLoop { own: false, .. } => {
            placed(doing, "update", "creating loop in the provider tree is not allowed.")
        }
        CapacityRefusal::ParentFixed { to: Some(_), .. } => {
            placed(doing, "update", "re-parenting a provider is not currently allowed.")
        }
        CapacityRefusal::ParentFixed { to: None, .. } => {
            placed(doing, "update", "un-parenting a provider is not currently allowed.")
        }
        CapacityRefusal::ProviderHasChildren { provider, .. } => Fault::conflict(format!(
            "Unable to delete parent resource provider {provider}: It has child resource providers."
        ))
        .coded(Code::CannotDeleteParent),
        CapacityRefusal::ProviderInUse { provider, .. } => Fault::conflict(format!(
            "Unable to delete resource provider {provider}: Resource provider has allocations."
        ))
        .coded(Code::ProviderInUse),
        CapacityRefusal::ClassUnknown { class } => class_unknown(class, doing),
        CapacityRefusal::ClassExists { class } => Fault::conflict(match doing {
            Doing::RenameClass => format!("Resource class already exists: {class}"),
            _ => format!("Conflicting resource class already exists: {class}"),
        }),
        CapacityRefusal::ClassStandard { class } => Fault::bad_request(match doing {
            Doing::RenameClass => format!("Cannot update standard resource class {class}"),
            _ => format!(
                "Error in delete resource class: Cannot delete standard resource class {class}."
            ),
        }),
        CapacityRefusal::ClassInUse { class, .. } => Fault::conflict(format!(
            "Error in delete resource class: Cannot delete resource class {class}. Class is in use in inventory."
        )),
        CapacityRefusal::TraitUnknown { traits } => match doing {
            Doing::SetTraits => Fault::bad_request(format!("No such trait {}", traits.join(", "))),
            _ => Fault::not_found(format!("No such trait(s): {}.", traits.join(", "))),
        },
        CapacityRefusal::TraitStandard { name } => {
            Fault::bad_request(format!("Cannot delete standard trait {name}."))
        }
        CapacityRefusal::TraitInUse { name, .. } => {
            Fault::conflict(format!("The trait {name} is in use by a resource provider."))
        }
        CapacityRefusal::InventoryExists { provider, class } => Fault::conflict(format!(
            "Update conflict: resource provider {provider} has an inventory of class {class} already."
        ))
        .coded(Code::ConcurrentUpdate),
        CapacityRefusal::InventoryUnknown { provider, class } => match doing {
            Doing::RemoveInventory(_) => Fault::not_found(format!(
                "No inventory of class {class} found for delete: No inventory of class {class} found for delete"
            )),
            _ => Fault::bad_request(format!(
                "No inventory record with resource class for resource provider {provider}: No inventory of class {class} found."
            )),
        },
        CapacityRefusal::InventoryInUse { provider, classes } => {
            let used = format!(
                "Inventory for '{}' on resource provider '{provider}' in use.",
                classes.join(", ")
            );
            match doing {
                Doing::RemoveInventory(class) => Fault::conflict(format!(
                    "Unable to delete inventory of class {class}: {used}"
                ))
                .coded(Code::ConcurrentUpdate),
                Doing::RemoveInventories => Fault::conflict(used).coded(Code::InventoryInUse),
                _ => Fault::conflict(format!("update conflict: {used}")).coded(Code::InventoryInUse),
            }
        }
        CapacityRefusal::ConsumerUnknown { consumer } => {
            let named = consumer.to_string();
            let consumer = match doing {
                Doing::DeleteAllocations(text) => text,
                _ => named.as_str(),
            };
            Fault::not_found(format!("No allocations for consumer '{consumer}'"))
        }
        CapacityRefusal::ConsumerGenerationDiffers { expected, actual, .. } => {
            // A number below zero, which no generation is, has come through as its bits.
            let got = expected.map_or("None".to_owned(), |given| (given as i64).to_string());
            let wanted = actual.map_or("null".to_owned(), |generation| generation.to_string());
            Fault::conflict(format!(
                "consumer generation conflict - expected {wanted} but got {got}"
            ))
            .coded(Code::ConcurrentUpdate)
        }
        CapacityRefusal::NothingInStock { providers, classes } => {
            let providers: Vec<String> = providers.iter().map(Uuid::to_string).collect();
            not_in_stock(&classes.join(", "), &providers.join(", "))
        }
        CapacityRefusal::NotInStock { provider, class } => {
            not_in_stock(class, &provider.to_string())
        }
        CapacityRefusal::PortionViolated { provider, class, .. } => {
            not_allocated(class, *provider, "would violate inventory constraints")
        }
        CapacityRefusal::CapacityExceeded { provider, class, .. } => {
            not_allocated(class, *provider, "would exceed the capacity")
        }
    }
}

fn provider_unknown(provider: Uuid, doing: &Doing<'_>) -> Fault {
    let unknown = format!("No resource provider with uuid {provider} found");
    match doing {
        Doing::DeleteProvider => Fault::not_found(format!("{unknown} for delete")),
        Doing::Reshape(named) if named.contains(&provider) => Fault::bad_request(format!(
            "Resource provider {provider} in inventories not found: {unknown}"
        ))
        .coded(Code::ProviderNotFound),
        Doing::Reshape(_) | Doing::PutAllocations(_) | Doing::PostAllocations => {
            Fault::bad_request(format!(
                "Allocation for resource provider '{provider}' that does not exist."
            ))
        }
        _ => Fault::missing(unknown),
    }
}

fn provider_exists(provider: Uuid, uuid: bool, name: Option<&str>, doing: &Doing<'_>) -> Fault {
    let message = match (doing, uuid, name) {
        (Doing::UpdateProvider { name, .. }, ..) => {
            format!("Conflicting resource provider {name} already exists.")
        }
        (_, true, _) => format!("Conflicting resource provider uuid: {provider} already exists."),
        (_, false, name) => {
            let name = name.unwrap_or_default();
            format!("Conflicting resource provider name: {name} already exists.")
        }
    };
    Fault::conflict(message).coded(Code::DuplicateName)
}

/// A provider is to be made without a name.
pub(crate) fn nameless(doing: &Doing<'_>) -> Fault {
    placed(doing, "create", "name is required")
}

/// A provider cannot stand where it should.
fn placed(doing: &Doing<'_>, action: &str, reason: &str) -> Fault {
    let failed = format!("Object action {action} failed because: {reason}");
    Fault::bad_request(match doing {
        Doing::CreateProvider { uuid, name } => {
            format!("Unable to create resource provider \"{name}\", {uuid}: {failed}")
        }
        Doing::UpdateProvider { uuid, .. } => {
            format!("Unable to save resource provider {uuid}: {failed}")
        }
        _ => failed,
    })
}

fn class_unknown(class: &str, doing: &Doing<'_>) -> Fault {
    let unknown = format!("No such resource class {class}.");
    match doing {
        Doing::AddInventory(provider) => Fault::bad_request(format!(
            "Unable to create inventory for resource provider {provider}: {unknown}"
        )),
        Doing::ReplaceInventories(provider) => Fault::bad_request(format!(
            "Unknown resource class in inventory for resource provider {provider}: {unknown}"
        )),
        Doing::RemoveInventory(class) => {
            Fault::not_found(format!("No inventory of class {class} found for delete: {unknown}"))
        }
        Doing::PutAllocations(consumer) => Fault::bad_request(format!(
            "Unable to allocate inventory for consumer {consumer}: {unknown}"
        )),
        Doing::PostAllocations => {
            Fault::bad_request(format!("Unable to allocate inventory {unknown}"))
        }
        Doing::Reshape(_) => Fault::bad_request(format!("malformed reshaper data: {unknown}")),
        _ => Fault::missing(unknown),
    }
}

fn not_in_stock(class: &str, provider: &str) -> Fault {
    Fault::conflict(format!(
        "Unable to allocate inventory: Inventory for '{class}' on resource provider '{provider}' invalid."
    ))
}

fn not_allocated(class: &str, provider: Uuid, why: &str) -> Fault {
    Fault::conflict(format!(
        "Unable to allocate inventory: Unable to create allocation for '{class}' on resource provider '{provider}'. The requested amount {why}."
    ))
}

/// The engine gave no answer; its own words say why.
pub(crate) fn failure(failure: &EngineError) -> Fault {
    let (status, retry) = match failure {
        EngineError::QueueFull { .. } | EngineError::Unavailable { .. } | EngineError::Stopping => {
            (StatusCode::SERVICE_UNAVAILABLE, true)
        }
        EngineError::TooLarge { .. } => (StatusCode::PAYLOAD_TOO_LARGE, false),
        EngineError::Internal => (StatusCode::INTERNAL_SERVER_ERROR, false),
    };
    let fault = Fault::new(status, failure.to_string());
    if retry { fault.retry_after(1) } else { fault }
}

/// A command had another outcome than such commands have: a bug, and said so.
pub(crate) fn unexpected() -> Fault {
    tracing::error!("a command had an outcome that such commands do not have");
    Fault::new(StatusCode::INTERNAL_SERVER_ERROR, "the command had an unexpected outcome")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_depend_on_what_was_being_done() {
        let (a, b) = (Uuid(0xa), Uuid(0xb));
        let class = CapacityRefusal::ClassUnknown { class: "COWS".into() };
        let unknown = CapacityRefusal::ProviderUnknown { provider: a };
        let used = CapacityRefusal::InventoryInUse {
            provider: a,
            classes: vec!["VCPU".into(), "DISK_GB".into()],
        };
        let late =
            CapacityRefusal::ProviderGenerationDiffers { provider: a, expected: 4, actual: 5 };
        for (refusal, doing, status, code, words) in [
            (
                &class,
                Doing::AddInventory(a),
                400,
                Code::Undefined,
                "Unable to create inventory for resource provider 00000000-0000-0000-0000-00000000000a: No such resource class COWS.",
            ),
            (
                &class,
                Doing::ReplaceInventories(a),
                400,
                Code::Undefined,
                "Unknown resource class in inventory",
            ),
            (&class, Doing::UpdateInventory, 404, Code::Undefined, "No such resource class COWS."),
            (
                &class,
                Doing::RemoveInventory("COWS"),
                404,
                Code::Undefined,
                "No inventory of class COWS found for delete",
            ),
            (
                &class,
                Doing::PutAllocations(b),
                400,
                Code::Undefined,
                "Unable to allocate inventory for consumer 00000000-0000-0000-0000-00000000000b",
            ),
            (
                &class,
                Doing::Reshape(&[]),
                400,
                Code::Undefined,
                "malformed reshaper data: No such resource class COWS.",
            ),
            (
                &unknown,
                Doing::SetTraits,
                404,
                Code::Undefined,
                "No resource provider with uuid 00000000-0000-0000-0000-00000000000a found",
            ),
            (&unknown, Doing::DeleteProvider, 404, Code::Undefined, "found for delete"),
            (&unknown, Doing::PostAllocations, 400, Code::Undefined, "that does not exist."),
            (
                &unknown,
                Doing::Reshape(&[a]),
                400,
                Code::ProviderNotFound,
                "in inventories not found",
            ),
            (
                &unknown,
                Doing::Reshape(&[b]),
                400,
                Code::Undefined,
                "Allocation for resource provider",
            ),
            (
                &used,
                Doing::ReplaceInventories(a),
                409,
                Code::InventoryInUse,
                "update conflict: Inventory for 'VCPU, DISK_GB' on resource provider '00000000-0000-0000-0000-00000000000a' in use.",
            ),
            (
                &used,
                Doing::RemoveInventory("VCPU"),
                409,
                Code::ConcurrentUpdate,
                "Unable to delete inventory of class VCPU: Inventory for",
            ),
            (
                &used,
                Doing::RemoveInventories,
                409,
                Code::InventoryInUse,
                "Inventory for 'VCPU, DISK_GB' on",
            ),
            (
                &late,
                Doing::ReplaceInventories(a),
                409,
                Code::ConcurrentUpdate,
                "resource provider generation conflict",
            ),
            (
                &late,
                Doing::SetAggregates,
                409,
                Code::ConcurrentUpdate,
                "Please update the generation and try again.",
            ),
            (&late, Doing::Reshape(&[a]), 409, Code::ConcurrentUpdate, "actual: 5, given: 4"),
        ] {
            let told = fault(&Refusal::Capacity(refusal.clone()), &doing);
            assert!(told.message.contains(words), "{doing:?}: {told:?}");
            assert_eq!((told.status.as_u16(), told.code), (status, code), "{doing:?}: {told:?}");
        }
    }

    #[test]
    fn a_failure_says_whether_to_try_again() {
        for (given, status) in [
            (EngineError::QueueFull { queue_commands_max: 7 }, 503),
            (EngineError::Unavailable { what: "no room".into() }, 503),
            (EngineError::Stopping, 503),
            (EngineError::TooLarge { bytes: 9, max: 8 }, 413),
            (EngineError::Internal, 500),
        ] {
            let told = failure(&given);
            assert_eq!(told.status.as_u16(), status);
            assert_eq!(told != told.clone().retry_after(1), status != 503, "{told:?}");
        }
    }
}
