//! Does what is due: ends quarantines, releases expired claims of pools that reap and expired allocations, tries failed
//! requests again, deletes old idempotency records and refusals of authorities.

use super::{Draft, capacity, release, room};
use crate::authority;
use crate::event::{Event, IdempotencyExpired, ReleaseCause};
use crate::extension::{self, DueWork};
use crate::receipt::Outcome;
use crate::refusal::Refusal;
use crate::requests;

/// The most events of one tick. The rest is left to the next one, so that no command waits long.
const EVENTS_MAX: usize = 256;

pub(super) fn run(draft: &mut Draft<'_>) -> Result<Outcome, Refusal> {
    while draft.events.len() < EVENTS_MAX {
        let due = pool_due(draft)
            .or_else(|| consumer_due(draft).map(DueWork::event))
            .or_else(|| idempotency_due(draft).map(DueWork::event))
            .or_else(|| refusal_due(draft).map(DueWork::event))
            .or_else(|| overdue(draft))
            .or_else(|| reconciliation_due(draft));
        match due {
            Some(DueWork::Event(event)) => draft.record(*event),
            Some(DueWork::Reconcile(authority)) => {
                authority::decide::want_reconciliation(draft, &authority);
            }
            Some(DueWork::Overdue(authority)) => authority::decide::set_alarms(draft, &authority),
            Some(DueWork::Release(claim)) => authority::decide::begin_release(draft, &claim)?,
            // This takes long enough for one tick.
            Some(DueWork::Retry(pool)) => {
                requests::decide::retry_due(draft, Some(&pool))?;
                break;
            }
            None if groups_are_due(draft) => {
                requests::decide::retry_due(draft, None)?;
                break;
            }
            None => break,
        }
    }
    extension::claims_decided(draft)?;
    Ok(Outcome::Ticked)
}

fn pool_due(draft: &Draft<'_>) -> Option<DueWork> {
    let &(_, ix) = draft.state.due.first().filter(|(at, _)| *at <= draft.now_ms)?;
    let pool = draft.state.pool_at(ix)?;
    if let Some(&(_, first)) = pool.quarantine.first().filter(|(until, _)| *until <= draft.now_ms) {
        return pool.at(first).map(|(_, row, _)| DueWork::event(room::quarantine_ended(pool, row)));
    }
    if let Some(due) = extension::due(draft, pool) {
        return Some(due);
    }
    let (_, first) = pool.first_lease().filter(|(at, _)| *at <= draft.now_ms)?;
    let (_, row, _) = pool.at(first)?;
    if let Some(claim) = draft.state.authorities.claim(&pool.name, &row.key) {
        return Some(DueWork::Release(claim.clone()));
    }
    let released = release::released(draft, pool, row, ReleaseCause::Reaped);
    Some(DueWork::event(released.into()))
}

fn consumer_due(draft: &mut Draft<'_>) -> Option<Event> {
    let (due, ()) = draft.state.capacity.due.first().filter(|(due, ())| due.0 <= draft.now_ms)?;
    let consumer = due.1;
    if !draft.may_touch_more_amounts() {
        return None;
    }
    let released = capacity::released(draft, consumer, ReleaseCause::Reaped)?;
    let has = released.was.iter().map(|was| was.resources.len()).sum();
    // The next tick continues when this one has released enough.
    let _ = draft.touch_amounts(0, has);
    Some(released.into())
}

fn idempotency_due(draft: &Draft<'_>) -> Option<Event> {
    let stored = draft.state.answers.next_due()?;
    (stored.until_ms() <= draft.now_ms)
        .then(|| IdempotencyExpired { key: stored.key().into() }.into())
}

/// A refusal that was shown for long enough.
fn refusal_due(draft: &Draft<'_>) -> Option<Event> {
    let authorities = &draft.state.authorities;
    let (_, reference) = authorities.refused.first().filter(|(at, _)| *at <= draft.now_ms)?;
    let refused = authorities.get(*reference)?;
    Some(authority::decide::closed(refused).into())
}

/// An authority whose oldest claim has waited for too long.
fn overdue(draft: &Draft<'_>) -> Option<DueWork> {
    let (at_ms, authority) = draft.state.authorities.next_overdue(&draft.state.alarms)?;
    (*at_ms <= draft.now_ms).then(|| DueWork::Overdue(authority.clone()))
}

fn reconciliation_due(draft: &Draft<'_>) -> Option<DueWork> {
    let (at_ms, authority) = draft.state.authorities.reconcile_due.first()?;
    (*at_ms <= draft.now_ms).then(|| DueWork::Reconcile(authority.clone()))
}

fn groups_are_due(draft: &Draft<'_>) -> bool {
    draft.state.retry_groups.as_ref().is_some_and(|retry| retry.at_ms <= draft.now_ms)
}
