//! Translates authorities and their claims, and says how much of an authority's errors a client may read.

use allod_core::authority::{
    AuthoritySpec, ExternalClaim, ExternalCounts, ExternalProgress, ExternalState, LookUpCounts,
    LookUpState, Protocol, RefusalCode, SqlStatements,
};
use allod_core::receipt::ClaimIn;
use allod_core::view::authority::{authorities, pool_count};
use allod_edge::{Call, Role};
use allod_engine::Snapshot;

use crate::claims::external::FoundClaim;
use crate::wire::{self, LabelsOf, Seconds, Time, UuidText};

/// How much a client may read of why an authority has refused or failed. The texts come from the authority and may tell
/// about its other users and its network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReasonDetail {
    /// For admins.
    Full,
    /// Only what kind of an error it is.
    Short,
}

impl ReasonDetail {
    /// Full for an admin whose token is not restricted to pools.
    pub(crate) fn of(call: &Call) -> ReasonDetail {
        let identity = call.identity();
        match (identity.role(), identity.scope()) {
            (Some(Role::Admin), None) => ReasonDetail::Full,
            _ => ReasonDetail::Short,
        }
    }
}

/// Why an authority has refused or failed.
pub(crate) fn reason(progress: &ExternalProgress, detail: ReasonDetail) -> Option<&str> {
    let reason = progress.reason.as_deref()?;
    if detail == ReasonDetail::Full {
        return Some(reason);
    }
    Some(match progress.state {
        ExternalState::Wanted | ExternalState::Held | ExternalState::Releasing => {
            "the last attempt failed"
        }
        ExternalState::Refused => match progress.code {
            Some(RefusalCode::Taken) => "another holder has the value",
            Some(RefusalCode::Exhausted) => "no value is free",
            Some(RefusalCode::Differs) => "the authority cannot grant what is wanted",
            None => "another part of the transaction was refused",
        },
        ExternalState::Stuck => {
            "it is not known whether the authority has granted a value; an admin must resolve it"
        }
        ExternalState::Conflict => {
            "the authority has granted a value that the claim cannot have; an admin must resolve it"
        }
    })
}

/// A claim in a pool with an authority. `held` is the value that it has here.
pub(crate) fn claim<'a>(
    held: Option<&'a ClaimIn>,
    external: &'a ExternalClaim,
    now_ms: u64,
    detail: ReasonDetail,
) -> wire::Claim<'a> {
    let ExternalClaim { request, progress } = external;
    let own = match held {
        Some(held) => super::claim(held, now_ms),
        None => wire::Claim {
            pool: &request.pool,
            key: &request.key,
            owner: &request.owner,
            value: None,
            values: None,
            ranges: None,
            version: progress.version,
            state: progress.state.name(),
            created: Time { ms: progress.since_ms },
            expires: None,
            expired: false,
            until: None,
            labels: LabelsOf(&request.labels),
            authority: None,
            reference: None,
            handle: None,
            code: None,
            reason: None,
            attempts: None,
            next_attempt: None,
            since: None,
        },
    };
    let is_open = progress.state.is_open();
    wire::Claim {
        version: own.version.max(progress.version),
        state: progress.state.name(),
        authority: Some(&request.authority),
        reference: Some(UuidText(request.reference)),
        handle: progress.handle.as_deref(),
        code: progress
            .code
            .filter(|_| progress.state == ExternalState::Refused)
            .map(RefusalCode::name),
        reason: reason(progress, detail),
        attempts: is_open.then_some(progress.attempts),
        next_attempt: progress.due_ms.filter(|_| is_open).map(|ms| Time { ms }),
        since: is_open.then_some(Time { ms: progress.since_ms }),
        ..own
    }
}

/// How many of the oldest open claims are asked whether an attempt has failed.
const OLDEST_EXAMINED: usize = 100;

/// The state of an authority, apart from its definition.
#[derive(Debug)]
pub(crate) struct AuthorityStatus {
    condition: &'static str,
    pools: usize,
    counts: ExternalCounts,
    lookups: LookUpCounts,
    oldest_ms: Option<u64>,
    last_error: Option<String>,
    oldest: Option<FoundClaim>,
    now_ms: u64,
    detail: ReasonDetail,
}

impl AuthorityStatus {
    pub(crate) fn of(
        snapshot: &Snapshot<'_>,
        name: &str,
        spec: &AuthoritySpec,
        detail: ReasonDetail,
    ) -> AuthorityStatus {
        let Snapshot { state, now_ms, .. } = *snapshot;
        let (all, pools) = (authorities(state), pool_count(state, name));
        let (counts, lookups) = (all.counts(name), all.lookup_counts(name));
        let failed = all.open(name).take(OLDEST_EXAMINED).find_map(|claim| {
            reason(&claim.progress, detail).filter(|_| claim.progress.attempts > 0)
        });
        let busy = counts.of(ExternalState::Wanted) >= spec.queue_max;
        let condition = match failed {
            _ if busy => "busy",
            Some(_) => "failing",
            None => "ok",
        };
        let oldest_ms = all.oldest_ms(name).map(|since_ms| now_ms.saturating_sub(since_ms));
        let oldest =
            all.open(name).next().map(|claim| FoundClaim::of_external(snapshot.state, claim));
        let last_error = failed.map(str::to_owned);
        AuthorityStatus {
            condition,
            pools,
            counts,
            lookups,
            oldest_ms,
            last_error,
            oldest,
            now_ms,
            detail,
        }
    }
}

pub(crate) fn authority<'a>(
    name: &'a str,
    (generation, spec): (u64, &'a AuthoritySpec),
    status: &'a AuthorityStatus,
) -> wire::Authority<'a> {
    let (pool, sql) = match &spec.protocol {
        Protocol::Http => (None, None),
        Protocol::Allod { pool } => (Some(&**pool), None),
        Protocol::Sql(sql) => (None, Some(sql)),
    };
    let statement = |of: fn(&SqlStatements) -> &Option<std::sync::Arc<str>>| {
        sql.and_then(|sql| of(sql).as_deref())
    };
    let count = |state| status.counts.of(state);
    wire::Authority {
        name,
        generation,
        kind: spec.protocol.name(),
        url: &spec.url,
        pool,
        find: statement(|sql| &sql.find),
        take: statement(|sql| &sql.take),
        release: statement(|sql| &sql.release),
        list: statement(|sql| &sql.list),
        lookup: statement(|sql| &sql.lookup),
        secret: spec.secret.as_deref(),
        ca: spec.ca.as_deref(),
        parallel: spec.parallel,
        timeout: Seconds { ms: spec.timeout_ms },
        queue_max: spec.queue_max,
        alarm_after: Seconds { ms: spec.alarm_after_ms },
        poll: Seconds { ms: spec.poll_ms.unwrap_or(0) },
        reconcile: Seconds { ms: spec.reconcile_ms.unwrap_or(0) },
        state: status.condition,
        pools: status.pools,
        wanted: count(ExternalState::Wanted),
        held: count(ExternalState::Held),
        refused: count(ExternalState::Refused),
        stuck: count(ExternalState::Stuck),
        conflicts: count(ExternalState::Conflict),
        releasing: count(ExternalState::Releasing),
        lookups: status.lookups.total(),
        drifted: status.lookups.of(LookUpState::Drifted),
        oldest_seconds: status.oldest_ms.map(|ms| Seconds { ms }),
        last_error: status.last_error.as_deref(),
        oldest: status
            .oldest
            .as_ref()
            .and_then(|found| found.shown(status.now_ms, status.detail))
            .map(Box::new),
    }
}
