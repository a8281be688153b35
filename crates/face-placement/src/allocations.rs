//! `/allocations` and `/resource_providers/{uuid}/allocations`: what consumers hold.

use allod_core::capacity::Uuid;
use allod_core::command::capacity::{AllocateOp, DeallocateOp};
use allod_core::command::{Command, Expect, Op, Transact};
use allod_core::state::capacity::Capacity;
use allod_core::state::capacity::consumer::{Consumer, Held};
use http::StatusCode;

use crate::ask::Ask;
use crate::fault::Fault;
use crate::from_wire::{self, malformed_consumer};
use crate::out::{OBJECT, Out};
use crate::providers::{look, unknown};
use crate::refusals::Doing;
use crate::schema::forms;
use crate::to_wire::{Shown, newest};
use crate::versions::Feature;
use crate::{Placement, uuid};

/// What a consumer that nobody gave a type is called.
pub(crate) const UNKNOWN_TYPE: &str = "unknown";

pub(crate) fn get(face: &Placement, ask: &Ask) -> Result<Shown, Fault> {
    face.read(|capacity, snapshot| {
        let consumer = ask.uuid(0).and_then(|uuid| capacity.consumer(uuid));
        let mut out = Out::with_room(512);
        out.raw("{\"allocations\":");
        let held = consumer.into_iter().flat_map(Consumer::by_provider);
        out.list(OBJECT, held, |out, held| {
            let Some(provider) = held.first().and_then(|held| capacity.at(held.provider)) else {
                return;
            };
            out.uuid(provider.uuid).raw(":{\"resources\":");
            resources(out, capacity, held.iter());
            out.raw(",\"generation\":").number(provider.generation).raw("}");
        });
        if let Some(consumer) = consumer {
            owner(&mut out, ask, consumer);
        }
        out.raw("}");
        let times = consumer.map(|consumer| consumer.written_ms);
        Ok(Shown::json(snapshot.at, out).modified(newest(times, snapshot.now_ms)))
    })
}

fn owner(out: &mut Out, ask: &Ask, consumer: &Consumer) {
    if ask.has(Feature::AllocationsByProvider) {
        out.raw(",\"project_id\":").text(&consumer.project);
        out.raw(",\"user_id\":").text(&consumer.user);
    }
    if ask.has(Feature::ConsumerGenerations) {
        out.raw(",\"consumer_generation\":").number(consumer.generation);
    }
    if ask.has(Feature::ConsumerTypes) {
        let kind = consumer.consumer_type.as_deref().unwrap_or(UNKNOWN_TYPE);
        out.raw(",\"consumer_type\":").text(kind);
    }
}

pub(crate) fn of_provider(face: &Placement, ask: &Ask) -> Result<Shown, Fault> {
    face.read(|capacity, snapshot| {
        let provider = look(capacity, ask, || {
            let (uuid, unknown) = (ask.param(0), unknown(ask));
            Fault::not_found(format!("Resource provider '{uuid}' not found: {unknown}"))
        })?;
        let ix = capacity.provider_ix(provider.uuid);
        let consumers = || provider.consumers.iter().filter_map(|uuid| capacity.consumer(*uuid));
        let mut out = Out::with_room(64 + 160 * provider.consumers.len());
        out.raw("{\"allocations\":");
        out.list(OBJECT, consumers(), |out, consumer| {
            out.uuid(consumer.uuid).raw(":{\"resources\":");
            let own = consumer.held.iter().filter(|held| Some(held.provider) == ix);
            resources(out, capacity, own);
            if ask.has(Feature::ConsumerGenerations) {
                out.raw(",\"consumer_generation\":").number(consumer.generation);
            }
            out.raw("}");
        });
        out.raw(",\"resource_provider_generation\":").number(provider.generation).raw("}");
        let times = consumers().map(|consumer| consumer.written_ms);
        Ok(Shown::json(snapshot.at, out).modified(newest(times, snapshot.now_ms)))
    })
}

fn resources<'a>(out: &mut Out, capacity: &Capacity, held: impl Iterator<Item = &'a Held>) {
    out.list(OBJECT, held, |out, held| {
        let class = capacity.classes().get(held.class);
        out.text(class.map_or("", |class| &class.name)).raw(":").number(held.amount.into());
    });
}

pub(crate) async fn put(face: &Placement, ask: &Ask) -> Result<Shown, Fault> {
    let named = ask.param(0);
    let consumer = uuid::read(&named).map(Uuid).ok_or_else(|| malformed_consumer(&named))?;
    let body = ask.body(forms::put_allocations(ask.version))?;
    let holding = from_wire::holding(consumer, &body, ask.version, &face.settings)?;
    let op = AllocateOp { consumers: vec![holding] };
    write(face, Op::Allocate(op), Doing::PutAllocations(consumer)).await
}

pub(crate) async fn post(face: &Placement, ask: &Ask) -> Result<Shown, Fault> {
    let body = ask.body(forms::post_allocations(ask.version))?;
    let consumers = from_wire::holdings(&body, ask.version, &face.settings)?;
    write(face, Op::Allocate(AllocateOp { consumers }), Doing::PostAllocations).await
}

pub(crate) async fn delete(face: &Placement, ask: &Ask) -> Result<Shown, Fault> {
    let named = ask.param(0);
    let Some(consumer) = uuid::read(&named).map(Uuid) else {
        return Err(Fault::not_found(format!("No allocations for consumer '{named}'")));
    };
    let op = DeallocateOp { consumer, expect: Expect::Present };
    write(face, Op::Deallocate(op), Doing::DeleteAllocations(&named)).await
}

async fn write(face: &Placement, op: Op, doing: Doing<'_>) -> Result<Shown, Fault> {
    let (_, at) = face.submit(Command::Transact(Transact::one(op)), doing).await?;
    Ok(Shown::nothing(at, StatusCode::NO_CONTENT))
}
