//! Answers for faces: what is held, by whom, and what is left. Each costs what it shows, not what exists.

pub mod capacity;
mod claims;
pub mod ids;
pub mod resource;
mod usage;

use std::sync::Arc;

use crate::pool::PoolSpec;
use crate::receipt::ClaimIn;
use crate::span::Span;
use crate::state::State;
use crate::state::pool::Pool;
use crate::state::rows::Row;
use crate::state::zones::{Zone, Zones};

/// What was given as `after` is not the `next` of a page of this list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoCursor;

pub use capacity::capacity;
pub use claims::{ClaimFilter, claims, claims_by_owner};
pub use usage::Usage;

/// Part of a list, and where the next part begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page<T> {
    pub items: Vec<T>,
    /// To be given back as `after`. `None`: this was the last part.
    pub next: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PoolView {
    pub name: Arc<str>,
    pub generation: u64,
    pub spec: Arc<PoolSpec>,
    pub usage: Usage,
}

/// What can be said of one value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ValueView {
    Outside,
    Excluded,
    /// Free, but no new claim gets it.
    Draining,
    /// Free for a claim that names it.
    Manual,
    Free,
    Held(ClaimIn),
    Quarantined(ClaimIn),
}

pub fn pool(state: &State, name: &str, now_ms: u64) -> Option<PoolView> {
    state.pool(name).map(|pool| shown(pool, now_ms))
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

/// The claim that is held under this key.
pub fn claim(state: &State, pool: &str, key: &str) -> Option<ClaimIn> {
    let pool = state.pool(pool)?;
    pool.held(key).map(|(_, row)| claim_in(pool, row))
}

/// Who has this value, or what stands in the way of having it. `None`: there is no such pool.
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

/// What a pool's definition says of a value that nobody has.
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
