//! The stored structs, one for each kind and version, and the conversions from and to the types of the core.
//!
//! A released struct never changes. Types that are parts of a stored struct have a version in their name too.

pub(crate) mod blocks;
pub(crate) mod capacity;
pub(crate) mod claim;
pub(crate) mod consumer;
pub(crate) mod idempotency;
pub(crate) mod number;
pub(crate) mod pool;
pub(crate) mod requests;
pub(crate) mod span;

use allod_core::alarm::event::AlarmEvent;
use allod_core::blocks::event::BlocksEvent;
use allod_core::event::capacity::{CapacityEvent, ClassRemoved, TraitRemoved};
use allod_core::event::{
    ClaimEvent, Event, IdempotencyEvent, IdempotencyExpired, PoolEvent, PoolRemoved,
};
use allod_core::outbox::event::{NotificationClosed, OutboxEvent};
use allod_core::requests::event::RequestsEvent;

use crate::chunk::{self, Chunk};
use crate::error::DecodeError;
use crate::kinds;
use blocks::{BlocksDefinedV1, BlocksMovedV1};
use capacity::{
    AggregatesSetV1, ClassDefinedV1, InventoriesSetV1, NameRemovedV1, ProviderCountedV1,
    ProviderDefinedV1, ProviderRemovedV1, TraitDefinedV1, TraitsSetV1,
};
use claim::{ClaimGrantedV1, ClaimReleasedV1, LeaseChangedV1, QuarantineEndedV1};
use claim::{ClaimGrantedV2, ClaimReleasedV2, LeaseChangedV2, QuarantineEndedV2};
use consumer::{AllocationsExtendedV1, AllocationsReleasedV1, AllocationsSetV1};
use idempotency::{IdempotencyExpiredV1, IdempotencyStoredV1, IdempotencyStoredV2};
use pool::{PoolDefinedV1, PoolRemovedV1};
use requests::{
    AlarmChangedV1, AlarmPurgedV1, DeliveryFailedV1, NotificationClosedV1, NotificationQueuedV1,
    RequestAnsweredV1, RequestPoolDefinedV1, RequestWithdrawnV1,
};

/// The kind and version in which an event is written. An event that was read from a record of level 1 lacks fields of
/// version 2, and is written as version 1 again.
pub(crate) fn written_as(event: &Event) -> (u32, u32) {
    match event {
        Event::Pool(PoolEvent::Defined(_)) => (kinds::POOL_DEFINED, 1),
        Event::Pool(PoolEvent::Removed(_)) => (kinds::POOL_REMOVED, 1),
        Event::Claim(ClaimEvent::Granted(event)) => {
            (kinds::CLAIM_GRANTED, since_2(event.kind.is_some()))
        }
        Event::Claim(ClaimEvent::LeaseChanged(event)) => {
            (kinds::LEASE_CHANGED, since_2(event.was.is_some()))
        }
        Event::Claim(ClaimEvent::Released(event)) => {
            (kinds::CLAIM_RELEASED, since_2(event.was.is_some()))
        }
        Event::Claim(ClaimEvent::QuarantineEnded(event)) => {
            (kinds::QUARANTINE_ENDED, since_2(event.key.is_some() && event.was.is_some()))
        }
        Event::Idempotency(IdempotencyEvent::Stored(event)) => {
            (kinds::REQUEST_REMEMBERED, if idempotency::needs_v2(event) { 2 } else { 1 })
        }
        Event::Idempotency(IdempotencyEvent::Expired(_)) => (kinds::REQUEST_FORGOTTEN, 1),
        Event::Capacity(CapacityEvent::ProviderDefined(_)) => (kinds::PROVIDER_DEFINED, 1),
        Event::Capacity(CapacityEvent::ProviderRemoved(_)) => (kinds::PROVIDER_REMOVED, 1),
        Event::Capacity(CapacityEvent::ProviderCounted(_)) => (kinds::PROVIDER_COUNTED, 1),
        Event::Capacity(CapacityEvent::InventoriesSet(_)) => (kinds::INVENTORIES_SET, 1),
        Event::Capacity(CapacityEvent::TraitsSet(_)) => (kinds::TRAITS_SET, 1),
        Event::Capacity(CapacityEvent::AggregatesSet(_)) => (kinds::AGGREGATES_SET, 1),
        Event::Capacity(CapacityEvent::ClassDefined(_)) => (kinds::CLASS_DEFINED, 1),
        Event::Capacity(CapacityEvent::ClassRemoved(_)) => (kinds::CLASS_REMOVED, 1),
        Event::Capacity(CapacityEvent::TraitDefined(_)) => (kinds::TRAIT_DEFINED, 1),
        Event::Capacity(CapacityEvent::TraitRemoved(_)) => (kinds::TRAIT_REMOVED, 1),
        Event::Capacity(CapacityEvent::AllocationsSet(_)) => (kinds::ALLOCATIONS_SET, 1),
        Event::Capacity(CapacityEvent::AllocationsExtended(_)) => (kinds::ALLOCATIONS_EXTENDED, 1),
        Event::Capacity(CapacityEvent::AllocationsReleased(_)) => (kinds::ALLOCATIONS_RELEASED, 1),
        Event::Blocks(BlocksEvent::Defined(_)) => (kinds::LEDGER_DEFINED, 1),
        Event::Blocks(BlocksEvent::Moved(_)) => (kinds::BLOCKS_MOVED, 1),
        Event::Requests(RequestsEvent::PoolDefined(_)) => (kinds::RESOURCE_POOL_DEFINED, 1),
        Event::Requests(RequestsEvent::Answered(_)) => (kinds::REQUEST_ANSWERED, 1),
        Event::Requests(RequestsEvent::Withdrawn(_)) => (kinds::REQUEST_WITHDRAWN, 1),
        Event::Alarm(AlarmEvent::Changed(_)) => (kinds::ALARM_CHANGED, 1),
        Event::Alarm(AlarmEvent::Purged(_)) => (kinds::ALARM_PURGED, 1),
        Event::Outbox(OutboxEvent::Queued(_)) => (kinds::NOTICE_QUEUED, 1),
        Event::Outbox(OutboxEvent::DeliveryFailed(_)) => (kinds::NOTICE_TRIED, 1),
        Event::Outbox(OutboxEvent::Closed(_)) => (kinds::NOTICE_SETTLED, 1),
    }
}

