//! Claims values in one pool, or the same value in several: a named value, or one that the strategy picks. A repeated
//! claim gets what its key holds.

use std::sync::Arc;

use super::{Draft, exhausted, lease, pick, room, valid};
use crate::authority;
use crate::claim::{ClaimParams, Values, Want};
use crate::command::ClaimOp;
use crate::event::ClaimGranted;
use crate::pool::{Labels, Strategy};
use crate::receipt::{ClaimIn, Outcome};
use crate::refusal::Refusal;
use crate::span::Span;
use crate::state::pool::Pool;

/// A claim operation with its value parsed by the kind of its pools.
pub(crate) struct ParsedClaim<'a> {
    pub op: &'a ClaimOp,
    pub want: Want,
}

impl ParsedClaim<'_> {
    pub fn owner(&self) -> &Arc<str> {
        self.op.owner.as_ref().unwrap_or(&self.op.key)
    }

    fn params(&self) -> ClaimParams {
        ClaimParams { want: self.want.clone(), ttl_ms: self.op.ttl_ms }
    }
}

pub(super) fn run(draft: &mut Draft<'_>, op: &ClaimOp) -> Result<Outcome, Refusal> {
    valid::claim(draft, op)?;
    draft.ended = 0;
    let claim = ParsedClaim { op, want: parse_want(draft.pool(&op.pools[0])?, op)? };
    let mut missing = Vec::new();
    let mut held: Vec<(Arc<str>, Span)> = Vec::new();
    for name in &op.pools {
        let pool = draft.pool(name)?;
        ensure_same_kind(draft, op, pool)?;
        valid::want_of_kind(&claim.want, op.pools.len() > 1, pool.spec.kind)?;
        pool.extension.ensure_claim_editable(name, &op.key)?;
        if let Some(authority) = pool.spec.authority.clone()
            && let Some(outcome) = authority::decide::claim(draft, &claim, &authority)?
        {
            return Ok(outcome);
        }
        let pool = draft.pool(name)?;
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
                let labels = row.labels().cloned().unwrap_or_default();
                let before = row.params().map_or_else(plain, |params| ClaimParams::clone(params));
                ensure_same_request(name, &claim, row.owner(), &before, &labels)?;
                held.push((name.clone(), row.first));
            }
            None => missing.push(name.clone()),
        }
    }
    ensure_same_values(draft, op, &held)?;
    let created = !missing.is_empty();
    match (op.pools.as_slice(), missing.as_slice()) {
        (_, []) => {}
        ([pool], _) => claim_one(draft, &claim, pool)?,
        _ => claim_same(draft, &claim, &missing, &held)?,
    }
    if !held.is_empty() {
        restart_expired_leases(draft, op)?;
    }
    let claims =
        op.pools.iter().map(|pool| shown(draft, pool, &op.key)).collect::<Result<_, _>>()?;
    Ok(Outcome::Claimed { claims, created })
}

