//! Routes of claims and values.
//!
//! - `external`: claims in pools with an authority
//! - `lists`: the parts of a list of claims

pub(crate) mod external;
mod lists;

use std::sync::Arc;

use allod_core::command::{Command, ConfirmOp, Op, ReleaseOp, RenewOp, Transact};
use allod_core::pool::PoolSpec;
use allod_core::receipt::{ClaimIn, Outcome, Receipt};
use allod_core::refusal::Refusal;
use allod_core::span::{self, Span};
use allod_core::view::{self, ClaimFilter, Page, ValueView};
use allod_edge::{Call, Problem, Reply};
use allod_engine::{CommitPoint, Snapshot};
use http::StatusCode;

use crate::pools::{pool_unknown, wrong_outcome};
use crate::query::{AFTER, LIMIT, Param, QueryParams};
use crate::scope::AllowedPools;
use crate::to_wire::ReasonDetail;
use crate::wire::{ClaimBody, ClaimList, EmptyBody, RenewBody, WireValue};
use crate::{Decided, Native, from_wire, history, prefer, refusals, to_wire};
use external::FoundClaim;
use lists::{ListedAuthority, list_state, two_part_page};

const KEY_PREFIX: Param = Param { name: "key_prefix", about: "Only keys that start with this." };
const OWNER_PREFIX: Param =
    Param { name: "owner_prefix", about: "Only owners whose name starts with this." };
const EXPIRED: Param = Param {
    name: "expired",
    about: "`true`: only claims whose lease has expired; `false`: only others.",
};
const STATE: Param = Param {
    name: "state",
    about: "Only claims in this state. Default: all but `quarantined`. Claims that an authority has given no value come last, with `value` null.",
};
const OVERLAPS: Param = Param {
    name: "overlaps",
    about: "Only claims with a value in this range: a value, `first-last`, or a subnet.",
};
const DRAINING: Param = Param {
    name: "draining",
    about: "`true`: only claims with a value in a range that is being drained.",
};

pub(crate) const LIST_QUERY: &[Param] =
    &[KEY_PREFIX, OWNER_PREFIX, EXPIRED, STATE, OVERLAPS, DRAINING, LIMIT, AFTER];

pub(crate) const VALUE_QUERY: &[Param] = &[history::AT];

pub(crate) const BY_OWNER_QUERY: &[Param] =
    &[OWNER_PREFIX, KEY_PREFIX, EXPIRED, STATE, LIMIT, AFTER];

pub(crate) async fn put(native: Arc<Native>, call: Call) -> Result<Reply, Reply> {
    QueryParams::read(&call, &[])?;
    let wait = prefer::wait(&call)?;
    let (pool, key) = (call.param(0)?.into(), call.param(1)?.into());
    let body: ClaimBody = call.json()?;
    let op = from_wire::claim(vec![pool], key, body, from_wire::expect(&call)?);
    let (receipt, at) = submit(&native, &call, Op::Claim(op)).await?;
    match receipt.outcomes.first() {
        Some(Outcome::Claimed { claims, created }) => {
            let claim = claims.first().ok_or_else(wrong_outcome)?;
            if *created {
                return Ok(shown(StatusCode::CREATED, claim, &at));
            }
            known(&native, &call, claim, &at)
        }
        Some(Outcome::External(claim)) => {
            let reply = external::claimed(&native, claim, wait, ReasonDetail::of(&call)).await?;
            Ok(prefer::applied(reply, wait, native.waiters.limits().wait_ms_max))
        }
        _ => Err(wrong_outcome()),
    }
}

pub(crate) async fn get(native: Arc<Native>, call: Call) -> Result<Reply, Reply> {
    QueryParams::read(&call, &[])?;
    let (pool, key) = (call.param(0)?, call.param(1)?);
    native.wait_for_position(&call).await?;
    let (known, found, now_ms, at) = native.read(|snapshot| {
        let found = FoundClaim::of(snapshot.state, &pool, &key);
        let known = found.is_some() || view::spec(snapshot.state, &pool).is_some();
        (known, found, snapshot.now_ms, snapshot.at)
    })?;
    match found {
        Some(found) => Ok(found.reply(StatusCode::OK, now_ms, &at, ReasonDetail::of(&call))),
        None if known => {
            let (pool, key) = (pool.as_ref().into(), key.as_ref().into());
            Err(refusals::alone(Refusal::ClaimUnknown { pool, key }, &at))
        }
        None => Err(pool_unknown(&pool, &at)),
    }
}

