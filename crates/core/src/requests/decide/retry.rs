//! Answering failed requests when values have become free, in the order of keys, while there are free values.
//!
//! A decision tries no more than `waiting_requests_per_entry_max` of them. If there are more, it schedules the rest, and
//! ticks continue, each with as many.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use super::answering::{
    OnFailure, OpenRequest, OpenRequests, answer_all, failed_in_group, is_quiet,
};
use super::notify::Notifications;
use super::{alarms, requests};
use crate::decide::Draft;
use crate::event::{ClaimEvent, Event, PoolEvent};
use crate::refusal::Refusal;
use crate::requests::event::{Retry, RetryScheduled};
use crate::requests::state::{Class, Requests};
use crate::requests::{Answer, Request};
use crate::state::pool::Pool;

/// How long requests wait for space in the outbox.
const OUTBOX_FULL_MS: u64 = 10_000;

/// Retries in all pools in which this decision has released claims, or that it has redefined.
pub(super) fn run(draft: &mut Draft<'_>, notifications: &mut Notifications) -> Result<(), Refusal> {
    let mut pools: BTreeMap<Arc<str>, OnFailure> = BTreeMap::new();
    for event in &draft.events {
        match event {
            Event::Claim(ClaimEvent::Released(event)) if !pools.contains_key(&event.pool) => {
                pools.insert(event.pool.clone(), OnFailure::KeepAnswer);
            }
            Event::Pool(PoolEvent::Defined(event)) => {
                pools.insert(event.pool.clone(), OnFailure::UpdateAnswer);
            }
            _ => {}
        }
    }
    draft.begin_retries();
    for (name, on_failure) in pools {
        let update = on_failure == OnFailure::UpdateAnswer;
        // The pool may have been removed, or be no request pool.
        let Some(waiting) = draft.state.pool(&name).and_then(Pool::requests) else { continue };
        if waiting.waiting.is_empty() || !waiting.config.answers_itself() {
            continue;
        }
        let (before, rest) = match &waiting.retry {
            Some(retry) => (Some(retry.clone()), Some(retry.extended(update))),
            None => {
                let all = Retry::all(draft.now_ms, update);
                (None, retry_pool(draft, &name, all, notifications)?)
            }
        };
        if before != rest {
            draft.record(RetryScheduled { pool: Some(name), retry: rest });
        }
    }
    Ok(())
}

/// Tries the requests that are due in a pool, or the groups that are due.
pub(super) fn due(draft: &mut Draft<'_>, pool: Option<&Arc<str>>) -> Result<(), Refusal> {
    let retry = match pool {
        Some(name) => draft.pool(name)?.requests().and_then(|requests| requests.retry.clone()),
        None => draft.state.retry_groups.clone(),
    };
    let Some(retry) = retry else { return Ok(()) };
    let mark = draft.mark();
    let mut notifications = Notifications::default();
    draft.begin_retries();
    let rest = match pool {
        Some(name) => retry_pool(draft, name, retry.clone(), &mut notifications)?,
        None => retry_groups(draft, retry.clone(), &mut notifications)?,
    };
    let rest = rest.map(|rest| Retry { at_ms: draft.now_ms, ..rest });
    draft.record(RetryScheduled { pool: pool.cloned(), retry: rest });
    alarms::evaluate(draft);
    if notifications.queue(draft).is_err() {
        draft.back_to(mark);
        let later = Retry { at_ms: draft.now_ms.saturating_add(OUTBOX_FULL_MS), ..retry };
        draft.record(RetryScheduled { pool: pool.cloned(), retry: Some(later) });
    }
    Ok(())
}

/// Tries requests of a pool. Returns those that are left when the decision has tried enough.
fn retry_pool(
    draft: &mut Draft<'_>,
    name: &Arc<str>,
    mut retry: Retry,
    notifications: &mut Notifications,
) -> Result<Option<Retry>, Refusal> {
    let on_failure = if retry.update { OnFailure::UpdateAnswer } else { OnFailure::KeepAnswer };
    let mut hopeless = Vec::new();
    loop {
        let (pool, waiting) = requests(draft, name)?;
        if pool.free.is_empty() {
            return Ok(None);
        }
        let Some((class, key)) = next(waiting, &retry, &hopeless) else {
            match retry.then() {
                Some(then) => retry = then,
                None => return Ok(None),
            }
            continue;
        };
        if !draft.may_retry_more() {
            return Ok(Some(retry));
        }
        retry.after = Some(key.clone());
        let Some(failed) = waiting.get(&key) else { continue };
        let before = Some((failed.answer.clone(), None));
        let (request, quiet) = (Request::clone(&failed.request), is_quiet(&waiting.config));
        let open = OpenRequest { request, before, quiet };
        let open = OpenRequests::from([(key.clone(), BTreeMap::from([(name.clone(), open)]))]);
        draft.touch_requests(1)?;
        answer_all(draft, open, &OpenRequests::new(), on_failure, notifications)?;
        let now = requests(draft, name)?.1.get(&key);
        let still_fails = now.is_some_and(|now| now.answer != Answer::Granted);
        if still_fails && on_failure == OnFailure::KeepAnswer && class != Class::Own {
            hopeless.push(class);
        }
    }
}

/// The next failed request to try.
fn next(waiting: &Requests, retry: &Retry, without: &[Class]) -> Option<(Class, Arc<str>)> {
    let next = waiting.waiting.next(retry.after.as_ref(), without);
    next.filter(|(_, key)| retry.upto.as_ref().is_none_or(|upto| key <= upto))
}

/// Tries groups. Returns those that are left when the decision has tried enough.
fn retry_groups(
    draft: &mut Draft<'_>,
    mut retry: Retry,
    notifications: &mut Notifications,
) -> Result<Option<Retry>, Refusal> {
    loop {
        let from = match &retry.after {
            None => Bound::Unbounded,
            Some(key) => Bound::Excluded(&**key),
        };
        let next = draft.state.sync.range::<str, _>((from, Bound::Unbounded)).next();
        let next = next.map(|(key, _)| key.clone());
        let Some(key) = next.filter(|key| retry.upto.as_ref().is_none_or(|upto| key <= upto))
        else {
            match retry.then() {
                Some(then) => retry = then,
                None => return Ok(None),
            }
            continue;
        };
        if !draft.may_retry_more() {
            return Ok(Some(retry));
        }
        draft.touch_requests(1)?;
        retry.after = Some(key.clone());
        let failed: BTreeMap<_, _> = failed_in_group(draft, &key).into_iter().collect();
        let open = OpenRequests::from([(key, failed)]);
        let update = OnFailure::UpdateAnswer;
        answer_all(draft, open, &OpenRequests::new(), update, notifications)?;
    }
}
