//! What follows from an answer of an authority, or from what an operator has found out.

use std::sync::Arc;

use super::claim::ensure_in_ranges;
use super::{close, progressed};
use crate::authority::command::{GrantedValue, Report, Resolution};
use crate::authority::refusal::AuthorityRefusal;
use crate::authority::{ExternalClaim, ExternalProgress, ExternalState};
use crate::capacity::Uuid;
use crate::claim::{ClaimParams, Values, Want};
use crate::decide::Draft;
use crate::event::ClaimGranted;
use crate::receipt::Outcome;
use crate::refusal::Refusal;
use crate::span::Span;
use crate::state::pool::Pool;

const DONE: Outcome = Outcome::Reported { look_up: None };

fn find(draft: &Draft<'_>, reference: Uuid) -> Result<Arc<ExternalClaim>, Refusal> {
    let known = draft.state.authorities.get(reference).cloned();
    known.ok_or_else(|| AuthorityRefusal::ReferenceUnknown { reference }.into())
}

/// A report about a claim that is no longer open changes nothing: an operator or another server was faster.
pub(super) fn run(
    draft: &mut Draft<'_>,
    reference: Uuid,
    version: Option<u64>,
    report: &Report,
) -> Result<Outcome, Refusal> {
    let claim = find(draft, reference)?;
    let progress = claim.progress.clone();
    if version.is_some_and(|version| version != progress.version) {
        let (pool, key) = (claim.request.pool.clone(), claim.request.key.clone());
        return Err(Refusal::ClaimVersionDiffers { pool, key, actual: Some(progress.version) });
    }
    let is_releasing = match progress.state {
        ExternalState::Wanted => false,
        ExternalState::Releasing => true,
        ExternalState::Held
        | ExternalState::Refused
        | ExternalState::Stuck
        | ExternalState::Conflict => return Ok(DONE),
    };
    match report {
        Report::Asked => progressed(draft, &claim, ExternalProgress { asked: true, ..progress }),
        Report::Granted(granted) if is_releasing => note_value(draft, &claim, granted),
        Report::Granted(granted) => return settle(draft, &claim, granted),
        // It has nothing to release.
        Report::Refused { .. } if is_releasing => close(draft, &claim)?,
        Report::Refused { code, reason } => {
            let progress = ExternalProgress {
                state: ExternalState::Refused,
                code: Some(*code),
                reason: Some(reason.clone()),
                due_ms: Some(draft.now_ms.saturating_add(draft.limits.refused_claim_ms)),
                ..progress
            };
            progressed(draft, &claim, progress);
        }
        Report::Failed { reason, again_ms, asked } => {
            let progress = ExternalProgress {
                asked: *asked,
                attempts: progress.attempts.saturating_add(1),
                reason: Some(reason.clone()),
                due_ms: Some(*again_ms),
                ..progress
            };
            progressed(draft, &claim, progress);
        }
        Report::Stuck { reason } => {
            stop(draft, &claim, ExternalState::Stuck, reason.clone(), progress);
        }
        Report::Gone if is_releasing => close(draft, &claim)?,
        Report::Gone => {}
    }
    Ok(DONE)
}

pub(super) fn resolve(
    draft: &mut Draft<'_>,
    reference: Uuid,
    resolution: &Resolution,
) -> Result<Outcome, Refusal> {
    let claim = find(draft, reference)?;
    let progress = claim.progress.clone();
    let state = progress.state;
    let needs_one = matches!(state, ExternalState::Stuck | ExternalState::Conflict);
    // A value that the authority no longer knows can be given up here, whatever the state is.
    if !needs_one && *resolution != Resolution::Gone {
        let state = state.name();
        return Err(AuthorityRefusal::NothingToResolve { reference, state }.into());
    }
    match resolution {
        Resolution::Gone => close(draft, &claim)?,
        Resolution::Granted { value } if progress.withdrawn => {
            let value = Some(value.clone());
            ask_again(draft, &claim, ExternalProgress { value, ..progress });
        }
        Resolution::Granted { value } => {
            let (value, handle) = (value.clone(), progress.handle);
            let version = progress.granted_version;
            return settle(
                draft,
                &claim,
                &GrantedValue { value, handle, version, still_held: None },
            );
        }
        Resolution::AskAgain => ask_again(draft, &claim, progress),
    }
    Ok(DONE)
}

/// The claim is wanted again; or its release, if it was withdrawn.
fn ask_again(draft: &mut Draft<'_>, claim: &ExternalClaim, progress: ExternalProgress) {
    let state = match progress.withdrawn {
        true => ExternalState::Releasing,
        false => ExternalState::Wanted,
    };
    let progress = ExternalProgress {
        state,
        since_ms: draft.now_ms,
        asked: false,
        attempts: 0,
        due_ms: Some(draft.now_ms),
        ..progress
    };
    progressed(draft, claim, progress);
}

