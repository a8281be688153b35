//! `/allocations` and `/resource_providers/{uuid}/allocations`: what consumers hold.

use allod_core::capacity::Uuid;
use allod_core::command::capacity::{AllocateOp, DeallocateOp};
use allod_core::command::{Command, Expect, Op, Transact};
use allod_core::view::capacity::{ConsumerView, NameIx};
use http::StatusCode;

use crate::error::PlacementError;
use crate::from_wire::{self, malformed_consumer};
use crate::json::{JsonBuffer, OBJECT};
use crate::long_read::{ListParts, LongRead, LongReadResult};
use crate::providers::{provider_in_path, unknown_provider};
use crate::refusals::WriteOperation;
use crate::request::PlacementRequest;
use crate::schema::schemas;
use crate::to_wire::{HandlerResult, PlacementReply, newest};
use crate::versions::Feature;
use crate::{Placement, uuid};

/// The type of a consumer without a type.
pub(crate) const UNKNOWN_TYPE: &str = "unknown";

pub(crate) fn get(face: &Placement, request: &PlacementRequest) -> HandlerResult {
    face.read(|capacity, snapshot| {
        let consumer = request.uuid(0).and_then(|uuid| capacity.consumer(uuid));
        let mut out = JsonBuffer::with_capacity(512);
        out.raw("{\"allocations\":");
        let held = consumer.into_iter().flat_map(ConsumerView::by_provider);
        out.list(OBJECT, held, |out, (provider, amounts)| {
            out.uuid(provider.uuid()).raw(":{\"resources\":");
            resources(out, amounts);
            out.raw(",\"generation\":").number(provider.generation()).raw("}");
        });
        if let Some(consumer) = consumer {
            owner(&mut out, request, consumer);
        }
        out.raw("}");
        let times = consumer.map(ConsumerView::written_ms);
        Ok(PlacementReply::json(snapshot.at, out).modified(newest(times, snapshot.now_ms)))
    })
}

fn owner(out: &mut JsonBuffer, request: &PlacementRequest, consumer: ConsumerView<'_>) {
    if request.has(Feature::AllocationsByProvider) {
        out.raw(",\"project_id\":").text(consumer.project());
        out.raw(",\"user_id\":").text(consumer.user());
    }
    if request.has(Feature::ConsumerGenerations) {
        out.raw(",\"consumer_generation\":").number(consumer.generation());
    }
    if request.has(Feature::ConsumerTypes) {
        let kind = consumer.consumer_type().map_or(UNKNOWN_TYPE, |kind| kind);
        out.raw(",\"consumer_type\":").text(kind);
    }
}

/// What one consumer holds of a provider.
struct ProviderHolding {
    consumer: Uuid,
    generation: u64,
    amounts: Box<[(NameIx, u32)]>,
}

pub(crate) fn of_provider(read: &LongRead<'_>) -> LongReadResult {
    let (capacity, request) = (read.capacity(), read.request);
    let provider = read.found(provider_in_path(capacity, request, || {
        let (uuid, unknown) = (request.param(0), unknown_provider(request));
        PlacementError::not_found(format!("Resource provider '{uuid}' not found: {unknown}"))
    }))?;
    read.ensure_effort(provider.consumer_count())?;
    let consumers = || provider.consumers_from(Uuid::default());
    let held = consumers().map(|consumer| ProviderHolding {
        consumer: consumer.uuid(),
        generation: consumer.generation(),
        amounts: consumer.held_of(provider).collect(),
    });
    let held: Vec<ProviderHolding> = held.collect();
    let modified = newest(consumers().map(ConsumerView::written_ms), read.frozen.now_ms);
    let with_generations = request.has(Feature::ConsumerGenerations);
    let classes = capacity.classes().clone();
    let body = ListParts::body(
        "{\"allocations\":{",
        held,
        format!("}},\"resource_provider_generation\":{}}}", provider.generation()),
        move |out, held: ProviderHolding| {
            out.uuid(held.consumer).raw(":{\"resources\":");
            out.list(OBJECT, &held.amounts, |out, (class, amount)| {
                out.text(&classes.name(*class)).raw(":").number((*amount).into());
            });
            if with_generations {
                out.raw(",\"consumer_generation\":").number(held.generation);
            }
            out.raw("}");
        },
    );
    let reply = PlacementReply::empty(read.at(), StatusCode::OK).with_body(body);
    Ok(reply.modified(modified))
}

fn resources<'a>(out: &mut JsonBuffer, amounts: impl Iterator<Item = (&'a str, u32)>) {
    out.list(OBJECT, amounts, |out, (class, amount)| {
        out.text(class).raw(":").number(amount.into());
    });
}

pub(crate) async fn put(face: &Placement, request: &PlacementRequest) -> HandlerResult {
    let named = request.param(0);
    let consumer = uuid::read(&named).ok_or_else(|| malformed_consumer(&named))?;
    let body = request.body(schemas::put_allocations(request.version))?;
    let holding = from_wire::holding(consumer, &body, request.version, &face.settings)?;
    let op = AllocateOp { consumers: vec![holding] };
    write(face, Op::Allocate(op), WriteOperation::PutAllocations(consumer)).await
}

pub(crate) async fn post(face: &Placement, request: &PlacementRequest) -> HandlerResult {
    let body = request.body(schemas::post_allocations(request.version))?;
    let consumers = from_wire::holdings(&body, request.version, &face.settings)?;
    write(face, Op::Allocate(AllocateOp { consumers }), WriteOperation::PostAllocations).await
}

pub(crate) async fn delete(face: &Placement, request: &PlacementRequest) -> HandlerResult {
    let named = request.param(0);
    let Some(consumer) = uuid::read(&named) else {
        return Err(PlacementError::not_found(format!("No allocations for consumer '{named}'")));
    };
    let op = DeallocateOp { consumer, expect: Expect::Present };
    write(face, Op::Deallocate(op), WriteOperation::DeleteAllocations(&named)).await
}

async fn write(face: &Placement, op: Op, operation: WriteOperation<'_>) -> HandlerResult {
    face.submit_empty(Command::Transact(Transact::one(op)), operation).await
}
