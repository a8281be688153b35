//! Decides commands about authorities, and claims and releases in pools that have one.

mod claim;
mod report;

pub(crate) use super::reconcile::decide::want as want_reconciliation;
pub(crate) use claim::{begin_release, claim, ensure_not_releasing, release};
pub(super) use report::fits;

use std::sync::Arc;

use super::command::{AuthorityCommand, Report};
use super::event::{
    AuthorityDefined, AuthorityRemoved, ClaimProgressed, ExternalClaimClosed, IdentityDrawn,
};
use super::lookup::{self, LookUpState};
use super::reconcile;
use super::refusal::AuthorityRefusal;
use super::{AuthoritySpec, ExternalClaim, ExternalProgress, ExternalState, Protocol};
use crate::alarm::{self, AlarmKind};
use crate::command::Expect;
use crate::decide::{Draft, valid};
use crate::extension;
use crate::limits::at_most;
use crate::receipt::Outcome;
use crate::refusal::Refusal;

pub(crate) fn run(draft: &mut Draft<'_>, command: &AuthorityCommand) -> Result<Outcome, Refusal> {
    match command {
        AuthorityCommand::Put { name, spec, expect } => put(draft, name, spec, *expect),
        AuthorityCommand::Delete { name, expect } => delete(draft, name, *expect),
        AuthorityCommand::Report { reference, version, report } => {
            let mark = draft.mark();
            let outcome = report::run(draft, *reference, *version, report)?;
            let Err(refusal) = extension::claims_decided(draft) else { return Ok(outcome) };
            // The services cannot be notified now, so the authority is asked again later.
            draft.back_to(mark);
            let reason = refusal.to_string().into();
            let again_ms = draft.now_ms.saturating_add(OUTBOX_FULL_MS);
            // The outcome at the authority is known, but not stored.
            let failed = Report::Failed { reason, again_ms, asked: true };
            report::run(draft, *reference, *version, &failed)
        }
        AuthorityCommand::Resolve { reference, resolution } => {
            let outcome = report::resolve(draft, *reference, resolution)?;
            extension::claims_decided(draft)?;
            Ok(outcome)
        }
        AuthorityCommand::Reconcile(command) => {
            let outcome = reconcile::decide::run(draft, command)?;
            extension::claims_decided(draft)?;
            Ok(outcome)
        }
        AuthorityCommand::LookUp(command) => lookup::decide::run(draft, command),
    }
}

/// How long an answer waits for space in the outbox.
const OUTBOX_FULL_MS: u64 = 10_000;

fn put(
    draft: &mut Draft<'_>,
    name: &Arc<str>,
    spec: &AuthoritySpec,
    expect: Expect,
) -> Result<Outcome, Refusal> {
    valid::name("authority's name", name, draft.limits)?;
    ensure_valid(draft, spec)?;
    let before = draft.state.authorities.by_name.get(name);
    let actual = before.map(|authority| authority.generation);
    if !expect.holds(actual) {
        let authority = name.clone();
        return Err(AuthorityRefusal::AuthorityGenerationDiffers { authority, actual }.into());
    }
    if let Some(before) = before.filter(|before| before.spec == *spec) {
        let generation = before.generation;
        return Ok(Outcome::AuthorityPut { created: false, generation });
    }
    if actual.is_none() {
        let many = draft.state.authorities.by_name.len() as u64 + 1;
        at_most("authorities_max", draft.limits.authorities_max, many)?;
    }
    let generation = actual.unwrap_or(0) + 1;
    if draft.state.authorities.identity.is_none() {
        let identity = (draft.random() >> 32) as u32;
        draft.record(IdentityDrawn { identity });
    }
    draft.record(AuthorityDefined { name: name.clone(), generation, spec: spec.clone() });
    set_alarms(draft, name);
    Ok(Outcome::AuthorityPut { created: actual.is_none(), generation })
}

fn ensure_valid(draft: &Draft<'_>, spec: &AuthoritySpec) -> Result<(), Refusal> {
    let statements = match &spec.protocol {
        Protocol::Http | Protocol::Allod { .. } => Vec::new(),
        Protocol::Sql(sql) => {
            vec![&sql.find, &sql.take, &sql.release, &sql.list, &sql.lookup]
        }
    };
    let statements = statements.into_iter().flatten();
    let texts = statements.chain([&spec.url]).chain(&spec.secret).chain(&spec.ca);
    let bytes: usize = texts.map(|text| text.len()).sum();
    at_most("authority_bytes_max", draft.limits.authority_bytes_max, bytes as u64)?;
    if has_password(&spec.url) {
        return valid::invalid(
            "the URL has a password",
            "store it as a secret on the server and give the secret's name",
        );
    }
    at_most("authority_timeout_ms_max", draft.limits.authority_timeout_ms_max, spec.timeout_ms)?;
    if spec.timeout_ms == 0 {
        return valid::invalid("the time limit is zero", "give a time above zero");
    }
    for (name, time) in [("poll", spec.poll_ms), ("reconcile", spec.reconcile_ms)] {
        if time.is_some_and(|ms| ms < PERIOD_MS_MIN) {
            let what = format!("'{name}' is less than a second");
            return valid::invalid(what, "give a longer time, or none");
        }
    }
    if spec.parallel == 0 {
        return valid::invalid("parallel is zero", "allow at least one request at a time");
    }
    at_most("authority_parallel_max", draft.limits.authority_parallel_max, spec.parallel.into())
}

