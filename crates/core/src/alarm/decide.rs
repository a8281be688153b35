//! Raising, clearing and purging alarms.

use std::sync::Arc;

use super::command::AlarmCommand;
use super::event::{AlarmChanged, AlarmPurged};
use super::refusal::AlarmRefusal;
use super::{Alarm, AlarmKind};
use crate::decide::Draft;
use crate::receipt::Outcome;
use crate::refusal::Refusal;

pub(crate) fn run(draft: &mut Draft<'_>, command: &AlarmCommand) -> Result<Outcome, Refusal> {
    let AlarmCommand::Purge { object, kind } = command;
    let alarm = draft.state.alarms.get(&(object.clone(), *kind));
    if alarm.is_none_or(Alarm::is_raised) {
        return Err(AlarmRefusal::NotCleared { object: object.clone() }.into());
    }
    let event = AlarmPurged { object: object.clone(), kind: *kind };
    draft.record(event);
    Ok(Outcome::AlarmPurged)
}

/// Raises or clears an alarm, unless it already is as wanted. `ids`: the object is a pool of ids.
pub(crate) fn set(
    draft: &mut Draft<'_>,
    object: &Arc<str>,
    kind: AlarmKind,
    ids: bool,
    raised: bool,
) {
    let known = draft.state.alarms.get(&(object.clone(), kind));
    if known.is_some_and(Alarm::is_raised) == raised {
        return;
    }
    let (object, at_ms) = (object.clone(), draft.now_ms);
    draft.record(AlarmChanged { object, kind, ids, raised, at_ms });
}
