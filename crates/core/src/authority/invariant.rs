//! What must hold of claims at authorities.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::lookup::state::LookUps;
use super::state::Authority;
use super::{Authorities, ExternalState, LookUpState};
use crate::state::State;

/// The indexes match the claims, and a claim holds a value exactly when its state says so.
pub(crate) fn check(state: &State) -> Vec<String> {
    let mut wrong = Vec::new();
    let all = &state.authorities;
    let mut rebuilt = Authorities { by_name: all.by_name.clone(), ..Authorities::default() };
    for (reference, claim) in all.claims.iter() {
        rebuilt.put(*reference, Some(claim.clone()));
        let (request, progress) = (&claim.request, &claim.progress);
        let at = format!("claim '{}' in pool '{}'", request.key, request.pool);
        if !all.by_name.contains_key(&request.authority) {
            wrong.push(format!("{at} has an authority that does not exist"));
        }
        // An orphan that is released belongs to no pool.
        if request.pool.is_empty() && progress.withdrawn {
            continue;
        }
        let Some(pool) = state.pool(&request.pool) else {
            wrong.push(format!("{at} has a pool that does not exist"));
            continue;
        };
        if pool.spec.authority.as_ref() != Some(&request.authority) {
            wrong.push(format!("{at} is not at the authority of its pool"));
        }
        let holds = pool.held(&request.key).is_some();
        let may_hold = match progress.state {
            ExternalState::Held | ExternalState::Releasing => true,
            ExternalState::Stuck => progress.withdrawn,
            ExternalState::Wanted | ExternalState::Refused | ExternalState::Conflict => false,
        };
        if holds && !may_hold || !holds && progress.state == ExternalState::Held {
            wrong.push(format!("{at} is {} but holds={holds}", progress.state.name()));
        }
        if progress.state.is_open() != (progress.due_ms.is_some() && progress.code.is_none()) {
            wrong.push(format!("{at} is {} without a time for it", progress.state.name()));
        }
        let is_releasing = progress.state == ExternalState::Releasing;
        let is_live = matches!(progress.state, ExternalState::Wanted | ExternalState::Held);
        if is_releasing && !progress.withdrawn || is_live && progress.withdrawn {
            wrong.push(format!(
                "{at} is {} but withdrawn={}",
                progress.state.name(),
                progress.withdrawn
            ));
        }
    }
    if all.identity.is_none() && !all.by_name.is_empty() {
        wrong.push("there are authorities without an identity of the journal".into());
    }
    let due = |(name, authority): (&Arc<str>, &Arc<Authority>)| {
        Some((authority.reconcile_due_ms()?, name.clone()))
    };
    let due: BTreeSet<_> = all.by_name.iter().filter_map(due).collect();
    if due != all.reconcile_due {
        wrong.push("the index of scheduled reconciliations does not match the authorities".into());
    }
    let mut lookups = LookUps::default();
    for (name, look_up) in all.lookups.all.iter() {
        lookups.put(name.clone(), Some(look_up.clone()));
        let at = format!("look-up '{}' at authority '{}'", look_up.key, look_up.authority);
        if !all.by_name.contains_key(&look_up.authority) {
            wrong.push(format!("{at} has an authority that does not exist"));
        }
        let has_value = matches!(look_up.state, LookUpState::Resolved | LookUpState::Drifted);
        let is_drifted = look_up.state == LookUpState::Drifted;
        if has_value != look_up.value.is_some() || is_drifted != look_up.seen.is_some() {
            wrong.push(format!("{at} is {} with another value", look_up.state.name()));
        }
    }
    if lookups != all.lookups {
        wrong.push("the indexes of look-ups do not match the look-ups".into());
    }
    let indexes = |all: &Authorities| {
        (all.keys.clone(), all.of.clone(), all.refused.clone(), all.overdue.clone())
    };
    if indexes(&rebuilt) != indexes(all) {
        wrong.push("the indexes of claims at authorities do not match the claims".into());
    }
    let external = state.pools().filter(|pool| pool.spec.authority.is_some());
    for pool in external {
        for (_, row) in pool.rows.iter() {
            if all.claim(&pool.name, &row.key).is_none() {
                wrong.push(format!("claim '{}' of pool '{}' has no reference", row.key, pool.name));
            }
        }
    }
    let mut index: Vec<_> = state
        .names
        .values()
        .filter_map(|ix| Some((state.pool_at(*ix)?.spec.authority.clone()?, *ix)))
        .collect();
    index.sort_unstable();
    if !index.iter().eq(state.external_pools.iter()) {
        wrong.push("the index of pools by authority does not match the pools".into());
    }
    wrong
}
