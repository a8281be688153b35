//! Releases what a consumer holds, or extends its lease.

use crate::capacity::Uuid;
use crate::command::Expect;
use crate::command::capacity::{DeallocateOp, ExtendOp, LeaseTerms};
use crate::decide::{Draft, valid};
use crate::event::ReleaseCause;
use crate::event::capacity::{AllocationsExtended, AllocationsReleased};
use crate::receipt::Outcome;
use crate::refusal::{CapacityRefusal, Refusal};

pub(in crate::decide) fn deallocate(
    draft: &mut Draft<'_>,
    op: &DeallocateOp,
) -> Result<Outcome, Refusal> {
    expected(draft, op.consumer, op.expect)?;
    let Some(event) = released(draft, op.consumer, ReleaseCause::Asked) else {
        return Ok(Outcome::Deallocated { existed: false });
    };
    let has = event.was.iter().map(|was| was.resources.len()).sum();
    draft.touch_amounts(0, has)?;
    draft.record(event);
    Ok(Outcome::Deallocated { existed: true })
}

pub(in crate::decide) fn extend(draft: &mut Draft<'_>, op: &ExtendOp) -> Result<Outcome, Refusal> {
    valid_lease(draft, op.lease)?;
    expected(draft, op.consumer, op.expect)?;
    let Some(consumer) = draft.state.capacity.consumer(op.consumer) else {
        return Err(CapacityRefusal::ConsumerUnknown { consumer: op.consumer }.into());
    };
    let generation = consumer.generation + 1;
    let expires_ms = op.lease.map(|lease| draft.now_ms.saturating_add(lease.ttl_ms));
    let reclaim = op.lease.map(|lease| lease.reclaim).unwrap_or_default();
    let consumer = op.consumer;
    draft.record(AllocationsExtended { consumer, generation, expires_ms, reclaim });
    Ok(Outcome::Extended { consumer, generation, expires_ms })
}

/// The event that releases what a consumer holds; `None` if it holds nothing.
pub(crate) fn released(
    draft: &Draft<'_>,
    consumer: Uuid,
    cause: ReleaseCause,
) -> Option<AllocationsReleased> {
    let capacity = &draft.state.capacity;
    let held = capacity.consumer(consumer)?;
    Some(AllocationsReleased {
        consumer,
        generation: held.generation,
        project: held.project.clone(),
        user: held.user.clone(),
        cause,
        was: capacity.allocated(held),
    })
}

pub(super) fn valid_lease(draft: &Draft<'_>, lease: Option<LeaseTerms>) -> Result<(), Refusal> {
    valid::ttl(lease.map(|lease| lease.ttl_ms), draft.limits)
}

/// Refuses if the consumer does not have the expected generation.
pub(super) fn expected(draft: &Draft<'_>, consumer: Uuid, expect: Expect) -> Result<(), Refusal> {
    let actual = draft.state.capacity.consumer(consumer).map(|consumer| consumer.generation);
    if expect.holds(actual) {
        return Ok(());
    }
    let expected = match expect {
        Expect::Present => return Err(CapacityRefusal::ConsumerUnknown { consumer }.into()),
        Expect::Is(generation) => Some(generation),
        Expect::Any | Expect::Absent => None,
    };
    Err(CapacityRefusal::ConsumerGenerationDiffers { consumer, expected, actual }.into())
}
