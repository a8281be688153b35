//! Does what is due: ends quarantines, releases expired claims of pools that reap and expired allocations, deletes old
//! idempotency records.

use super::{Draft, capacity, ids, release, room};
use crate::event::{Event, ReleaseCause, RequestForgotten};
use crate::receipt::{Outcome, Receipt};

/// The most events of one tick. The rest is left to the next one, so that no command waits long.
const EVENTS_MAX: usize = 256;

pub(super) fn run(draft: &mut Draft<'_>) -> Receipt {
    while draft.events.len() < EVENTS_MAX {
        let Some(event) =
            pool_due(draft).or_else(|| consumer_due(draft)).or_else(|| request_due(draft))
        else {
            break;
        };
        draft.record(event);
    }
    Outcome::Ticked.into()
}

fn pool_due(draft: &Draft<'_>) -> Option<Event> {
    let &(_, ix) = draft.state.due.first().filter(|(at, _)| *at <= draft.now_ms)?;
    let pool = draft.state.pool_at(ix)?;
    if let Some(&(_, first)) = pool.quarantine.first().filter(|(until, _)| *until <= draft.now_ms) {
        return pool.at(first).map(|(_, row, _)| room::quarantine_ended(pool, row));
    }
    let clean_ms = pool.account.as_ref().and_then(|account| account.counts.clean_ms);
    if clean_ms.is_some_and(|at| at <= draft.now_ms) {
        return ids::give_back(draft, pool);
    }
    let (_, first) = pool.first_lease().filter(|(at, _)| *at <= draft.now_ms)?;
    let (_, row, _) = pool.at(first)?;
    Some(release::released(draft, pool, row, ReleaseCause::Reaped))
}

fn consumer_due(draft: &Draft<'_>) -> Option<Event> {
    let due = draft.state.capacity.due.first().filter(|(at, _)| *at <= draft.now_ms)?;
    capacity::released(draft, due.1, ReleaseCause::Reaped)
}

fn request_due(draft: &Draft<'_>) -> Option<Event> {
    let (_, key) = draft.state.requests_due.first().filter(|(at, _)| *at <= draft.now_ms)?;
    Some(Event::RequestForgotten(RequestForgotten { key: key.clone() }))
}
