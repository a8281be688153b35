//! The stored structs, one for each kind and version, and how the core's types become them and are made of them.
//!
//! A struct here never changes once it has been released. `V1` types without a kind of their own are parts of those that
//! have one, and are as fixed.

pub(crate) mod capacity;
pub(crate) mod claim;
pub(crate) mod consumer;
pub(crate) mod ids;
pub(crate) mod number;
pub(crate) mod pool;
pub(crate) mod request;
pub(crate) mod resource;
pub(crate) mod span;

use allod_core::event::capacity::{ClassRemoved, TraitRemoved};
use allod_core::event::resource::NoticeSettled;
use allod_core::event::{Event, PoolRemoved, RequestForgotten};

use crate::chunk::{self, Chunk};
use crate::error::DecodeError;
use crate::kinds;
use capacity::{
    AggregatesSetV1, ClassDefinedV1, InventoriesSetV1, NameRemovedV1, ProviderCountedV1,
    ProviderDefinedV1, ProviderRemovedV1, TraitDefinedV1, TraitsSetV1,
};
use claim::{ClaimGrantedV1, ClaimReleasedV1, LeaseChangedV1, QuarantineEndedV1};
use claim::{ClaimGrantedV2, ClaimReleasedV2, LeaseChangedV2, QuarantineEndedV2};
use consumer::{AllocationsExtendedV1, AllocationsReleasedV1, AllocationsSetV1};
use ids::{BlocksMovedV1, LedgerDefinedV1};
use pool::{PoolDefinedV1, PoolRemovedV1};
use request::{RequestForgottenV1, RequestRememberedV1, RequestRememberedV2};
use resource::{
    AlarmChangedV1, AlarmPurgedV1, NoticeQueuedV1, NoticeSettledV1, NoticeTriedV1,
    RequestAnsweredV1, RequestWithdrawnV1, ResourcePoolDefinedV1,
};

/// The kind and version in which an event is written now. An event that came from a record of level 1 lacks what
/// version 2 needs, and is written again as it was.
pub(crate) fn written_as(event: &Event) -> (u32, u32) {
    match event {
        Event::PoolDefined(_) => (kinds::POOL_DEFINED, 1),
        Event::PoolRemoved(_) => (kinds::POOL_REMOVED, 1),
        Event::ClaimGranted(event) => (kinds::CLAIM_GRANTED, since_2(event.kind.is_some())),
        Event::LeaseChanged(event) => (kinds::LEASE_CHANGED, since_2(event.was.is_some())),
        Event::ClaimReleased(event) => (kinds::CLAIM_RELEASED, since_2(event.was.is_some())),
        Event::QuarantineEnded(event) => {
            (kinds::QUARANTINE_ENDED, since_2(event.key.is_some() && event.was.is_some()))
        }
        Event::RequestRemembered(event) => {
            (kinds::REQUEST_REMEMBERED, if request::needs_v2(event) { 2 } else { 1 })
        }
        Event::RequestForgotten(_) => (kinds::REQUEST_FORGOTTEN, 1),
        Event::ProviderDefined(_) => (kinds::PROVIDER_DEFINED, 1),
        Event::ProviderRemoved(_) => (kinds::PROVIDER_REMOVED, 1),
        Event::ProviderCounted(_) => (kinds::PROVIDER_COUNTED, 1),
        Event::InventoriesSet(_) => (kinds::INVENTORIES_SET, 1),
        Event::TraitsSet(_) => (kinds::TRAITS_SET, 1),
        Event::AggregatesSet(_) => (kinds::AGGREGATES_SET, 1),
        Event::ClassDefined(_) => (kinds::CLASS_DEFINED, 1),
        Event::ClassRemoved(_) => (kinds::CLASS_REMOVED, 1),
        Event::TraitDefined(_) => (kinds::TRAIT_DEFINED, 1),
        Event::TraitRemoved(_) => (kinds::TRAIT_REMOVED, 1),
        Event::AllocationsSet(_) => (kinds::ALLOCATIONS_SET, 1),
        Event::AllocationsExtended(_) => (kinds::ALLOCATIONS_EXTENDED, 1),
        Event::AllocationsReleased(_) => (kinds::ALLOCATIONS_RELEASED, 1),
        Event::LedgerDefined(_) => (kinds::LEDGER_DEFINED, 1),
        Event::BlocksMoved(_) => (kinds::BLOCKS_MOVED, 1),
        Event::ResourcePoolDefined(_) => (kinds::RESOURCE_POOL_DEFINED, 1),
        Event::RequestAnswered(_) => (kinds::REQUEST_ANSWERED, 1),
        Event::RequestWithdrawn(_) => (kinds::REQUEST_WITHDRAWN, 1),
        Event::AlarmChanged(_) => (kinds::ALARM_CHANGED, 1),
        Event::AlarmPurged(_) => (kinds::ALARM_PURGED, 1),
        Event::NoticeQueued(_) => (kinds::NOTICE_QUEUED, 1),
        Event::NoticeTried(_) => (kinds::NOTICE_TRIED, 1),
        Event::NoticeSettled(_) => (kinds::NOTICE_SETTLED, 1),
    }
}

