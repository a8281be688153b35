//! Allocating ids to a key: the ones that it holds, the one that it names, or the next ones.

use std::sync::Arc;

use super::draw::{self, Drawn};
use super::{Draft, ensure_active_child, ids_pool, pool_exhausted, valid};
use crate::blocks::BlocksRefusal;
use crate::blocks::SearchOrder;
use crate::blocks::command::{AllocateIds, WantIds};
use crate::blocks::state::seconds;
use crate::claim::{Values, Want};
use crate::decide::{lease, release, room};
use crate::event::{ClaimGranted, ReleaseCause};
use crate::limits::at_most;
use crate::receipt::Outcome;
use crate::refusal::Refusal;
use crate::span::Span;
use crate::state::zones::Zone;
use crate::value::Kind;

pub(super) fn run(draft: &mut Draft<'_>, op: &AllocateIds) -> Result<Outcome, Refusal> {
    valid::key(&op.key, draft.limits)?;
    valid::pool_name(&op.child, draft.limits)?;
    let pool = ids_pool(draft, &op.pool)?;
    let enhanced = pool.blocks().is_some_and(|blocks| blocks.enhanced);
    draft.ended = 0;
    match op.want {
        WantIds::One { value, expiration_s, strict } if enhanced => {
            let wanted = value.map(|id| IdWanted { id, strict });
            one_leased(draft, op, wanted, expires_ms(draft.now_ms, expiration_s))
        }
        WantIds::One { .. } | WantIds::Range { size: 1 } => many(draft, op, 1, enhanced),
        WantIds::Range { size } => many(draft, op, size, enhanced),
    }
}

#[derive(Clone, Copy)]
struct IdWanted {
    id: u32,
    strict: bool,
}

/// When the ids expire, in whole seconds; the last second that fits into 32 bits if that is too late.
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
    ensure_active_child(draft, &op.pool, &op.child)?;
    if size != 1 {
        enough_for(draft, op, size.into())?;
    }
    at_most("ids_per_range_max", draft.limits.ids_per_range_max, size.into())?;
    if size == 0 {
        return Ok(Outcome::Ids(vec![]));
    }
    let drawn = next(draft, op, size.into(), enhanced && size == 1)?;
    take(draft, op, drawn, None)
}

/// Refuses a range unless more ids than that are left, as OpenDaylight does.
fn enough_for(draft: &mut Draft<'_>, op: &AllocateIds, size: u128) -> Result<(), Refusal> {
    while draw::total(draft, &op.pool, size)? <= size {
        if !draw::adopt(draft, &op.pool)? {
            return Err(pool_exhausted(draft, &op.pool));
        }
    }
    Ok(())
}

/// One id of an enhanced pool.
fn one_leased(
    draft: &mut Draft<'_>,
    op: &AllocateIds,
    wanted: Option<IdWanted>,
    expires_ms: Option<u64>,
) -> Result<Outcome, Refusal> {
    ensure_active_child(draft, &op.pool, &op.child)?;
    let held = draft
        .pool(&op.pool)?
        .held(&op.key)
        .map(|(_, row)| (row.values(), row.expired(draft.now_ms), row.expires_ms()));
    if let Some((values, expired, until)) = held {
        let other = wanted.filter(|wanted| values.first() != Span::one(wanted.id.into()));
        let moves = expired && other.is_some_and(|wanted| is_available(draft, op, wanted.id));
        if !moves {
            if until != expires_ms {
                let event = lease::changed(draft, &op.pool, &op.key, expires_ms)?;
                draft.record(event);
            }
            return Ok(Outcome::Ids(values.spans().collect()));
        }
        super::release_now(draft, &op.pool, &op.key)?;
    }
    if let Some(wanted) = wanted {
        if is_available(draft, op, wanted.id) {
            return grant_wanted(draft, op, wanted.id, expires_ms);
        }
        if wanted.strict {
            let (pool, id) = (op.pool.clone(), wanted.id);
            return Err(BlocksRefusal::IdUnavailable { pool, id }.into());
        }
    }
    let drawn = next(draft, op, 1, true)?;
    take(draft, op, drawn, expires_ms)
}

/// Whether a client can name the id, and it is free or its lease or quarantine is over.
fn is_available(draft: &Draft<'_>, op: &AllocateIds, id: u32) -> bool {
    let Ok(pool) = draft.pool(&op.pool) else { return false };
    let given = matches!(pool.zones.worst(Span::one(id.into())), Zone::Automatic | Zone::Manual);
    given
        && pool.at(id.into()).is_none_or(|(_, row, _)| match row.quarantined_until() {
            Some(until) => until <= draft.now_ms,
            None => row.expired(draft.now_ms),
        })
}

/// Grants an available id, and ends the expired lease or the quarantine on it. The cursor does not move: it skips held
/// ids.
fn grant_wanted(
    draft: &mut Draft<'_>,
    op: &AllocateIds,
    id: u32,
    expires_ms: Option<u64>,
) -> Result<Outcome, Refusal> {
    let pool = draft.pool(&op.pool)?;
    let ended = pool.at(id.into()).map(|(_, row, _)| {
        if row.held() {
            release::released(draft, pool, row, ReleaseCause::Taken).into()
        } else {
            room::quarantine_ended(pool, row)
        }
    });
    ended.into_iter().for_each(|event| draft.record(event));
    grant(draft, op, &[Span::one(id.into())], None, expires_ms)
}

/// The next ids; if there are none, those of other nodes; if there are none, the one that expired first.
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
            return Err(pool_exhausted(draft, &op.pool));
        }
    }
}

fn order(draft: &Draft<'_>, op: &AllocateIds) -> SearchOrder {
    let blocks = draft.pool(&op.pool).ok().and_then(|pool| pool.blocks());
    match blocks {
        Some(blocks) if blocks.enhanced => op.enhanced_order,
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

/// Records that the key holds these ids.
pub(super) fn granted(
    draft: &mut Draft<'_>,
    pool: &Arc<str>,
    key: &Arc<str>,
    ids: &[Span],
    cursor: Option<u128>,
    expires_ms: Option<u64>,
) -> Result<(), Refusal> {
    let Some(values) = Values::new(ids) else { return Err(pool_exhausted(draft, pool)) };
    draft.record(ClaimGranted {
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
    });
    Ok(())
}
