//! One reconciliation: lists the grants of an authority, compares them with the claims here, lists again what differs, and
//! reports what both show.
//!
//! It has one request at a time of its own, besides those for claims, so that neither waits for the other.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use allod_core::authority::command::{AuthorityCommand, ReconcileCommand, ReconcileReport};
use allod_core::authority::{
    ConflictFound, Drifted, ExternalClaim, ExternalState, FindingCounts, Findings, Missing, Orphan,
};
use allod_core::capacity::Uuid;
use allod_core::command::Command;
use allod_core::view;
use allod_engine::{EngineError, Handle};
use tracing::{debug, info};

use super::attempt::{AttemptContext, RESUBMIT_AFTER};
use super::metrics::Operation;
use crate::authority::connector::{AuthorityAnswer, Listed, Page};
use crate::authority::decision::retry_after_ms;
use crate::authority::reconcile::{Differences, HeldClaim, compare};

/// How often a page is asked for again before the reconciliation has failed.
const PAGE_ATTEMPTS_MAX: u32 = 5;
const LISTED_MAX: usize = 4_000_000;
/// The claims that are read while the state is locked.
const CLAIMS_PER_READ: usize = 500;
/// Besides the time limit of a request, for its way to the authority.
const BETWEEN_LISTINGS: Duration = Duration::from_millis(200);

/// Reconciles an authority and reports the outcome.
pub(super) async fn run(context: Arc<AttemptContext>, name: Arc<str>, number: u64) {
    let report = match find(&context, &name).await {
        Ok(findings) => {
            let counts = findings.counts;
            info!(authority = %name, ?counts, "reconciled an authority");
            ReconcileReport::Listed(findings)
        }
        Err(reason) => failed(&name, &reason),
    };
    submit(&context.handle, &name, number, report).await;
}

pub(super) fn failed(name: &Arc<str>, reason: &str) -> ReconcileReport {
    info!(authority = %name, reason, "the reconciliation of an authority failed");
    ReconcileReport::Failed { reason: reason.into() }
}

/// Submits the outcome until it is stored or refused.
pub(super) async fn submit(
    handle: &Handle,
    authority: &Arc<str>,
    number: u64,
    report: ReconcileReport,
) {
    loop {
        let (authority, report) = (authority.clone(), report.clone());
        let command = ReconcileCommand::Report { authority, number, report };
        match handle.submit(Command::Authority(AuthorityCommand::Reconcile(command))).await {
            Ok(reply) => {
                if let Err(refused) = reply.answer {
                    debug!(refusal = %refused.refusal, "the outcome of a reconciliation was refused");
                }
                return;
            }
            Err(EngineError::Stopping) => return,
            Err(failure) => {
                debug!(%failure, "the outcome of a reconciliation cannot be stored yet");
                tokio::time::sleep(RESUBMIT_AFTER).await;
            }
        }
    }
}

async fn find(context: &AttemptContext, name: &str) -> Result<Findings, String> {
    let first = differences(context, name).await?;
    if first.is_empty() {
        return Ok(Findings::default());
    }
    // A request that was cut off before the first listing may have arrived by then.
    let time_limit = Duration::from_millis(context.authority.spec.timeout_ms);
    tokio::time::sleep(time_limit + BETWEEN_LISTINGS).await;
    let second = differences(context, name).await?;
    findings(&context.handle, &first.confirmed_by(&second))
}

/// Lists the grants and compares them with the claims.
async fn differences(context: &AttemptContext, name: &str) -> Result<Differences, String> {
    let handle = &context.handle;
    let unavailable = |failure: EngineError| failure.to_string();
    let before = handle.read(|snapshot| snapshot.at.position).map_err(unavailable)?;
    let listed = list(context).await?;
    // Another server may have stored what the listing shows.
    handle.confirm_tail().await.map_err(unavailable)?;
    let held = held(handle, name, before)?;
    let is_known = |reference: Uuid| {
        let known = handle
            .read(|snapshot| view::authority::authorities(snapshot.state).get(reference).is_some());
        known.unwrap_or(true)
    };
    Ok(compare(&listed, &held, is_known))
}

async fn list(context: &AttemptContext) -> Result<HashMap<String, Listed>, String> {
    let mut listed = HashMap::new();
    let mut after: Option<String> = None;
    loop {
        let page = page(context, after.as_deref()).await?;
        listed.extend(page.grants.into_iter().map(|grant| (grant.reference.clone(), grant)));
        if listed.len() > LISTED_MAX {
            return Err(format!("the authority lists more than {LISTED_MAX} grants"));
        }
        match page.next {
            None => return Ok(listed),
            Some(next) if after.as_ref() == Some(&next) => {
                return Err("the authority lists the same page again and again".into());
            }
            next => after = next,
        }
    }
}

