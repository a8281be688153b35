//! `/reshaper`: moves inventory between providers together with its allocations.

use allod_core::capacity::Uuid;
use allod_core::command::Command;
use allod_core::command::capacity::{AllocateOp, CapacityCommand, Reshape, Reshaped};

use crate::error::{ErrorCode, PlacementError};
use crate::refusals::WriteOperation;
use crate::request::PlacementRequest;
use crate::schema::schemas;
use crate::to_wire::HandlerResult;
use crate::{Placement, from_wire, uuid};

pub(crate) async fn post(face: &Placement, request: &PlacementRequest) -> HandlerResult {
    let body = request.body(schemas::reshape(request.version))?;
    let mut inventories = Vec::new();
    for (named, body) in body["inventories"].as_object().into_iter().flatten() {
        let provider = uuid::read(named).ok_or_else(|| {
            PlacementError::bad_request(format!(
                "Resource provider {named} in inventories not found: No resource provider with uuid {named} found"
            ))
            .coded(ErrorCode::ProviderNotFound)
        })?;
        inventories.push(Reshaped {
            provider,
            expect: from_wire::generation(&body["resource_provider_generation"]),
            inventories: from_wire::inventories(body),
        });
    }
    let consumers = from_wire::holdings(&body["allocations"], request.version, &face.settings)?;
    let named: Vec<Uuid> = inventories.iter().map(|reshaped| reshaped.provider).collect();
    let reshape = Reshape { inventories, allocations: AllocateOp { consumers } };
    let command = Command::Capacity(CapacityCommand::Reshape(reshape));
    face.submit_empty(command, WriteOperation::Reshape(&named)).await
}
