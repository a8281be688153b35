//! `/resource_providers/{uuid}/inventories`: what a provider has.

use std::sync::Arc;

use allod_core::capacity::{Inventory, Uuid};
use allod_core::command::Command;
use allod_core::command::capacity::{CapacityCommand, ChangeInventories, InventoryChange};
use allod_core::receipt::ProviderNow;
use allod_engine::CommitPoint;
use http::StatusCode;

use crate::Placement;
use crate::ask::Ask;
use crate::fault::{Code, Fault};
use crate::from_wire::{self, check_capacity};
use crate::out::{OBJECT, Out};
use crate::providers::{look, now, unknown};
use crate::refusals::Doing;
use crate::schema::forms;
use crate::to_wire::{self, Shown, newest};

fn not_found(ask: &Ask) -> Fault {
    let unknown = unknown(ask);
    Fault::not_found(format!("{unknown} : {unknown}"))
}

pub(crate) fn list(face: &Placement, ask: &Ask) -> Result<Shown, Fault> {
    face.read(|capacity, snapshot| {
        let provider = look(capacity, ask, || not_found(ask))?;
        let mut out = Out::with_room(1024);
        let stocks = provider
            .stocks
            .iter()
            .map(|stock| (capacity.classes().name(stock.class), stock.inventory));
        write_all(&mut out, provider.generation, stocks);
        let times = provider.stocks.iter().map(|stock| stock.changed_ms);
        Ok(Shown::json(snapshot.at, out).modified(newest(times, snapshot.now_ms)))
    })
}

pub(crate) fn get(face: &Placement, ask: &Ask) -> Result<Shown, Fault> {
    face.read(|capacity, snapshot| {
        let provider = look(capacity, ask, || not_found(ask))?;
        let name = ask.param(1);
        let stock = capacity.classes().find(&name).and_then(|class| provider.stock(class));
        let stock = stock.ok_or_else(|| {
            Fault::not_found(format!("No inventory of class {name} for {}", ask.param(0)))
        })?;
        let shown = show_one(snapshot.at, provider.generation, &stock.inventory);
        Ok(shown.modified(stock.changed_ms))
    })
}

pub(crate) async fn post(face: &Placement, ask: &Ask) -> Result<Shown, Fault> {
    let (provider, _) = face.provider(ask)?;
    let body = ask.body(forms::POST_INVENTORY)?;
    let class: Arc<str> = body["resource_class"].as_str().unwrap_or_default().into();
    let inventory = from_wire::inventory(&body);
    check_capacity(ask.version, provider, &class, &inventory).map_err(|why| {
        Fault::bad_request(format!(
            "Unable to create inventory for resource provider {provider}: {why}"
        ))
    })?;
    let change = InventoryChange::Add(class.clone(), inventory);
    let (now, at) = submit(face, provider, None, change, Doing::AddInventory(provider)).await?;
    let path = format!("/resource_providers/{provider}/inventories/{class}");
    Ok(show_one(at, now.generation, &inventory)
        .modified(now.changed_ms)
        .status(StatusCode::CREATED)
        .location(ask.address(face.settings.scheme, &path)))
}

pub(crate) async fn put(face: &Placement, ask: &Ask) -> Result<Shown, Fault> {
    let (provider, actual) = face.provider(ask)?;
    let body = ask.body(forms::PUT_INVENTORY)?;
    let class: Arc<str> = ask.param(1).into();
    let expect = expected(&body["resource_provider_generation"], actual)?;
    let inventory = from_wire::inventory(&body);
    check_capacity(ask.version, provider, &class, &inventory)
        .map_err(|why| not_updated(provider, &why))?;
    let change = InventoryChange::Update(class, inventory);
    let doing = Doing::UpdateInventory;
    let (now, at) = submit(face, provider, Some(expect), change, doing).await?;
    Ok(show_one(at, now.generation, &inventory).modified(now.changed_ms))
}

pub(crate) async fn put_all(face: &Placement, ask: &Ask) -> Result<Shown, Fault> {
    let (provider, actual) = face.provider(ask)?;
    let body = ask.body(forms::PUT_INVENTORIES)?;
    let expect = expected(&body["resource_provider_generation"], actual)?;
    let inventories = from_wire::inventories(&body);
    for (class, inventory) in &inventories {
        check_capacity(ask.version, provider, class, inventory)
            .map_err(|why| not_updated(provider, &why))?;
    }
    let change = InventoryChange::Replace(inventories.clone());
    let doing = Doing::ReplaceInventories(provider);
    let (now, at) = submit(face, provider, Some(expect), change, doing).await?;
    let mut out = Out::with_room(1024);
    write_all(&mut out, now.generation, inventories);
    Ok(Shown::json(at, out).modified(now.changed_ms))
}

pub(crate) async fn delete_all(face: &Placement, ask: &Ask) -> Result<Shown, Fault> {
    let (provider, _) = face.provider(ask)?;
    let change = InventoryChange::Replace(Vec::new());
    let (_, at) = submit(face, provider, None, change, Doing::RemoveInventories).await?;
    Ok(Shown::nothing(at, StatusCode::NO_CONTENT))
}

pub(crate) async fn delete(face: &Placement, ask: &Ask) -> Result<Shown, Fault> {
    let (provider, _) = face.provider(ask)?;
    let class = ask.param(1);
    let change = InventoryChange::Remove(class.as_str().into());
    let doing = Doing::RemoveInventory(&class);
    let (_, at) = submit(face, provider, None, change, doing).await?;
    Ok(Shown::nothing(at, StatusCode::NO_CONTENT))
}

async fn submit(
    face: &Placement,
    provider: Uuid,
    expect: Option<u64>,
    change: InventoryChange,
    doing: Doing<'_>,
) -> Result<(ProviderNow, CommitPoint), Fault> {
    let change = ChangeInventories { provider, expect, change };
    let command = Command::Capacity(CapacityCommand::ChangeInventories(change));
    let (outcome, at) = face.submit(command, doing).await?;
    Ok((now(outcome)?, at))
}

/// The generation that was sent. That it is an old one is told before anything is said about the inventory; the core
/// looks once more.
fn expected(sent: &serde_json::Value, actual: u64) -> Result<u64, Fault> {
    let sent = from_wire::generation(sent);
    if sent == actual {
        return Ok(sent);
    }
    Err(Fault::conflict("resource provider generation conflict").coded(Code::ConcurrentUpdate))
}

fn not_updated(provider: Uuid, why: &str) -> Fault {
    Fault::bad_request(format!(
        "Unable to update inventory for resource provider {provider}: {why}"
    ))
}

fn show_one(at: CommitPoint, generation: u64, inventory: &Inventory) -> Shown {
    let mut out = Out::with_room(256);
    out.raw("{");
    to_wire::inventory(&mut out, inventory);
    // A generation of 0 is not shown; the original takes it for none.
    if generation > 0 {
        out.raw(",\"resource_provider_generation\":").number(generation);
    }
    out.raw("}");
    Shown::json(at, out)
}

fn write_all(
    out: &mut Out,
    generation: u64,
    inventories: impl IntoIterator<Item = (Arc<str>, Inventory)>,
) {
    out.raw("{\"resource_provider_generation\":").number(generation).raw(",\"inventories\":");
    out.list(OBJECT, inventories, |out, (class, inventory)| {
        out.text(&class).raw(":{");
        to_wire::inventory(out, &inventory);
        out.raw("}");
    });
    out.raw("}");
}
