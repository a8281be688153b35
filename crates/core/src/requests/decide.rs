//! Decisions about request pools.
//!
//! - `edit`: changes to pools and requests, in the order in which they take effect
//! - `find`: a request that is added only if it is granted
//! - `answer`: the value for one request; `group`: one value for requests that share it
//! - `answering`: answers open requests one after the other; `retry`: answers failed requests when values become free
//! - `outside`: requests that an allocator or an authority answers
//! - `alarms`, `notify`: what follows from new answers

mod alarms;
mod answer;
mod answering;
mod edit;
mod find;
mod group;
mod notify;
mod outside;
mod retry;

use std::sync::Arc;

use super::command::RequestsCommand;
use super::refusal::RequestsRefusal;
use super::state::Requests;
use crate::authority::event::AuthorityEvent;
use crate::decide::Draft;
use crate::event::{ClaimEvent, Event};
use crate::receipt::Outcome;
use crate::refusal::Refusal;
use crate::state::pool::Pool;
use notify::Notifications;

pub(crate) fn run(draft: &mut Draft<'_>, command: &RequestsCommand) -> Result<Outcome, Refusal> {
    match command {
        RequestsCommand::Edit(edit) => edit::run(draft, edit),
        RequestsCommand::Answer(answer) => outside::answer(draft, answer),
        RequestsCommand::Allocate(find) => find::allocate(draft, find),
        RequestsCommand::Find(find) => find::find(draft, find),
    }
}

/// The pool and its requests; refuses a pool that is no request pool.
fn requests<'a>(
    draft: &'a Draft<'_>,
    name: &Arc<str>,
) -> Result<(&'a Pool, &'a Requests), Refusal> {
    let pool = draft.pool(name)?;
    match pool.requests() {
        Some(requests) => Ok((pool, requests)),
        None => Err(RequestsRefusal::NotRequestPool { pool: name.clone() }.into()),
    }
}

/// See [`crate::extension::claims_decided`].
pub(crate) fn claims_decided(draft: &mut Draft<'_>) -> Result<(), Refusal> {
    let concerned = draft.events.iter().any(|event| {
        let pool = match event {
            Event::Claim(ClaimEvent::Released(event)) => &event.pool,
            Event::Claim(ClaimEvent::Granted(event)) => &event.pool,
            Event::Authority(AuthorityEvent::Progressed(event)) => &event.pool,
            Event::Authority(AuthorityEvent::Closed(event)) => &event.pool,
            _ => return false,
        };
        draft.state.pool(pool).is_some_and(|pool| pool.requests().is_some())
    });
    if !concerned {
        return Ok(());
    }
    let mut notifications = Notifications::default();
    outside::claims_changed(draft, &mut notifications)?;
    follow_up(draft, notifications)
}

/// Tries failed requests again that are due: those of a pool, or groups.
pub(crate) fn retry_due(draft: &mut Draft<'_>, pool: Option<&Arc<str>>) -> Result<(), Refusal> {
    retry::due(draft, pool)
}

/// Retries failed requests, then sets alarms and queues notifications.
fn follow_up(draft: &mut Draft<'_>, mut notifications: Notifications) -> Result<(), Refusal> {
    retry::run(draft, &mut notifications)?;
    alarms::evaluate(draft);
    notifications.queue(draft)
}