async fn page(context: &AttemptContext, after: Option<&str>) -> Result<Page, String> {
    let limits = &context.limits;
    let mut attempts = 0;
    loop {
        let began = Instant::now();
        let answer = context.remote.connector.list(after).await;
        context.metrics.called(Operation::List, (&answer).into(), began.elapsed());
        let (said, message) = match answer {
            AuthorityAnswer::Yes(page) => return Ok(page),
            AuthorityAnswer::Unsupported => {
                return Err("the authority cannot list its grants".into());
            }
            AuthorityAnswer::NotNow { after, message } => (after, message),
            AuthorityAnswer::Working { after, message } => (Some(after), message),
            AuthorityAnswer::Unknown { message } | AuthorityAnswer::No { message, .. } => {
                (None, message)
            }
        };
        if attempts == PAGE_ATTEMPTS_MAX {
            return Err(message);
        }
        let (first_ms, max_ms) = (limits.authority_backoff_first_ms, limits.authority_pause_ms_max);
        let own = Duration::from_millis(retry_after_ms(first_ms, max_ms, attempts));
        tokio::time::sleep(said.map_or(own, |said| said.max(own))).await;
        attempts += 1;
    }
}

/// The claims that hold a value since this position or longer.
fn held(handle: &Handle, name: &str, position: u64) -> Result<Vec<HeldClaim>, String> {
    let mut held = Vec::new();
    let mut after: Option<(ExternalState, Uuid)> = None;
    loop {
        let read = handle.read(|snapshot| {
            let authorities = view::authority::authorities(snapshot.state);
            let claims = authorities.claims_after(name, after).take(CLAIMS_PER_READ);
            let mut last = None;
            for claim in claims {
                let ExternalClaim { request, progress } = &**claim;
                last = Some((progress.state, request.reference));
                let kind = view::authority::pool_kind(snapshot.state, &request.pool);
                if let (ExternalState::Held, Some(kind)) = (progress.state, kind)
                    && progress.version <= position
                    && let Some(value) = progress.value.clone()
                {
                    held.push(HeldClaim { reference: request.reference, kind, value });
                }
            }
            last
        });
        match read.map_err(|failure| failure.to_string())? {
            None => return Ok(held),
            last => after = last,
        }
    }
}

/// The differences as they are stored. A grant whose name is not a reference cannot be settled, so it is only counted.
fn findings(handle: &Handle, differences: &Differences) -> Result<Findings, String> {
    let read = handle.read(|snapshot| {
        let authorities = view::authority::authorities(snapshot.state);
        let mut found = Findings {
            counts: FindingCounts {
                orphans: differences.orphans.len() as u64,
                missing: differences.missing.len() as u64,
                drifted: differences.drifted.len() as u64,
                conflicts: differences.conflicts.len() as u64,
            },
            ..Findings::default()
        };
        for (name, grant) in &differences.orphans {
            let Ok(reference) = name.parse() else { continue };
            let (value, own) = (grant.value.as_str().into(), authorities.is_own(reference));
            let handle = grant.handle.as_deref().map(Into::into);
            found.orphans.push(Orphan { reference, value, handle, own });
        }
        for reference in &differences.missing {
            let Some(claim) = authorities.get(*reference) else { continue };
            let ExternalClaim { request, progress } = &**claim;
            found.missing.push(Missing {
                reference: *reference,
                pool: request.pool.clone(),
                key: request.key.clone(),
                value: progress.value.clone().unwrap_or_default(),
            });
        }
        for (reference, seen) in &differences.drifted {
            let Some(claim) = authorities.get(*reference) else { continue };
            let ExternalClaim { request, progress } = &**claim;
            found.drifted.push(Drifted {
                reference: *reference,
                pool: request.pool.clone(),
                key: request.key.clone(),
                value: progress.value.clone().unwrap_or_default(),
                seen: seen.as_str().into(),
            });
        }
        for (name, holder) in &differences.conflicts {
            let (Ok(reference), Some(claim)) = (name.parse(), authorities.get(*holder)) else {
                continue;
            };
            let ExternalClaim { request, progress } = &**claim;
            found.conflicts.push(ConflictFound {
                reference,
                value: progress.value.clone().unwrap_or_default(),
                pool: request.pool.clone(),
                key: request.key.clone(),
            });
        }
        found
    });
    read.map_err(|failure| failure.to_string())
}
