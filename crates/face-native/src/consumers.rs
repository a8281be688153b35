//! Routes of consumers and their allocations.

use std::sync::Arc;

use allod_core::capacity::{Reclaim, Uuid};
use allod_core::event::capacity::Allocated;
use allod_core::refusal::CapacityRefusal;
use allod_core::view::Page;
use allod_core::view::capacity::{CapacityView, ConsumerView};
use allod_edge::{Call, Reply};
use allod_engine::FrozenRead;
use http::StatusCode;

use crate::query::{self, AFTER, EXAMINED_MAX, LIMIT, Param, QueryParams, uuid};
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
    QueryParams::read(&call, &[])?;
    let consumer = uuid("the consumer", &call.param(0)?)?;
    native.wait_for_position(&call).await?;
    let FrozenRead { capacity, now_ms, at } = native.freeze()?;
    let row = capacity.view().consumer(consumer).map(|found| ConsumerRow::of(found, now_ms));
    let unknown = CapacityRefusal::ConsumerUnknown { consumer };
    let row = row.ok_or_else(|| refusals::alone(unknown, &at))?;
    Ok(to_wire::json(StatusCode::OK, &to_wire::capacity::consumer(&row), &at))
}

/// All conditions must hold.
struct ConsumerFilter<'a> {
    project: Option<&'a str>,
    provider: Option<Uuid>,
    expired: Option<bool>,
}

pub(crate) async fn list(native: Arc<Native>, call: Call) -> Result<Reply, Reply> {
    QueryParams::read(&call, LIST_QUERY)?;
    native.wait_for_position(&call).await?;
    let frozen = native.freeze()?;
    let entries = frozen.capacity.view().consumer_count();
    native.list(entries, move || listed(&call, &frozen)).await
}

fn listed(call: &Call, frozen: &FrozenRead) -> Result<Reply, Reply> {
    let query = QueryParams::read(call, LIST_QUERY)?;
    let filter = ConsumerFilter {
        project: query.text(PROJECT.name),
        provider: query.uuid(PROVIDER.name)?,
        expired: query.flag(EXPIRED.name)?,
    };
    let after = query.after(|text| text.parse().ok())?;
    let (limit, at) = (query.limit()?, frozen.at);
    let page = page(frozen.capacity.view(), &filter, frozen.now_ms, after, limit);
    let consumers = page.items.iter().map(to_wire::capacity::consumer).collect();
    let next = page.next.as_deref();
    Ok(to_wire::page(call, &query, &ConsumerList { consumers, next }, next, &at))
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
    let pick = |consumer: ConsumerView<'_>| {
        let fits = filter.project.is_none_or(|project| **consumer.project() == *project)
            && filter.expired.is_none_or(|expired| consumer.is_expired(now_ms) == expired);
        fits.then(|| ConsumerRow::of(consumer, now_ms))
    };
    query::page(consumers, limit, EXAMINED_MAX, pick, |consumer| consumer.uuid().to_string())
}
