//! Authorities and their claims as faces show them.

use std::ops::Bound;
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

/// Authorities in the order of their names, from this one.
pub fn all_after<'a>(
    state: &'a State,
    from: Bound<&str>,
) -> impl Iterator<Item = (&'a Arc<str>, &'a Arc<Authority>)> + use<'a> {
    state.authorities.by_name.range::<str, _>((from, Bound::Unbounded))
}

pub fn authority<'a>(state: &'a State, name: &str) -> Option<&'a Arc<Authority>> {
    state.authorities.by_name.get(name)
}

/// The claim under this key in a pool with an authority.
pub fn claim<'a>(state: &'a State, pool: &str, key: &str) -> Option<&'a Arc<ExternalClaim>> {
    state.authorities.claim(pool, key)
}

/// How many pools of an authority are counted.
pub const POOLS_COUNTED_MAX: usize = 1000;

/// The number of pools with this authority, counted up to [`POOLS_COUNTED_MAX`].
pub fn pool_count(state: &State, authority: &str) -> usize {
    state.pools_of_authority(authority).take(POOLS_COUNTED_MAX).count()
}

/// The kind of the values of a pool.
pub fn pool_kind(state: &State, pool: &str) -> Option<crate::value::Kind> {
    state.pool(pool).map(|pool| pool.spec.kind)
}
