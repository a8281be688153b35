//! `/resource_providers`: providers and their place in a tree.

mod filter;

use allod_core::capacity::Uuid;
use allod_core::command::Command;
use allod_core::command::capacity::{CapacityCommand, CreateProvider, Parent, UpdateProvider};
use allod_core::receipt::{Outcome, ProviderNow};
use allod_core::state::capacity::Capacity;
use allod_core::state::capacity::provider::Provider;
use allod_engine::CommitPoint;
use http::StatusCode;
use serde_json::Value;

use crate::ask::Ask;
use crate::fault::Fault;
use crate::out::{ARRAY, Out};
use crate::refusals::{Doing, nameless, unexpected};
use crate::schema::forms;
use crate::to_wire::{self, Shown, newest};
use crate::versions::Feature;
use crate::{Placement, uuid};

impl Placement {
    /// The provider that the path names, as far as writes need it: whether it is there, and at which generation.
    pub(crate) fn provider(&self, ask: &Ask) -> Result<(Uuid, u64), Fault> {
        self.read(|capacity, _| {
            let provider = look(capacity, ask, || missing(ask))?;
            Ok((provider.uuid, provider.generation))
        })
    }
}

/// The path names a provider that is not there.
pub(crate) fn missing(ask: &Ask) -> Fault {
    Fault::missing(unknown(ask))
}

pub(crate) fn unknown(ask: &Ask) -> String {
    format!("No resource provider with uuid {} found", ask.param(0))
}

/// Looks at the provider that the path names; `wrong` says how it is told that there is none.
pub(crate) fn look<'a>(
    capacity: &'a Capacity,
    ask: &Ask,
    wrong: impl FnOnce() -> Fault,
) -> Result<&'a Provider, Fault> {
    ask.uuid(0).and_then(|uuid| capacity.provider(uuid)).ok_or_else(wrong)
}

/// What is shown of a provider, taken out of the state.
fn taken(capacity: &Capacity, provider: &Provider) -> ProviderNow {
    ProviderNow {
        uuid: provider.uuid,
        name: provider.name.clone(),
        generation: provider.generation,
        parent: capacity.parent(provider),
        root: capacity.root(provider),
        changed_ms: provider.changed_ms,
    }
}

pub(crate) fn get(face: &Placement, ask: &Ask) -> Result<Shown, Fault> {
    face.read(|capacity, snapshot| {
        let provider = look(capacity, ask, || missing(ask))?;
        Ok(show(ask, &taken(capacity, provider), snapshot.at))
    })
}

pub(crate) fn list(face: &Placement, ask: &Ask) -> Result<Shown, Fault> {
    let query = ask.query();
    query.check(forms::list_providers(ask.version))?;
    let filter = filter::Filter::read(&query, ask.version)?;
    // A long list is written when nobody waits for the state any more.
    let (found, at, now_ms) = face.read(|capacity, snapshot| {
        let found = filter.find(capacity)?;
        let found = found.into_iter().map(|provider| taken(capacity, provider));
        Ok((found.collect::<Vec<ProviderNow>>(), snapshot.at, snapshot.now_ms))
    })?;
    let mut out = Out::with_room(64 + 800 * found.len());
    out.raw("{\"resource_providers\":");
    out.list(ARRAY, &found, |out, provider| to_wire::provider(out, ask, provider));
    out.raw("}");
    let modified = newest(found.iter().map(|provider| provider.changed_ms), now_ms);
    Ok(Shown::json(at, out).modified(modified))
}

pub(crate) async fn post(face: &Placement, ask: &Ask) -> Result<Shown, Fault> {
    let body = ask.body(forms::post_provider(ask.version))?;
    let text = |name: &str| body.get(name).and_then(Value::as_str);
    let name = text("name").unwrap_or_default();
    let given = text("uuid").filter(|text| !text.is_empty()).and_then(uuid::read).map(Uuid);
    let uuid = given.unwrap_or_else(|| face.fresh.next());
    let parent = text("parent_provider_uuid").and_then(uuid::read).map(Uuid);
    let doing = Doing::CreateProvider { uuid, name };
    if name.is_empty() {
        return Err(nameless(&doing));
    }
    let create = CreateProvider { uuid, name: name.into(), parent };
    let command = Command::Capacity(CapacityCommand::CreateProvider(create));
    let (outcome, at) = face.submit(command, doing).await?;
    let now = now(outcome)?;
    let location = ask.address(face.settings.scheme, &format!("/resource_providers/{uuid}"));
    if ask.has(Feature::PostProviderBody) {
        return Ok(show(ask, &now, at).location(location));
    }
    Ok(Shown::nothing(at, StatusCode::CREATED).location(location))
}

pub(crate) async fn put(face: &Placement, ask: &Ask) -> Result<Shown, Fault> {
    let (uuid, _) = face.provider(ask)?;
    let body = ask.body(forms::put_provider(ask.version))?;
    let name = body.get("name").and_then(Value::as_str).unwrap_or_default();
    let to = |value: &Value| value.as_str().and_then(uuid::read).map(Uuid);
    let parent = match body.get("parent_provider_uuid") {
        None => Parent::Keep,
        Some(value) if ask.has(Feature::Reparenting) => Parent::Move(to(value)),
        Some(value) => Parent::Adopt(to(value)),
    };
    let update = UpdateProvider { uuid, name: name.into(), parent };
    let command = Command::Capacity(CapacityCommand::UpdateProvider(update));
    let (outcome, at) = face.submit(command, Doing::UpdateProvider { uuid, name }).await?;
    Ok(show(ask, &now(outcome)?, at))
}

pub(crate) async fn delete(face: &Placement, ask: &Ask) -> Result<Shown, Fault> {
    let Some(uuid) = ask.uuid(0) else {
        return Err(Fault::not_found(format!("{} for delete", unknown(ask))));
    };
    let command = Command::Capacity(CapacityCommand::DeleteProvider(uuid));
    let (_, at) = face.submit(command, Doing::DeleteProvider).await?;
    Ok(Shown::nothing(at, StatusCode::NO_CONTENT))
}

/// The provider after a command that is about one.
pub(crate) fn now(outcome: Outcome) -> Result<ProviderNow, Fault> {
    match outcome {
        Outcome::Provider(now) => Ok(now),
        _ => Err(unexpected()),
    }
}

fn show(ask: &Ask, provider: &ProviderNow, at: CommitPoint) -> Shown {
    let mut out = Out::with_room(1024);
    to_wire::provider(&mut out, ask, provider);
    Shown::json(at, out).modified(provider.changed_ms)
}
