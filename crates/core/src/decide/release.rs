//! Giving a claim back.

use std::sync::Arc;

use super::{Draft, valid};
use crate::command::{Expect, ReleaseOp};
use crate::event::{ClaimReleased, Event, ReleaseCause};
use crate::receipt::Outcome;
use crate::refusal::Refusal;

pub(super) fn run(draft: &mut Draft<'_>, op: &ReleaseOp) -> Result<Outcome, Refusal> {
    valid::key(&op.key, draft.limits)?;
    let pool = draft.pool(&op.pool)?;
    let held = pool.held(&op.key).map(|(_, row)| row.version);
    let existed = held.is_some();
    match (op.expect, held) {
        (Expect::Present, None) => {
            return Err(Refusal::ClaimUnknown { pool: op.pool.clone(), key: op.key.clone() });
        }
        (expect, actual) if !expect.holds(actual) => {
            return Err(Refusal::ClaimVersionDiffers {
                pool: op.pool.clone(),
                key: op.key.clone(),
                actual,
            });
        }
        (_, Some(version)) => {
            let event = released(draft, &op.pool, &op.key, version, ReleaseCause::Asked)?;
            draft.record(event);
        }
        (_, None) => {}
    }
    Ok(Outcome::Released { existed })
}

/// The release of a held claim, with the quarantine that the pool asks for.
pub(super) fn released(
    draft: &Draft<'_>,
    pool: &Arc<str>,
    key: &Arc<str>,
    at_version: u64,
    cause: ReleaseCause,
) -> Result<Event, Refusal> {
    let quarantine_ms = draft.pool(pool)?.spec.quarantine_ms;
    let until = draft.now_ms.saturating_add(quarantine_ms).min(u64::MAX - 1);
    Ok(Event::ClaimReleased(ClaimReleased {
        pool: pool.clone(),
        key: key.clone(),
        version: draft.version,
        at_version,
        cause,
        quarantine_until_ms: (quarantine_ms > 0).then_some(until),
    }))
}
