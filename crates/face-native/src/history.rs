//! Routes of the history: past changes, and the holder of a value at a time.

use std::sync::Arc;

use allod_core::span::Span;
use allod_core::value::Kind;
use allod_edge::{Call, Problem, Reply, time};
use allod_engine::history::{ChangeQuery, HistoryOrder, HistoryPage, HistoryReader, Moment};
use http::StatusCode;

use crate::query::{AFTER, LIMIT, Param, QueryParams, unexpected};
use crate::scope::AllowedPools;
use crate::to_wire::ReasonDetail;
use crate::wire::{AtAnswer, HistoryAnswer, Time, WireValue};
use crate::{Native, refusals, to_wire};

const POOL: Param =
    Param { name: "pool", about: "Only changes in this pool, whether it still exists or not." };
const VALUE: Param = Param {
    name: "value",
    about: "Only changes of claims with this value or a part of it: an id, an address or a prefix. Requires `pool`.",
};
const KEY: Param = Param { name: "key", about: "Only changes of claims under this key." };
const OWNER: Param = Param { name: "owner", about: "Only changes of claims of this owner." };
const PROVIDER: Param =
    Param { name: "provider", about: "Only changes of this provider and of allocations on it." };
const CONSUMER: Param =
    Param { name: "consumer", about: "Only changes of the allocations of this consumer." };
const SINCE: Param =
    Param { name: "since", about: "From this time (RFC 3339) or position, inclusive." };
const UNTIL: Param =
    Param { name: "until", about: "Up to this time (RFC 3339) or position, inclusive." };
const ORDER: Param = Param { name: "order", about: "`newest_first` (default) or `oldest_first`." };

pub(crate) const QUERY: &[Param] =
    &[POOL, VALUE, KEY, OWNER, PROVIDER, CONSUMER, SINCE, UNTIL, ORDER, LIMIT, AFTER];

pub(crate) const AT: Param =
    Param { name: "at", about: "The time (RFC 3339) or position of the answer. Default: now." };

pub(crate) async fn list(native: Arc<Native>, call: Call) -> Result<Reply, Reply> {
    let query = QueryParams::read(&call, QUERY)?;
    let ask = ask(&query, AllowedPools::of(&call))?;
    native.wait_for_position(&call).await?;
    let order = ask.order;
    let found = past(&native)?.changes(ask).await;
    let found = found.map_err(|unanswered| refusals::unanswered(&unanswered))?;
    Ok(listed(&call, &query, &found, order))
}

fn ask(query: &QueryParams<'_>, allowed: AllowedPools<'_>) -> Result<ChangeQuery, Problem> {
    let text = |param: &Param| query.text(param.name).map(Arc::from);
    let pool: Option<Arc<str>> = text(&POOL);
    if let Some(pool) = &pool {
        allowed.require(pool)?;
    }
    let values = match (query.text(VALUE.name), &pool) {
        (None, _) => Vec::new(),
        (Some(_), None) => return Err(Problem::malformed("value needs pool")),
        (Some(text), Some(_)) => values(text)?,
    };
    let (provider, consumer) = (query.uuid(PROVIDER.name)?, query.uuid(CONSUMER.name)?);
    if provider.is_some() || consumer.is_some() {
        allowed.require_capacity()?;
    }
    let order = match query.text(ORDER.name) {
        None | Some("newest_first") => HistoryOrder::NewestFirst,
        Some("oldest_first") => HistoryOrder::OldestFirst,
        Some(other) => {
            let detail = format!("order is '{other}'; expected newest_first or oldest_first");
            return Err(Problem::malformed(detail));
        }
    };
    let after = query.after(|text| text.strip_prefix(mark(order))?.parse().ok());
    Ok(ChangeQuery {
        pool,
        pool_prefix: allowed.prefix().into(),
        values,
        key: text(&KEY),
        owner: text(&OWNER),
        provider,
        consumer,
        since: query.text(SINCE.name).map(|text| moment(&SINCE, text)).transpose()?,
        until: query.text(UNTIL.name).map(|text| moment(&UNTIL, text)).transpose()?,
        order,
        limit: query.limit()?,
        after: after?,
    })
}

/// The prefix of a cursor, which is valid for one order only.
fn mark(order: HistoryOrder) -> &'static str {
    match order {
        HistoryOrder::NewestFirst => "before-",
        HistoryOrder::OldestFirst => "after-",
    }
}

/// All values that the text can denote; the kind of the pool at that time selects one.
fn values(text: &str) -> Result<Vec<(Kind, Span)>, Problem> {
    let read = |kind: Kind| match kind {
        // In a prefix pool, an address stands for the prefixes that contain it.
        Kind::Prefix4 if !text.contains('/') => Kind::Address4.parse(text),
        Kind::Prefix6 if !text.contains('/') => Kind::Address6.parse(text),
        kind => kind.parse(text),
    };
    let found: Vec<_> =
        Kind::ALL.into_iter().filter_map(|kind| Some((kind, read(kind).ok()?))).collect();
    if found.is_empty() {
        let expected =
            "an id such as 7, an address such as 10.0.0.1 or a prefix such as 10.0.0.0/24";
        return Err(unexpected("value", text, expected));
    }
    Ok(found)
}

/// A time or a position.
fn moment(param: &Param, text: &str) -> Result<Moment, Problem> {
    let name = param.name;
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return text.parse().map(Moment::Position).map_err(|_| {
            Problem::malformed(format!("{name} is '{text}'; a position has at most 64 bits"))
        });
    }
    let expected = "a time such as 2026-11-15T10:00:00Z or a position such as 17";
    let ms = time::parse_rfc3339(text).ok_or_else(|| unexpected(name, text, expected))?;
    Ok(Moment::TimeMs(ms))
}

fn listed(call: &Call, query: &QueryParams<'_>, found: &HistoryPage, order: HistoryOrder) -> Reply {
    let reasons = ReasonDetail::of(call);
    let changes = found.changes.iter().filter_map(|change| {
        to_wire::change(change.position, change.at_ms, &change.events, &|_| None, reasons)
    });
    let next = found.next.map(|position| format!("{}{position}", mark(order)));
    let body = HistoryAnswer {
        changes: changes.collect(),
        next: next.as_deref(),
        oldest_position: found.oldest_position,
    };
    to_wire::page(call, query, &body, next.as_deref(), &found.at)
}

/// The state of a value at a time in the past.
pub(crate) async fn value(
    native: &Native,
    pool: &str,
    text: &str,
    at: &str,
) -> Result<Reply, Reply> {
    let moment = moment(&AT, at)?;
    let then = past(native)?.value(pool.into(), text.into(), moment).await;
    let then = then.map_err(|unanswered| refusals::unanswered(&unanswered))?;
    let at = AtAnswer { position: then.position, time: Time { ms: then.at_ms } };
    let mut body = to_wire::value(pool, WireValue(then.kind, then.value), &then.view, then.at_ms);
    body.at = Some(at);
    Ok(to_wire::json(StatusCode::OK, &body, &then.at))
}

fn past(native: &Native) -> Result<&Arc<HistoryReader>, Reply> {
    native.handle.history().map_err(|failure| refusals::failure(&failure).reply())
}
