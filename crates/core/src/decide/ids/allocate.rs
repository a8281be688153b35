//! Ids for a key: what it has already, exactly this one, or whatever comes next.

use std::sync::Arc;

use super::draw::{self, Drawn};
use super::{Draft, dry, ids_pool, open, room, valid};
use crate::claim::{Values, Want};
use crate::command::ids::{AllocateIds, WantIds};
use crate::decide::{lease, release};
use crate::event::{ClaimGranted, Event, ReleaseCause};
use crate::ids::SearchOrder;
use crate::limits::at_most;
use crate::receipt::Outcome;
use crate::refusal::{IdsRefusal, Refusal};
use crate::span::Span;
use crate::state::account::seconds;
use crate::state::zones::Zone;
use crate::value::Kind;

pub(super) fn run(draft: &mut Draft<'_>, op: &AllocateIds) -> Result<Outcome, Refusal> {
    valid::key(&op.key, draft.limits)?;
    valid::pool_name(&op.child, draft.limits)?;
    let pool = ids_pool(draft, &op.pool)?;
    let enhanced = pool.account.as_ref().is_some_and(|account| account.enhanced);
    draft.ended = 0;
    match op.want {
        WantIds::One { value, expiration_s, strict } if enhanced => {
            let value = value.map(|id| Asked { id, strict });
            one_leased(draft, op, value, expires_ms(draft.now_ms, expiration_s))
        }
        WantIds::One { .. } | WantIds::Range { size: 1 } => many(draft, op, 1, enhanced),
        WantIds::Range { size } => many(draft, op, size, enhanced),
    }
}

#[derive(Clone, Copy)]
struct Asked {
    id: u32,
    strict: bool,
}

/// The whole second at which it is over; times beyond what 32 bits hold are the last one that they do.
fn expires_ms(now_ms: u64, expiration_s: Option<u32>) -> Option<u64> {
    let after = expiration_s.filter(|after| *after > 0)?;
    Some(u64::from(seconds(now_ms).saturating_add(after)) * 1000)
}

fn many(
    draft: &mut Draft<'_>,
    op: &AllocateIds,
    size: u32,
    enhanced: bool,
) -> Result<Outcome, Refusal> {
    if let Some((_, row)) = draft.pool(&op.pool)?.held(&op.key) {
        return Ok(Outcome::Ids(row.values().spans().collect()));
    }
    open(draft, &op.pool, &op.child)?;
    if size != 1 {
        enough_for(draft, op, size.into())?;
    }
    at_most("values_per_transaction_max", draft.limits.values_per_transaction_max, size.into())?;
    if size == 0 {
        return Ok(Outcome::Ids(vec![]));
    }
    let drawn = next(draft, op, size.into(), enhanced && size == 1)?;
    take(draft, op, drawn, None)
}

/// A range is only begun when something is left after it: what the original does, and its tests look at.
fn enough_for(draft: &mut Draft<'_>, op: &AllocateIds, size: u128) -> Result<(), Refusal> {
    while draw::total(draft, &op.pool, size)? <= size {
        if !draw::adopt(draft, &op.pool)? {
            return Err(dry(draft, &op.pool));
        }
    }
    Ok(())
}

/// One id of a pool in which ids may be asked for and may expire.
fn one_leased(
    draft: &mut Draft<'_>,
    op: &AllocateIds,
    asked: Option<Asked>,
    expires_ms: Option<u64>,
) -> Result<Outcome, Refusal> {
    open(draft, &op.pool, &op.child)?;
    let held = draft
        .pool(&op.pool)?
        .held(&op.key)
        .map(|(_, row)| (row.values(), row.expired(draft.now_ms), row.expires_ms()));
    if let Some((values, expired, until)) = held {
        let other = asked.filter(|asked| values.first() != Span::one(asked.id.into()));
        let moves = expired && other.is_some_and(|asked| to_be_had(draft, op, asked.id));
        if !moves {
            if until != expires_ms {
                let event = lease::changed(draft, &op.pool, &op.key, expires_ms)?;
                draft.record(event);
            }
            return Ok(Outcome::Ids(values.spans().collect()));
        }
        super::release_now(draft, &op.pool, &op.key)?;
    }
    if let Some(asked) = asked {
        if to_be_had(draft, op, asked.id) {
            return exactly(draft, op, asked.id, expires_ms);
        }
        if asked.strict {
            let (pool, id) = (op.pool.clone(), asked.id);
            return Err(IdsRefusal::IdUnavailable { pool, id }.into());
        }
    }
    let drawn = next(draft, op, 1, true)?;
    take(draft, op, drawn, expires_ms)
}