fn since_2(complete: bool) -> u32 {
    if complete { 2 } else { 1 }
}

pub(crate) fn write_event(out: &mut Vec<u8>, event: &Event) {
    let (kind, version) = written_as(event);
    chunk::wrap(out, kind, version, |out| match event {
        Event::PoolDefined(event) => chunk::put(out, &PoolDefinedV1::from(event)),
        Event::PoolRemoved(event) => chunk::put(out, &PoolRemovedV1 { pool: &event.pool }),
        Event::ClaimGranted(event) => match ClaimGrantedV2::of(event) {
            Some(stored) => chunk::put(out, &stored),
            None => chunk::put(out, &ClaimGrantedV1::from(event)),
        },
        Event::LeaseChanged(event) => match LeaseChangedV2::of(event) {
            Some(stored) => chunk::put(out, &stored),
            None => chunk::put(out, &LeaseChangedV1::from(event)),
        },
        Event::ClaimReleased(event) => match ClaimReleasedV2::of(event) {
            Some(stored) => chunk::put(out, &stored),
            None => chunk::put(out, &ClaimReleasedV1::from(event)),
        },
        Event::QuarantineEnded(event) => match QuarantineEndedV2::of(event) {
            Some(stored) => chunk::put(out, &stored),
            None => chunk::put(out, &QuarantineEndedV1::from(event)),
        },
        Event::RequestRemembered(event) => request::put(out, event),
        Event::RequestForgotten(event) => chunk::put(out, &RequestForgottenV1 { key: &event.key }),
        Event::ProviderDefined(event) => chunk::put(out, &ProviderDefinedV1::from(event)),
        Event::ProviderRemoved(event) => chunk::put(out, &ProviderRemovedV1::from(event)),
        Event::ProviderCounted(event) => chunk::put(out, &ProviderCountedV1::from(event)),
        Event::InventoriesSet(event) => chunk::put(out, &InventoriesSetV1::from(event)),
        Event::TraitsSet(event) => chunk::put(out, &TraitsSetV1::from(event)),
        Event::AggregatesSet(event) => chunk::put(out, &AggregatesSetV1::from(event)),
        Event::ClassDefined(event) => chunk::put(out, &ClassDefinedV1::from(event)),
        Event::ClassRemoved(event) => chunk::put(out, &NameRemovedV1 { name: &event.class }),
        Event::TraitDefined(event) => chunk::put(out, &TraitDefinedV1::from(event)),
        Event::TraitRemoved(event) => chunk::put(out, &NameRemovedV1 { name: &event.name }),
        Event::AllocationsSet(event) => chunk::put(out, &AllocationsSetV1::from(event)),
        Event::AllocationsExtended(event) => chunk::put(out, &AllocationsExtendedV1::from(event)),
        Event::AllocationsReleased(event) => chunk::put(out, &AllocationsReleasedV1::from(event)),
        Event::LedgerDefined(event) => chunk::put(out, &LedgerDefinedV1::from(event)),
        Event::BlocksMoved(event) => chunk::put(out, &BlocksMovedV1::from(event)),
        Event::ResourcePoolDefined(event) => chunk::put(out, &ResourcePoolDefinedV1::from(event)),
        Event::RequestAnswered(event) => chunk::put(out, &RequestAnsweredV1::from(event)),
        Event::RequestWithdrawn(event) => chunk::put(out, &RequestWithdrawnV1::from(event)),
        Event::AlarmChanged(event) => chunk::put(out, &AlarmChangedV1::from(event)),
        Event::AlarmPurged(event) => chunk::put(out, &AlarmPurgedV1::from(event)),
        Event::NoticeQueued(event) => chunk::put(out, &NoticeQueuedV1::from(event)),
        Event::NoticeTried(event) => chunk::put(out, &NoticeTriedV1::from(event)),
        Event::NoticeSettled(event) => {
            let &NoticeSettled { number, delivered } = event;
            chunk::put(out, &NoticeSettledV1 { number, delivered });
        }
    });
}

