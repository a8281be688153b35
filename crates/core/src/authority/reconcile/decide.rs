//! Requests a reconciliation, stores its findings, and settles them.

use std::sync::Arc;

use super::{Drifted, Finding, FindingCounts, Findings, Missing, Orphan, ReconciliationState};
use crate::authority::command::{ReconcileCommand, ReconcileReport, SettleAction};
use crate::authority::decide::{close, fits, set_alarms};
use crate::authority::event::{
    ClaimProgressed, ClaimWanted, FindingSettled, ReconciliationEnded, ReconciliationWanted,
};
use crate::authority::refusal::AuthorityRefusal;
use crate::authority::{ExternalClaim, ExternalProgress, ExternalRequest, ExternalState};
use crate::capacity::Uuid;
use crate::claim::{ClaimParams, Values, Want};
use crate::decide::{Draft, release, valid};
use crate::event::{ClaimGranted, ReleaseCause};
use crate::receipt::Outcome;
use crate::refusal::{Holder, Refusal};
use crate::span::Span;
use crate::state::pool::Pool;

/// The most bytes of each list of findings, so that one entry of the journal can hold all of them.
const LIST_BYTES_MAX: usize = 256 << 10;

pub(crate) fn run(draft: &mut Draft<'_>, command: &ReconcileCommand) -> Result<Outcome, Refusal> {
    match command {
        ReconcileCommand::Request { authority } => request(draft, authority),
        ReconcileCommand::Report { authority, number, report } => {
            self::report(draft, authority, *number, report)
        }
        ReconcileCommand::Settle { authority, reference, action } => {
            settle(draft, authority, *reference, action)
        }
    }
}

/// A request joins one that is not finished.
fn request(draft: &mut Draft<'_>, name: &Arc<str>) -> Result<Outcome, Refusal> {
    let Some(authority) = draft.state.authorities.by_name.get(name) else {
        return Err(AuthorityRefusal::AuthorityUnknown { authority: name.clone() }.into());
    };
    let wanted = authority.reconciliation.as_ref().filter(|last| last.is_wanted());
    let number = wanted.map(|last| last.number);
    Ok(Outcome::Reconciling { number: number.unwrap_or_else(|| want(draft, name)) })
}

/// Requests a reconciliation.
pub(crate) fn want(draft: &mut Draft<'_>, name: &Arc<str>) -> u64 {
    let (authority, number, at_ms) = (name.clone(), draft.version, draft.now_ms);
    draft.record(ReconciliationWanted { authority, number, at_ms });
    number
}

fn report(
    draft: &mut Draft<'_>,
    name: &Arc<str>,
    number: u64,
    report: &ReconcileReport,
) -> Result<Outcome, Refusal> {
    let last = draft.state.authorities.by_name.get(name);
    let last = last.and_then(|authority| authority.reconciliation.as_ref());
    if last.is_none_or(|last| !last.is_wanted() || last.number != number) {
        return Err(AuthorityRefusal::NotReconciling { authority: name.clone(), number }.into());
    }
    let (state, findings, reason) = match report {
        ReconcileReport::Listed(findings) => {
            (ReconciliationState::Done, kept(draft, findings), None)
        }
        ReconcileReport::Failed { reason } => {
            (ReconciliationState::Failed, Findings::default(), Some(reason.clone()))
        }
    };
    draft.record(ReconciliationEnded {
        authority: name.clone(),
        number,
        state,
        at_ms: draft.now_ms,
        position: draft.version,
        findings: Arc::new(findings),
        reason,
    });
    Ok(Outcome::Reported { look_up: None })
}

