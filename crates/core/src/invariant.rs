//! What must hold of every state, checked the slow and simple way.
//!
//! Dumber than the code that it checks on purpose: it works everything out again from the claims and the specs alone.
//! Runs after every event in tests and simulation, and as `allod journal verify`.

mod capacity;
mod ids;
mod resource;

use std::collections::{BTreeMap, BTreeSet};

use crate::span::{self, Span};
use crate::state::State;
use crate::state::pool::Pool;
use crate::state::zones::{Zone, Zones};

/// Everything that is wrong with the state; empty when nothing is.
pub fn check(state: &State) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut owners = BTreeSet::new();
    let mut due = BTreeSet::new();
    for (name, &ix) in &state.names {
        let Some(pool) = state.pool_at(ix) else {
            wrong.push(format!("pool '{name}' is in the list of names but not there"));
            continue;
        };
        if pool.name != *name {
            wrong.push(format!("pool '{name}' calls itself '{}'", pool.name));
        }
        wrong.extend(check_pool(pool).into_iter().map(|what| format!("pool '{name}': {what}")));
        owners.extend(pool.rows.iter().map(|(slot, row)| (row.owner().clone(), ix, slot)));
        due.extend(pool.next_due_ms().map(|at| (at, ix)));
    }
    let there = state.pools.iter().flatten().count();
    if there != state.names.len() {
        wrong.push(format!("there are {there} pools under {} names", state.names.len()));
    }
    if owners != state.owners {
        wrong.push("the list of owners does not match the claims".into());
    }
    if due != state.due {
        wrong.push("the list of what is due does not match the pools".into());
    }
    let requests: BTreeSet<_> =
        state.requests.values().map(|request| (request.until_ms, request.key.clone())).collect();
    if requests != state.requests_due {
        wrong.push("the list of remembered requests does not match them".into());
    }
    wrong.extend(resource::check_groups(state));
    wrong.extend(resource::check_alarms(state));
    wrong.extend(capacity::check(&state.capacity));
    wrong
}

fn check_pool(pool: &Pool) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut taken: Vec<(Span, u32)> = Vec::new();
    let mut keys = BTreeSet::new();
    let (mut held_claims, mut held, mut quarantined) = (0, [0u128; 5], [0u128; 5]);
    let mut leases: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
    let (mut quarantine, mut returned) = (BTreeSet::new(), BTreeSet::new());
    let zones = Zones::of(&pool.spec);
    if zones != *pool.zones {
        wrong.push("its zones are not what its definition says".into());
    }
    for (slot, row) in pool.rows.iter() {
        let claim = row.claim();
        let key = &claim.key;
        let spans: Vec<Span> = claim.values.spans().collect();
        if spans.iter().any(|span| span.first > span.last)
            || spans.windows(2).any(|pair| pair[0].last >= pair[1].first)
        {
            wrong.push(format!("claim '{key}' has values out of order: {spans:?}"));
        }
        if pool.spec.kind.is_prefix()
            && spans.iter().any(|span| pool.spec.kind.prefix_len(*span).is_none())
        {
            wrong.push(format!("claim '{key}' has values that are no prefix: {spans:?}"));
        }
        for span in &spans {
            taken.push((*span, slot));
            let counts = if row.held() { &mut held } else { &mut quarantined };
            for (count, part) in counts.iter_mut().zip(zones.split(*span)) {
                *count = count.wrapping_add(part);
            }
        }
        if row.held() {
            held_claims += 1;
            if !keys.insert(key.clone()) {
                wrong.push(format!("key '{key}' is held twice"));
            }
            if pool.held(key).map(|(found, _)| found) != Some(slot) {
                wrong.push(format!("claim '{key}' is not found under its key"));
            }
            if let Some(at) = claim.expires_ms {
                leases.entry(pool.lease_class(row)).or_default().insert((at, row.first.first));
            }
        } else {
            quarantine.extend(row.quarantined_until().map(|until| (until, row.first.first)));
            returned.insert((key.clone(), claim.owner.clone(), claim.version, row.first.first));
        }
    }
    taken.sort_unstable();
    for pair in taken.windows(2) {
        if pair[0].0.last >= pair[1].0.first {
            wrong.push(format!("values {:?} and {:?} are given twice", pair[0].0, pair[1].0));
        }
    }
    if !taken
        .iter()
        .map(|(span, slot)| (span.first, *slot))
        .eq(pool.taken.iter().map(|(first, slot)| (*first, *slot)))
    {
        wrong.push("the list of taken values does not match the claims".into());
    }
    let spans: Vec<Span> = taken.iter().map(|(span, _)| *span).collect();
    let free = span::normalise(span::subtract(&zones.automatic, &span::normalise(spans)));
    if !free.iter().copied().eq(pool.free.iter()) {
        wrong.push(format!(
            "free is {:?}, not {free:?}",
            pool.free.iter().take(20).collect::<Vec<_>>()
        ));
    }
    if (held_claims, held, quarantined) != (pool.held_claims, pool.held_in, pool.quarantined_in) {
        wrong.push(format!("its counts {:?} are not {held:?}", pool.held_in));
    }
    if leases != pool.leases {
        wrong.push("the order of leases does not match the claims".into());
    }
    if quarantine != pool.quarantine || returned != pool.returned {
        wrong.push("the order of quarantines does not match the claims".into());
    }
    let recent = span::normalise(pool.recent.oldest_first().map(|piece| piece.span).collect());
    if span::intersect(&recent, &free) != recent {
        wrong.push("it remembers the release of values that are not free".into());
    }
    if pool
        .cold
        .as_ref()
        .is_some_and(|cold| !cold.iter().eq(span::normalise(span::subtract(&free, &recent))))
    {
        wrong.push("what was never used is not what is free and not released".into());
    }
    if Zone::INSIDE.iter().any(|zone| pool.held_of(*zone) > span::total(&zones.members)) {
        wrong.push("more is held than there is".into());
    }
    wrong.extend(ids::check(pool));
    wrong.extend(resource::check(pool));
    wrong
}
