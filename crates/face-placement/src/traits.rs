//! `/traits` and `/resource_providers/{uuid}/traits`.

use std::collections::HashSet;
use std::sync::Arc;

use allod_core::command::Command;
use allod_core::command::capacity::{CapacityCommand, SetTraits};
use allod_core::receipt::Outcome;
use allod_core::view::capacity::NameEntry;
use allod_engine::CommitPoint;
use http::StatusCode;
use serde_json::Value;

use crate::error::{PlacementError, PlacementResult};
use crate::json::{ARRAY, JsonBuffer};
use crate::long_read::{LongRead, LongReadResult};
use crate::providers::{provider_in_path, provider_not_found_twice};
use crate::refusals::{WriteOperation, unexpected};
use crate::request::PlacementRequest;
use crate::schema::{self, schemas};
use crate::to_wire::{HandlerResult, PlacementReply, newest};
use crate::{Placement, from_wire};

/// The filters of the list.
#[derive(Default)]
struct TraitListFilter {
    any_of: Option<HashSet<String>>,
    prefix: Option<String>,
    associated: Option<bool>,
}

impl TraitListFilter {
    fn read(request: &PlacementRequest) -> PlacementResult<TraitListFilter> {
        let query = request.query();
        query.check(schemas::LIST_TRAITS)?;
        let mut filter = TraitListFilter::default();
        if let Some(name) = query.last("name") {
            match name.split_once(':') {
                Some(("in", names)) => {
                    filter.any_of = Some(names.split(',').map(str::to_owned).collect());
                }
                Some(("startswith", prefix)) => filter.prefix = Some(prefix.to_owned()),
                Some(_) => {}
                None => {
                    return Err(PlacementError::bad_request(format!(
                        "Badly formatted name parameter. Expected name query string parameter in form: ?name=[in|startswith]:[name1,name2|prefix]. Got: \"{name}\""
                    )));
                }
            }
        }
        if let Some(associated) = query.last("associated") {
            filter.associated = match associated.to_lowercase().as_str() {
                "true" => Some(true),
                "false" => Some(false),
                _ => {
                    return Err(PlacementError::bad_request(
                        "The query parameter \"associated\" only accepts \"true\" or \"false\"",
                    ));
                }
            };
        }
        Ok(filter)
    }

    fn matches(&self, name: &str, is_associated: impl FnOnce() -> bool) -> bool {
        self.any_of.as_ref().is_none_or(|names| names.contains(name))
            && self.prefix.as_ref().is_none_or(|prefix| name.starts_with(prefix.as_str()))
            && self.associated.is_none_or(|wanted| is_associated() == wanted)
    }
}

pub(crate) fn list(read: &LongRead<'_>) -> LongReadResult {
    let filter = TraitListFilter::read(read.request)?;
    let capacity = read.capacity();
    read.ensure_effort(capacity.traits().len())?;
    let listed: Vec<&NameEntry> = capacity
        .traits()
        .iter()
        .filter(|(ix, named)| filter.matches(&named.name, || !capacity.with_trait(*ix).is_empty()))
        .map(|(_, named)| named)
        .collect();
    let modified = newest(listed.iter().map(|named| named.changed_ms), read.frozen.now_ms);
    let names = listed.iter().map(|named| &named.name);
    Ok(show(read.at(), names, None).modified(modified))
}

pub(crate) fn get(face: &Placement, request: &PlacementRequest) -> HandlerResult {
    face.read(|capacity, snapshot| {
        let (traits, name) = (capacity.traits(), request.param(0));
        let named = traits.find(&name).and_then(|ix| traits.get(ix));
        let named =
            named.ok_or_else(|| PlacementError::not_found(format!("No such trait(s): {name}.")))?;
        let modified = newest([named.changed_ms], snapshot.now_ms);
        Ok(PlacementReply::empty(snapshot.at, StatusCode::NO_CONTENT).modified(modified))
    })
}

pub(crate) async fn put(face: &Placement, request: &PlacementRequest) -> HandlerResult {
    let name = request.param(0);
    if schema::check(&Value::from(name.as_str()), schemas::CUSTOM_TRAIT).is_some() {
        return Err(PlacementError::bad_request(
            "The trait is invalid. A valid trait must be no longer than 255 characters, start with the prefix \"CUSTOM_\" and use following characters: \"A\"-\"Z\", \"0\"-\"9\" and \"_\"",
        ));
    }
    let command = Command::Capacity(CapacityCommand::CreateTrait(name.as_str().into()));
    let (outcome, at) = face.submit(command, WriteOperation::PutTrait).await?;
    let Outcome::Named { created, changed_ms } = outcome else { return Err(unexpected()) };
    let status = if created { StatusCode::CREATED } else { StatusCode::NO_CONTENT };
    let location = request.address(face.settings.scheme, &format!("/traits/{name}"));
    Ok(PlacementReply::empty(at, status).location(location).modified(changed_ms))
}

pub(crate) async fn delete(face: &Placement, request: &PlacementRequest) -> HandlerResult {
    let command = Command::Capacity(CapacityCommand::DeleteTrait(request.param(0).into()));
    face.submit_empty(command, WriteOperation::DeleteTrait).await
}

pub(crate) fn of_provider(face: &Placement, request: &PlacementRequest) -> HandlerResult {
    face.read(|capacity, snapshot| {
        let provider = provider_in_path(capacity, request, || provider_not_found_twice(request))?;
        let modified = newest(provider.traits().map(|row| row.changed_ms), snapshot.now_ms);
        let names = provider.traits().map(|row| &row.name);
        Ok(show(snapshot.at, names, Some(provider.generation())).modified(modified))
    })
}

pub(crate) async fn set(face: &Placement, request: &PlacementRequest) -> HandlerResult {
    let body = request.body(schemas::PUT_PROVIDER_TRAITS)?;
    let (provider, _) = face.provider(request)?;
    let expect = Some(from_wire::generation(&body["resource_provider_generation"]));
    let names = body["traits"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let mut traits: Vec<Arc<str>> = names.map(Into::into).collect();
    let set = CapacityCommand::SetTraits(SetTraits { provider, expect, traits: traits.clone() });
    let (now, at) = face.submit_provider(set, WriteOperation::SetTraits).await?;
    traits.sort_unstable();
    traits.dedup();
    Ok(show(at, &traits, Some(now.generation)).modified(now.changed_ms))
}

pub(crate) async fn clear(face: &Placement, request: &PlacementRequest) -> HandlerResult {
    let (provider, _) = face.provider(request)?;
    let set = SetTraits { provider, expect: None, traits: Vec::new() };
    let command = Command::Capacity(CapacityCommand::SetTraits(set));
    face.submit_empty(command, WriteOperation::SetTraits).await
}

fn show<'a>(
    at: CommitPoint,
    names: impl IntoIterator<Item = &'a Arc<str>>,
    generation: Option<u64>,
) -> PlacementReply {
    let mut out = JsonBuffer::with_capacity(1024);
    out.raw("{\"traits\":");
    out.list(ARRAY, names, |out, name| {
        out.text(name);
    });
    if let Some(generation) = generation {
        out.raw(",\"resource_provider_generation\":").number(generation);
    }
    out.raw("}");
    PlacementReply::json(at, out)
}
