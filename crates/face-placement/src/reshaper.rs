//! `/reshaper`: stock moves to other providers, and what is held of it moves with it.

use allod_core::capacity::Uuid;
use allod_core::command::Command;
use allod_core::command::capacity::{AllocateOp, CapacityCommand, Reshape, Reshaped};
use http::StatusCode;

use crate::ask::Ask;
use crate::fault::{Code, Fault};
use crate::refusals::Doing;
use crate::schema::forms;
use crate::to_wire::Shown;
use crate::{Placement, from_wire, uuid};

pub(crate) async fn post(face: &Placement, ask: &Ask) -> Result<Shown, Fault> {
    let body = ask.body(forms::reshape(ask.version))?;
    let mut inventories = Vec::new();
    for (named, body) in body["inventories"].as_object().into_iter().flatten() {
        let provider = uuid::read(named).map(Uuid).ok_or_else(|| {
            Fault::bad_request(format!(
                "Resource provider {named} in inventories not found: No resource provider with uuid {named} found"
            ))
            .coded(Code::ProviderNotFound)
        })?;
        inventories.push(Reshaped {
            provider,
            expect: from_wire::generation(&body["resource_provider_generation"]),
            inventories: from_wire::inventories(body),
        });
    }
    let consumers = from_wire::holdings(&body["allocations"], ask.version, &face.settings)?;
    let named: Vec<Uuid> = inventories.iter().map(|reshaped| reshaped.provider).collect();
    let reshape = Reshape { inventories, allocations: AllocateOp { consumers } };
    let command = Command::Capacity(CapacityCommand::Reshape(reshape));
    let (_, at) = face.submit(command, Doing::Reshape(&named)).await?;
    Ok(Shown::nothing(at, StatusCode::NO_CONTENT))
}
