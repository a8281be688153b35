//! Routes of claims and values.

use std::sync::Arc;

use allod_core::command::{Command, ConfirmOp, Op, ReleaseOp, RenewOp, Transact};
use allod_core::pool::PoolSpec;
use allod_core::receipt::{ClaimIn, Outcome, Receipt};
use allod_core::refusal::Refusal;
use allod_core::span::{self, Span};
use allod_core::view::{self, ClaimFilter, Page};
use allod_edge::{Call, Problem, Reply};
use allod_engine::{CommitPoint, Snapshot};
use http::StatusCode;

use crate::pools::{pool_unknown, wrong_outcome};
use crate::query::{AFTER, LIMIT, Param, QueryParams};
use crate::scope::AllowedPools;
use crate::wire::{ClaimBody, ClaimList, EmptyBody, RenewBody, WireValue};
use crate::{Native, from_wire, history, refusals, to_wire};

const KEY_PREFIX: Param = Param { name: "key_prefix", about: "Only keys that start with this." };
const OWNER_PREFIX: Param =
    Param { name: "owner_prefix", about: "Only owners whose name starts with this." };
const EXPIRED: Param = Param {
    name: "expired",
    about: "`true`: only claims whose lease has expired; `false`: only others.",
};
const STATE: Param = Param { name: "state", about: "`held` (default) or `quarantined`." };

pub(crate) const LIST_QUERY: &[Param] = &[
    KEY_PREFIX,
    OWNER_PREFIX,
    EXPIRED,
    STATE,
    Param {
        name: "overlaps",
        about: "Only claims with a value in this range: a value, `first-last`, or a subnet.",
    },
    Param {
        name: "draining",
        about: "`true`: only claims with a value in a range that is being drained.",
    },
    LIMIT,
    AFTER,
];

pub(crate) const VALUE_QUERY: &[Param] = &[history::AT];

pub(crate) const BY_OWNER_QUERY: &[Param] =
    &[OWNER_PREFIX, KEY_PREFIX, EXPIRED, STATE, LIMIT, AFTER];

pub(crate) async fn put(native: Arc<Native>, call: Call) -> Result<Reply, Reply> {
    QueryParams::read(&call, &[])?;
    let (pool, key) = (call.param(0)?.into(), call.param(1)?.into());
    let body: ClaimBody = call.json()?;
    let op = from_wire::claim(vec![pool], key, body, from_wire::expect(&call)?);
    let (receipt, at) = submit(&native, Op::Claim(op)).await?;
    let Some(Outcome::Claimed { claims, created }) = receipt.outcomes.first() else {
        return Err(wrong_outcome());
    };
    let status = if *created { StatusCode::CREATED } else { StatusCode::OK };
    claims.first().map(|claim| shown(status, claim, 0, &at)).ok_or_else(wrong_outcome)
}

pub(crate) async fn get(native: Arc<Native>, call: Call) -> Result<Reply, Reply> {
    QueryParams::read(&call, &[])?;
    let (pool, key) = (call.param(0)?, call.param(1)?);
    native.wait_for_position(&call).await?;
    let (known, claim, now_ms, at) = native.read(|snapshot| {
        let claim = view::claim(snapshot.state, &pool, &key);
        let known = claim.is_some() || view::spec(snapshot.state, &pool).is_some();
        (known, claim, snapshot.now_ms, snapshot.at)
    })?;
    match claim {
        Some(claim) => Ok(shown(StatusCode::OK, &claim, now_ms, &at)),
        None if known => {
            let (pool, key) = (pool.as_ref().into(), key.as_ref().into());
            Err(refusals::alone(Refusal::ClaimUnknown { pool, key }, &at))
        }
        None => Err(pool_unknown(&pool, &at)),
    }
}

pub(crate) async fn delete(native: Arc<Native>, call: Call) -> Result<Reply, Reply> {
    QueryParams::read(&call, &[])?;
    let (pool, key) = (call.param(0)?.into(), call.param(1)?.into());
    let op = ReleaseOp { pool, key, expect: from_wire::expect(&call)? };
    let (_, at) = submit(&native, Op::Release(op)).await?;
    Ok(to_wire::no_content(&at))
}

pub(crate) async fn renew(native: Arc<Native>, call: Call) -> Result<Reply, Reply> {
    QueryParams::read(&call, &[])?;
    let (pool, key) = (call.param(0)?.into(), call.param(1)?.into());
    let body: RenewBody = call.json()?;
    let ttl_ms = body.ttl.map(|seconds| seconds.ms);
    let op = RenewOp { pool, key, expect: from_wire::expect(&call)?, ttl_ms };
    lease(&native, Op::Renew(op)).await
}

pub(crate) async fn confirm(native: Arc<Native>, call: Call) -> Result<Reply, Reply> {
    QueryParams::read(&call, &[])?;
    let (pool, key) = (call.param(0)?.into(), call.param(1)?.into());
    let EmptyBody {} = call.json()?;
    let op = ConfirmOp { pool, key, expect: from_wire::expect(&call)? };
    lease(&native, Op::Confirm(op)).await
}

