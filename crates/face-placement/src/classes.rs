//! `/resource_classes`: resource classes.

use std::sync::Arc;

use allod_core::command::Command;
use allod_core::command::capacity::{CapacityCommand, CreateClass, RenameClass};
use allod_core::receipt::Outcome;
use http::StatusCode;
use serde_json::json;

use crate::Placement;
use crate::error::PlacementError;
use crate::json::{ARRAY, JsonBuffer};
use crate::long_read::{LongRead, LongReadResult};
use crate::refusals::{WriteOperation, unexpected};
use crate::request::PlacementRequest;
use crate::schema::{self, schemas};
use crate::to_wire::{HandlerResult, PlacementReply, newest};
use crate::versions::Feature;

pub(crate) fn list(read: &LongRead<'_>) -> LongReadResult {
    let classes = read.capacity().classes();
    read.ensure_effort(classes.len())?;
    let mut out = JsonBuffer::with_capacity(4096);
    out.raw("{\"resource_classes\":");
    out.list(ARRAY, classes.iter(), |out, (_, named)| write(out, read.request, &named.name));
    out.raw("}");
    let times = classes.iter().map(|(_, named)| named.changed_ms);
    Ok(PlacementReply::json(read.at(), out).modified(newest(times, read.frozen.now_ms)))
}

pub(crate) fn get(face: &Placement, request: &PlacementRequest) -> HandlerResult {
    face.read(|capacity, snapshot| {
        let (classes, name) = (capacity.classes(), request.param(0));
        let named = classes.find(&name).and_then(|ix| classes.get(ix));
        let named = named
            .ok_or_else(|| PlacementError::missing(format!("No such resource class {name}.")))?;
        let mut out = JsonBuffer::default();
        write(&mut out, request, &named.name);
        let modified = newest([named.changed_ms], snapshot.now_ms);
        Ok(PlacementReply::json(snapshot.at, out).modified(modified))
    })
}

pub(crate) async fn post(face: &Placement, request: &PlacementRequest) -> HandlerResult {
    let body = request.body(schemas::NAMED_CLASS)?;
    let name: Arc<str> = body["name"].as_str().unwrap_or_default().into();
    let create = CreateClass { name: name.clone(), ensure: false };
    let command = Command::Capacity(CapacityCommand::CreateClass(create));
    let (_, at) = face.submit(command, WriteOperation::CreateClass).await?;
    let location = request.address(face.settings.scheme, &format!("/resource_classes/{name}"));
    Ok(PlacementReply::empty(at, StatusCode::CREATED).location(location))
}

/// Creates the class if it does not exist; before 1.7, renames it.
pub(crate) async fn put(face: &Placement, request: &PlacementRequest) -> HandlerResult {
    if !request.has(Feature::PutClass) {
        return rename(face, request).await;
    }
    let name = request.param(0);
    schema::validate(&json!({ "name": name }), schemas::NAMED_CLASS)?;
    let create = CreateClass { name: name.as_str().into(), ensure: true };
    let command = Command::Capacity(CapacityCommand::CreateClass(create));
    let (outcome, at) = face.submit(command, WriteOperation::CreateClass).await?;
    let Outcome::Named { created, .. } = outcome else { return Err(unexpected()) };
    let status = if created { StatusCode::CREATED } else { StatusCode::NO_CONTENT };
    let location = request.address(face.settings.scheme, &format!("/resource_classes/{name}"));
    Ok(PlacementReply::empty(at, status).location(location))
}

async fn rename(face: &Placement, request: &PlacementRequest) -> HandlerResult {
    let body = request.body(schemas::NAMED_CLASS)?;
    let to: Arc<str> = body["name"].as_str().unwrap_or_default().into();
    let rename = RenameClass { from: request.param(0).into(), to: to.clone() };
    let command = Command::Capacity(CapacityCommand::RenameClass(rename));
    let (_, at) = face.submit(command, WriteOperation::RenameClass).await?;
    let mut out = JsonBuffer::default();
    write(&mut out, request, &to);
    Ok(PlacementReply::json(at, out))
}

pub(crate) async fn delete(face: &Placement, request: &PlacementRequest) -> HandlerResult {
    let command = Command::Capacity(CapacityCommand::DeleteClass(request.param(0).into()));
    face.submit_empty(command, WriteOperation::DeleteClass).await
}

fn write(out: &mut JsonBuffer, request: &PlacementRequest, name: &str) {
    out.raw("{\"name\":").text(name).raw(",\"links\":[{\"rel\":\"self\",\"href\":");
    out.text(&format!("{}/resource_classes/{name}", request.prefix)).raw("}]}");
}
