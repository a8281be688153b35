//! Authorities and their claims as faces show them.

use std::ops::Bound;
use std::sync::Arc;

use super::state::Authority;
use super::{Authorities, ExternalClaim, LookUp, LookUpCounts, Reconciliation};
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

pub fn lookup<'a>(state: &'a State, authority: &str, key: &str) -> Option<&'a Arc<LookUp>> {
    state.authorities.lookups.get(authority, key)
}

/// The look-ups of an authority in the order of their keys, after this one.
pub fn lookups_after<'a>(
    state: &'a State,
    authority: &str,
    after_key: Option<&str>,
) -> impl Iterator<Item = &'a Arc<LookUp>> + use<'a> {
    let authority: Arc<str> = authority.into();
    let after: Option<Arc<str>> = after_key.map(Arc::from);
    let from = (authority.clone(), after.clone().unwrap_or_default());
    let all = state.authorities.lookups.all.range_from(&from);
    all.take_while(move |((name, _), _)| *name == authority)
        .filter(move |((_, key), _)| after.as_ref() != Some(key))
        .map(|(_, look_up)| look_up)
}

/// The look-ups of an authority that are due: first those that were last checked before the last refresh of all.
pub fn lookups_due<'a>(
    state: &'a State,
    authority: &str,
    now_ms: u64,
) -> impl Iterator<Item = &'a Arc<LookUp>> + use<'a> {
    let refreshed = self::authority(state, authority).map_or(0, |known| known.refreshed);
    let authority: Arc<str> = authority.into();
    let lookups = &state.authorities.lookups;
    let of = lookups.of.get(&authority);
    let stale = of.map(|of| of.checked.range(..(refreshed, Arc::from(""))));
    let due = of.map(|of| of.due.iter());
    let stale = stale.into_iter().flatten();
    let due = due.into_iter().flatten().take_while(move |(due_ms, _)| *due_ms <= now_ms);
    let get = move |key: &Arc<str>| lookups.all.get(&(authority.clone(), key.clone()));
    let stale = stale.map(|(_, key)| (key, true));
    let keys = stale.chain(due.map(|(_, key)| (key, false)));
    let found = keys.filter_map(move |(key, is_stale)| Some((get(key)?, is_stale)));
    let once = found.filter(move |(look_up, is_stale)| *is_stale || look_up.checked >= refreshed);
    once.map(|(look_up, _)| look_up)
}

/// When the next look-up of an authority becomes due that is not due yet.
pub fn lookups_due_after(state: &State, authority: &str, now_ms: u64) -> Option<u64> {
    let of = state.authorities.lookups.of.get(authority)?;
    of.due.range((now_ms.saturating_add(1), Arc::from(""))..).next().map(|(at_ms, _)| *at_ms)
}

/// The number of look-ups of an authority by state.
pub fn lookup_counts(state: &State, authority: &str) -> LookUpCounts {
    state.authorities.lookup_counts(authority)
}

/// The last reconciliation of an authority.
pub fn reconciliation<'a>(state: &'a State, authority: &str) -> Option<&'a Arc<Reconciliation>> {
    self::authority(state, authority)?.reconciliation.as_ref()
}