fn since_2(complete: bool) -> u32 {
    if complete { 2 } else { 1 }
}

pub(crate) fn write_event(out: &mut Vec<u8>, event: &Event) {
    let (kind, version) = written_as(event);
    chunk::wrap(out, kind, version, |out| match event {
        Event::Pool(PoolEvent::Defined(event)) => chunk::put(out, &PoolDefinedV1::from(event)),
        Event::Pool(PoolEvent::Removed(event)) => {
            chunk::put(out, &PoolRemovedV1 { pool: &event.pool })
        }
        Event::Claim(ClaimEvent::Granted(event)) => match ClaimGrantedV2::of(event) {
            Some(stored) => chunk::put(out, &stored),
            None => chunk::put(out, &ClaimGrantedV1::from(event)),
        },
        Event::Claim(ClaimEvent::LeaseChanged(event)) => match LeaseChangedV2::of(event) {
            Some(stored) => chunk::put(out, &stored),
            None => chunk::put(out, &LeaseChangedV1::from(event)),
        },
        Event::Claim(ClaimEvent::Released(event)) => match ClaimReleasedV2::of(event) {
            Some(stored) => chunk::put(out, &stored),
            None => chunk::put(out, &ClaimReleasedV1::from(event)),
        },
        Event::Claim(ClaimEvent::QuarantineEnded(event)) => match QuarantineEndedV2::of(event) {
            Some(stored) => chunk::put(out, &stored),
            None => chunk::put(out, &QuarantineEndedV1::from(event)),
        },
        Event::Idempotency(IdempotencyEvent::Stored(event)) => idempotency::put(out, event),
        Event::Idempotency(IdempotencyEvent::Expired(event)) => {
            chunk::put(out, &IdempotencyExpiredV1 { key: &event.key })
        }
        Event::Capacity(CapacityEvent::ProviderDefined(event)) => {
            chunk::put(out, &ProviderDefinedV1::from(event))
        }
        Event::Capacity(CapacityEvent::ProviderRemoved(event)) => {
            chunk::put(out, &ProviderRemovedV1::from(event))
        }
        Event::Capacity(CapacityEvent::ProviderCounted(event)) => {
            chunk::put(out, &ProviderCountedV1::from(event))
        }
        Event::Capacity(CapacityEvent::InventoriesSet(event)) => {
            chunk::put(out, &InventoriesSetV1::from(event))
        }
        Event::Capacity(CapacityEvent::TraitsSet(event)) => {
            chunk::put(out, &TraitsSetV1::from(event))
        }
        Event::Capacity(CapacityEvent::AggregatesSet(event)) => {
            chunk::put(out, &AggregatesSetV1::from(event))
        }
        Event::Capacity(CapacityEvent::ClassDefined(event)) => {
            chunk::put(out, &ClassDefinedV1::from(event))
        }
        Event::Capacity(CapacityEvent::ClassRemoved(event)) => {
            chunk::put(out, &NameRemovedV1 { name: &event.class })
        }
        Event::Capacity(CapacityEvent::TraitDefined(event)) => {
            chunk::put(out, &TraitDefinedV1::from(event))
        }
        Event::Capacity(CapacityEvent::TraitRemoved(event)) => {
            chunk::put(out, &NameRemovedV1 { name: &event.name })
        }
        Event::Capacity(CapacityEvent::AllocationsSet(event)) => {
            chunk::put(out, &AllocationsSetV1::from(event))
        }
        Event::Capacity(CapacityEvent::AllocationsExtended(event)) => {
            chunk::put(out, &AllocationsExtendedV1::from(event))
        }
        Event::Capacity(CapacityEvent::AllocationsReleased(event)) => {
            chunk::put(out, &AllocationsReleasedV1::from(event))
        }
        Event::Blocks(BlocksEvent::Defined(event)) => {
            chunk::put(out, &BlocksDefinedV1::from(event))
        }
        Event::Blocks(BlocksEvent::Moved(event)) => chunk::put(out, &BlocksMovedV1::from(event)),
        Event::Requests(RequestsEvent::PoolDefined(event)) => {
            chunk::put(out, &RequestPoolDefinedV1::from(event))
        }
        Event::Requests(RequestsEvent::Answered(event)) => {
            chunk::put(out, &RequestAnsweredV1::from(event))
        }
        Event::Requests(RequestsEvent::Withdrawn(event)) => {
            chunk::put(out, &RequestWithdrawnV1::from(event))
        }
        Event::Alarm(AlarmEvent::Changed(event)) => chunk::put(out, &AlarmChangedV1::from(event)),
        Event::Alarm(AlarmEvent::Purged(event)) => chunk::put(out, &AlarmPurgedV1::from(event)),
        Event::Outbox(OutboxEvent::Queued(event)) => {
            chunk::put(out, &NotificationQueuedV1::from(event))
        }
        Event::Outbox(OutboxEvent::DeliveryFailed(event)) => {
            chunk::put(out, &DeliveryFailedV1::from(event))
        }
        Event::Outbox(OutboxEvent::Closed(event)) => {
            let &NotificationClosed { number, delivered } = event;
            chunk::put(out, &NotificationClosedV1 { number, delivered });
        }
    });
}

