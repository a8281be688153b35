//! Pools of resources: what is configured, what is asked of them, who is told of the answers.
//!
//! - `edit`: what an operator or a service writes, in the order in which it takes effect
//! - `allocate`: a request that is only written if it gets something
//! - `answer`: what a request gets; `group`: what requests get that must all get the same
//! - `alarms`, `notices`: what follows from it

mod alarms;
mod allocate;
mod answer;
mod edit;
mod group;
mod notices;

use std::collections::BTreeSet;
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

/// The pools in which something has become free, or may have.
fn freed(draft: &Draft<'_>) -> BTreeSet<Arc<str>> {
    let pools = draft.events.iter().filter_map(|event| match event {
        Event::ClaimReleased(event) => Some(&event.pool),
        Event::PoolDefined(event) => Some(&event.pool),
        _ => None,
    });
    pools.cloned().collect()
}

/// The pools that the resource-manager keeps in which something has been given or released.
fn stirred(draft: &Draft<'_>) -> BTreeSet<Arc<str>> {
    let pools = draft.events.iter().filter_map(|event| match event {
        Event::ClaimReleased(event) => Some(&event.pool),
        Event::ClaimGranted(event) => Some(&event.pool),
        _ => None,
    });
    let mut pools: BTreeSet<Arc<str>> = pools.cloned().collect();
    pools.retain(|pool| draft.state.pool(pool).is_some_and(|pool| pool.requests.is_some()));
    pools
}

/// Values have become free in pools: whoever waits for some gets them. For every decision that released any.
pub(super) fn settle(draft: &mut Draft<'_>) -> Result<(), Refusal> {
    let pools = stirred(draft);
    if pools.is_empty() {
        return Ok(());
    }
    let (freed, mut told) = (freed(draft), notices::Told::default());
    let retried = pools.iter().filter(|pool| freed.contains(*pool));
    edit::retry(draft, retried, &mut told)?;
    // Whoever got something may have got it of other pools as well.
    stirred(draft).iter().try_for_each(|pool| alarms::evaluate(draft, pool))?;
    told.queue(draft)
}
