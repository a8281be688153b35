//! Releases a claim.

use std::sync::Arc;

use super::{Draft, valid};
use crate::command::{Expect, ReleaseOp};
use crate::event::{ClaimReleased, Event, ReleaseCause};
use crate::receipt::Outcome;
use crate::refusal::{Refusal, ResourceRefusal};
use crate::state::pool::Pool;
use crate::state::rows::Row;

pub(super) fn run(draft: &mut Draft<'_>, op: &ReleaseOp) -> Result<Outcome, Refusal> {
    valid::key(&op.key, draft.limits)?;
    let pool = draft.pool(&op.pool)?;
    not_kept(pool, &op.key)?;
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

/// Refuses when the key is one under which something was asked for through the resource-manager.
pub(super) fn not_kept(pool: &Pool, key: &Arc<str>) -> Result<(), Refusal> {
    if pool.requests.as_ref().is_some_and(|requests| requests.get(key).is_some()) {
        let (pool, key) = (pool.name.clone(), Some(key.clone()));
        return Err(ResourceRefusal::Kept { pool, key }.into());
    }
    Ok(())
}

/// The event that releases a held claim, with the quarantine of its pool.
pub(super) fn released(draft: &Draft<'_>, pool: &Pool, row: &Row, cause: ReleaseCause) -> Event {
    let quarantine_ms = pool.spec.quarantine_ms;
    let until = draft.now_ms.saturating_add(quarantine_ms).min(u64::MAX - 1);
    Event::ClaimReleased(ClaimReleased {
        pool: pool.name.clone(),
        key: row.key.clone(),
        version: draft.version,
        at_version: row.version,
        cause,
        quarantine_until_ms: (quarantine_ms > 0).then_some(until),
        was: row.was(pool.spec.kind),
    })
}