/// Whether the id is one of the pool, and nobody holds it any more.
fn to_be_had(draft: &Draft<'_>, op: &AllocateIds, id: u32) -> bool {
    let Ok(pool) = draft.pool(&op.pool) else { return false };
    let given = matches!(pool.zones.worst(Span::one(id.into())), Zone::Automatic | Zone::Manual);
    given
        && pool.at(id.into()).is_none_or(|(_, row, _)| match row.quarantined_until() {
            Some(until) => until <= draft.now_ms,
            None => row.expired(draft.now_ms),
        })
}

/// Gives the id that was asked for, and ends what is left of whoever had it. The cursor stays: it will step over it.
fn exactly(
    draft: &mut Draft<'_>,
    op: &AllocateIds,
    id: u32,
    expires_ms: Option<u64>,
) -> Result<Outcome, Refusal> {
    let pool = draft.pool(&op.pool)?;
    let ended = pool.at(id.into()).map(|(_, row, _)| {
        if row.held() {
            release::released(draft, pool, row, ReleaseCause::Taken)
        } else {
            room::quarantine_ended(pool, row)
        }
    });
    ended.into_iter().for_each(|event| draft.record(event));
    grant(draft, op, &[Span::one(id.into())], None, expires_ms)
}

/// What comes next; when nothing is left, what other nodes left behind, and at last what has been expired for longest.
fn next(
    draft: &mut Draft<'_>,
    op: &AllocateIds,
    count: u128,
    take_expired: bool,
) -> Result<Drawn, Refusal> {
    let order = order(draft, op);
    loop {
        if let Some(drawn) = draw::draw(draft, &op.pool, count, order)? {
            return Ok(drawn);
        }
        if draw::adopt(draft, &op.pool)? {
            continue;
        }
        let more = take_expired
            && draft.may_end_more()
            && room::take_expired(draft, &Want::any(), &op.pool)?;
        if !more {
            return Err(dry(draft, &op.pool));
        }
    }
}

fn order(draft: &Draft<'_>, op: &AllocateIds) -> SearchOrder {
    let account = draft.pool(&op.pool).ok().and_then(|pool| pool.account.as_ref());
    match account {
        Some(account) if account.enhanced => op.enhanced_order,
        _ => op.order,
    }
}

fn take(
    draft: &mut Draft<'_>,
    op: &AllocateIds,
    mut drawn: Drawn,
    expires_ms: Option<u64>,
) -> Result<Outcome, Refusal> {
    drawn.record(draft);
    grant(draft, op, &drawn.ids, drawn.cursor, expires_ms)
}

fn grant(
    draft: &mut Draft<'_>,
    op: &AllocateIds,
    ids: &[Span],
    cursor: Option<u128>,
    expires_ms: Option<u64>,
) -> Result<Outcome, Refusal> {
    granted(draft, &op.pool, &op.key, ids, cursor, expires_ms)?;
    Ok(Outcome::Ids(ids.to_vec()))
}

/// Records that the key has these ids.
pub(super) fn granted(
    draft: &mut Draft<'_>,
    pool: &Arc<str>,
    key: &Arc<str>,
    ids: &[Span],
    cursor: Option<u128>,
    expires_ms: Option<u64>,
) -> Result<(), Refusal> {
    let Some(values) = Values::new(ids) else { return Err(dry(draft, pool)) };
    draft.record(Event::ClaimGranted(ClaimGranted {
        pool: pool.clone(),
        kind: Some(Kind::Id32),
        key: key.clone(),
        owner: key.clone(),
        values,
        version: draft.version,
        at_ms: draft.now_ms,
        expires_ms,
        labels: Default::default(),
        params: None,
        cursor,
    }));
    Ok(())
}