pub(crate) fn read_event(chunk: &Chunk<'_>) -> Result<Event, DecodeError> {
    Ok(match (chunk.kind, chunk.version) {
        (kinds::POOL_DEFINED, 1) => {
            Event::Pool(PoolEvent::Defined(chunk.read::<PoolDefinedV1>()?.into()))
        }
        (kinds::POOL_REMOVED, 1) => Event::Pool(PoolEvent::Removed(PoolRemoved {
            pool: chunk.read::<PoolRemovedV1>()?.pool.into(),
        })),
        (kinds::CLAIM_GRANTED, 1) => {
            Event::Claim(ClaimEvent::Granted(chunk.read::<ClaimGrantedV1>()?.into()))
        }
        (kinds::CLAIM_GRANTED, 2) => {
            Event::Claim(ClaimEvent::Granted(chunk.read::<ClaimGrantedV2>()?.into()))
        }
        (kinds::LEASE_CHANGED, 1) => {
            Event::Claim(ClaimEvent::LeaseChanged(chunk.read::<LeaseChangedV1>()?.into()))
        }
        (kinds::LEASE_CHANGED, 2) => {
            Event::Claim(ClaimEvent::LeaseChanged(chunk.read::<LeaseChangedV2>()?.into()))
        }
        (kinds::CLAIM_RELEASED, 1) => {
            Event::Claim(ClaimEvent::Released(chunk.read::<ClaimReleasedV1>()?.into()))
        }
        (kinds::CLAIM_RELEASED, 2) => {
            Event::Claim(ClaimEvent::Released(chunk.read::<ClaimReleasedV2>()?.into()))
        }
        (kinds::QUARANTINE_ENDED, 2) => {
            Event::Claim(ClaimEvent::QuarantineEnded(chunk.read::<QuarantineEndedV2>()?.into()))
        }
        (kinds::QUARANTINE_ENDED, 1) => {
            Event::Claim(ClaimEvent::QuarantineEnded(chunk.read::<QuarantineEndedV1>()?.into()))
        }
        (kinds::REQUEST_REMEMBERED, 1) => Event::Idempotency(IdempotencyEvent::Stored(
            chunk.read::<IdempotencyStoredV1>()?.into(),
        )),
        (kinds::REQUEST_REMEMBERED, 2) => Event::Idempotency(IdempotencyEvent::Stored(
            chunk.read::<IdempotencyStoredV2>()?.into(),
        )),
        (kinds::REQUEST_FORGOTTEN, 1) => {
            Event::Idempotency(IdempotencyEvent::Expired(IdempotencyExpired {
                key: chunk.read::<IdempotencyExpiredV1>()?.key.into(),
            }))
        }
        (kinds::PROVIDER_DEFINED, 1) => Event::Capacity(CapacityEvent::ProviderDefined(
            chunk.read::<ProviderDefinedV1>()?.into(),
        )),
        (kinds::PROVIDER_REMOVED, 1) => Event::Capacity(CapacityEvent::ProviderRemoved(
            chunk.read::<ProviderRemovedV1>()?.into(),
        )),
        (kinds::PROVIDER_COUNTED, 1) => Event::Capacity(CapacityEvent::ProviderCounted(
            chunk.read::<ProviderCountedV1>()?.into(),
        )),
        (kinds::INVENTORIES_SET, 1) => {
            Event::Capacity(CapacityEvent::InventoriesSet(chunk.read::<InventoriesSetV1>()?.into()))
        }
        (kinds::TRAITS_SET, 1) => {
            Event::Capacity(CapacityEvent::TraitsSet(chunk.read::<TraitsSetV1>()?.into()))
        }
        (kinds::AGGREGATES_SET, 1) => {
            Event::Capacity(CapacityEvent::AggregatesSet(chunk.read::<AggregatesSetV1>()?.into()))
        }
        (kinds::CLASS_DEFINED, 1) => {
            Event::Capacity(CapacityEvent::ClassDefined(chunk.read::<ClassDefinedV1>()?.into()))
        }
        (kinds::CLASS_REMOVED, 1) => Event::Capacity(CapacityEvent::ClassRemoved(ClassRemoved {
            class: chunk.read::<NameRemovedV1>()?.name.into(),
        })),
        (kinds::TRAIT_DEFINED, 1) => {
            Event::Capacity(CapacityEvent::TraitDefined(chunk.read::<TraitDefinedV1>()?.into()))
        }
        (kinds::TRAIT_REMOVED, 1) => Event::Capacity(CapacityEvent::TraitRemoved(TraitRemoved {
            name: chunk.read::<NameRemovedV1>()?.name.into(),
        })),
        (kinds::ALLOCATIONS_SET, 1) => {
            Event::Capacity(CapacityEvent::AllocationsSet(chunk.read::<AllocationsSetV1>()?.into()))
        }
        (kinds::ALLOCATIONS_EXTENDED, 1) => Event::Capacity(CapacityEvent::AllocationsExtended(
            chunk.read::<AllocationsExtendedV1>()?.into(),
        )),
        (kinds::ALLOCATIONS_RELEASED, 1) => Event::Capacity(CapacityEvent::AllocationsReleased(
            chunk.read::<AllocationsReleasedV1>()?.into(),
        )),
        (kinds::LEDGER_DEFINED, 1) => {
            Event::Blocks(BlocksEvent::Defined(chunk.read::<BlocksDefinedV1>()?.into()))
        }
        (kinds::BLOCKS_MOVED, 1) => {
            Event::Blocks(BlocksEvent::Moved(chunk.read::<BlocksMovedV1>()?.into()))
        }
        (kinds::RESOURCE_POOL_DEFINED, 1) => Event::Requests(RequestsEvent::PoolDefined(
            chunk.read::<RequestPoolDefinedV1>()?.into(),
        )),
        (kinds::REQUEST_ANSWERED, 1) => {
            Event::Requests(RequestsEvent::Answered(chunk.read::<RequestAnsweredV1>()?.into()))
        }
        (kinds::REQUEST_WITHDRAWN, 1) => {
            Event::Requests(RequestsEvent::Withdrawn(chunk.read::<RequestWithdrawnV1>()?.into()))
        }
        (kinds::ALARM_CHANGED, 1) => {
            Event::Alarm(AlarmEvent::Changed(chunk.read::<AlarmChangedV1>()?.into()))
        }
        (kinds::ALARM_PURGED, 1) => {
            Event::Alarm(AlarmEvent::Purged(chunk.read::<AlarmPurgedV1>()?.into()))
        }
        (kinds::NOTICE_QUEUED, 1) => {
            Event::Outbox(OutboxEvent::Queued(chunk.read::<NotificationQueuedV1>()?.into()))
        }
        (kinds::NOTICE_TRIED, 1) => {
            Event::Outbox(OutboxEvent::DeliveryFailed(chunk.read::<DeliveryFailedV1>()?.into()))
        }
        (kinds::NOTICE_SETTLED, 1) => {
            let NotificationClosedV1 { number, delivered } = chunk.read()?;
            Event::Outbox(OutboxEvent::Closed(NotificationClosed { number, delivered }))
        }
        _ => return Err(chunk.unexpected()),
    })
}
