//! Request pools as the resource-manager's face shows them.

use std::sync::Arc;

use super::RequestPool;
use super::state::{AnsweredRequest, FrozenRequests};
use crate::span::{self, Span};
use crate::state::State;
use crate::state::rows::FrozenRows;
use crate::state::zones::Zones;

/// A request pool at one position, to be read later.
#[derive(Debug, Clone)]
pub struct FrozenRequestPool {
    pub name: Arc<str>,
    pub config: Arc<RequestPool>,
    pub requests: FrozenRequests,
    /// All claims, those of requests and others.
    pub rows: FrozenRows,
    zones: Arc<Zones>,
}

impl FrozenRequestPool {
    /// The free values, ascending. Computed here and not when the pool is frozen: a pool may have many gaps.
    pub fn free(&self) -> Vec<Span> {
        let claims = self.rows.claims();
        let mut taken: Vec<Span> =
            claims.flat_map(|claim| claim.values.spans().collect::<Vec<Span>>()).collect();
        taken.sort_unstable_by_key(|span| span.first);
        span::subtract(&self.zones.automatic, &taken)
    }
}

pub fn names(state: &State) -> impl Iterator<Item = &Arc<str>> {
    state.pools().filter(|pool| pool.requests().is_some()).map(|pool| &pool.name)
}

pub fn frozen(state: &State, pool: &str) -> Option<FrozenRequestPool> {
    let pool = state.pool(pool)?;
    let requests = pool.requests()?;
    Some(FrozenRequestPool {
        name: pool.name.clone(),
        config: requests.config.clone(),
        requests: requests.freeze(),
        rows: pool.freeze_rows(),
        zones: pool.zones.clone(),
    })
}

pub fn config<'a>(state: &'a State, pool: &str) -> Option<&'a Arc<RequestPool>> {
    Some(&state.pool(pool)?.requests()?.config)
}

/// A request, and the value that it holds.
pub fn request<'a>(
    state: &'a State,
    pool: &str,
    key: &str,
) -> Option<(&'a AnsweredRequest, Option<Span>)> {
    let pool = state.pool(pool)?;
    let request = pool.requests()?.get(key)?;
    Some((request, pool.held(key).map(|(_, row)| row.first)))
}

pub fn request_count(state: &State, pool: &str) -> Option<usize> {
    Some(state.pool(pool)?.requests()?.len())
}

/// The position at which the pool or one of its requests last changed.
pub fn changed(state: &State, pool: &str) -> Option<u64> {
    Some(state.pool(pool)?.requests()?.changed)
}
