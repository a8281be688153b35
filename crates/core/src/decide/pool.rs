//! Creates, changes and deletes pools.

use std::collections::BTreeSet;

use super::{Draft, valid};
use crate::authority::refusal::AuthorityRefusal;
use crate::command::{DeletePool, PutPool};
use crate::event::{PoolDefined, PoolRemoved};
use crate::extension;
use crate::limits::at_most;
use crate::pool::PoolSpec;
use crate::receipt::Outcome;
use crate::refusal::Refusal;
use crate::requests::state::Requests;
use crate::span;
use crate::state::pool::Pool;
use crate::state::zones::Zones;

/// The most holders that a refusal names.
const SAMPLE: usize = 10;

pub(super) fn put(draft: &mut Draft<'_>, put: &PutPool) -> Result<Outcome, Refusal> {
    valid::pool_name(&put.pool, draft.limits)?;
    valid::spec(&put.spec, draft.limits)?;
    ensure_authority(draft, &put.spec)?;
    let before = draft.state.pool(&put.pool);
    let actual = before.map(|pool| pool.generation);
    if !put.expect.holds(actual) {
        return Err(Refusal::PoolGenerationDiffers { pool: put.pool.clone(), actual });
    }
    ensure_editable(before)?;
    match before {
        None => at_most("pools_max", draft.limits.pools_max, draft.state.pool_count() as u64 + 1)?,
        Some(pool) if *pool.spec == put.spec => {
            return Ok(Outcome::PoolPut { created: false, generation: pool.generation });
        }
        Some(pool) => {
            ensure_compatible(draft, pool, put)?;
            ensure_same_authority(draft, pool, &put.spec)?;
            ensure_few_rezoned(draft, pool, &put.spec)?;
        }
    }
    let generation = actual.unwrap_or(0) + 1;
    let (pool, spec) = (put.pool.clone(), put.spec.clone());
    let given = before.map(|pool| pool.zones.automatic.clone());
    draft.record(PoolDefined { pool, generation, spec });
    if let Some(given) = given {
        extension::pool_redefined(draft, &put.pool, &given)?;
    }
    Ok(Outcome::PoolPut { created: actual.is_none(), generation })
}

/// Refuses an authority that does not exist, and options that only a pool without one can have.
pub(crate) fn ensure_authority(draft: &Draft<'_>, spec: &PoolSpec) -> Result<(), Refusal> {
    let Some(authority) = &spec.authority else { return Ok(()) };
    if !draft.state.authorities.by_name.contains_key(authority) {
        let authority = authority.clone();
        return Err(AuthorityRefusal::AuthorityUnknown { authority }.into());
    }
    if spec.quarantine_ms > 0 {
        return valid::invalid(
            "the pool has an authority and a quarantine",
            "leave the quarantine out; the authority decides when it grants a value again",
        );
    }
    Ok(())
}

/// Refuses another authority for a pool that is in use.
fn ensure_same_authority(draft: &Draft<'_>, pool: &Pool, spec: &PoolSpec) -> Result<(), Refusal> {
    if pool.spec.authority == spec.authority {
        return Ok(());
    }
    if pool.blocks().is_some() {
        return valid::invalid(
            format!("pool '{}' is a pool of the id-manager", pool.name),
            "give the authority to a pool that is not",
        );
    }
    ensure_empty(pool)?;
    ensure_no_external_claims(draft, pool)
}

/// Refuses a pool with claims at its authority.
pub(crate) fn ensure_no_external_claims(draft: &Draft<'_>, pool: &Pool) -> Result<(), Refusal> {
    let claims = draft.state.authorities.claims_in(&pool.name).take(SAMPLE).count() as u64;
    match claims {
        0 => Ok(()),
        claims => Err(AuthorityRefusal::PoolHasClaims { pool: pool.name.clone(), claims }.into()),
    }
}

/// Refuses to change a pool that only its extension may change.
fn ensure_editable(pool: Option<&Pool>) -> Result<(), Refusal> {
    pool.map_or(Ok(()), |pool| pool.extension.ensure_pool_editable(&pool.name))
}

/// Refuses a change of the kind, and one that leaves held values outside of the ranges.
fn ensure_compatible(draft: &Draft<'_>, pool: &Pool, put: &PutPool) -> Result<(), Refusal> {
    if pool.spec.kind != put.spec.kind {
        return Err(Refusal::PoolKindDiffers { pool: pool.name.clone(), actual: pool.spec.kind });
    }
    if put.keep_held {
        return Ok(());
    }
    let gone = span::subtract(&pool.zones.members, &put.spec.members());
    let mut sample = Vec::new();
    let mut claims = BTreeSet::new();
    let overlapping = gone.iter().flat_map(|gone| pool.overlapping(*gone));
    let mut all = true;
    for ((slot, row, span), looked_at) in overlapping.zip(0..) {
        // The first ones are enough for a refusal. More of them are too many for one change, held or in quarantine.
        if looked_at >= draft.limits.claims_per_pool_change_max {
            all = false;
            break;
        }
        if row.held() && claims.insert(slot) && sample.len() < SAMPLE {
            sample.push((row.key.clone(), span));
        }
    }
    if claims.is_empty() {
        return Ok(());
    }
    let (pool, kind, held) = (pool.name.clone(), pool.spec.kind, claims.len() as u64);
    Err(Refusal::HeldOutside { pool, kind, held, all, sample })
}

/// Refuses a change that moves the values of too many claims from one zone to another.
pub(crate) fn ensure_few_rezoned(
    draft: &Draft<'_>,
    pool: &Pool,
    spec: &PoolSpec,
) -> Result<(), Refusal> {
    let max = draft.limits.claims_per_pool_change_max;
    let changed = pool.zones.changed(&Zones::of(spec));
    let claims = changed.iter().flat_map(|span| pool.overlapping(*span));
    let many = claims.take(usize::try_from(max).unwrap_or(usize::MAX).saturating_add(1)).count();
    at_most("claims_per_pool_change_max", max, many as u64)
}

pub(super) fn delete(draft: &mut Draft<'_>, delete: &DeletePool) -> Result<Outcome, Refusal> {
    let pool = draft.state.pool(&delete.pool);
    let actual = pool.map(|pool| pool.generation);
    if !delete.expect.holds(actual) {
        return Err(Refusal::PoolGenerationDiffers { pool: delete.pool.clone(), actual });
    }
    ensure_editable(pool)?;
    let Some(pool) = pool else { return Ok(Outcome::PoolDeleted { existed: false }) };
    ensure_empty(pool)?;
    ensure_no_external_claims(draft, pool)?;
    draft.record(removed(pool));
    Ok(Outcome::PoolDeleted { existed: true })
}

/// The event that removes a pool with all that it has.
pub(crate) fn removed(pool: &Pool) -> PoolRemoved {
    let requests = pool.requests().map_or(0, Requests::len) as u64;
    PoolRemoved { pool: pool.name.clone(), claims: pool.held_claims, requests }
}

/// Refuses a pool with claims.
pub(crate) fn ensure_empty(pool: &Pool) -> Result<(), Refusal> {
    if pool.held_claims == 0 {
        return Ok(());
    }
    let (held, quarantined) = (pool.held_claims, pool.rows.len() as u64 - pool.held_claims);
    Err(Refusal::PoolInUse { pool: pool.name.clone(), held, quarantined })
}
