//! The stored structs, one for each kind and version, and the conversions from and to the types of the core.
//!
//! A released struct never changes. Types that are parts of a stored struct have a version in their name too.

pub(crate) mod authority;
pub(crate) mod blocks;
pub(crate) mod capacity;
pub(crate) mod claim;
pub(crate) mod consumer;
pub(crate) mod form;
pub(crate) mod idempotency;
pub(crate) mod number;
pub(crate) mod outside;
pub(crate) mod pool;
pub(crate) mod requests;
pub(crate) mod span;

use allod_core::alarm::AlarmEvent;
use allod_core::authority::event::AuthorityEvent;
use allod_core::blocks::BlocksEvent;
use allod_core::event::capacity::CapacityEvent;
use allod_core::event::{ClaimEvent, Event, IdempotencyEvent, PoolEvent};
use allod_core::outbox::OutboxEvent;
use allod_core::requests::event::RequestsEvent;

use crate::chunk::{self, Chunk};
use crate::error::DecodeError;
use crate::kinds;
use authority::{
    AuthorityDefinedV1, AuthorityRemovedV1, ClaimProgressedV1, ClaimWantedV1,
    ExternalClaimClosedV1, FindingSettledV1, IdentityDrawnV1, LookUpChangedV1, LookUpCheckedV1,
    LookUpRemovedV1, LookUpsRefreshedV1, ReconciliationEndedV1, ReconciliationWantedV1,
};
use blocks::{BlocksDefinedV1, BlocksMovedV1};
use capacity::{
    AggregatesSetV1, ClassDefinedV1, ClassRemovedV1, InventoriesSetV1, ProviderCountedV1,
    ProviderDefinedV1, ProviderRemovedV1, TraitDefinedV1, TraitRemovedV1, TraitsSetV1,
};
use claim::{ClaimGrantedV1, ClaimReleasedV1, LeaseChangedV1, QuarantineEndedV1};
use claim::{ClaimGrantedV2, ClaimReleasedV2, LeaseChangedV2, QuarantineEndedV2};
use consumer::{AllocationsExtendedV1, AllocationsReleasedV1, AllocationsSetV1};
use form::StoredForm;
use idempotency::{IdempotencyExpiredV1, IdempotencyStoredV1, IdempotencyStoredV2, UnpackedAnswer};
use outside::{RequestAnsweredV2, RequestPoolDefinedV2, RequestWithdrawnV2, has_more, is_outside};
use pool::{PoolDefinedV1, PoolDefinedV2, PoolRemovedV1, PoolRemovedV2, removes_more};
use requests::{
    AlarmChangedV1, AlarmChangedV2, AlarmPurgedV1, AlarmPurgedV2, DeliveryFailedV1,
    NotificationClosedV1, NotificationQueuedV1, RequestAnsweredV1, RequestPoolDefinedV1,
    RequestWithdrawnV1, RetryScheduledV1,
};

/// The table of stored events: the kind, the event, a view of it if the structs cannot borrow from the event itself, the
/// struct of version 1, and if there is one, the struct of version 2 and the condition for writing it.
macro_rules! stored_events {
    ($(
        $kind:ident: $group:ident($events:ident::$variant:ident) $(seen as $view:ident)? as $v1:ident
            $(, or $v2:ident if |$event:ident| $needed:expr)?;
    )+) => {
        /// The kind and version in which an event is written.
        pub(crate) fn written_as(event: &Event) -> (u32, u32) {
            match event {$(
                Event::$group($events::$variant(_event)) => {
                    (kinds::$kind, 1 $(+ { let $event = _event; u32::from($needed) })?)
                }
            )+}
        }

        pub(crate) fn write_event(out: &mut Vec<u8>, event: &Event) {
            let (kind, version) = written_as(event);
            chunk::wrap(out, kind, version, |out| match event {$(
                Event::$group($events::$variant(event)) => {
                    $(let event = &$view::of(event);)?
                    $(if let Some(stored) = $v2::of(event) {
                        return chunk::put(out, &stored);
                    })?
                    chunk::put(out, &$v1::store(event));
                }
            )+});
        }

        pub(crate) fn read_event(chunk: &Chunk<'_>) -> Result<Event, DecodeError> {
            Ok(match (chunk.kind, chunk.version) {
                $(
                    (kinds::$kind, 1) => {
                        Event::$group($events::$variant(chunk.read::<$v1>()?.load()))
                    }
                    $((kinds::$kind, 2) => {
                        Event::$group($events::$variant(chunk.read::<$v2>()?.load()))
                    })?
                )+
                _ => return Err(chunk.unexpected()),
            })
        }
    };
}

