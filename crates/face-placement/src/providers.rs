//! `/resource_providers`: providers and their trees.

mod filter;

use allod_core::capacity::Uuid;
use allod_core::command::Command;
use allod_core::command::capacity::{CapacityCommand, CreateProvider, Parent, UpdateProvider};
use allod_core::receipt::ProviderNow;
use allod_core::view::capacity::{CapacityView, ProviderView};
use allod_engine::CommitPoint;
use http::StatusCode;
use serde_json::Value;

use crate::error::{PlacementError, PlacementResult};
use crate::json::JsonBuffer;
use crate::long_read::{ListParts, LongRead, LongReadResult};
use crate::refusals::{WriteOperation, nameless};
use crate::request::PlacementRequest;
use crate::schema::schemas;
use crate::to_wire::{self, HandlerResult, PlacementReply, newest};
use crate::versions::Feature;
use crate::{Placement, uuid};

impl Placement {
    /// The UUID and generation of the provider in the path.
    pub(crate) fn provider(&self, request: &PlacementRequest) -> PlacementResult<(Uuid, u64)> {
        self.read(|capacity, _| {
            let provider = provider_in_path(capacity, request, || provider_not_found(request))?;
            Ok((provider.uuid(), provider.generation()))
        })
    }
}

/// The provider in the path does not exist.
pub(crate) fn provider_not_found(request: &PlacementRequest) -> PlacementError {
    PlacementError::missing(unknown_provider(request))
}

/// As [`provider_not_found`], from within a handler: Placement repeats its text.
pub(crate) fn provider_not_found_twice(request: &PlacementRequest) -> PlacementError {
    let unknown = unknown_provider(request);
    PlacementError::not_found(format!("{unknown}: {unknown}"))
}

pub(crate) fn unknown_provider(request: &PlacementRequest) -> String {
    format!("No resource provider with uuid {} found", request.param(0))
}

/// The provider in the path; `wrong` makes the error if there is none.
pub(crate) fn provider_in_path<'a>(
    capacity: CapacityView<'a>,
    request: &PlacementRequest,
    wrong: impl FnOnce() -> PlacementError,
) -> PlacementResult<ProviderView<'a>> {
    request.uuid(0).and_then(|uuid| capacity.provider(uuid)).ok_or_else(wrong)
}

/// Copies what a reply shows of a provider.
fn copied(provider: ProviderView<'_>) -> ProviderNow {
    ProviderNow {
        uuid: provider.uuid(),
        name: provider.name().clone(),
        generation: provider.generation(),
        parent: provider.parent(),
        root: provider.root(),
        changed_ms: provider.changed_ms(),
    }
}

pub(crate) fn get(face: &Placement, request: &PlacementRequest) -> HandlerResult {
    face.read(|capacity, snapshot| {
        let provider = provider_in_path(capacity, request, || provider_not_found(request))?;
        Ok(show(request, &copied(provider), snapshot.at))
    })
}

pub(crate) fn list(read: &LongRead<'_>) -> LongReadResult {
    let request = read.request;
    let query = request.query();
    query.check(schemas::list_providers(request.version))?;
    let filter = filter::ProviderParams::read(&query, request.version)?;
    if !filter.is_single() {
        read.ensure_effort(read.capacity().provider_count())?;
    }
    let found: Vec<ProviderNow> = read.found(filter.find(read.capacity()))?.map(copied).collect();
    let modified = newest(found.iter().map(|one| one.changed_ms), read.frozen.now_ms);
    let request = request.clone();
    let body = ListParts::body(
        "{\"resource_providers\":[",
        found,
        "]}".into(),
        move |out, provider: ProviderNow| to_wire::provider(out, &request, &provider),
    );
    let reply = PlacementReply::empty(read.at(), StatusCode::OK).with_body(body);
    Ok(reply.modified(modified))
}

pub(crate) async fn post(face: &Placement, request: &PlacementRequest) -> HandlerResult {
    let body = request.body(schemas::post_provider(request.version))?;
    let text = |name: &str| body.get(name).and_then(Value::as_str);
    let name = text("name").unwrap_or_default();
    let given = text("uuid").filter(|text| !text.is_empty()).and_then(uuid::read);
    let uuid = given.unwrap_or_else(|| face.uuids.next());
    let parent = text("parent_provider_uuid").and_then(uuid::read);
    let operation = WriteOperation::CreateProvider { uuid, name };
    if name.is_empty() {
        return Err(nameless(&operation));
    }
    let create = CreateProvider { uuid, name: name.into(), parent };
    let command = CapacityCommand::CreateProvider(create);
    let (now, at) = face.submit_provider(command, operation).await?;
    let location = request.address(face.settings.scheme, &format!("/resource_providers/{uuid}"));
    if request.has(Feature::PostProviderBody) {
        return Ok(show(request, &now, at).location(location));
    }
    Ok(PlacementReply::empty(at, StatusCode::CREATED).location(location))
}

pub(crate) async fn put(face: &Placement, request: &PlacementRequest) -> HandlerResult {
    let (uuid, _) = face.provider(request)?;
    let body = request.body(schemas::put_provider(request.version))?;
    let name = body.get("name").and_then(Value::as_str).unwrap_or_default();
    let to = |value: &Value| value.as_str().and_then(uuid::read);
    let parent = match body.get("parent_provider_uuid") {
        None => Parent::Keep,
        Some(value) if request.has(Feature::Reparenting) => Parent::Move(to(value)),
        Some(value) => Parent::Adopt(to(value)),
    };
    let operation = WriteOperation::UpdateProvider { uuid, name };
    let update = UpdateProvider { uuid, name: name.into(), parent };
    let command = CapacityCommand::UpdateProvider(update);
    let (now, at) = face.submit_provider(command, operation).await?;
    Ok(show(request, &now, at))
}

pub(crate) async fn delete(face: &Placement, request: &PlacementRequest) -> HandlerResult {
    let Some(uuid) = request.uuid(0) else {
        return Err(PlacementError::not_found(format!("{} for delete", unknown_provider(request))));
    };
    let command = Command::Capacity(CapacityCommand::DeleteProvider(uuid));
    face.submit_empty(command, WriteOperation::DeleteProvider).await
}

fn show(request: &PlacementRequest, provider: &ProviderNow, at: CommitPoint) -> PlacementReply {
    let mut out = JsonBuffer::with_capacity(1024);
    to_wire::provider(&mut out, request, provider);
    PlacementReply::json(at, out).modified(provider.changed_ms)
}
