//! Claims and releases in a pool with an authority: the request is recorded, and the reactor asks.

use std::sync::Arc;

use super::{close, progressed};
use crate::authority::event::ClaimWanted;
use crate::authority::refusal::AuthorityRefusal;
use crate::authority::{ExternalClaim, ExternalProgress, ExternalRequest, ExternalState};
use crate::claim::{ClaimParams, Want};
use crate::command::{Expect, ReleaseOp};
use crate::decide::claim::{ParsedClaim, ensure_same_request};
use crate::decide::{Draft, lease, room, valid};
use crate::receipt::Outcome;
use crate::refusal::{Holder, Refusal};
use crate::state::pool::Pool;

/// Claims a value of a pool with this authority. `None`: the key holds a value already.
pub(crate) fn claim(
    draft: &mut Draft<'_>,
    claim: &ParsedClaim<'_>,
    authority: &Arc<str>,
) -> Result<Option<Outcome>, Refusal> {
    let op = claim.op;
    let [name] = op.pools.as_slice() else {
        return valid::invalid(
            format!("authority '{authority}' cannot grant the same value in several pools"),
            "claim in one pool",
        );
    };
    ensure_simple(&claim.want)?;
    let known = draft.state.authorities.claim(name, &op.key).cloned();
    let asked = known.as_ref().filter(|known| known.progress.state != ExternalState::Refused);
    let version = asked.map(|known| version(draft, known));
    if !op.expect.holds(version) {
        let (pool, key) = (name.clone(), op.key.clone());
        return Err(Refusal::ClaimVersionDiffers { pool, key, actual: version });
    }
    if let Some(known) = asked {
        let request = &known.request;
        let (owner, params) = (&request.owner, &request.params);
        match known.progress.state {
            ExternalState::Held => return Ok(None),
            ExternalState::Releasing => {
                let (pool, key) = (name.clone(), op.key.clone());
                return Err(AuthorityRefusal::StillReleasing { pool, key }.into());
            }
            ExternalState::Wanted
            | ExternalState::Stuck
            | ExternalState::Conflict
            | ExternalState::Refused => {}
        }
        ensure_same_request(name, claim, owner, params, &request.labels)?;
        return Ok(Some(Outcome::External(known.clone())));
    }
    ensure_queue(draft, authority)?;
    if let Some(value) = claim.want.value {
        let pool = draft.pool(name)?;
        ensure_in_ranges(pool, value)?;
        if let Some((_, row, _)) = pool.overlapping(value).next() {
            let (pool, kind) = (name.clone(), pool.spec.kind);
            let (key, owner) = (row.key.clone(), row.owner().clone());
            let by = Holder { key, owner, expires_ms: None };
            return Err(Refusal::ValueTaken { pool, kind, value, by });
        }
    }
    if let Some(refused) = known {
        close(draft, &refused)?;
    }
    want(draft, claim, name, authority);
    let claim = draft.state.authorities.claim(name, &op.key).cloned();
    Ok(claim.map(Outcome::External))
}

/// The version of a claim: that of its value, or of its last change at the authority if that is later.
fn version(draft: &Draft<'_>, claim: &ExternalClaim) -> u64 {
    let pool = draft.state.pool(&claim.request.pool);
    let row = pool.and_then(|pool| pool.held(&claim.request.key));
    row.map_or(0, |(_, row)| row.version).max(claim.progress.version)
}

/// Refuses what an authority cannot be asked for.
fn ensure_simple(want: &Want) -> Result<(), Refusal> {
    let wish = [
        ("count", want.count != 1),
        ("contiguous", want.contiguous),
        ("fallback", want.fallback),
        ("parity", want.parity.is_some()),
        ("strategy", want.strategy.is_some()),
    ];
    match wish.into_iter().find(|(_, given)| *given) {
        None => Ok(()),
        Some((field, _)) => valid::invalid(
            format!("an authority grants the pool's values, and '{field}' cannot be asked for"),
            "leave it out; value and prefix_len are allowed",
        ),
    }
}

