//! `/resource_providers/{uuid}/aggregates`: the sets that a provider is in.

use allod_core::capacity::Uuid;
use allod_core::command::Command;
use allod_core::command::capacity::{CapacityCommand, SetAggregates};
use allod_engine::CommitPoint;
use serde_json::Value;

use crate::ask::Ask;
use crate::fault::Fault;
use crate::out::{ARRAY, Out};
use crate::providers::{look, missing, now};
use crate::refusals::Doing;
use crate::schema::forms;
use crate::to_wire::Shown;
use crate::versions::Feature;
use crate::{Placement, from_wire, uuid};

pub(crate) fn get(face: &Placement, ask: &Ask) -> Result<Shown, Fault> {
    face.read(|capacity, snapshot| {
        let provider = look(capacity, ask, || missing(ask))?;
        let aggregates: Vec<Uuid> = capacity.aggregates(provider).collect();
        let shown = show(ask, snapshot.at, &aggregates, provider.generation);
        Ok(shown.modified(snapshot.now_ms))
    })
}

pub(crate) async fn put(face: &Placement, ask: &Ask) -> Result<Shown, Fault> {
    let (provider, _) = face.provider(ask)?;
    let body = ask.body(forms::put_aggregates(ask.version))?;
    let counts = ask.has(Feature::AggregatesGeneration);
    let (list, expect) = match counts {
        true => {
            let sent = from_wire::generation(&body["resource_provider_generation"]);
            (&body["aggregates"], Some(sent))
        }
        false => (&body, None),
    };
    let texts = list.as_array().into_iter().flatten().filter_map(Value::as_str);
    let aggregates: Vec<Uuid> = texts.filter_map(uuid::read).map(Uuid).collect();
    let set = SetAggregates { provider, expect, aggregates: aggregates.clone(), counts };
    let command = Command::Capacity(CapacityCommand::SetAggregates(set));
    let (outcome, at) = face.submit(command, Doing::SetAggregates).await?;
    let now = now(outcome)?;
    Ok(show(ask, at, &aggregates, now.generation).modified(now.changed_ms))
}

fn show(ask: &Ask, at: CommitPoint, aggregates: &[Uuid], generation: u64) -> Shown {
    let mut out = Out::with_room(256);
    out.raw("{\"aggregates\":");
    out.list(ARRAY, aggregates, |out, uuid| {
        out.uuid(*uuid);
    });
    if ask.has(Feature::AggregatesGeneration) {
        out.raw(",\"resource_provider_generation\":").number(generation);
    }
    out.raw("}");
    Shown::json(at, out)
}
