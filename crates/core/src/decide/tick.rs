//! Does what is due: ends quarantines, releases expired claims of pools that reap and expired allocations, deletes old
//! idempotency records.

use super::{Draft, capacity, release, room};
use crate::event::{Event, IdempotencyExpired, ReleaseCause};
use crate::extension;
use crate::receipt::Outcome;
use crate::refusal::Refusal;

/// The most events of one tick. The rest is left to the next one, so that no command waits long.
const EVENTS_MAX: usize = 256;

pub(super) fn run(draft: &mut Draft<'_>) -> Result<Outcome, Refusal> {
    while draft.events.len() < EVENTS_MAX {
        let Some(event) =
            pool_due(draft).or_else(|| consumer_due(draft)).or_else(|| idempotency_due(draft))
        else {
            break;
        };
        draft.record(event);
    }
    extension::claims_decided(draft)?;
    Ok(Outcome::Ticked)
}

fn pool_due(draft: &Draft<'_>) -> Option<Event> {
    let &(_, ix) = draft.state.due.first().filter(|(at, _)| *at <= draft.now_ms)?;
    let pool = draft.state.pool_at(ix)?;
    if let Some(&(_, first)) = pool.quarantine.first().filter(|(until, _)| *until <= draft.now_ms) {
        return pool.at(first).map(|(_, row, _)| room::quarantine_ended(pool, row));
    }
    if let Some(event) = extension::due_event(draft, pool) {
        return Some(event);
    }
    let (_, first) = pool.first_lease().filter(|(at, _)| *at <= draft.now_ms)?;
    let (_, row, _) = pool.at(first)?;
    Some(release::released(draft, pool, row, ReleaseCause::Reaped).into())
}

fn consumer_due(draft: &Draft<'_>) -> Option<Event> {
    let (due, ()) = draft.state.capacity.due.first().filter(|(due, ())| due.0 <= draft.now_ms)?;
    capacity::released(draft, due.1, ReleaseCause::Reaped).map(Event::from)
}

fn idempotency_due(draft: &Draft<'_>) -> Option<Event> {
    let (_, key) = draft.state.answers.next_due().filter(|(at, _)| *at <= draft.now_ms)?;
    Some(IdempotencyExpired { key: key.clone() }.into())
}
