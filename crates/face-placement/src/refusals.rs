//! Maps refusals of the core to Placement's errors: status, code and the text that its clients know.
//!
//! The text depends on the operation. The tables match refusals without a wildcard, so a new refusal does not compile
//! until it has an entry here.

use allod_core::capacity::Uuid;
use allod_core::refusal::{CapacityRefusal, Refusal};
use allod_engine::EngineError;
use http::StatusCode;

use crate::error::{ErrorCode, PlacementError};

/// The operation that was refused.
#[derive(Debug, Clone, Copy)]
pub(crate) enum WriteOperation<'a> {
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
    /// Allocations of one consumer.
    PutAllocations(Uuid),
    /// Allocations of several consumers.
    PostAllocations,
    DeleteAllocations(&'a str),
    /// Names the providers whose inventories it replaces.
    Reshape(&'a [Uuid]),
}

pub(crate) fn error(refusal: &Refusal, operation: &WriteOperation<'_>) -> PlacementError {
    match refusal {
        Refusal::Capacity(refusal) => capacity(refusal, operation),
        Refusal::Invalid { .. } | Refusal::Config(_) | Refusal::LimitExceeded { .. } => {
            PlacementError::bad_request(refusal.to_string())
        }
        // Refusals about pools and claims, which this face never causes.
        Refusal::Blocks(_)
        | Refusal::Requests(_)
        | Refusal::Outbox(_)
        | Refusal::Alarm(_)
        | Refusal::Authority(_)
        | Refusal::IdempotencyFull { .. }
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
        | Refusal::SearchTooLong { .. }
        | Refusal::CheckFailed { .. } => PlacementError::conflict(refusal.to_string()),
    }
}

fn capacity(refusal: &CapacityRefusal, operation: &WriteOperation<'_>) -> PlacementError {
    match refusal {
        CapacityRefusal::ProviderUnknown { provider } => provider_unknown(*provider, operation),
        CapacityRefusal::ProviderExists { provider, uuid, name } => {
            provider_exists(*provider, *uuid, name.as_deref(), operation)
        }
        CapacityRefusal::ProviderGenerationDiffers { provider, expected, actual } => {
            let message = match operation {
                WriteOperation::SetTraits | WriteOperation::SetAggregates => {
                    "Resource provider's generation already changed. Please update the generation and try again."
                        .to_owned()
                }
                WriteOperation::Reshape(_) => format!(
                    "resource provider generation conflict for provider {provider}: actual: {actual}, given: {expected}"
                ),
                _ => "resource provider generation conflict".to_owned(),
            };
            PlacementError::conflict(message).coded(ErrorCode::ConcurrentUpdate)
        }
        CapacityRefusal::ParentUnknown { .. } => {
            placed(operation, "create", "parent provider UUID does not exist.")
        }
        CapacityRefusal::ParentLoop { own: true, .. } => placed(
            operation,
            "create",
            "parent provider UUID cannot be same as UUID. Please set parent provider UUID to None if there is no parent.",
        ),
        CapacityRefusal::ParentLoop { own: false, .. } => {
            placed(operation, "update", "creating loop in the provider tree is not allowed.")
        }
        CapacityRefusal::ParentFixed { to: Some(_), .. } => {
            placed(operation, "update", "re-parenting a provider is not currently allowed.")
        }
        CapacityRefusal::ParentFixed { to: None, .. } => {
            placed(operation, "update", "un-parenting a provider is not currently allowed.")
        }
        CapacityRefusal::ProviderHasChildren { provider, .. } => PlacementError::conflict(format!(
            "Unable to delete parent resource provider {provider}: It has child resource providers."
        ))
        .coded(ErrorCode::CannotDeleteParent),
        CapacityRefusal::ProviderInUse { provider, .. } => PlacementError::conflict(format!(
            "Unable to delete resource provider {provider}: Resource provider has allocations."
        ))
        .coded(ErrorCode::ProviderInUse),
        CapacityRefusal::ClassUnknown { class } => class_unknown(class, operation),
        CapacityRefusal::ClassExists { class } => PlacementError::conflict(match operation {
            WriteOperation::RenameClass => format!("Resource class already exists: {class}"),
            _ => format!("Conflicting resource class already exists: {class}"),
        }),
        CapacityRefusal::ClassStandard { class } => PlacementError::bad_request(match operation {
            WriteOperation::RenameClass => format!("Cannot update standard resource class {class}"),
            _ => format!(
                "Error in delete resource class: Cannot delete standard resource class {class}."
            ),
        }),
        CapacityRefusal::ClassInUse { class, .. } => PlacementError::conflict(format!(
            "Error in delete resource class: Cannot delete resource class {class}. Class is in use in inventory."
        )),
        CapacityRefusal::TraitUnknown { traits } => match operation {
            WriteOperation::SetTraits => PlacementError::bad_request(format!("No such trait {}", traits.join(", "))),
            _ => PlacementError::not_found(format!("No such trait(s): {}.", traits.join(", "))),
        },
        CapacityRefusal::TraitStandard { name } => {
            PlacementError::bad_request(format!("Cannot delete standard trait {name}."))
        }
        CapacityRefusal::TraitInUse { name, .. } => {
            PlacementError::conflict(format!("The trait {name} is in use by a resource provider."))
        }
        CapacityRefusal::InventoryExists { provider, class } => PlacementError::conflict(format!(
            "Update conflict: resource provider {provider} has an inventory of class {class} already."
        ))
        .coded(ErrorCode::ConcurrentUpdate),
        CapacityRefusal::InventoryUnknown { provider, class } => match operation {
            WriteOperation::RemoveInventory(_) => PlacementError::not_found(format!(
                "No inventory of class {class} found for delete: No inventory of class {class} found for delete"
            )),
            _ => PlacementError::bad_request(format!(
                "No inventory record with resource class for resource provider {provider}: No inventory of class {class} found."
            )),
        },
        CapacityRefusal::InventoryInUse { provider, classes } => {
            let used = format!(
                "Inventory for '{}' on resource provider '{provider}' in use.",
                classes.join(", ")
            );
            match operation {
                WriteOperation::RemoveInventory(class) => PlacementError::conflict(format!(
                    "Unable to delete inventory of class {class}: {used}"
                ))
                .coded(ErrorCode::ConcurrentUpdate),
                WriteOperation::RemoveInventories => PlacementError::conflict(used).coded(ErrorCode::InventoryInUse),
                _ => PlacementError::conflict(format!("update conflict: {used}")).coded(ErrorCode::InventoryInUse),
            }
        }
        CapacityRefusal::ConsumerUnknown { consumer } => {
            let named = consumer.to_string();
            let consumer = match operation {
                WriteOperation::DeleteAllocations(text) => text,
                _ => named.as_str(),
            };
            PlacementError::not_found(format!("No allocations for consumer '{consumer}'"))
        }
        CapacityRefusal::ConsumerGenerationDiffers { expected, actual, .. } => {
            // A negative generation has arrived as its two's complement.
            let got = expected.map_or("None".to_owned(), |given| (given as i64).to_string());
            let wanted = actual.map_or("null".to_owned(), |generation| generation.to_string());
            PlacementError::conflict(format!(
                "consumer generation conflict - expected {wanted} but got {got}"
            ))
            .coded(ErrorCode::ConcurrentUpdate)
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

fn provider_unknown(provider: Uuid, operation: &WriteOperation<'_>) -> PlacementError {
    let unknown = format!("No resource provider with uuid {provider} found");
    match operation {
        WriteOperation::DeleteProvider => {
            PlacementError::not_found(format!("{unknown} for delete"))
        }
        WriteOperation::Reshape(named) if named.contains(&provider) => PlacementError::bad_request(
            format!("Resource provider {provider} in inventories not found: {unknown}"),
        )
        .coded(ErrorCode::ProviderNotFound),
        WriteOperation::Reshape(_)
        | WriteOperation::PutAllocations(_)
        | WriteOperation::PostAllocations => PlacementError::bad_request(format!(
            "Allocation for resource provider '{provider}' that does not exist."
        )),
        _ => PlacementError::missing(unknown),
    }
}

fn provider_exists(
    provider: Uuid,
    uuid: bool,
    name: Option<&str>,
    operation: &WriteOperation<'_>,
) -> PlacementError {
    let message = match (operation, uuid, name) {
        (WriteOperation::UpdateProvider { name, .. }, ..) => {
            format!("Conflicting resource provider {name} already exists.")
        }
        (_, true, _) => format!("Conflicting resource provider uuid: {provider} already exists."),
        (_, false, name) => {
            let name = name.unwrap_or_default();
            format!("Conflicting resource provider name: {name} already exists.")
        }
    };
    PlacementError::conflict(message).coded(ErrorCode::DuplicateName)
}

/// A new provider has an empty name.
pub(crate) fn nameless(operation: &WriteOperation<'_>) -> PlacementError {
    placed(operation, "create", "name is required")
}

/// An error about the name or the parent of a provider.
fn placed(operation: &WriteOperation<'_>, action: &str, reason: &str) -> PlacementError {
    let failed = format!("Object action {action} failed because: {reason}");
    PlacementError::bad_request(match operation {
        WriteOperation::CreateProvider { uuid, name } => {
            format!("Unable to create resource provider \"{name}\", {uuid}: {failed}")
        }
        WriteOperation::UpdateProvider { uuid, .. } => {
            format!("Unable to save resource provider {uuid}: {failed}")
        }
        _ => failed,
    })
}

fn class_unknown(class: &str, operation: &WriteOperation<'_>) -> PlacementError {
    let unknown = format!("No such resource class {class}.");
    match operation {
        WriteOperation::AddInventory(provider) => PlacementError::bad_request(format!(
            "Unable to create inventory for resource provider {provider}: {unknown}"
        )),
        WriteOperation::ReplaceInventories(provider) => PlacementError::bad_request(format!(
            "Unknown resource class in inventory for resource provider {provider}: {unknown}"
        )),
        WriteOperation::RemoveInventory(class) => PlacementError::not_found(format!(
            "No inventory of class {class} found for delete: {unknown}"
        )),
        WriteOperation::PutAllocations(consumer) => PlacementError::bad_request(format!(
            "Unable to allocate inventory for consumer {consumer}: {unknown}"
        )),
        WriteOperation::PostAllocations => {
            PlacementError::bad_request(format!("Unable to allocate inventory {unknown}"))
        }
        WriteOperation::Reshape(_) => {
            PlacementError::bad_request(format!("malformed reshaper data: {unknown}"))
        }
        _ => PlacementError::missing(unknown),
    }
}

fn not_in_stock(class: &str, provider: &str) -> PlacementError {
    PlacementError::conflict(format!(
        "Unable to allocate inventory: Inventory for '{class}' on resource provider '{provider}' invalid."
    ))
}

fn not_allocated(class: &str, provider: Uuid, why: &str) -> PlacementError {
    PlacementError::conflict(format!(
        "Unable to allocate inventory: Unable to create allocation for '{class}' on resource provider '{provider}'. The requested amount {why}."
    ))
}

/// The engine failed; the message says why.
pub(crate) fn failure(failure: &EngineError) -> PlacementError {
    let (status, retry) = match failure {
        EngineError::QueueFull { .. }
        | EngineError::ReadQueueFull { .. }
        | EngineError::Unavailable { .. }
        | EngineError::Stopping => (StatusCode::SERVICE_UNAVAILABLE, true),
        EngineError::TooLarge { .. } => (StatusCode::PAYLOAD_TOO_LARGE, false),
        EngineError::Internal => (StatusCode::INTERNAL_SERVER_ERROR, false),
    };
    let error = PlacementError::new(status, failure.to_string());
    if retry { error.retry_after(1) } else { error }
}

/// A command had an outcome of the wrong type, which is a bug.
pub(crate) fn unexpected() -> PlacementError {
    tracing::error!("a command had an outcome of an unexpected type");
    PlacementError::new(StatusCode::INTERNAL_SERVER_ERROR, "the command had an unexpected outcome")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_depends_on_the_operation() {
        let (a, b) = (Uuid(0xa), Uuid(0xb));
        let class = CapacityRefusal::ClassUnknown { class: "COWS".into() };
        let unknown = CapacityRefusal::ProviderUnknown { provider: a };
        let used = CapacityRefusal::InventoryInUse {
            provider: a,
            classes: vec!["VCPU".into(), "DISK_GB".into()],
        };
        let late =
            CapacityRefusal::ProviderGenerationDiffers { provider: a, expected: 4, actual: 5 };
        for (refusal, operation, status, code, words) in [
            (
                &class,
                WriteOperation::AddInventory(a),
                400,
                ErrorCode::Undefined,
                "Unable to create inventory for resource provider 00000000-0000-0000-0000-00000000000a: No such resource class COWS.",
            ),
            (
                &class,
                WriteOperation::ReplaceInventories(a),
                400,
                ErrorCode::Undefined,
                "Unknown resource class in inventory",
            ),
            (
                &class,
                WriteOperation::UpdateInventory,
                404,
                ErrorCode::Undefined,
                "No such resource class COWS.",
            ),
            (
                &class,
                WriteOperation::RemoveInventory("COWS"),
                404,
                ErrorCode::Undefined,
                "No inventory of class COWS found for delete",
            ),
            (
                &class,
                WriteOperation::PutAllocations(b),
                400,
                ErrorCode::Undefined,
                "Unable to allocate inventory for consumer 00000000-0000-0000-0000-00000000000b",
            ),
            (
                &class,
                WriteOperation::Reshape(&[]),
                400,
                ErrorCode::Undefined,
                "malformed reshaper data: No such resource class COWS.",
            ),
            (
                &unknown,
                WriteOperation::SetTraits,
                404,
                ErrorCode::Undefined,
                "No resource provider with uuid 00000000-0000-0000-0000-00000000000a found",
            ),
            (
                &unknown,
                WriteOperation::DeleteProvider,
                404,
                ErrorCode::Undefined,
                "found for delete",
            ),
            (
                &unknown,
                WriteOperation::PostAllocations,
                400,
                ErrorCode::Undefined,
                "that does not exist.",
            ),
            (
                &unknown,
                WriteOperation::Reshape(&[a]),
                400,
                ErrorCode::ProviderNotFound,
                "in inventories not found",
            ),
            (
                &unknown,
                WriteOperation::Reshape(&[b]),
                400,
                ErrorCode::Undefined,
                "Allocation for resource provider",
            ),
            (
                &used,
                WriteOperation::ReplaceInventories(a),
                409,
                ErrorCode::InventoryInUse,
                "update conflict: Inventory for 'VCPU, DISK_GB' on resource provider '00000000-0000-0000-0000-00000000000a' in use.",
            ),
            (
                &used,
                WriteOperation::RemoveInventory("VCPU"),
                409,
                ErrorCode::ConcurrentUpdate,
                "Unable to delete inventory of class VCPU: Inventory for",
            ),
            (
                &used,
                WriteOperation::RemoveInventories,
                409,
                ErrorCode::InventoryInUse,
                "Inventory for 'VCPU, DISK_GB' on",
            ),
            (
                &late,
                WriteOperation::ReplaceInventories(a),
                409,
                ErrorCode::ConcurrentUpdate,
                "resource provider generation conflict",
            ),
            (
                &late,
                WriteOperation::SetAggregates,
                409,
                ErrorCode::ConcurrentUpdate,
                "Please update the generation and try again.",
            ),
            (
                &late,
                WriteOperation::Reshape(&[a]),
                409,
                ErrorCode::ConcurrentUpdate,
                "actual: 5, given: 4",
            ),
        ] {
            let error = error(&Refusal::Capacity(refusal.clone()), &operation);
            assert!(error.message.contains(words), "{operation:?}: {error:?}");
            assert_eq!(
                (error.status.as_u16(), error.code),
                (status, code),
                "{operation:?}: {error:?}"
            );
        }
    }

    #[test]
    fn a_failure_says_whether_to_retry() {
        for (given, status) in [
            (EngineError::QueueFull { queue_commands_max: 7 }, 503),
            (EngineError::ReadQueueFull { long_reads_queue_max: 7 }, 503),
            (EngineError::Unavailable { what: "no room".into() }, 503),
            (EngineError::Stopping, 503),
            (EngineError::TooLarge { bytes: 9, max: 8 }, 413),
            (EngineError::Internal, 500),
        ] {
            let error = failure(&given);
            assert_eq!(error.status.as_u16(), status);
            assert_eq!(error != error.clone().retry_after(1), status != 503, "{error:?}");
        }
    }
}
