//! Pools of resources as the resource-manager shows them.

use std::sync::Arc;

use crate::resource::ResourcePool;
use crate::span::Span;
use crate::state::State;
use crate::state::requests::{Asked, FrozenRequests};
use crate::state::rows::FrozenRows;

/// A pool of one moment, to be walked later.
#[derive(Debug, Clone)]
pub struct FrozenResource {
    pub name: Arc<str>,
    pub config: Arc<ResourcePool>,
    pub requests: FrozenRequests,
    /// What is held, by requests and by others.
    pub rows: FrozenRows,
    /// What is free, ascending.
    pub free: Vec<Span>,
}

/// The names of all pools that the resource-manager keeps.
pub fn names(state: &State) -> impl Iterator<Item = &Arc<str>> {
    state.pools().filter(|pool| pool.requests.is_some()).map(|pool| &pool.name)
}

pub fn frozen(state: &State, pool: &str) -> Option<FrozenResource> {
    let pool = state.pool(pool)?;
    let requests = pool.requests.as_ref()?;
    Some(FrozenResource {
        name: pool.name.clone(),
        config: requests.config.clone(),
        requests: requests.freeze(),
        rows: pool.freeze_rows(),
        free: pool.free.iter().collect(),
    })
}

pub fn config<'a>(state: &'a State, pool: &str) -> Option<&'a Arc<ResourcePool>> {
    Some(&state.pool(pool)?.requests.as_ref()?.config)
}

/// A request, and what it has got.
pub fn asked<'a>(state: &'a State, pool: &str, key: &str) -> Option<(&'a Asked, Option<Span>)> {
    let pool = state.pool(pool)?;
    let asked = pool.requests.as_ref()?.get(key)?;
    Some((asked, pool.held(key).map(|(_, row)| row.first)))
}

/// How many requests there are.
pub fn asked_count(state: &State, pool: &str) -> Option<usize> {
    Some(state.pool(pool)?.requests.as_ref()?.len())
}

/// The position at which the pool or a request to it last changed.
pub fn changed(state: &State, pool: &str) -> Option<u64> {
    Some(state.pool(pool)?.requests.as_ref()?.changed)
}
