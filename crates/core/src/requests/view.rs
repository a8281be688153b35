//! Request pools as the resource-manager's face shows them.

use std::sync::Arc;

use super::RequestPool;
use super::state::{AnsweredRequest, FrozenRequests};
use crate::span::Span;
use crate::state::State;
use crate::state::rows::FrozenRows;

/// A request pool at one position, to be read later.
#[derive(Debug, Clone)]
pub struct FrozenRequestPool {
    pub name: Arc<str>,
    pub config: Arc<RequestPool>,
    pub requests: FrozenRequests,
    /// All claims, those of requests and others.
    pub rows: FrozenRows,
    /// The free values, ascending.
    pub free: Vec<Span>,
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
        free: pool.free.iter().collect(),
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