/// The findings that still hold, as many of each as are stored.
fn kept(draft: &Draft<'_>, findings: &Findings) -> Findings {
    let all = &draft.state.authorities;
    let max = usize::try_from(draft.limits.reconcile_findings_max).unwrap_or(usize::MAX);
    let is_held = |reference: Uuid| {
        all.get(reference).is_some_and(|claim| claim.progress.state == ExternalState::Held)
    };
    let Findings { orphans, missing, drifted, conflicts, counts } = findings;
    let mut counts = *counts;
    let handle = |one: &Orphan| one.handle.as_ref().map_or(0, |handle| handle.len());
    let is_orphan = |one: &Orphan| all.get(one.reference).is_none();
    let mut orphans =
        short(orphans, max, &mut counts.orphans, is_orphan, |one| one.value.len() + handle(one));
    orphans.iter_mut().for_each(|one| one.own = all.is_own(one.reference));
    Findings {
        orphans,
        missing: short(
            missing,
            max,
            &mut counts.missing,
            |one: &Missing| is_held(one.reference),
            |one| one.pool.len() + one.key.len() + one.value.len(),
        ),
        drifted: short(
            drifted,
            max,
            &mut counts.drifted,
            |one: &Drifted| is_held(one.reference),
            |one| one.pool.len() + one.key.len() + one.value.len() + one.seen.len(),
        ),
        conflicts: short(
            conflicts,
            max,
            &mut counts.conflicts,
            |_| true,
            |one| one.pool.len() + one.key.len() + one.value.len(),
        ),
        counts: FindingCounts { ..counts },
    }
}

/// The entries that hold, without those beyond a number or a size. `count` is the number of all that hold.
fn short<T: Clone>(
    all: &[T],
    max: usize,
    count: &mut u64,
    holds: impl Fn(&T) -> bool,
    bytes: impl Fn(&T) -> usize,
) -> Vec<T> {
    let mut left = LIST_BYTES_MAX;
    let mut list = Vec::new();
    *count = (*count).max(all.len() as u64);
    for one in all.iter().take(max) {
        if !holds(one) {
            *count -= 1;
            continue;
        }
        let Some(rest) = left.checked_sub(bytes(one)) else { continue };
        left = rest;
        list.push(one.clone());
    }
    list
}

fn settle(
    draft: &mut Draft<'_>,
    name: &Arc<str>,
    reference: Uuid,
    action: &SettleAction,
) -> Result<Outcome, Refusal> {
    let authority = draft.state.authorities.by_name.get(name);
    let last = authority.and_then(|authority| authority.reconciliation.clone());
    let claim = draft.state.authorities.get(reference).cloned();
    let unknown =
        || Refusal::from(AuthorityRefusal::FindingUnknown { authority: name.clone(), reference });
    let found = last.as_ref().and_then(|last| last.findings.find(reference));
    let held = claim.as_ref().filter(|claim| claim.progress.state == ExternalState::Held);
    match (found.ok_or_else(unknown)?, action) {
        (Finding::Orphan(orphan), SettleAction::Adopt { pool, key, owner }) if claim.is_none() => {
            adopt(draft, name, orphan, pool, key, owner)?;
        }
        (Finding::Orphan(orphan), SettleAction::Release) if claim.is_none() => {
            release_orphan(draft, name, orphan);
        }
        (Finding::Missing, SettleAction::Forget) => {
            close(draft, held.ok_or_else(unknown)?)?;
        }
        (Finding::Drifted(drifted), SettleAction::Adopt { .. }) => {
            take_value(draft, held.ok_or_else(unknown)?, &drifted.seen)?;
        }
        (Finding::Orphan(_), SettleAction::Adopt { .. } | SettleAction::Release) => {
            return Err(unknown());
        }
        (Finding::Orphan(_), SettleAction::Forget) => {
            return valid::invalid("an orphan cannot be forgotten", "adopt or release it");
        }
        (Finding::Missing, _) => {
            return valid::invalid("a missing claim can only be forgotten", "forget it");
        }
        (Finding::Drifted(_), _) => {
            return valid::invalid(
                "a drifted claim cannot be released or forgotten here",
                "adopt the value of the authority, or release the claim",
            );
        }
    }
    draft.record(FindingSettled { authority: name.clone(), reference });
    Ok(Outcome::Reported { look_up: None })
}

/// The value, if the pool can have it and no claim holds it.
fn free_value(pool: &Pool, want: &Want, text: &str) -> Result<Span, Refusal> {
    let value = match fits(pool, want, text) {
        Ok(value) => value,
        Err(reason) => return valid::invalid(reason, "change the ranges of the pool"),
    };
    match pool.overlapping(value).next() {
        None => Ok(value),
        Some((_, row, _)) => {
            let (key, owner) = (row.key.clone(), row.owner().clone());
            let by = Holder { key, owner, expires_ms: None };
            let (pool, kind) = (pool.name.clone(), pool.spec.kind);
            Err(Refusal::ValueTaken { pool, kind, value, by })
        }
    }
}

