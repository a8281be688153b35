//! Checks that a state is consistent, in a slow and simple way.
//!
//! It recomputes everything from the claims and the specs, and shares as little code as possible with what it checks.
//! It runs after every event in tests and in the simulation, and in `allod journal verify`.

mod capacity;

use std::collections::{BTreeMap, BTreeSet};

use crate::span::{self, Span};
use crate::state::State;
use crate::state::pool::Pool;
use crate::state::zones::{Zone, Zones};
use crate::{alarm, authority, blocks, requests};

/// Everything that is wrong with the state.
pub fn check(state: &State) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut owners = BTreeSet::new();
    let mut due = BTreeSet::new();
    for (name, &ix) in &state.names {
        let Some(pool) = state.pool_at(ix) else {
            wrong.push(format!("pool '{name}' is in the index of names but does not exist"));
            continue;
        };
        if pool.name != *name {
            wrong.push(format!("pool '{name}' has the name '{}'", pool.name));
        }
        wrong.extend(
            check_pool(state, pool).into_iter().map(|what| format!("pool '{name}': {what}")),
        );
        owners.extend(pool.rows.iter().map(|(slot, row)| (row.owner().clone(), ix, slot)));
        due.extend(pool.next_due_ms().map(|at| (at, ix)));
    }
    let there = state.pools.len();
    if there != state.names.len() {
        wrong.push(format!("there are {there} pools under {} names", state.names.len()));
    }
    for removed in &state.pools.removed {
        if state.pool_at(removed.ix).is_some() {
            wrong.push(format!("pool '{}' is removed and present", removed.pool.name));
        }
        let left = removed.pool.rows.iter().filter(|(slot, _)| *slot >= removed.claims_from);
        owners.extend(left.map(|(slot, row)| (row.owner().clone(), removed.ix, slot)));
    }
    wrong.extend(authority::invariant::check(state));
    if owners != state.owners {
        wrong.push("the index of owners does not match the claims".into());
    }
    if due != state.due {
        wrong.push("the index of due times does not match the pools".into());
    }
    if !state.answers.is_consistent() {
        wrong.push("the order or the usage of idempotency keys does not match them".into());
    }
    wrong.extend(requests::invariant::check_groups(state));
    wrong.extend(alarm::check(state));
    wrong.extend(capacity::check(&state.capacity));
    wrong
}

fn check_pool(state: &State, pool: &Pool) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut taken: Vec<(Span, u32)> = Vec::new();
    let mut keys = BTreeSet::new();
    let (mut held_claims, mut held, mut quarantined) = (0, [0u128; 5], [0u128; 5]);
    let mut leases: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
    let (mut quarantine, mut returned) = (BTreeSet::new(), BTreeSet::new());
    let zones = Zones::of(&pool.spec);
    if zones != *pool.zones {
        wrong.push("its zones do not follow from its spec".into());
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
            wrong.push(format!("claim '{key}' has values that are not prefixes: {spans:?}"));
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
                wrong.push(format!("claim '{key}' is not in the index of keys"));
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
            wrong.push(format!("values {:?} and {:?} are held twice", pair[0].0, pair[1].0));
        }
    }
    if !taken
        .iter()
        .map(|(span, slot)| (span.first, *slot))
        .eq(pool.taken.iter().map(|(first, slot)| (*first, *slot)))
    {
        wrong.push("the index of taken values does not match the claims".into());
    }
    let spans: Vec<Span> = taken.iter().map(|(span, _)| *span).collect();
    let free = span::normalise(span::subtract(&zones.automatic, &span::normalise(spans)));
    if !free.iter().copied().eq(pool.free.iter()) {
        wrong.push(format!(
            "the free set is {:?}, not {free:?}",
            pool.free.iter().take(20).collect::<Vec<_>>()
        ));
    }
    if (held_claims, held, quarantined) != (pool.held_claims, pool.held_in, pool.quarantined_in) {
        wrong.push(format!("its counts are {:?}, not {held:?}", pool.held_in));
    }
    if leases != pool.leases {
        wrong.push("the index of leases does not match the claims".into());
    }
    if quarantine != pool.quarantine || returned != pool.returned {
        wrong.push("the index of quarantines does not match the claims".into());
    }
    let recent = span::normalise(pool.recent.oldest_first().map(|piece| piece.span).collect());
    if span::intersect(&recent, &free) != recent {
        wrong.push("its released values are not all free".into());
    }
    if pool
        .cold
        .as_ref()
        .is_some_and(|cold| !cold.iter().eq(span::normalise(span::subtract(&free, &recent))))
    {
        wrong.push("its unused values are not the free values that were never released".into());
    }
    if Zone::INSIDE.iter().any(|zone| pool.held_of(*zone) > span::total(&zones.members)) {
        wrong.push("more values are held than the pool has".into());
    }
    wrong.extend(blocks::invariant::check(pool));
    wrong.extend(requests::invariant::check(state, pool));
    wrong
}