pub(crate) async fn delete(native: Arc<Native>, call: Call) -> Result<Reply, Reply> {
    QueryParams::read(&call, &[])?;
    let wait = prefer::wait(&call)?;
    let (pool, key) = (call.param(0)?.into(), call.param(1)?.into());
    let op = ReleaseOp { pool, key, expect: from_wire::expect(&call)? };
    let (receipt, at) = submit(&native, &call, Op::Release(op)).await?;
    let Some(Outcome::External(claim)) = receipt.outcomes.first() else {
        return Ok(to_wire::no_content(&at));
    };
    let reply = external::released(&native, claim, wait, ReasonDetail::of(&call)).await?;
    Ok(prefer::applied(reply, wait, native.waiters.limits().wait_ms_max))
}

pub(crate) async fn renew(native: Arc<Native>, call: Call) -> Result<Reply, Reply> {
    QueryParams::read(&call, &[])?;
    let (pool, key) = (call.param(0)?.into(), call.param(1)?.into());
    let body: RenewBody = call.json()?;
    let ttl_ms = body.ttl.map(|seconds| seconds.ms);
    let op = RenewOp { pool, key, expect: from_wire::expect(&call)?, ttl_ms };
    lease(&native, &call, Op::Renew(op)).await
}

pub(crate) async fn confirm(native: Arc<Native>, call: Call) -> Result<Reply, Reply> {
    QueryParams::read(&call, &[])?;
    let (pool, key) = (call.param(0)?.into(), call.param(1)?.into());
    let EmptyBody {} = call.json()?;
    let op = ConfirmOp { pool, key, expect: from_wire::expect(&call)? };
    lease(&native, &call, Op::Confirm(op)).await
}

async fn submit(native: &Native, call: &Call, op: Op) -> Result<(Receipt, CommitPoint), Reply> {
    let command = Command::Transact(Transact::one(op));
    let Decided { answer, at } = native.submit(command).await?;
    let receipt = answer.map_err(|refused| {
        refusals::alone(refusals::for_client(refused.refusal, ReasonDetail::of(call)), &at)
    })?;
    Ok((receipt, at))
}

async fn lease(native: &Native, call: &Call, op: Op) -> Result<Reply, Reply> {
    let (receipt, at) = submit(native, call, op).await?;
    match receipt.outcomes.first() {
        Some(Outcome::Leased(claim)) => known(native, call, claim, &at),
        _ => Err(wrong_outcome()),
    }
}

pub(crate) async fn list(native: Arc<Native>, call: Call) -> Result<Reply, Reply> {
    let pool = call.param(0)?;
    let query = QueryParams::read(&call, LIST_QUERY)?;
    native.wait_for_position(&call).await?;
    let (spec, at) =
        native.read(|snapshot| (view::spec(snapshot.state, &pool).cloned(), snapshot.at))?;
    let spec = spec.ok_or_else(|| pool_unknown(&pool, &at))?;
    let windows = windows(&spec, &query)?;
    let (filter, limit, after) = (filter(&query)?, query.limit()?, query.text(AFTER.name));
    let states = list_state(&query)?;
    // Claims that have no value follow those that have one.
    let of_authority = spec.authority.as_deref().filter(|_| states.has_claims_without_value());
    let is_narrow =
        query.text(OVERLAPS.name).is_some() || query.text(DRAINING.name) == Some("true");
    let (page, now_ms, at) = native.read(|snapshot| {
        let Snapshot { state, now_ms, at } = *snapshot;
        let by_value = |after: Option<&str>, limit| {
            view::claims_within(state, &pool, now_ms, &filter, &windows, after, limit)
                .map(|page| page.map(|page| states.of_held(state, page)))
        };
        let rest = of_authority.map(|authority| ListedAuthority {
            authority: Some(authority),
            pool: Some(&pool),
            windows: is_narrow.then_some(&windows),
        });
        (two_part_page(state, &states, &filter, rest, after, limit, by_value), now_ms, at)
    })?;
    match page.map_err(|_| query.no_cursor())? {
        Some(page) => Ok(listed(&call, &query, &page, now_ms, &at)),
        None => Err(pool_unknown(&pool, &at)),
    }
}

/// The parts of a pool that the query asks for, in ascending order. A pool may have many, so they are computed outside of
/// the snapshot; a change in between takes effect with the next page.
fn windows(spec: &PoolSpec, query: &QueryParams<'_>) -> Result<Vec<Span>, Problem> {
    let windows = vec![match query.text(OVERLAPS.name) {
        Some(text) => {
            let parsed = spec.kind.parse_range(text);
            parsed.map_err(|error| Problem::malformed(format!("overlaps: {error}")))?.0
        }
        None => spec.kind.line(),
    }];
    Ok(match query.flag(DRAINING.name)? {
        Some(true) => span::intersect(&span::normalise(spec.draining.clone()), &windows),
        _ => windows,
    })
}

