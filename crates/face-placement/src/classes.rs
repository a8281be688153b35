//! `/resource_classes`: kinds of stock.

use std::sync::Arc;

use allod_core::command::Command;
use allod_core::command::capacity::{CapacityCommand, CreateClass, RenameClass};
use allod_core::receipt::Outcome;
use http::StatusCode;
use serde_json::json;

use crate::Placement;
use crate::ask::Ask;
use crate::fault::Fault;
use crate::out::{ARRAY, Out};
use crate::refusals::{Doing, unexpected};
use crate::schema::{self, forms};
use crate::to_wire::{Shown, newest};
use crate::versions::Feature;

pub(crate) fn list(face: &Placement, ask: &Ask) -> Result<Shown, Fault> {
    face.read(|capacity, snapshot| {
        let mut out = Out::with_room(4096);
        out.raw("{\"resource_classes\":");
        out.list(ARRAY, capacity.classes().iter(), |out, (_, named)| {
            write(out, ask, &named.name);
        });
        out.raw("}");
        let times = capacity.classes().iter().map(|(_, named)| named.changed_ms);
        Ok(Shown::json(snapshot.at, out).modified(newest(times, snapshot.now_ms)))
    })
}

pub(crate) fn get(face: &Placement, ask: &Ask) -> Result<Shown, Fault> {
    face.read(|capacity, snapshot| {
        let (classes, name) = (capacity.classes(), ask.param(0));
        let named = classes.find(&name).and_then(|ix| classes.get(ix));
        let named = named.ok_or_else(|| missing(&name))?;
        let mut out = Out::default();
        write(&mut out, ask, &named.name);
        let modified = newest([named.changed_ms], snapshot.now_ms);
        Ok(Shown::json(snapshot.at, out).modified(modified))
    })
}

pub(crate) async fn post(face: &Placement, ask: &Ask) -> Result<Shown, Fault> {
    let body = ask.body(forms::NAMED_CLASS)?;
    let name: Arc<str> = body["name"].as_str().unwrap_or_default().into();
    let create = CreateClass { name: name.clone(), ensure: false };
    let command = Command::Capacity(CapacityCommand::CreateClass(create));
    let (_, at) = face.submit(command, Doing::CreateClass).await?;
    let location = ask.address(face.settings.scheme, &format!("/resource_classes/{name}"));
    Ok(Shown::nothing(at, StatusCode::CREATED).location(location))
}

/// Makes sure that there is one under this name; in old versions, gives it another name.
pub(crate) async fn put(face: &Placement, ask: &Ask) -> Result<Shown, Fault> {
    if !ask.has(Feature::PutClass) {
        return rename(face, ask).await;
    }
    let name = ask.param(0);
    if let Some(why) = schema::check(&json!({ "name": name }), forms::NAMED_CLASS) {
        return Err(Fault::bad_request(format!("JSON does not validate: {why}")));
    }
    let create = CreateClass { name: name.as_str().into(), ensure: true };
    let command = Command::Capacity(CapacityCommand::CreateClass(create));
    let (outcome, at) = face.submit(command, Doing::CreateClass).await?;
    let Outcome::Named { created, .. } = outcome else { return Err(unexpected()) };
    let status = if created { StatusCode::CREATED } else { StatusCode::NO_CONTENT };
    let location = ask.address(face.settings.scheme, &format!("/resource_classes/{name}"));
    Ok(Shown::nothing(at, status).location(location))
}

async fn rename(face: &Placement, ask: &Ask) -> Result<Shown, Fault> {
    let body = ask.body(forms::NAMED_CLASS)?;
    let to: Arc<str> = body["name"].as_str().unwrap_or_default().into();
    let rename = RenameClass { from: ask.param(0).into(), to: to.clone() };
    let command = Command::Capacity(CapacityCommand::RenameClass(rename));
    let (_, at) = face.submit(command, Doing::RenameClass).await?;
    let mut out = Out::default();
    write(&mut out, ask, &to);
    Ok(Shown::json(at, out))
}

pub(crate) async fn delete(face: &Placement, ask: &Ask) -> Result<Shown, Fault> {
    let command = Command::Capacity(CapacityCommand::DeleteClass(ask.param(0).into()));
    let (_, at) = face.submit(command, Doing::DeleteClass).await?;
    Ok(Shown::nothing(at, StatusCode::NO_CONTENT))
}

fn missing(name: &str) -> Fault {
    Fault::missing(format!("No such resource class {name}."))
}

fn write(out: &mut Out, ask: &Ask, name: &str) {
    out.raw("{\"name\":").text(name).raw(",\"links\":[{\"rel\":\"self\",\"href\":");
    out.text(&format!("{}/resource_classes/{name}", ask.prefix)).raw("}]}");
}
