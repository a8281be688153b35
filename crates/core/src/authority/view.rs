//! Authorities and their claims as faces show them.

use std::sync::Arc;

use super::state::Authority;
use super::{Authorities, ExternalClaim};
use crate::state::State;

pub fn authorities(state: &State) -> &Authorities {
    &state.authorities
}

/// All authorities in the order of their names.
pub fn all(state: &State) -> impl Iterator<Item = (&Arc<str>, &Arc<Authority>)> {
    state.authorities.by_name.iter()
}

pub fn authority<'a>(state: &'a State, name: &str) -> Option<&'a Arc<Authority>> {
    state.authorities.by_name.get(name)
}

/// The claim under this key in a pool with an authority.
pub fn claim<'a>(state: &'a State, pool: &str, key: &str) -> Option<&'a Arc<ExternalClaim>> {
    state.authorities.claim(pool, key)
}

/// The number of pools with this authority.
pub fn pool_count(state: &State, authority: &str) -> usize {
    state.pools_of_authority(authority).count()
}

/// The kind of the values of a pool.
pub fn pool_kind(state: &State, pool: &str) -> Option<crate::value::Kind> {
    state.pool(pool).map(|pool| pool.spec.kind)
}