fn filter(query: &QueryParams<'_>) -> Result<ClaimFilter, Problem> {
    Ok(ClaimFilter {
        key_prefix: query.owned(KEY_PREFIX.name),
        owner_prefix: query.owned(OWNER_PREFIX.name),
        pool_prefix: None,
        overlaps: None::<Span>,
        expired: query.flag(EXPIRED.name)?,
        quarantined: query.text(STATE.name) == Some("quarantined"),
    })
}

pub(crate) async fn by_owner(native: Arc<Native>, call: Call) -> Result<Reply, Reply> {
    let query = QueryParams::read(&call, BY_OWNER_QUERY)?;
    let restricted = Some(AllowedPools::of(&call)).filter(|allowed| !allowed.is_unrestricted());
    let pool_prefix = restricted.map(|allowed| allowed.prefix().to_owned());
    let (limit, states) = (query.limit()?, list_state(&query)?);
    let filter = ClaimFilter { pool_prefix, ..filter(&query)? };
    native.wait_for_position(&call).await?;
    let owner_prefix = query.text(OWNER_PREFIX.name).unwrap_or_default();
    let after = query.text(AFTER.name);
    let (page, now_ms, at) = native.read(|snapshot| {
        let Snapshot { state, now_ms, at } = *snapshot;
        let by_owner = |after: Option<&str>, limit| {
            let filter = ClaimFilter { owner_prefix: None, ..filter.clone() };
            view::claims_by_owner(state, now_ms, owner_prefix, &filter, after, limit)
                .map(|page| Some(states.of_held(state, page)))
        };
        let rest = states.has_claims_without_value();
        let rest = rest.then_some(ListedAuthority { authority: None, pool: None, windows: None });
        (two_part_page(state, &states, &filter, rest, after, limit, by_owner), now_ms, at)
    })?;
    let page = page.map_err(|_| query.no_cursor())?.ok_or_else(wrong_outcome)?;
    Ok(listed(&call, &query, &page, now_ms, &at))
}

pub(crate) async fn value(native: Arc<Native>, call: Call) -> Result<Reply, Reply> {
    let query = QueryParams::read(&call, VALUE_QUERY)?;
    let (pool, text) = (call.param(0)?, call.param(1)?);
    native.wait_for_position(&call).await?;
    if let Some(then) = query.text(history::AT.name) {
        return history::value(&native, &pool, &text, then).await;
    }
    let (found, found_claim, now_ms, at) = native.read(|snapshot| {
        let found = view::spec(snapshot.state, &pool).map(|spec| {
            let kind = spec.kind;
            kind.parse(&text).map(|span| (kind, span, view::value(snapshot.state, &pool, span)))
        });
        let claim = match &found {
            Some(Ok((_, _, Some(ValueView::Held(held))))) => {
                Some(FoundClaim::of_held(snapshot.state, held.clone()))
            }
            _ => None,
        };
        (found, claim.filter(|claim| claim.external.is_some()), snapshot.now_ms, snapshot.at)
    })?;
    match found {
        Some(Ok((kind, span, Some(view)))) => {
            let mut body = to_wire::value(&pool, WireValue(kind, span), &view, now_ms);
            if let Some(found) = &found_claim {
                body.claim = found.shown(now_ms, ReasonDetail::of(&call));
            }
            Ok(to_wire::json(StatusCode::OK, &body, &at))
        }
        Some(Err(error)) => {
            // Whether the text is a value depends on the kind of the pool, so the reply has a position.
            let problem = Problem::malformed(error.to_string());
            Err(to_wire::at_position(problem.reply(), &at))
        }
        Some(Ok((_, _, None))) | None => Err(pool_unknown(&pool, &at)),
    }
}

pub(crate) fn listed(
    call: &Call,
    query: &QueryParams<'_>,
    page: &Page<FoundClaim>,
    now_ms: u64,
    at: &CommitPoint,
) -> Reply {
    let detail = ReasonDetail::of(call);
    let claims = page.items.iter().filter_map(|claim| claim.shown(now_ms, detail)).collect();
    let next = page.next.as_deref();
    to_wire::page(call, query, &ClaimList { claims, next }, next, at)
}

/// A claim that has just been made.
fn shown(status: StatusCode, claim: &ClaimIn, at: &CommitPoint) -> Reply {
    let reply = to_wire::json(status, &to_wire::claim(claim, 0), at);
    to_wire::etag(reply, claim.claim.version)
}

/// A claim that may have been granted by an authority.
fn known(native: &Native, call: &Call, claim: &ClaimIn, at: &CommitPoint) -> Result<Reply, Reply> {
    let found = native.read(|snapshot| FoundClaim::of_held(snapshot.state, claim.clone()))?;
    Ok(found.reply(StatusCode::OK, 0, at, ReasonDetail::of(call)))
}
