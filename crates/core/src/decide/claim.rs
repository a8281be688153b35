//! Claiming values: the same again, exactly this one, or whichever the strategy picks; in one pool or the same in many.

use std::sync::Arc;

use super::{Draft, exhausted, lease, pick, release, room, valid};
use crate::claim::{Asked, Values, Want};
use crate::command::ClaimOp;
use crate::event::{ClaimGranted, Event};
use crate::pool::Strategy;
use crate::receipt::{ClaimIn, Outcome};
use crate::refusal::Refusal;
use crate::span::Span;
use crate::state::pool::Pool;
use crate::state::rows::Row;

pub(super) fn run(draft: &mut Draft<'_>, op: &ClaimOp) -> Result<Outcome, Refusal> {
    valid::claim(draft, op)?;
    draft.ended = 0;
    let mut missing = Vec::new();
    let mut held: Vec<(Arc<str>, Span)> = Vec::new();
    for name in &op.pools {
        let pool = draft.pool(name)?;
        valid::want_of_kind(&op.want, op.pools.len() > 1, pool.spec.kind)?;
        release::not_kept(pool, &op.key)?;
        let row = pool.held(&op.key).map(|(_, row)| row);
        if !op.expect.holds(row.map(|row| row.version)) {
            let (pool, key) = (name.clone(), op.key.clone());
            return Err(Refusal::ClaimVersionDiffers {
                pool,
                key,
                actual: row.map(|row| row.version),
            });
        }
        match row {
            Some(row) => {
                same_request(name, op, row)?;
                held.push((name.clone(), row.first));
            }
            None => missing.push(name.clone()),
        }
    }
    if op.pools.len() > 1 {
        same_value(draft, op, &held)?;
    }
    let created = !missing.is_empty();
    match (op.pools.as_slice(), missing.as_slice()) {
        (_, []) => {}
        ([pool], _) => claim_one(draft, op, pool)?,
        _ => claim_same(draft, op, &missing, &held)?,
    }
    if !held.is_empty() {
        revive(draft, op)?;
    }
    let claims =
        op.pools.iter().map(|pool| shown(draft, pool, &op.key)).collect::<Result<_, _>>()?;
    Ok(Outcome::Claimed { claims, created })
}

/// A held claim, for the receipt.
pub(super) fn shown(
    draft: &Draft<'_>,
    name: &Arc<str>,
    key: &Arc<str>,
) -> Result<ClaimIn, Refusal> {
    let pool = draft.pool(name)?;
    let unknown = || Refusal::ClaimUnknown { pool: name.clone(), key: key.clone() };
    let (_, row) = pool.held(key).ok_or_else(unknown)?;
    Ok(ClaimIn { pool: name.clone(), kind: pool.spec.kind, claim: row.claim() })
}

/// What a claim of this request remembers of it. `None`: nothing out of the ordinary.
fn asked(op: &ClaimOp) -> Option<Asked> {
    let plain = op.want == Want::any() && op.ttl_ms.is_none();
    (!plain).then(|| Asked { want: op.want.clone(), ttl_ms: op.ttl_ms })
}

/// Refuses when the key holds something that was asked for in other words.
fn same_request(pool: &Arc<str>, op: &ClaimOp, row: &Row) -> Result<(), Refusal> {
    let plain = || Asked { want: Want::any(), ttl_ms: None };
    let (old, new) = (
        row.asked().map_or_else(plain, |asked| Asked::clone(asked)),
        asked(op).unwrap_or_else(plain),
    );
    let (a, b) = (&old.want, &new.want);
    let differs = [
        ("owner", op.owner.as_ref().unwrap_or(&op.key) != row.owner()),
        ("value", a.value != b.value),
        ("fallback", a.fallback != b.fallback),
        ("count", a.count != b.count),
        ("contiguous", a.contiguous != b.contiguous),
        ("prefix_len", a.prefix_len != b.prefix_len),
        ("parity", a.parity != b.parity),
        ("strategy", a.strategy != b.strategy),
        ("ttl", old.ttl_ms != new.ttl_ms),
        ("labels", row.labels().map_or(&[][..], |labels| labels) != &*op.labels),
    ];
    let fields: Vec<_> =
        differs.into_iter().filter(|(_, differs)| *differs).map(|(field, _)| field).collect();
    if fields.is_empty() {
        return Ok(());
    }
    Err(Refusal::ParamsDiffer { pool: pool.clone(), key: op.key.clone(), fields })
}

/// What is held stays as it is, except that a lease that has run out starts anew.
fn revive(draft: &mut Draft<'_>, op: &ClaimOp) -> Result<(), Refusal> {
    for name in &op.pools {
        let pool = draft.pool(name)?;
        let expired = pool.held(&op.key).is_some_and(|(_, row)| row.expired(draft.now_ms));
        if expired {
            let expires_ms = expiry(draft, op, pool);
            let event = lease::changed(draft, name, &op.key, expires_ms)?;
            draft.record(event);
        }
    }
    Ok(())
}

fn expiry(draft: &Draft<'_>, op: &ClaimOp, pool: &Pool) -> Option<u64> {
    op.ttl_ms.or(pool.spec.lease_ms).map(|ttl| draft.now_ms.saturating_add(ttl).min(u64::MAX - 1))
}

