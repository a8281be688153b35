//! What must hold of pools that the resource-manager keeps.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::resource::{AlarmKind, Answer, Wanted};
use crate::state::State;
use crate::state::pool::Pool;
use crate::state::requests::Class;

/// As many alarms are raised as are counted.
pub(super) fn check_alarms(state: &State) -> Vec<String> {
    let wrong = AlarmKind::ALL.into_iter().filter(|kind| {
        let raised = state.alarms.values().filter(|alarm| alarm.cleared_ms.is_none());
        raised.filter(|alarm| alarm.kind == *kind).count() != state.alarms.raised(*kind)
    });
    wrong.map(|kind| format!("alarms of kind '{}' are miscounted", kind.name())).collect()
}

/// Whoever was granted something has it, whoever was not has nothing, and what is free for hosts is what would be.
pub(super) fn check(pool: &Pool) -> Vec<String> {
    let mut wrong = Vec::new();
    if pool.hosts.as_ref().is_some_and(|hosts| !hosts.is_sound(&pool.free)) {
        wrong.push("what is free for hosts is not what is free without lone edges".into());
    }
    let Some(requests) = &pool.requests else { return wrong };
    if *pool.spec != requests.config.spec() {
        wrong.push("its values are not what its configuration says".into());
    }
    for asked in requests.iter() {
        let key = &asked.key;
        let held = pool.held(key).map(|(_, row)| row.first);
        match (&asked.answer, held) {
            (Answer::Granted, None) => wrong.push(format!("'{key}' was granted and has nothing")),
            (Answer::Failed(_), Some(_)) => {
                wrong.push(format!("'{key}' has what it was not granted"))
            }
            _ => {}
        }
        let waits = requests.waiting.has(Class::of(&asked.request), key);
        if waits != (asked.answer != Answer::Granted) {
            wrong.push(format!("'{key}' is not where those wait that have nothing"));
        }
        if let (Wanted::Prefix(want), Some(value)) = (&asked.request.want, held)
            && pool.spec.kind.prefix_len(value) != want.len(pool.spec.kind.width())
        {
            wrong.push(format!("'{key}' has another length than it asked for"));
        }
    }
    let kept = requests.iter().filter(|asked| asked.answer != Answer::Granted).count();
    if kept != requests.waiting.len() {
        wrong.push("more wait than were refused".into());
    }
    wrong
}

/// Groups are where requests say so, and whoever of a group has an id has the same.
pub(super) fn check_groups(state: &State) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut groups: BTreeMap<Arc<str>, BTreeSet<_>> = BTreeMap::new();
    let mut ids: BTreeMap<Arc<str>, BTreeSet<u128>> = BTreeMap::new();
    for &ix in state.names.values() {
        let Some(pool) = state.pool_at(ix) else { continue };
        let Some(requests) = &pool.requests else { continue };
        for asked in requests.iter().filter(|asked| asked.request.is_sync()) {
            groups.entry(asked.key.clone()).or_default().insert(ix);
            let held = pool.held(&asked.key).map(|(_, row)| row.first.first);
            ids.entry(asked.key.clone()).or_default().extend(held);
        }
    }
    if state.sync != groups {
        wrong.push("the list of groups does not match the requests".into());
    }
    for (key, ids) in ids.into_iter().filter(|(_, ids)| ids.len() > 1) {
        wrong.push(format!("the group '{key}' has different ids: {ids:?}"));
    }
    wrong
}
