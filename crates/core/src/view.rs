//! Queries for faces. The cost of a query depends on what it returns, not on the size of the state.

pub mod capacity;
mod claims;
mod usage;

pub use crate::authority::view as authority;
pub use crate::blocks::view as blocks;
pub use crate::requests::view as requests;
/// A state to pass to the functions of this module. Faces do not look inside.
pub use crate::state::State;

use std::sync::Arc;

use crate::alarm::Alarms;
use crate::outbox::Outbox;
use crate::pool::PoolSpec;
use crate::receipt::ClaimIn;
use crate::span::Span;
use crate::state::pool::Pool;
use crate::state::rows::Row;
use crate::state::zones::{Zone, Zones};

/// `after` is not a `next` of this list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoCursor;

pub use capacity::capacity;
pub use claims::{ClaimFilter, claims, claims_by_owner, claims_within};
pub use usage::Usage;

/// A part of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page<T> {
    pub items: Vec<T>,
    /// The `after` of the next part. `None`: this is the last part.
    pub next: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PoolView {
    pub name: Arc<str>,
    pub generation: u64,
    pub spec: Arc<PoolSpec>,
    pub usage: Usage,
}

/// The state of one value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ValueView {
    Outside,
    Excluded,
    /// Not held, and not available to new claims.
    Draining,
    /// Available to claims that name it.
    Manual,
    Free,
    Held(ClaimIn),
    Quarantined(ClaimIn),
}

pub fn outbox(state: &State) -> &Outbox {
    &state.outbox
}

pub fn alarms(state: &State) -> &Alarms {
    &state.alarms
}

/// The configuration of a pool.
pub fn spec<'a>(state: &'a State, pool: &str) -> Option<&'a Arc<PoolSpec>> {
    state.pool(pool).map(|pool| &pool.spec)
}

pub fn pool(state: &State, name: &str, now_ms: u64) -> Option<PoolView> {
    state.pool(name).map(|pool| shown(pool, now_ms))
}

/// The number of pools.
pub fn pool_count(state: &State) -> usize {
    state.pools.len()
}

/// Pools whose name starts with `prefix`, in order of name, after the one named `after`.
pub fn pools(
    state: &State,
    now_ms: u64,
    prefix: &str,
    after: Option<&str>,
    limit: usize,
) -> Page<PoolView> {
    use std::ops::Bound::{Excluded, Included, Unbounded};
    let from = match after {
        Some(after) if after >= prefix => Excluded(after),
        _ => Included(prefix),
    };
    let names = state
        .names
        .range::<str, _>((from, Unbounded))
        .take_while(|(name, _)| name.starts_with(prefix));
    let mut names = names.filter_map(|(_, ix)| state.pool_at(*ix));
    let items: Vec<_> = names.by_ref().take(limit).map(|pool| shown(pool, now_ms)).collect();
    let more = names.next().is_some();
    Page { next: items.last().filter(|_| more).map(|last| last.name.to_string()), items }
}

/// The claim under this key.
pub fn claim(state: &State, pool: &str, key: &str) -> Option<ClaimIn> {
    let pool = state.pool(pool)?;
    pool.held(key).map(|(_, row)| claim_in(pool, row))
}

/// The claim that has this value, or whether the value is available. `None`: the pool does not exist.
pub fn value(state: &State, pool: &str, value: Span) -> Option<ValueView> {
    let pool = state.pool(pool)?;
    if let Some((_, row, _)) = pool.overlapping(value).next() {
        let claim = claim_in(pool, row);
        return Some(if row.held() {
            ValueView::Held(claim)
        } else {
            ValueView::Quarantined(claim)
        });
    }
    Some(in_zone(&pool.zones, value))
}

/// The state of a value that no claim has, according to the pool's spec.
pub fn unclaimed(spec: &PoolSpec, value: Span) -> ValueView {
    in_zone(&Zones::of(spec), value)
}

fn in_zone(zones: &Zones, value: Span) -> ValueView {
    match zones.worst(value) {
        Zone::Automatic => ValueView::Free,
        Zone::Manual => ValueView::Manual,
        Zone::Draining => ValueView::Draining,
        Zone::Excluded => ValueView::Excluded,
        Zone::Outside => ValueView::Outside,
    }
}

fn shown(pool: &Pool, now_ms: u64) -> PoolView {
    PoolView {
        name: pool.name.clone(),
        generation: pool.generation,
        spec: pool.spec.clone(),
        usage: Usage::of(pool, now_ms),
    }
}

fn claim_in(pool: &Pool, row: &Row) -> ClaimIn {
    ClaimIn { pool: pool.name.clone(), kind: pool.spec.kind, claim: row.claim() }
}
