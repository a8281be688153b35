//! Routes about consumers: what each holds.

use std::sync::Arc;

use allod_core::capacity::Uuid;
use allod_core::event::capacity::Allocated;
use allod_core::refusal::{CapacityRefusal, Refused};
use allod_core::state::capacity::Capacity;
use allod_core::state::capacity::consumer::Consumer;
use allod_core::view::{NoCursor, Page};
use allod_edge::{Call, Problem, Reply};
use http::StatusCode;

use crate::query::{AFTER, LIMIT, Param, QueryParams, uuid};
use crate::wire::ConsumerList;
use crate::{Native, refusals, to_wire};

const PROJECT: Param = Param { name: "project", about: "Only consumers of this project." };
const PROVIDER: Param =
    Param { name: "provider", about: "Only consumers that hold something of this provider." };
const EXPIRED: Param = Param {
    name: "expired",
    about: "`true`: only consumers whose lease has run out; `false`: only others.",
};

pub(crate) const LIST_QUERY: &[Param] = &[PROJECT, PROVIDER, EXPIRED, LIMIT, AFTER];

/// How many consumers are looked at for one page, so that a filter that fits nothing does not look at all of them at once.
const LOOKED_AT_MAX: usize = 10_000;

/// A consumer with what it holds, taken out of the state.
#[derive(Debug)]
pub(crate) struct ConsumerRow {
    pub consumer: Consumer,
    pub held: Vec<Allocated>,
}

impl ConsumerRow {
    fn of(capacity: &Capacity, consumer: &Consumer) -> ConsumerRow {
        ConsumerRow { held: capacity.allocated(consumer), consumer: consumer.clone() }
    }
}

pub(crate) async fn get(native: Arc<Native>, call: Call) -> Result<Reply, Reply> {
    let read = || {
        QueryParams::read(&call, &[])?;
        uuid("the consumer", &call.param(0)?)
    };
    let consumer = read().map_err(|problem: Problem| problem.reply())?;
    native.wait_for_position(&call).await?;
    let (row, now_ms, at) = native.read(|snapshot| {
        let capacity = snapshot.state.capacity();
        let row = capacity.consumer(consumer).map(|found| ConsumerRow::of(capacity, found));
        (row, snapshot.now_ms, snapshot.at)
    })?;
    match row {
        Some(row) => {
            Ok(to_wire::json(StatusCode::OK, &to_wire::capacity::consumer(&row, now_ms), &at))
        }
        None => {
            let refusal = CapacityRefusal::ConsumerUnknown { consumer }.into();
            Err(refusals::alone(&Refused { op: 0, refusal }, &at))
        }
    }
}

/// Which consumers to show; every part that is given must hold.
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
    let (page, now_ms, at) = native.read(|snapshot| {
        let page = page(snapshot.state.capacity(), &filter, snapshot.now_ms, after, limit);
        (page, snapshot.now_ms, snapshot.at)
    })?;
    let shown = page.items.iter().map(|row| to_wire::capacity::consumer(row, now_ms)).collect();
    let body = ConsumerList { consumers: shown, next: page.next.as_deref() };
    let reply = to_wire::json(StatusCode::OK, &body, &at);
    Ok(match &page.next {
        Some(next) => to_wire::link_next(reply, call.head.uri.path(), &query.with_after(next)),
        None => reply,
    })
}

/// Consumers in the order of their uuids, after the one named `after`.
fn page(
    capacity: &Capacity,
    filter: &ConsumerFilter<'_>,
    now_ms: u64,
    after: Option<Uuid>,
    limit: usize,
) -> Page<ConsumerRow> {
    let none = || Page { items: Vec::new(), next: None };
    // The first one that may be shown; nobody comes after the last uuid.
    let from = match after {
        None => Uuid::default(),
        Some(Uuid(u128::MAX)) => return none(),
        Some(Uuid(after)) => Uuid(after + 1),
    };
    match filter.provider {
        None => fill(capacity, filter, now_ms, capacity.consumers_from(from), limit),
        Some(provider) => match capacity.provider(provider) {
            None => none(),
            Some(provider) => {
                let holders = provider.consumers.range(from..);
                let holders = holders.filter_map(|uuid| capacity.consumer(*uuid));
                fill(capacity, filter, now_ms, holders, limit)
            }
        },
    }
}

fn fill<'a>(
    capacity: &Capacity,
    filter: &ConsumerFilter<'_>,
    now_ms: u64,
    consumers: impl Iterator<Item = &'a Consumer>,
    limit: usize,
) -> Page<ConsumerRow> {
    let mut items = Vec::new();
    let mut seen: Option<Uuid> = None;
    for (looked_at, consumer) in consumers.enumerate() {
        if items.len() >= limit || looked_at == LOOKED_AT_MAX {
            return Page { items, next: seen.map(|seen| seen.to_string()) };
        }
        seen = Some(consumer.uuid);
        let fits = filter.project.is_none_or(|project| *consumer.project == *project)
            && filter.expired.is_none_or(|expired| consumer.expired(now_ms) == expired);
        if fits {
            items.push(ConsumerRow::of(capacity, consumer));
        }
    }
    Page { items, next: None }
}