fn parse_want(pool: &Pool, op: &ClaimOp) -> Result<Want, Refusal> {
    op.want.parse(pool.spec.kind).map_err(|error| valid::malformed(pool, error))
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

/// The parameters of a claim that has none.
fn plain() -> ClaimParams {
    ClaimParams { want: Want::any(), ttl_ms: None }
}

/// Refuses when the key was claimed before by another owner or with other parameters.
pub(crate) fn ensure_same_request(
    pool: &Arc<str>,
    claim: &ParsedClaim<'_>,
    owner: &Arc<str>,
    before: &ClaimParams,
    labels: &Labels,
) -> Result<(), Refusal> {
    let params = claim.params();
    let (a, b) = (&before.want, &params.want);
    let differs = [
        ("owner", claim.owner() != owner),
        ("value", a.value != b.value),
        ("fallback", a.fallback != b.fallback),
        ("count", a.count != b.count),
        ("contiguous", a.contiguous != b.contiguous),
        ("prefix_len", a.prefix_len != b.prefix_len),
        ("parity", a.parity != b.parity),
        ("strategy", a.strategy != b.strategy),
        ("ttl", before.ttl_ms != params.ttl_ms),
        ("labels", *labels != claim.op.labels),
    ];
    let fields: Vec<_> =
        differs.into_iter().filter(|(_, differs)| *differs).map(|(field, _)| field).collect();
    if fields.is_empty() {
        return Ok(());
    }
    Err(Refusal::ParamsDiffer { pool: pool.clone(), key: claim.op.key.clone(), fields })
}

/// Claims that are already held stay as they are, except that an expired lease starts again.
fn restart_expired_leases(draft: &mut Draft<'_>, op: &ClaimOp) -> Result<(), Refusal> {
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

fn claim_one(
    draft: &mut Draft<'_>,
    claim: &ParsedClaim<'_>,
    name: &Arc<str>,
) -> Result<(), Refusal> {
    let want = &claim.want;
    if let Some(value) = want.value {
        match room::for_value(draft, claim, std::slice::from_ref(name), value) {
            Ok(()) => return grant(draft, claim, name, &[value], Some(value.last)),
            Err(_) if want.fallback => {}
            Err(refusal) => return Err(refusal),
        }
    }
    if let Some((values, event)) = room::given_back(draft, claim, name)? {
        draft.end(event);
        return grant(draft, claim, name, &values.spans().collect::<Vec<_>>(), None);
    }
    let strategy = want.strategy.unwrap_or(draft.pool(name)?.spec.strategy);
    let seed = draft.random();
    let before = draft.mark();
    loop {
        let pool = draft.pool(name)?;
        if let Some(spans) = pick::pick(pool, want, strategy, seed) {
            let cursor = match strategy {
                Strategy::Next => pick::given_last(pool, want, &spans),
                _ => None,
            };
            return grant(draft, claim, name, &spans, cursor);
        }
        if !draft.may_end_more()
            || !room::end_quarantine(draft, name)? && !room::take_expired(draft, want, name)?
        {
            break;
        }
    }
    draft.back_to(before);
    let report = Box::new(exhausted::report(draft.pool(name)?, draft.now_ms));
    Err(Refusal::PoolExhausted { pool: name.clone(), report })
}

/// Claims the same value in all pools, or nothing in any.
fn claim_same(
    draft: &mut Draft<'_>,
    claim: &ParsedClaim<'_>,
    missing: &[Arc<str>],
    held: &[(Arc<str>, Span)],
) -> Result<(), Refusal> {
    let pinned = held.first().map(|(_, value)| *value);
    if let Some(value) = pinned.or(claim.want.value) {
        match room::for_value(draft, claim, missing, value) {
            Ok(()) => return grant_all(draft, claim, missing, value, Some(value.last)),
            Err(_) if claim.want.fallback && pinned.is_none() => {}
            Err(refusal) => return Err(refusal),
        }
    }
    for name in missing {
        if let Some((values, _)) = room::given_back(draft, claim, name)?
            && room::for_value(draft, claim, missing, values.first()).is_ok()
        {
            return grant_all(draft, claim, missing, values.first(), None);
        }
    }
    let before = draft.mark();
    loop {
        if let Some(value) = draft.pick_common(missing, &claim.want)? {
            return grant_all(draft, claim, missing, value, None);
        }
        let mut ended = false;
        for name in missing {
            ended |= draft.may_end_more() && room::end_quarantine(draft, name)?;
        }
        if !ended {
            break;
        }
    }
    for value in room::expired_values(draft, claim, missing)? {
        draft.spend(missing.len() as u64)?;
        if room::for_value(draft, claim, missing, value).is_ok() {
            return grant_all(draft, claim, missing, value, None);
        }
    }
    draft.back_to(before);
    let report = |name| draft.pool(name).map(|pool| exhausted::report(pool, draft.now_ms));
    let reports = missing.iter().map(|name| Ok((name.clone(), report(name)?)));
    Err(Refusal::SyncExhausted { reports: reports.collect::<Result<_, Refusal>>()? })
}

/// Refuses a pool whose kind is not that of the first pool: they cannot have a value in common.
fn ensure_same_kind(draft: &Draft<'_>, op: &ClaimOp, pool: &Pool) -> Result<(), Refusal> {
    let (kind, other) = (draft.pool(&op.pools[0])?.spec.kind, pool.spec.kind);
    if kind == other {
        return Ok(());
    }
    let what = format!(
        "pools '{}' and '{}' are of kind {} and {}",
        op.pools[0],
        pool.name,
        kind.name(),
        other.name()
    );
    Err(Refusal::Invalid { what, fix: "name pools of one kind" })
}

/// Refuses pools that already hold different values under the key.
fn ensure_same_values(
    draft: &Draft<'_>,
    op: &ClaimOp,
    held: &[(Arc<str>, Span)],
) -> Result<(), Refusal> {
    if held.iter().all(|(_, value)| *value == held[0].1) {
        return Ok(());
    }
    let kind = draft.pool(&op.pools[0])?.spec.kind;
    let held = held.iter().map(|(pool, value)| (pool.clone(), kind, *value)).collect();
    Err(Refusal::SyncDiffers { key: op.key.clone(), held })
}

fn grant_all(
    draft: &mut Draft<'_>,
    claim: &ParsedClaim<'_>,
    pools: &[Arc<str>],
    value: Span,
    cursor: Option<u128>,
) -> Result<(), Refusal> {
    pools.iter().try_for_each(|name| grant(draft, claim, name, &[value], cursor))
}

fn grant(
    draft: &mut Draft<'_>,
    claim: &ParsedClaim<'_>,
    name: &Arc<str>,
    spans: &[Span],
    cursor: Option<u128>,
) -> Result<(), Refusal> {
    let (op, params) = (claim.op, claim.params());
    let is_plain = params == plain();
    let pool = draft.pool(name)?;
    let Some(values) = Values::new(spans) else {
        return Err(Refusal::PoolExhausted {
            pool: name.clone(),
            report: Box::new(exhausted::report(pool, draft.now_ms)),
        });
    };
    let cursor = cursor.filter(|_| !pool.extension.owns_cursor());
    let event = ClaimGranted {
        pool: name.clone(),
        kind: Some(pool.spec.kind),
        key: op.key.clone(),
        owner: claim.owner().clone(),
        values,
        version: draft.version,
        at_ms: draft.now_ms,
        expires_ms: expiry(draft, op, pool),
        labels: op.labels.clone(),
        params: (!is_plain).then(|| Arc::new(params)),
        cursor,
    };
    draft.record(event);
    Ok(())
}