/// Polls and reconciliations of an authority are at least this far apart.
const PERIOD_MS_MIN: u64 = 1000;

/// Whether the part between the scheme and the host has a password.
fn has_password(url: &str) -> bool {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    authority.rsplit_once('@').is_some_and(|(user, _)| user.contains(':'))
}

fn delete(draft: &mut Draft<'_>, name: &Arc<str>, expect: Expect) -> Result<Outcome, Refusal> {
    let known = draft.state.authorities.by_name.get(name);
    let actual = known.map(|authority| authority.generation);
    let authority = name.clone();
    if !expect.holds(actual) {
        return Err(AuthorityRefusal::AuthorityGenerationDiffers { authority, actual }.into());
    }
    if actual.is_none() {
        return Ok(Outcome::AuthorityDeleted { existed: false });
    }
    let pools = draft.state.pools_of_authority(name).count() as u64;
    let claims = draft.state.authorities.counts(name).total();
    let lookups = draft.state.authorities.lookup_counts(name).total();
    if pools + claims + lookups > 0 {
        return Err(AuthorityRefusal::AuthorityInUse { authority, pools, claims, lookups }.into());
    }
    draft.record(AuthorityRemoved { name: authority });
    for kind in ALARMS {
        alarm::set(draft, name, kind, false, false);
    }
    Ok(Outcome::AuthorityDeleted { existed: true })
}

const ALARMS: [AlarmKind; 4] =
    [AlarmKind::Overdue, AlarmKind::Stuck, AlarmKind::Conflict, AlarmKind::Drifted];

/// Records how far a claim has come, and the alarms that follow.
fn progressed(draft: &mut Draft<'_>, claim: &ExternalClaim, progress: ExternalProgress) {
    let request = &claim.request;
    draft.record(ClaimProgressed {
        reference: request.reference,
        pool: request.pool.clone(),
        key: request.key.clone(),
        owner: request.owner.clone(),
        progress: ExternalProgress { version: draft.version, ..progress },
    });
    set_alarms(draft, &request.authority);
}

/// The authority has nothing for this claim any more. Releases what the claim holds here.
pub(super) fn close(draft: &mut Draft<'_>, claim: &ExternalClaim) -> Result<(), Refusal> {
    let request = &claim.request;
    let pool = draft.state.pool(&request.pool);
    let held = pool.and_then(|pool| Some((pool, pool.held(&request.key)?.1)));
    let released = held.map(|(pool, row)| {
        let cause = crate::event::ReleaseCause::Asked;
        crate::decide::release::released_at_once(draft, pool, row, cause)
    });
    released.into_iter().for_each(|released| draft.record(released));
    draft.record(closed(claim));
    set_alarms(draft, &request.authority);
    Ok(())
}

/// The event that forgets a claim.
pub(crate) fn closed(claim: &ExternalClaim) -> ExternalClaimClosed {
    let request = &claim.request;
    ExternalClaimClosed {
        reference: request.reference,
        pool: request.pool.clone(),
        key: request.key.clone(),
        owner: request.owner.clone(),
    }
}

/// Raises and clears the alarms of an authority.
pub(crate) fn set_alarms(draft: &mut Draft<'_>, name: &Arc<str>) {
    let Some(authority) = draft.state.authorities.by_name.get(name) else { return };
    let after_ms = authority.spec.alarm_after_ms;
    let counts = draft.state.authorities.counts(name);
    let oldest = draft.state.authorities.oldest_ms(name);
    let is_overdue = oldest.is_some_and(|at| draft.now_ms.saturating_sub(at) >= after_ms);
    let lookups = draft.state.authorities.lookup_counts(name);
    let raised = [
        is_overdue,
        counts.of(ExternalState::Stuck) > 0,
        counts.of(ExternalState::Conflict) > 0,
        lookups.of(LookUpState::Drifted) > 0,
    ];
    for (kind, raised) in ALARMS.into_iter().zip(raised) {
        alarm::set(draft, name, kind, false, raised);
    }
}
