//! What must hold of request pools.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::state::Class;
use super::{Answer, Wanted};
use crate::authority::ExternalState;
use crate::state::State;
use crate::state::pool::Pool;

/// Granted requests hold a claim, failed ones do not, and the derived indexes match the requests.
pub(crate) fn check(state: &State, pool: &Pool) -> Vec<String> {
    let mut wrong = Vec::new();
    let Some(requests) = pool.requests() else { return wrong };
    if requests.hosts.as_ref().is_some_and(|hosts| !hosts.is_sound(&pool.free)) {
        wrong.push("the index of host addresses does not match the free set".into());
    }
    if *pool.spec != requests.config.spec() {
        wrong.push("its values do not follow from its configuration".into());
    }
    for one in requests.iter() {
        let key = &one.key;
        let held = pool.held(key).map(|(_, row)| row.first);
        match (&one.answer, held) {
            (Answer::Granted, None) => {
                wrong.push(format!("request '{key}' is granted but holds nothing"));
            }
            (Answer::Failed(_) | Answer::Wanted, Some(_)) if !is_releasing(state, pool, key) => {
                wrong.push(format!("request '{key}' is not granted but holds a value"));
            }
            (Answer::Wanted, None) if requests.config.answers_itself() => {
                wrong.push(format!("request '{key}' is not answered"));
            }
            _ => {}
        }
        let waits = requests.waiting.has(Class::of(&one.request), key);
        if waits != (one.answer != Answer::Granted) {
            wrong.push(format!("request '{key}' is not in the right waiting list"));
        }
        if let (Wanted::Prefix(want), Some(value)) = (&one.request.want, held)
            && pool.spec.kind.prefix_len(value) != want.len(pool.spec.kind.width())
        {
            wrong.push(format!("request '{key}' holds a prefix of another length than it wants"));
        }
    }
    let failed = requests.iter().filter(|one| one.answer != Answer::Granted).count();
    if failed != requests.waiting.len() {
        wrong.push("the waiting lists have requests that are not failed".into());
    }
    wrong
}

/// Whether the authority has not confirmed yet that the value is released.
fn is_releasing(state: &State, pool: &Pool, key: &str) -> bool {
    let claim = state.authorities.claim(&pool.name, key);
    claim.is_some_and(|claim| claim.progress.state == ExternalState::Releasing)
}

/// The index of groups matches the requests, and all members of a group hold the same id.
pub(crate) fn check_groups(state: &State) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut groups: BTreeMap<Arc<str>, BTreeSet<_>> = BTreeMap::new();
    let mut ids: BTreeMap<Arc<str>, BTreeSet<u128>> = BTreeMap::new();
    for &ix in state.names.values() {
        let Some(pool) = state.pool_at(ix) else { continue };
        let Some(requests) = pool.requests() else { continue };
        for one in requests.iter().filter(|one| one.request.is_sync()) {
            groups.entry(one.key.clone()).or_default().insert(ix);
            let held = pool.held(&one.key).map(|(_, row)| row.first.first);
            ids.entry(one.key.clone()).or_default().extend(held);
        }
    }
    for removed in &state.pools.removed {
        let Some(requests) = removed.pool.requests() else { continue };
        let left = (removed.requests_from..requests.end()).filter_map(|slot| requests.at(slot));
        for one in left.filter(|one| one.request.is_sync()) {
            groups.entry(one.key.clone()).or_default().insert(removed.ix);
        }
    }
    if state.sync != groups {
        wrong.push("the index of groups does not match the requests".into());
    }
    for (key, ids) in ids.into_iter().filter(|(_, ids)| ids.len() > 1) {
        wrong.push(format!("the group '{key}' holds different ids: {ids:?}"));
    }
    wrong
}