/// The claim was withdrawn while the authority was asked: the release must name what was granted.
fn note_value(draft: &mut Draft<'_>, claim: &ExternalClaim, granted: &GrantedValue) {
    let is_held = draft.state.pool(&claim.request.pool);
    if is_held.is_some_and(|pool| pool.held(&claim.request.key).is_some()) {
        return;
    }
    let progress = ExternalProgress {
        value: Some(granted.value.clone()),
        handle: granted.handle.clone(),
        granted_version: granted.version.clone(),
        due_ms: Some(draft.now_ms),
        ..claim.progress.clone()
    };
    progressed(draft, claim, progress);
}

/// The authority has granted a value: the claim gets it, unless it cannot have it.
fn settle(
    draft: &mut Draft<'_>,
    claim: &ExternalClaim,
    granted: &GrantedValue,
) -> Result<Outcome, Refusal> {
    let pool = draft.pool(&claim.request.pool)?;
    let progress = ExternalProgress {
        value: Some(granted.value.clone()),
        handle: granted.handle.clone(),
        granted_version: granted.version.clone(),
        ..claim.progress.clone()
    };
    let value = match fits(pool, &claim.request.params.want, &granted.value) {
        Ok(value) => value,
        Err(reason) => {
            stop(draft, claim, ExternalState::Conflict, reason.into(), progress);
            return Ok(DONE);
        }
    };
    let taken = pool.overlapping(value).next();
    if let Some(key) = taken.map(|(_, row, _)| row.key.clone()) {
        let holder = draft.state.authorities.claim(&claim.request.pool, &key);
        let holder = holder.filter(|holder| holder.progress.state == ExternalState::Releasing);
        let holder = holder.map(|holder| holder.request.reference);
        if holder.is_some() && holder != granted.still_held {
            return Ok(Outcome::Reported { look_up: holder });
        }
        let reason =
            format!("the authority has granted {}, which is held under '{key}'", granted.value);
        stop(draft, claim, ExternalState::Conflict, reason.into(), progress);
        return Ok(DONE);
    }
    grant(draft, claim, value, progress);
    Ok(DONE)
}

/// The value as this pool has it; or why the claim cannot have it.
pub(in crate::authority) fn fits(pool: &Pool, want: &Want, text: &str) -> Result<Span, String> {
    let granted = |why: String| format!("the authority has granted '{text}': {why}");
    let value = pool.spec.kind.parse(text).map_err(|error| granted(error.to_string()))?;
    if want.value.is_some_and(|wanted| wanted != value) {
        return Err(granted("another value was wanted".into()));
    }
    let len = pool.spec.kind.prefix_len(value);
    if want.prefix_len.is_some_and(|wanted| Some(wanted) != len) {
        return Err(granted("another prefix length was wanted".into()));
    }
    ensure_in_ranges(pool, value).map_err(|refusal| granted(refusal.to_string()))?;
    Ok(value)
}

fn grant(draft: &mut Draft<'_>, claim: &ExternalClaim, value: Span, progress: ExternalProgress) {
    let request = &claim.request;
    let pool = draft.state.pool(&request.pool);
    let Some((kind, lease_ms)) = pool.map(|pool| (pool.spec.kind, pool.spec.lease_ms)) else {
        return;
    };
    let ttl_ms = request.params.ttl_ms.or(lease_ms);
    let plain = request.params == ClaimParams { want: Want::any(), ttl_ms: None };
    draft.record(ClaimGranted {
        pool: request.pool.clone(),
        kind: Some(kind),
        key: request.key.clone(),
        owner: request.owner.clone(),
        values: Values::one(value),
        version: draft.version,
        at_ms: draft.now_ms,
        expires_ms: ttl_ms.map(|ttl| draft.now_ms.saturating_add(ttl).min(u64::MAX - 1)),
        labels: request.labels.clone(),
        params: (!plain).then(|| Arc::new(request.params.clone())),
        cursor: None,
    });
    let progress = ExternalProgress {
        state: ExternalState::Held,
        reason: None,
        attempts: 0,
        due_ms: None,
        ..progress
    };
    progressed(draft, claim, progress);
}

/// The claim waits for an operator.
fn stop(
    draft: &mut Draft<'_>,
    claim: &ExternalClaim,
    state: ExternalState,
    reason: Arc<str>,
    progress: ExternalProgress,
) {
    let progress = ExternalProgress { state, reason: Some(reason), due_ms: None, ..progress };
    progressed(draft, claim, progress);
}
