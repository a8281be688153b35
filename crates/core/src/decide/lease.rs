//! Renews a lease, and makes a leased claim permanent.

use std::sync::Arc;

use super::{Draft, claim, valid};
use crate::authority;
use crate::command::{ConfirmOp, Expect, RenewOp};
use crate::event::LeaseChanged;
use crate::receipt::Outcome;
use crate::refusal::Refusal;

pub(crate) fn renew(draft: &mut Draft<'_>, op: &RenewOp) -> Result<Outcome, Refusal> {
    valid::ttl(op.ttl_ms, draft.limits)?;
    let (_, first_ttl) = held(draft, &op.pool, &op.key, op.expect)?;
    let ttl = op.ttl_ms.or(first_ttl).or(draft.pool(&op.pool)?.spec.lease_ms);
    let Some(ttl) = ttl else {
        return Err(Refusal::NoLease { pool: op.pool.clone(), key: op.key.clone() });
    };
    let expires_ms = draft.now_ms.saturating_add(ttl).min(u64::MAX - 1);
    set(draft, &op.pool, &op.key, Some(expires_ms))
}

/// Confirming a permanent claim changes nothing.
pub(crate) fn confirm(draft: &mut Draft<'_>, op: &ConfirmOp) -> Result<Outcome, Refusal> {
    let (expires_ms, _) = held(draft, &op.pool, &op.key, op.expect)?;
    if expires_ms.is_none() {
        return claim::shown(draft, &op.pool, &op.key).map(Outcome::Leased);
    }
    set(draft, &op.pool, &op.key, None)
}

/// When the claim expires, and the lease that it was claimed with.
fn held(
    draft: &Draft<'_>,
    pool: &Arc<str>,
    key: &Arc<str>,
    expect: Expect,
) -> Result<(Option<u64>, Option<u64>), Refusal> {
    valid::key(key, draft.limits)?;
    let held_in = draft.pool(pool)?;
    held_in.extension.ensure_claim_editable(pool, key)?;
    authority::decide::ensure_not_releasing(draft, pool, key)?;
    let Some((_, row)) = held_in.held(key) else {
        return Err(Refusal::ClaimUnknown { pool: pool.clone(), key: key.clone() });
    };
    if !expect.holds(Some(row.version)) {
        let actual = Some(row.version);
        return Err(Refusal::ClaimVersionDiffers { pool: pool.clone(), key: key.clone(), actual });
    }
    Ok((row.expires_ms(), row.params().and_then(|params| params.ttl_ms)))
}

fn set(
    draft: &mut Draft<'_>,
    pool: &Arc<str>,
    key: &Arc<str>,
    expires_ms: Option<u64>,
) -> Result<Outcome, Refusal> {
    let event = changed(draft, pool, key, expires_ms)?;
    draft.record(event);
    claim::shown(draft, pool, key).map(Outcome::Leased)
}

/// The event that changes the lease of a held claim.
pub(crate) fn changed(
    draft: &Draft<'_>,
    name: &Arc<str>,
    key: &Arc<str>,
    expires_ms: Option<u64>,
) -> Result<LeaseChanged, Refusal> {
    let pool = draft.pool(name)?;
    Ok(LeaseChanged {
        pool: name.clone(),
        key: key.clone(),
        version: draft.version,
        expires_ms,
        was: pool.held(key).and_then(|(_, row)| row.was(pool.spec.kind)),
    })
}