async fn submit(native: &Native, op: Op) -> Result<(Receipt, CommitPoint), Reply> {
    native.submit_alone(Command::Transact(Transact::one(op))).await
}

async fn lease(native: &Native, op: Op) -> Result<Reply, Reply> {
    let (receipt, at) = submit(native, op).await?;
    match receipt.outcomes.first() {
        Some(Outcome::Leased(claim)) => Ok(shown(StatusCode::OK, claim, 0, &at)),
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
    let (page, now_ms, at) = native.read(|snapshot| {
        let Snapshot { state, now_ms, at } = *snapshot;
        (view::claims_within(state, &pool, now_ms, &filter, &windows, after, limit), now_ms, at)
    })?;
    match page.map_err(|_| query.no_cursor())? {
        Some(page) => Ok(listed(&call, &query, &page, now_ms, &at)),
        None => Err(pool_unknown(&pool, &at)),
    }
}

/// The parts of a pool that the query asks for, in ascending order. A pool may have many, so they are computed outside of
/// the snapshot; a change in between takes effect with the next page.
fn windows(spec: &PoolSpec, query: &QueryParams<'_>) -> Result<Vec<Span>, Problem> {
    let windows = vec![match query.text("overlaps") {
        Some(text) => {
            let parsed = spec.kind.parse_range(text);
            parsed.map_err(|error| Problem::malformed(format!("overlaps: {error}")))?.0
        }
        None => spec.kind.line(),
    }];
    Ok(match query.flag("draining")? {
        Some(true) => span::intersect(&span::normalise(spec.draining.clone()), &windows),
        _ => windows,
    })
}

fn filter(query: &QueryParams<'_>) -> Result<ClaimFilter, Problem> {
    let quarantined = match query.text(STATE.name) {
        None | Some("held") => false,
        Some("quarantined") => true,
        Some(other) => {
            let detail = format!("state is '{other}'; expected held or quarantined");
            return Err(Problem::malformed(detail));
        }
    };
    Ok(ClaimFilter {
        key_prefix: query.owned(KEY_PREFIX.name),
        owner_prefix: query.owned(OWNER_PREFIX.name),
        pool_prefix: None,
        overlaps: None::<Span>,
        expired: query.flag(EXPIRED.name)?,
        quarantined,
    })
}

pub(crate) async fn by_owner(native: Arc<Native>, call: Call) -> Result<Reply, Reply> {
    let query = QueryParams::read(&call, BY_OWNER_QUERY)?;
    let restricted = Some(AllowedPools::of(&call)).filter(|allowed| !allowed.is_unrestricted());
    let pool_prefix = restricted.map(|allowed| allowed.prefix().to_owned());
    let limit = query.limit()?;
    let filter = ClaimFilter { owner_prefix: None, pool_prefix, ..filter(&query)? };
    native.wait_for_position(&call).await?;
    let owner_prefix = query.text(OWNER_PREFIX.name).unwrap_or_default();
    let after = query.text(AFTER.name);
    let (page, now_ms, at) = native.read(|snapshot| {
        let now_ms = snapshot.now_ms;
        let page =
            view::claims_by_owner(snapshot.state, now_ms, owner_prefix, &filter, after, limit);
        (page, now_ms, snapshot.at)
    })?;
    let page = page.map_err(|_| query.no_cursor())?;
    Ok(listed(&call, &query, &page, now_ms, &at))
}

pub(crate) async fn value(native: Arc<Native>, call: Call) -> Result<Reply, Reply> {
    let query = QueryParams::read(&call, VALUE_QUERY)?;
    let (pool, text) = (call.param(0)?, call.param(1)?);
    native.wait_for_position(&call).await?;
    if let Some(then) = query.text(history::AT.name) {
        return history::value(&native, &pool, &text, then).await;
    }
    let (found, now_ms, at) = native.read(|snapshot| {
        let found = view::spec(snapshot.state, &pool).map(|spec| {
            let kind = spec.kind;
            kind.parse(&text).map(|span| (kind, span, view::value(snapshot.state, &pool, span)))
        });
        (found, snapshot.now_ms, snapshot.at)
    })?;
    match found {
        Some(Ok((kind, span, Some(view)))) => {
            let body = to_wire::value(&pool, WireValue(kind, span), &view, now_ms);
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

fn listed(
    call: &Call,
    query: &QueryParams<'_>,
    page: &Page<ClaimIn>,
    now_ms: u64,
    at: &CommitPoint,
) -> Reply {
    let claims = page.items.iter().map(|claim| to_wire::claim(claim, now_ms)).collect();
    let next = page.next.as_deref();
    to_wire::page(call, query, &ClaimList { claims, next }, next, at)
}

fn shown(status: StatusCode, claim: &ClaimIn, now_ms: u64, at: &CommitPoint) -> Reply {
    let reply = to_wire::json(status, &to_wire::claim(claim, now_ms), at);
    to_wire::etag(reply, claim.claim.version)
}
