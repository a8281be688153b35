//! Releases a claim.

use super::{Draft, valid};
use crate::authority;
use crate::command::{Expect, ReleaseOp};
use crate::event::{ClaimReleased, ReleaseCause};
use crate::receipt::Outcome;
use crate::refusal::Refusal;
use crate::state::pool::Pool;
use crate::state::rows::Row;

pub(crate) fn run(draft: &mut Draft<'_>, op: &ReleaseOp) -> Result<Outcome, Refusal> {
    valid::key(&op.key, draft.limits)?;
    let pool = draft.pool(&op.pool)?;
    pool.extension.ensure_claim_editable(&pool.name, &op.key)?;
    if pool.spec.authority.is_some() {
        return authority::decide::release(draft, op);
    }
    let held = pool.held(&op.key).map(|(_, row)| row);
    let actual = held.map(|row| row.version);
    if op.expect == Expect::Present && actual.is_none() {
        return Err(Refusal::ClaimUnknown { pool: op.pool.clone(), key: op.key.clone() });
    }
    if !op.expect.holds(actual) {
        let (pool, key) = (op.pool.clone(), op.key.clone());
        return Err(Refusal::ClaimVersionDiffers { pool, key, actual });
    }
    let event = held.map(|row| released(draft, pool, row, ReleaseCause::Asked));
    let existed = event.is_some();
    event.into_iter().for_each(|event| draft.record(event));
    Ok(Outcome::Released { existed })
}

/// The event that releases a held claim, with the quarantine of its pool.
pub(crate) fn released(
    draft: &Draft<'_>,
    pool: &Pool,
    row: &Row,
    cause: ReleaseCause,
) -> ClaimReleased {
    let quarantine_ms = pool.spec.quarantine_ms;
    let until = draft.now_ms.saturating_add(quarantine_ms).min(u64::MAX - 1);
    let quarantine_until_ms = (quarantine_ms > 0).then_some(until);
    ClaimReleased { quarantine_until_ms, ..released_at_once(draft, pool, row, cause) }
}

/// The event that releases a held claim without quarantine.
pub(crate) fn released_at_once(
    draft: &Draft<'_>,
    pool: &Pool,
    row: &Row,
    cause: ReleaseCause,
) -> ClaimReleased {
    ClaimReleased {
        pool: pool.name.clone(),
        key: row.key.clone(),
        version: draft.version,
        at_version: row.version,
        cause,
        quarantine_until_ms: None,
        was: row.was(pool.spec.kind),
    }
}
