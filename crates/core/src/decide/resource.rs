//! Pools of resources: what is configured, what is asked of them, who is told of the answers.
//!
//! - `edit`: what an operator or a service writes, in the order in which it takes effect
//! - `allocate`: a request that is only written if it gets something, or not even then
//! - `answer`: what a request gets; `group`: what requests get that must all get the same
//! - `turn`: those whose turn it is, one after the other; `retry`: whoever has got nothing so far, when something has become free
//! - `alarms`, `notices`: what follows from it

mod alarms;
mod allocate;
mod answer;
mod edit;
mod group;
mod notices;
mod retry;
mod turn;

use std::sync::Arc;

use super::{Draft, pick, release, valid};
use crate::command::resource::ResourceCommand;
use crate::event::Event;
use crate::event::resource::AlarmPurged;
use crate::receipt::Outcome;
use crate::refusal::{Refusal, ResourceRefusal};
use crate::state::pool::Pool;
use crate::state::requests::Requests;

pub(super) fn run(draft: &mut Draft<'_>, command: &ResourceCommand) -> Result<Outcome, Refusal> {
    match command {
        ResourceCommand::Edit(edit) => edit::run(draft, edit),
        ResourceCommand::Allocate(find) => allocate::run(draft, find),
        ResourceCommand::Find(find) => allocate::look(draft, find),
        ResourceCommand::Notice(notice) => notices::run(draft, notice),
        ResourceCommand::PurgeAlarm { object, kind } => {
            let key = (object.clone(), *kind);
            let over = draft.state.alarms.get(&key).is_some_and(|alarm| alarm.cleared_ms.is_some());
            if !over {
                return Err(ResourceRefusal::AlarmNotOver { object: object.clone() }.into());
            }
            let event = AlarmPurged { object: object.clone(), kind: *kind };
            draft.record(Event::AlarmPurged(event));
            Ok(Outcome::ResourcesEdited)
        }
    }
}

/// A pool that the resource-manager keeps.
fn requests<'a>(
    draft: &'a Draft<'_>,
    name: &Arc<str>,
) -> Result<(&'a Pool, &'a Requests), Refusal> {
    let pool = draft.pool(name)?;
    match &pool.requests {
        Some(requests) => Ok((pool, requests)),
        None => Err(ResourceRefusal::NotResources { pool: name.clone() }.into()),
    }
}

/// Values have been released or granted: whoever waits for some gets them, and the alarms follow. For every decision that is
/// not an edit itself.
pub(super) fn settle(draft: &mut Draft<'_>) -> Result<(), Refusal> {
    let concerned = draft.events.iter().any(|event| {
        let pool = match event {
            Event::ClaimReleased(event) => &event.pool,
            Event::ClaimGranted(event) => &event.pool,
            _ => return false,
        };
        draft.state.pool(pool).is_some_and(|pool| pool.requests.is_some())
    });
    if !concerned {
        return Ok(());
    }
    let mut told = notices::Told::default();
    retry::run(draft, &mut told)?;
    alarms::evaluate(draft);
    told.queue(draft)
}