fn ensure_queue(draft: &Draft<'_>, name: &Arc<str>) -> Result<(), Refusal> {
    let all = &draft.state.authorities;
    let Some(authority) = all.by_name.get(name) else {
        return Err(AuthorityRefusal::AuthorityUnknown { authority: name.clone() }.into());
    };
    let queue_max = authority.spec.queue_max;
    if all.counts(name).of(ExternalState::Wanted) < queue_max {
        return Ok(());
    }
    let oldest = all.of.get(name).and_then(|claims| claims.open.first());
    let oldest = oldest.and_then(|(_, reference)| all.get(*reference));
    let reason = oldest.and_then(|claim| claim.progress.reason.clone());
    Err(AuthorityRefusal::QueueFull { authority: name.clone(), queue_max, reason }.into())
}

/// Refuses a value outside of the pool's ranges, if it has some.
pub(super) fn ensure_in_ranges(pool: &Pool, value: crate::span::Span) -> Result<(), Refusal> {
    if pool.spec.ranges.is_empty() { Ok(()) } else { room::in_zone(pool, value) }
}

fn want(draft: &mut Draft<'_>, claim: &ParsedClaim<'_>, pool: &Arc<str>, authority: &Arc<str>) {
    let request = ExternalRequest {
        reference: draft.reference(),
        authority: authority.clone(),
        pool: pool.clone(),
        key: claim.op.key.clone(),
        owner: claim.owner().clone(),
        params: ClaimParams { want: claim.want.clone(), ttl_ms: claim.op.ttl_ms },
        labels: claim.op.labels.clone(),
    };
    let progress = ExternalProgress::new(ExternalState::Wanted, draft.version, draft.now_ms);
    draft.record(ClaimWanted { request, progress });
}

/// Releases a claim in a pool with an authority.
pub(crate) fn release(draft: &mut Draft<'_>, op: &ReleaseOp) -> Result<Outcome, Refusal> {
    let known = draft.state.authorities.claim(&op.pool, &op.key).cloned();
    let actual = known.as_ref().map(|known| version(draft, known));
    let (pool, key) = (op.pool.clone(), op.key.clone());
    if op.expect == Expect::Present && actual.is_none() {
        return Err(Refusal::ClaimUnknown { pool, key });
    }
    if !op.expect.holds(actual) {
        return Err(Refusal::ClaimVersionDiffers { pool, key, actual });
    }
    let Some(known) = known else { return Ok(Outcome::Released { existed: false }) };
    match known.progress.state {
        ExternalState::Refused => {
            close(draft, &known)?;
            return Ok(Outcome::Released { existed: true });
        }
        ExternalState::Stuck => return Err(AuthorityRefusal::NeedsResolution { pool, key }.into()),
        ExternalState::Releasing => {}
        ExternalState::Wanted | ExternalState::Held | ExternalState::Conflict => {
            begin_release(draft, &known)?;
        }
    }
    let now = draft.state.authorities.get(known.request.reference).cloned();
    Ok(Outcome::External(now.unwrap_or(known)))
}

/// The reactor must release the claim at its authority. Its value stays held here until that is confirmed.
pub(crate) fn begin_release(draft: &mut Draft<'_>, claim: &ExternalClaim) -> Result<(), Refusal> {
    let (pool, key) = (&claim.request.pool, &claim.request.key);
    let row = draft.state.pool(pool).and_then(|pool| pool.held(key));
    if row.is_some_and(|(_, row)| row.expires_ms().is_some()) {
        let permanent = lease::changed(draft, pool, key, None)?;
        draft.record(permanent);
    }
    // A value in conflict may belong to another holder: only the reference may be released.
    let value = claim.progress.value.clone();
    let value = value.filter(|_| claim.progress.state != ExternalState::Conflict);
    let progress = ExternalProgress {
        state: ExternalState::Releasing,
        since_ms: draft.now_ms,
        withdrawn: true,
        value,
        reason: None,
        attempts: 0,
        due_ms: Some(draft.now_ms),
        ..claim.progress.clone()
    };
    progressed(draft, claim, progress);
    Ok(())
}

/// Refuses to change the lease of a claim that is being released.
pub(crate) fn ensure_not_releasing(
    draft: &Draft<'_>,
    pool: &Arc<str>,
    key: &Arc<str>,
) -> Result<(), Refusal> {
    let known = draft.state.authorities.claim(pool, key);
    match known.map(|known| known.progress.state) {
        Some(ExternalState::Releasing) => {
            let (pool, key) = (pool.clone(), key.clone());
            Err(AuthorityRefusal::StillReleasing { pool, key }.into())
        }
        _ => Ok(()),
    }
}