pub(crate) fn read_event(chunk: &Chunk<'_>) -> Result<Event, DecodeError> {
    Ok(match (chunk.kind, chunk.version) {
        (kinds::POOL_DEFINED, 1) => Event::PoolDefined(chunk.read::<PoolDefinedV1>()?.into()),
        (kinds::POOL_REMOVED, 1) => {
            Event::PoolRemoved(PoolRemoved { pool: chunk.read::<PoolRemovedV1>()?.pool.into() })
        }
        (kinds::CLAIM_GRANTED, 1) => Event::ClaimGranted(chunk.read::<ClaimGrantedV1>()?.into()),
        (kinds::CLAIM_GRANTED, 2) => Event::ClaimGranted(chunk.read::<ClaimGrantedV2>()?.into()),
        (kinds::LEASE_CHANGED, 1) => Event::LeaseChanged(chunk.read::<LeaseChangedV1>()?.into()),
        (kinds::LEASE_CHANGED, 2) => Event::LeaseChanged(chunk.read::<LeaseChangedV2>()?.into()),
        (kinds::CLAIM_RELEASED, 1) => Event::ClaimReleased(chunk.read::<ClaimReleasedV1>()?.into()),
        (kinds::CLAIM_RELEASED, 2) => Event::ClaimReleased(chunk.read::<ClaimReleasedV2>()?.into()),
        (kinds::QUARANTINE_ENDED, 2) => {
            Event::QuarantineEnded(chunk.read::<QuarantineEndedV2>()?.into())
        }
        (kinds::QUARANTINE_ENDED, 1) => {
            Event::QuarantineEnded(chunk.read::<QuarantineEndedV1>()?.into())
        }
        (kinds::REQUEST_REMEMBERED, 1) => {
            Event::RequestRemembered(chunk.read::<RequestRememberedV1>()?.into())
        }
        (kinds::REQUEST_REMEMBERED, 2) => {
            Event::RequestRemembered(chunk.read::<RequestRememberedV2>()?.into())
        }
        (kinds::REQUEST_FORGOTTEN, 1) => Event::RequestForgotten(RequestForgotten {
            key: chunk.read::<RequestForgottenV1>()?.key.into(),
        }),
        (kinds::PROVIDER_DEFINED, 1) => {
            Event::ProviderDefined(chunk.read::<ProviderDefinedV1>()?.into())
        }
        (kinds::PROVIDER_REMOVED, 1) => {
            Event::ProviderRemoved(chunk.read::<ProviderRemovedV1>()?.into())
        }
        (kinds::PROVIDER_COUNTED, 1) => {
            Event::ProviderCounted(chunk.read::<ProviderCountedV1>()?.into())
        }
        (kinds::INVENTORIES_SET, 1) => {
            Event::InventoriesSet(chunk.read::<InventoriesSetV1>()?.into())
        }
        (kinds::TRAITS_SET, 1) => Event::TraitsSet(chunk.read::<TraitsSetV1>()?.into()),
        (kinds::AGGREGATES_SET, 1) => Event::AggregatesSet(chunk.read::<AggregatesSetV1>()?.into()),
        (kinds::CLASS_DEFINED, 1) => Event::ClassDefined(chunk.read::<ClassDefinedV1>()?.into()),
        (kinds::CLASS_REMOVED, 1) => {
            Event::ClassRemoved(ClassRemoved { class: chunk.read::<NameRemovedV1>()?.name.into() })
        }
        (kinds::TRAIT_DEFINED, 1) => Event::TraitDefined(chunk.read::<TraitDefinedV1>()?.into()),
        (kinds::TRAIT_REMOVED, 1) => {
            Event::TraitRemoved(TraitRemoved { name: chunk.read::<NameRemovedV1>()?.name.into() })
        }
        (kinds::ALLOCATIONS_SET, 1) => {
            Event::AllocationsSet(chunk.read::<AllocationsSetV1>()?.into())
        }
        (kinds::ALLOCATIONS_EXTENDED, 1) => {
            Event::AllocationsExtended(chunk.read::<AllocationsExtendedV1>()?.into())
        }
        (kinds::ALLOCATIONS_RELEASED, 1) => {
            Event::AllocationsReleased(chunk.read::<AllocationsReleasedV1>()?.into())
        }
        (kinds::LEDGER_DEFINED, 1) => Event::LedgerDefined(chunk.read::<LedgerDefinedV1>()?.into()),
        (kinds::BLOCKS_MOVED, 1) => Event::BlocksMoved(chunk.read::<BlocksMovedV1>()?.into()),
        (kinds::RESOURCE_POOL_DEFINED, 1) => {
            Event::ResourcePoolDefined(chunk.read::<ResourcePoolDefinedV1>()?.into())
        }
        (kinds::REQUEST_ANSWERED, 1) => {
            Event::RequestAnswered(chunk.read::<RequestAnsweredV1>()?.into())
        }
        (kinds::REQUEST_WITHDRAWN, 1) => {
            Event::RequestWithdrawn(chunk.read::<RequestWithdrawnV1>()?.into())
        }
        (kinds::ALARM_CHANGED, 1) => Event::AlarmChanged(chunk.read::<AlarmChangedV1>()?.into()),
        (kinds::ALARM_PURGED, 1) => Event::AlarmPurged(chunk.read::<AlarmPurgedV1>()?.into()),
        (kinds::NOTICE_QUEUED, 1) => Event::NoticeQueued(chunk.read::<NoticeQueuedV1>()?.into()),
        (kinds::NOTICE_TRIED, 1) => Event::NoticeTried(chunk.read::<NoticeTriedV1>()?.into()),
        (kinds::NOTICE_SETTLED, 1) => {
            let NoticeSettledV1 { number, delivered } = chunk.read()?;
            Event::NoticeSettled(NoticeSettled { number, delivered })
        }
        _ => return Err(chunk.unexpected()),
    })
}
