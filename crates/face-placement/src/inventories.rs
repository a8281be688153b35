//! `/resource_providers/{uuid}/inventories`: the inventories of a provider.

use std::sync::Arc;

use allod_core::capacity::{Inventory, Uuid};
use allod_core::command::capacity::{CapacityCommand, ChangeInventories, InventoryChange};
use allod_core::receipt::ProviderNow;
use allod_engine::CommitPoint;
use http::StatusCode;

use crate::Placement;
use crate::error::{ErrorCode, PlacementError, PlacementResult};
use crate::from_wire::{self, check_capacity};
use crate::json::{JsonBuffer, OBJECT};
use crate::providers::{provider_in_path, unknown_provider};
use crate::refusals::WriteOperation;
use crate::request::PlacementRequest;
use crate::schema::schemas;
use crate::to_wire::{self, HandlerResult, PlacementReply, newest};

fn not_found(request: &PlacementRequest) -> PlacementError {
    let unknown = unknown_provider(request);
    PlacementError::not_found(format!("{unknown} : {unknown}"))
}

pub(crate) fn list(face: &Placement, request: &PlacementRequest) -> HandlerResult {
    face.read(|capacity, snapshot| {
        let provider = provider_in_path(capacity, request, || not_found(request))?;
        let mut out = JsonBuffer::with_capacity(1024);
        let inventories = provider.inventories().map(|one| (one.class_name, one.inventory));
        write_all(&mut out, provider.generation(), inventories);
        let times = provider.inventories().map(|one| one.changed_ms);
        Ok(PlacementReply::json(snapshot.at, out).modified(newest(times, snapshot.now_ms)))
    })
}

pub(crate) fn get(face: &Placement, request: &PlacementRequest) -> HandlerResult {
    face.read(|capacity, snapshot| {
        let provider = provider_in_path(capacity, request, || not_found(request))?;
        let name = request.param(1);
        let stock = capacity.classes().find(&name).and_then(|class| provider.inventory(class));
        let stock = stock.ok_or_else(|| {
            PlacementError::not_found(format!(
                "No inventory of class {name} for {}",
                request.param(0)
            ))
        })?;
        let shown = show_one(snapshot.at, provider.generation(), stock.inventory);
        Ok(shown.modified(stock.changed_ms))
    })
}

pub(crate) async fn post(face: &Placement, request: &PlacementRequest) -> HandlerResult {
    let (provider, _) = face.provider(request)?;
    let body = request.body(schemas::POST_INVENTORY)?;
    let class: Arc<str> = body["resource_class"].as_str().unwrap_or_default().into();
    let inventory = from_wire::inventory(&body);
    check_capacity(request.version, provider, &class, &inventory).map_err(|why| {
        PlacementError::bad_request(format!(
            "Unable to create inventory for resource provider {provider}: {why}"
        ))
    })?;
    let change = InventoryChange::Add(class.clone(), inventory);
    let (now, at) =
        submit(face, provider, None, change, WriteOperation::AddInventory(provider)).await?;
    let path = format!("/resource_providers/{provider}/inventories/{class}");
    Ok(show_one(at, now.generation, &inventory)
        .modified(now.changed_ms)
        .status(StatusCode::CREATED)
        .location(request.address(face.settings.scheme, &path)))
}

pub(crate) async fn put(face: &Placement, request: &PlacementRequest) -> HandlerResult {
    let (provider, actual) = face.provider(request)?;
    let body = request.body(schemas::PUT_INVENTORY)?;
    let class: Arc<str> = request.param(1).into();
    let expect = expected(&body["resource_provider_generation"], actual)?;
    let inventory = from_wire::inventory(&body);
    check_capacity(request.version, provider, &class, &inventory)
        .map_err(|why| not_updated(provider, &why))?;
    let change = InventoryChange::Update(class, inventory);
    let operation = WriteOperation::UpdateInventory;
    let (now, at) = submit(face, provider, Some(expect), change, operation).await?;
    Ok(show_one(at, now.generation, &inventory).modified(now.changed_ms))
}

pub(crate) async fn put_all(face: &Placement, request: &PlacementRequest) -> HandlerResult {
    let (provider, actual) = face.provider(request)?;
    let body = request.body(schemas::PUT_INVENTORIES)?;
    let expect = expected(&body["resource_provider_generation"], actual)?;
    let inventories = from_wire::inventories(&body);
    for (class, inventory) in &inventories {
        check_capacity(request.version, provider, class, inventory)
            .map_err(|why| not_updated(provider, &why))?;
    }
    let change = InventoryChange::Replace(inventories.clone());
    let operation = WriteOperation::ReplaceInventories(provider);
    let (now, at) = submit(face, provider, Some(expect), change, operation).await?;
    let mut out = JsonBuffer::with_capacity(1024);
    write_all(&mut out, now.generation, inventories.iter().map(|(class, one)| (&**class, one)));
    Ok(PlacementReply::json(at, out).modified(now.changed_ms))
}

pub(crate) async fn delete_all(face: &Placement, request: &PlacementRequest) -> HandlerResult {
    let (provider, _) = face.provider(request)?;
    let change = InventoryChange::Replace(Vec::new());
    let (_, at) = submit(face, provider, None, change, WriteOperation::RemoveInventories).await?;
    Ok(PlacementReply::empty(at, StatusCode::NO_CONTENT))
}

pub(crate) async fn delete(face: &Placement, request: &PlacementRequest) -> HandlerResult {
    let (provider, _) = face.provider(request)?;
    let class = request.param(1);
    let change = InventoryChange::Remove(class.as_str().into());
    let operation = WriteOperation::RemoveInventory(&class);
    let (_, at) = submit(face, provider, None, change, operation).await?;
    Ok(PlacementReply::empty(at, StatusCode::NO_CONTENT))
}

async fn submit(
    face: &Placement,
    provider: Uuid,
    expect: Option<u64>,
    change: InventoryChange,
    operation: WriteOperation<'_>,
) -> PlacementResult<(ProviderNow, CommitPoint)> {
    let change = ChangeInventories { provider, expect, change };
    face.submit_provider(CapacityCommand::ChangeInventories(change), operation).await
}

/// The generation that the client sent. Placement reports an outdated generation before anything about the inventory.
/// The core checks it again.
fn expected(sent: &serde_json::Value, actual: u64) -> PlacementResult<u64> {
    let sent = from_wire::generation(sent);
    if sent == actual {
        return Ok(sent);
    }
    Err(PlacementError::conflict("resource provider generation conflict")
        .coded(ErrorCode::ConcurrentUpdate))
}

fn not_updated(provider: Uuid, why: &str) -> PlacementError {
    PlacementError::bad_request(format!(
        "Unable to update inventory for resource provider {provider}: {why}"
    ))
}

fn show_one(at: CommitPoint, generation: u64, inventory: &Inventory) -> PlacementReply {
    let mut out = JsonBuffer::with_capacity(256);
    out.raw("{");
    to_wire::inventory(&mut out, inventory);
    // Placement omits a generation of 0.
    if generation > 0 {
        out.raw(",\"resource_provider_generation\":").number(generation);
    }
    out.raw("}");
    PlacementReply::json(at, out)
}

fn write_all<'a>(
    out: &mut JsonBuffer,
    generation: u64,
    inventories: impl Iterator<Item = (&'a str, &'a Inventory)>,
) {
    out.raw("{\"resource_provider_generation\":").number(generation).raw(",\"inventories\":");
    out.list(OBJECT, inventories, |out, (class, inventory)| {
        out.text(class).raw(":{");
        to_wire::inventory(out, inventory);
        out.raw("}");
    });
    out.raw("}");
}
