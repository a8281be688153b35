//! Routes of consumers and their allocations.

use std::sync::Arc;

use allod_core::capacity::{Reclaim, Uuid};
use allod_core::event::capacity::Allocated;
use allod_core::refusal::{CapacityRefusal, Refused};
use allod_core::view::capacity::{CapacityView, ConsumerView};
use allod_core::view::{self, NoCursor, Page};
use allod_edge::{Call, Problem, Reply};
use http::StatusCode;

use crate::query::{AFTER, LIMIT, Param, QueryParams, uuid};
use crate::wire::ConsumerList;
use crate::{Native, refusals, to_wire};

const PROJECT: Param = Param { name: "project", about: "Only consumers of this project." };
const PROVIDER: Param =
    Param { name: "provider", about: "Only consumers that have allocations on this provider." };
const EXPIRED: Param = Param {
    name: "expired",
    about: "`true`: only consumers whose lease has expired; `false`: only others.",
};

pub(crate) const LIST_QUERY: &[Param] = &[PROJECT, PROVIDER, EXPIRED, LIMIT, AFTER];

/// How many consumers are examined for one page, so that a filter that matches nothing does not examine all of them.
const LOOKED_AT_MAX: usize = 10_000;

/// A consumer with its allocations, copied from the state.
#[derive(Debug)]
pub(crate) struct ConsumerRow {
    pub uuid: Uuid,
    pub generation: u64,
    pub project: Arc<str>,
    pub user: Arc<str>,
    pub consumer_type: Option<Arc<str>>,
    pub held: Vec<Allocated>,
    pub written_ms: u64,
    pub expires_ms: Option<u64>,
    pub is_expired: bool,
    pub reclaim: Reclaim,
}

impl ConsumerRow {
    fn of(consumer: ConsumerView<'_>, now_ms: u64) -> ConsumerRow {
        ConsumerRow {
            uuid: consumer.uuid(),
            generation: consumer.generation(),
            project: consumer.project().clone(),
            user: consumer.user().clone(),
            consumer_type: consumer.consumer_type().cloned(),
            held: consumer.allocations(),
            written_ms: consumer.written_ms(),
            expires_ms: consumer.expires_ms(),
            is_expired: consumer.is_expired(now_ms),
            reclaim: consumer.reclaim(),
        }
    }
}

pub(crate) async fn get(native: Arc<Native>, call: Call) -> Result<Reply, Reply> {
    let read = || {
        QueryParams::read(&call, &[])?;
        uuid("the consumer", &call.param(0)?)
    };
    let consumer = read().map_err(|problem: Problem| problem.reply())?;
    native.wait_for_position(&call).await?;
    let (row, at) = native.read(|snapshot| {
        let found = view::capacity(snapshot.state).consumer(consumer);
        (found.map(|found| ConsumerRow::of(found, snapshot.now_ms)), snapshot.at)
    })?;
    match row {
        Some(row) => Ok(to_wire::json(StatusCode::OK, &to_wire::capacity::consumer(&row), &at)),
        None => {
            let refusal = CapacityRefusal::ConsumerUnknown { consumer }.into();
            Err(refusals::alone(&Refused { op: 0, refusal }, &at))
        }
    }
}

/// All conditions must hold.
struct ConsumerFilter<'a> {
    project: Option<&'a str>,
    provider: Option<Uuid>,
    expired: Option<bool>,
}

pub(crate) async fn list(native: Arc<Native>, call: Call) -> Result<Reply, Reply> {
    let query = QueryParams::read(&call, LIST_QUERY).map_err(|problem| problem.reply())?;
    let read = || {
        let filter = ConsumerFilter {
            project: query.text(PROJECT.name),
            provider: query.uuid(PROVIDER.name)?,
            expired: query.flag(EXPIRED.name)?,
        };
        let after = query.text(AFTER.name).map(|text| text.parse::<Uuid>()).transpose();
        let after = after.map_err(|_| query.no_cursor(NoCursor))?;
        Ok((filter, after, query.limit()?))
    };
    let (filter, after, limit) = read().map_err(|problem: Problem| problem.reply())?;
    native.wait_for_position(&call).await?;
    let (page, at) = native.read(|snapshot| {
        let capacity = view::capacity(snapshot.state);
        (page(capacity, &filter, snapshot.now_ms, after, limit), snapshot.at)
    })?;
    let shown = page.items.iter().map(to_wire::capacity::consumer).collect();
    let body = ConsumerList { consumers: shown, next: page.next.as_deref() };
    let reply = to_wire::json(StatusCode::OK, &body, &at);
    Ok(match &page.next {
        Some(next) => to_wire::link_next(reply, call.head.uri.path(), &query.with_after(next)),
        None => reply,
    })
}

/// Consumers in the order of their uuids, after the one named `after`.
fn page(
    capacity: CapacityView<'_>,
    filter: &ConsumerFilter<'_>,
    now_ms: u64,
    after: Option<Uuid>,
    limit: usize,
) -> Page<ConsumerRow> {
    let none = || Page { items: Vec::new(), next: None };
    // The first uuid of the page; no uuid comes after the last one.
    let from = match after {
        None => Uuid::default(),
        Some(Uuid(u128::MAX)) => return none(),
        Some(Uuid(after)) => Uuid(after + 1),
    };
    match filter.provider {
        None => fill(filter, now_ms, capacity.consumers_from(from), limit),
        Some(provider) => match capacity.provider(provider) {
            None => none(),
            Some(provider) => fill(filter, now_ms, provider.consumers_from(from), limit),
        },
    }
}

fn fill<'a>(
    filter: &ConsumerFilter<'_>,
    now_ms: u64,
    consumers: impl Iterator<Item = ConsumerView<'a>>,
    limit: usize,
) -> Page<ConsumerRow> {
    let mut items = Vec::new();
    let mut seen: Option<Uuid> = None;
    for (looked_at, consumer) in consumers.enumerate() {
        if items.len() >= limit || looked_at == LOOKED_AT_MAX {
            return Page { items, next: seen.map(|seen| seen.to_string()) };
        }
        seen = Some(consumer.uuid());
        let fits = filter.project.is_none_or(|project| **consumer.project() == *project)
            && filter.expired.is_none_or(|expired| consumer.is_expired(now_ms) == expired);
        if fits {
            items.push(ConsumerRow::of(consumer, now_ms));
        }
    }
    Page { items, next: None }
}