/// An orphan becomes a claim that holds its value.
fn adopt(
    draft: &mut Draft<'_>,
    name: &Arc<str>,
    orphan: &Orphan,
    pool: &Arc<str>,
    key: &Arc<str>,
    owner: &Arc<str>,
) -> Result<(), Refusal> {
    valid::key(key, draft.limits)?;
    valid::new_key(key)?;
    valid::new_owner(owner, draft.limits)?;
    let into = draft.pool(pool)?;
    into.extension.ensure_claim_editable(pool, key)?;
    if into.spec.authority.as_ref() != Some(name) {
        return valid::invalid(
            format!("pool '{pool}' does not have authority '{name}'"),
            "name a pool that has it",
        );
    }
    let value = free_value(into, &Want::any(), &orphan.value)?;
    let kind = into.spec.kind;
    if let Some(known) = draft.state.authorities.claim(pool, key).cloned() {
        if known.progress.state != ExternalState::Refused {
            let (pool, key, actual) = (pool.clone(), key.clone(), Some(known.progress.version));
            return Err(Refusal::ClaimVersionDiffers { pool, key, actual });
        }
        close(draft, &known)?;
    }
    let request = ExternalRequest {
        reference: orphan.reference,
        authority: name.clone(),
        pool: pool.clone(),
        key: key.clone(),
        owner: owner.clone(),
        params: ClaimParams { want: Want::any(), ttl_ms: None },
        labels: [].into(),
    };
    let progress = ExternalProgress {
        value: Some(orphan.value.clone()),
        handle: orphan.handle.clone(),
        due_ms: None,
        ..ExternalProgress::new(ExternalState::Held, draft.version, draft.now_ms)
    };
    draft.record(ClaimWanted { request, progress });
    draft.record(ClaimGranted {
        pool: pool.clone(),
        kind: Some(kind),
        key: key.clone(),
        owner: owner.clone(),
        values: Values::one(value),
        version: draft.version,
        at_ms: draft.now_ms,
        expires_ms: None,
        labels: [].into(),
        params: None,
        cursor: None,
    });
    Ok(())
}

/// An orphan belongs to no pool. It is released by a record whose key is its reference.
fn release_orphan(draft: &mut Draft<'_>, name: &Arc<str>, orphan: &Orphan) {
    let key: Arc<str> = orphan.reference.to_string().into();
    let request = ExternalRequest {
        reference: orphan.reference,
        authority: name.clone(),
        pool: "".into(),
        owner: key.clone(),
        key,
        params: ClaimParams { want: Want::any(), ttl_ms: None },
        labels: [].into(),
    };
    let progress = ExternalProgress {
        withdrawn: true,
        value: Some(orphan.value.clone()),
        handle: orphan.handle.clone(),
        ..ExternalProgress::new(ExternalState::Releasing, draft.version, draft.now_ms)
    };
    draft.record(ClaimWanted { request, progress });
    set_alarms(draft, name);
}

/// A held claim gets the value that the authority has for it.
fn take_value(
    draft: &mut Draft<'_>,
    claim: &ExternalClaim,
    seen: &Arc<str>,
) -> Result<(), Refusal> {
    let request = &claim.request;
    let (pool, key) = (&request.pool, &request.key);
    let into = draft.pool(pool)?;
    let unknown = || Refusal::ClaimUnknown { pool: pool.clone(), key: key.clone() };
    let (_, row) = into.held(key).ok_or_else(unknown)?;
    let before = row.claim();
    let released = release::released_at_once(draft, into, row, ReleaseCause::Asked);
    draft.record(released);
    let into = draft.pool(pool)?;
    let (value, kind) = (free_value(into, &Want::any(), seen)?, into.spec.kind);
    draft.record(ClaimGranted {
        pool: pool.clone(),
        kind: Some(kind),
        key: key.clone(),
        owner: before.owner,
        values: Values::one(value),
        version: draft.version,
        at_ms: draft.now_ms,
        expires_ms: before.expires_ms,
        labels: before.labels,
        params: before.params,
        cursor: None,
    });
    let progress = ExternalProgress {
        version: draft.version,
        value: Some(seen.clone()),
        ..claim.progress.clone()
    };
    draft.record(ClaimProgressed {
        reference: request.reference,
        pool: pool.clone(),
        key: key.clone(),
        owner: request.owner.clone(),
        progress,
    });
    Ok(())
}
