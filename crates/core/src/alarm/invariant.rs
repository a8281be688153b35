//! What must hold of the list of alarms.

use super::{Alarm, AlarmKind};
use crate::state::State;

/// The numbers of raised alarms match the list.
pub(crate) fn check(state: &State) -> Vec<String> {
    let raised = |kind: AlarmKind| {
        let all = state.alarms.values().filter(|alarm| alarm.kind == kind);
        all.filter(|alarm| Alarm::is_raised(alarm)).count()
    };
    let wrong =
        AlarmKind::ALL.into_iter().filter(|kind| raised(*kind) != state.alarms.raised(*kind));
    wrong
        .map(|kind| format!("the number of raised alarms of kind '{}' is wrong", kind.name()))
        .collect()
}
