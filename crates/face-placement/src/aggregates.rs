//! `/resource_providers/{uuid}/aggregates`: the aggregates of a provider.

use allod_core::capacity::Uuid;
use allod_core::command::capacity::{CapacityCommand, SetAggregates};
use allod_engine::CommitPoint;
use serde_json::Value;

use crate::json::{ARRAY, JsonBuffer};
use crate::providers::{provider_in_path, provider_not_found};
use crate::refusals::WriteOperation;
use crate::request::PlacementRequest;
use crate::schema::schemas;
use crate::to_wire::{HandlerResult, PlacementReply};
use crate::versions::Feature;
use crate::{Placement, from_wire, uuid};

pub(crate) fn get(face: &Placement, request: &PlacementRequest) -> HandlerResult {
    face.read(|capacity, snapshot| {
        let provider = provider_in_path(capacity, request, || provider_not_found(request))?;
        let aggregates: Vec<Uuid> = provider.aggregates().collect();
        let shown = show(request, snapshot.at, &aggregates, provider.generation());
        Ok(shown.modified(snapshot.now_ms))
    })
}

pub(crate) async fn put(face: &Placement, request: &PlacementRequest) -> HandlerResult {
    let (provider, _) = face.provider(request)?;
    let body = request.body(schemas::put_aggregates(request.version))?;
    let counts = request.has(Feature::AggregatesGeneration);
    let (list, expect) = match counts {
        true => {
            let sent = from_wire::generation(&body["resource_provider_generation"]);
            (&body["aggregates"], Some(sent))
        }
        false => (&body, None),
    };
    let texts = list.as_array().into_iter().flatten().filter_map(Value::as_str);
    let aggregates: Vec<Uuid> = texts.filter_map(uuid::read).collect();
    let set = SetAggregates { provider, expect, aggregates: aggregates.clone(), counts };
    let command = CapacityCommand::SetAggregates(set);
    let (now, at) = face.submit_provider(command, WriteOperation::SetAggregates).await?;
    Ok(show(request, at, &aggregates, now.generation).modified(now.changed_ms))
}

fn show(
    request: &PlacementRequest,
    at: CommitPoint,
    aggregates: &[Uuid],
    generation: u64,
) -> PlacementReply {
    let mut out = JsonBuffer::with_capacity(256);
    out.raw("{\"aggregates\":");
    out.list(ARRAY, aggregates, |out, uuid| {
        out.uuid(*uuid);
    });
    if request.has(Feature::AggregatesGeneration) {
        out.raw(",\"resource_provider_generation\":").number(generation);
    }
    out.raw("}");
    PlacementReply::json(at, out)
}