// An event that was read from a record of level 1 lacks fields of version 2, and is written as version 1 again.
stored_events! {
    POOL_DEFINED: Pool(PoolEvent::Defined) as PoolDefinedV1,
        or PoolDefinedV2 if |event| event.spec.authority.is_some();
    POOL_REMOVED: Pool(PoolEvent::Removed) as PoolRemovedV1,
        or PoolRemovedV2 if |event| removes_more(event);
    CLAIM_GRANTED: Claim(ClaimEvent::Granted) as ClaimGrantedV1,
        or ClaimGrantedV2 if |event| event.kind.is_some();
    LEASE_CHANGED: Claim(ClaimEvent::LeaseChanged) as LeaseChangedV1,
        or LeaseChangedV2 if |event| event.was.is_some();
    CLAIM_RELEASED: Claim(ClaimEvent::Released) as ClaimReleasedV1,
        or ClaimReleasedV2 if |event| event.was.is_some();
    QUARANTINE_ENDED: Claim(ClaimEvent::QuarantineEnded) as QuarantineEndedV1,
        or QuarantineEndedV2 if |event| event.key.is_some() && event.was.is_some();
    REQUEST_REMEMBERED: Idempotency(IdempotencyEvent::Stored) seen as UnpackedAnswer as IdempotencyStoredV1,
        or IdempotencyStoredV2 if |event| event.reports_capacity();
    REQUEST_FORGOTTEN: Idempotency(IdempotencyEvent::Expired) as IdempotencyExpiredV1;
    PROVIDER_DEFINED: Capacity(CapacityEvent::ProviderDefined) as ProviderDefinedV1;
    PROVIDER_REMOVED: Capacity(CapacityEvent::ProviderRemoved) as ProviderRemovedV1;
    PROVIDER_COUNTED: Capacity(CapacityEvent::ProviderCounted) as ProviderCountedV1;
    INVENTORIES_SET: Capacity(CapacityEvent::InventoriesSet) as InventoriesSetV1;
    TRAITS_SET: Capacity(CapacityEvent::TraitsSet) as TraitsSetV1;
    AGGREGATES_SET: Capacity(CapacityEvent::AggregatesSet) as AggregatesSetV1;
    CLASS_DEFINED: Capacity(CapacityEvent::ClassDefined) as ClassDefinedV1;
    CLASS_REMOVED: Capacity(CapacityEvent::ClassRemoved) as ClassRemovedV1;
    TRAIT_DEFINED: Capacity(CapacityEvent::TraitDefined) as TraitDefinedV1;
    TRAIT_REMOVED: Capacity(CapacityEvent::TraitRemoved) as TraitRemovedV1;
    ALLOCATIONS_SET: Capacity(CapacityEvent::AllocationsSet) as AllocationsSetV1;
    ALLOCATIONS_EXTENDED: Capacity(CapacityEvent::AllocationsExtended) as AllocationsExtendedV1;
    ALLOCATIONS_RELEASED: Capacity(CapacityEvent::AllocationsReleased) as AllocationsReleasedV1;
    LEDGER_DEFINED: Blocks(BlocksEvent::Defined) as BlocksDefinedV1;
    BLOCKS_MOVED: Blocks(BlocksEvent::Moved) as BlocksMovedV1;
    RESOURCE_POOL_DEFINED: Requests(RequestsEvent::PoolDefined) as RequestPoolDefinedV1,
        or RequestPoolDefinedV2 if |event| has_more(&event.config);
    REQUEST_ANSWERED: Requests(RequestsEvent::Answered) as RequestAnsweredV1,
        or RequestAnsweredV2 if |event| is_outside(event);
    REQUEST_WITHDRAWN: Requests(RequestsEvent::Withdrawn) as RequestWithdrawnV1,
        or RequestWithdrawnV2 if |event| event.version > 0;
    RETRY_SCHEDULED: Requests(RequestsEvent::RetryScheduled) as RetryScheduledV1;
    ALARM_CHANGED: Alarm(AlarmEvent::Changed) as AlarmChangedV1,
        or AlarmChangedV2 if |event| event.kind.is_of_authority();
    ALARM_PURGED: Alarm(AlarmEvent::Purged) as AlarmPurgedV1,
        or AlarmPurgedV2 if |event| event.kind.is_of_authority();
    NOTICE_QUEUED: Outbox(OutboxEvent::Queued) as NotificationQueuedV1;
    NOTICE_TRIED: Outbox(OutboxEvent::DeliveryFailed) as DeliveryFailedV1;
    NOTICE_SETTLED: Outbox(OutboxEvent::Closed) as NotificationClosedV1;
    IDENTITY_DRAWN: Authority(AuthorityEvent::IdentityDrawn) as IdentityDrawnV1;
    AUTHORITY_DEFINED: Authority(AuthorityEvent::Defined) as AuthorityDefinedV1;
    AUTHORITY_REMOVED: Authority(AuthorityEvent::Removed) as AuthorityRemovedV1;
    CLAIM_WANTED: Authority(AuthorityEvent::Wanted) as ClaimWantedV1;
    CLAIM_PROGRESSED: Authority(AuthorityEvent::Progressed) as ClaimProgressedV1;
    CLAIM_CLOSED: Authority(AuthorityEvent::Closed) as ExternalClaimClosedV1;
    LOOKUP_CHANGED: Authority(AuthorityEvent::LookUpChanged) as LookUpChangedV1;
    LOOKUP_CHECKED: Authority(AuthorityEvent::LookUpChecked) as LookUpCheckedV1;
    LOOKUP_REMOVED: Authority(AuthorityEvent::LookUpRemoved) as LookUpRemovedV1;
    LOOKUPS_REFRESHED: Authority(AuthorityEvent::LookUpsRefreshed) as LookUpsRefreshedV1;
    RECONCILIATION_WANTED: Authority(AuthorityEvent::ReconciliationWanted) as ReconciliationWantedV1;
    RECONCILIATION_ENDED: Authority(AuthorityEvent::ReconciliationEnded) as ReconciliationEndedV1;
    FINDING_SETTLED: Authority(AuthorityEvent::FindingSettled) as FindingSettledV1;
}