fn claim_one(draft: &mut Draft<'_>, op: &ClaimOp, name: &Arc<str>) -> Result<(), Refusal> {
    if let Some(value) = op.want.value {
        match room::for_value(draft, op, std::slice::from_ref(name), value) {
            Ok(()) => return grant(draft, op, name, &[value], Some(value.last)),
            Err(_) if op.want.fallback => {}
            Err(refusal) => return Err(refusal),
        }
    }
    if let Some((values, event)) = room::given_back(draft, op, name)? {
        draft.end(event);
        return grant(draft, op, name, &values.spans().collect::<Vec<_>>(), None);
    }
    let strategy = op.want.strategy.unwrap_or(draft.pool(name)?.spec.strategy);
    let dice = [draft.roll(), draft.roll()];
    let as_it_is = draft.mark();
    loop {
        let pool = draft.pool(name)?;
        if let Some(spans) = pick::pick(pool, &op.want, strategy, dice) {
            let cursor = match strategy {
                Strategy::Next => pick::given_last(pool, &op.want, &spans),
                _ => None,
            };
            return grant(draft, op, name, &spans, cursor);
        }
        if !draft.may_end_more()
            || !room::end_quarantine(draft, name)? && !room::take_expired(draft, &op.want, name)?
        {
            break;
        }
    }
    draft.back_to(as_it_is);
    let report = Box::new(exhausted::report(draft.pool(name)?, draft.now_ms));
    Err(Refusal::PoolExhausted { pool: name.clone(), report })
}

/// The same value in all pools, or nothing in any.
fn claim_same(
    draft: &mut Draft<'_>,
    op: &ClaimOp,
    missing: &[Arc<str>],
    held: &[(Arc<str>, Span)],
) -> Result<(), Refusal> {
    let pinned = held.first().map(|(_, value)| *value);
    if let Some(value) = pinned.or(op.want.value) {
        match room::for_value(draft, op, missing, value) {
            Ok(()) => return grant_all(draft, op, missing, value, Some(value.last)),
            Err(_) if op.want.fallback && pinned.is_none() => {}
            Err(refusal) => return Err(refusal),
        }
    }
    for name in missing {
        if let Some((values, _)) = room::given_back(draft, op, name)?
            && room::for_value(draft, op, missing, values.first()).is_ok()
        {
            return grant_all(draft, op, missing, values.first(), None);
        }
    }
    let as_it_is = draft.mark();
    loop {
        let pools = missing.iter().map(|name| draft.pool(name)).collect::<Result<Vec<_>, _>>()?;
        if let Some(value) = pick::pick_common(&pools, &op.want) {
            return grant_all(draft, op, missing, value, None);
        }
        let mut ended = false;
        for name in missing {
            ended |= draft.may_end_more() && room::end_quarantine(draft, name)?;
        }
        if !ended {
            break;
        }
    }
    for value in room::expired_values(draft, op, missing)? {
        if room::for_value(draft, op, missing, value).is_ok() {
            return grant_all(draft, op, missing, value, None);
        }
    }
    draft.back_to(as_it_is);
    let report = |name| draft.pool(name).map(|pool| exhausted::report(pool, draft.now_ms));
    let reports = missing.iter().map(|name| Ok((name.clone(), report(name)?)));
    Err(Refusal::SyncExhausted { reports: reports.collect::<Result<_, Refusal>>()? })
}

/// Refuses pools that cannot have a value in common, or that already hold different ones.
fn same_value(draft: &Draft<'_>, op: &ClaimOp, held: &[(Arc<str>, Span)]) -> Result<(), Refusal> {
    let kind = draft.pool(&op.pools[0])?.spec.kind;
    for name in &op.pools {
        let other = draft.pool(name)?.spec.kind;
        if other != kind {
            let what = format!(
                "pools '{}' and '{name}' are of kind {} and {}",
                op.pools[0],
                kind.name(),
                other.name()
            );
            return Err(Refusal::Invalid { what, fix: "name pools of one kind" });
        }
    }
    if held.iter().any(|(_, value)| *value != held[0].1) {
        let held = held.iter().map(|(pool, value)| (pool.clone(), kind, *value)).collect();
        return Err(Refusal::SyncDiffers { key: op.key.clone(), held });
    }
    Ok(())
}

fn grant_all(
    draft: &mut Draft<'_>,
    op: &ClaimOp,
    pools: &[Arc<str>],
    value: Span,
    cursor: Option<u128>,
) -> Result<(), Refusal> {
    pools.iter().try_for_each(|name| grant(draft, op, name, &[value], cursor))
}

fn grant(
    draft: &mut Draft<'_>,
    op: &ClaimOp,
    name: &Arc<str>,
    spans: &[Span],
    cursor: Option<u128>,
) -> Result<(), Refusal> {
    let pool = draft.pool(name)?;
    let Some(values) = Values::new(spans) else {
        return Err(Refusal::PoolExhausted {
            pool: name.clone(),
            report: Box::new(exhausted::report(pool, draft.now_ms)),
        });
    };
    // Where the id-manager has a cursor, only its own grants move it.
    let cursor = cursor.filter(|_| pool.account.is_none());
    let event = ClaimGranted {
        pool: name.clone(),
        kind: Some(pool.spec.kind),
        key: op.key.clone(),
        owner: op.owner.clone().unwrap_or_else(|| op.key.clone()),
        values,
        version: draft.version,
        at_ms: draft.now_ms,
        expires_ms: expiry(draft, op, pool),
        labels: op.labels.clone(),
        asked: asked(op).map(Arc::new),
        cursor,
    };
    draft.record(Event::ClaimGranted(event));
    Ok(())
}
