//! `GET /v1/watch`: a stream of changes from any retained position.
//!
//! - `filter`, `index`: the filters of watchers, and the lookup of filters that match an event
//! - `hub`: reads new records once for all watchers
//! - `stream`: one watcher, which first catches up from the journal and then follows the hub
//! - `message`: the server-sent events

mod filter;
mod hub;
mod index;
mod message;
mod stream;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use allod_core::event::projection::EventKind;
use allod_edge::{Body, Call, Problem, Reply};
use allod_engine::Handle;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderName, HeaderValue, StatusCode};
use metrics::{Counter, Gauge, counter, describe_counter, describe_gauge, gauge};

use crate::query::{Param, QueryParams};
use crate::scope::AllowedPools;
use crate::to_wire::ReasonDetail;
use crate::{Native, from_wire, refusals, to_wire};
use filter::WatchFilter;
use hub::Hub;
use stream::Watcher;

pub(crate) const QUERY: &[Param] = &[
    Param {
        name: "from",
        about: "Changes after this position: an Allod-Position, or the id of the last event seen. Default: the current position.",
    },
    Param { name: "pool", about: "Only events of this pool. May be repeated." },
    Param { name: "owner_prefix", about: "Only events of claims whose owner starts with this." },
    Param {
        name: "provider",
        about: "Only changes of this provider and of allocations on it. May be repeated.",
    },
    Param {
        name: "consumer",
        about: "Only changes of the allocations of this consumer. May be repeated.",
    },
    Param { name: "kind", about: "Only events of this kind. May be repeated." },
];

/// The limits of watching.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WatchLimits {
    /// Concurrent watchers (503 with Retry-After).
    pub watchers_max: u64,
    /// The interval of heartbeats on an idle stream.
    pub watch_heartbeat_ms: u64,
    /// Bytes of buffered messages for all watchers together. Slower watchers read the journal.
    pub watch_bytes_max: u64,
}

impl Default for WatchLimits {
    fn default() -> WatchLimits {
        // Fewer watchers than connections, so that they never take the last one.
        WatchLimits { watchers_max: 12_000, watch_heartbeat_ms: 15_000, watch_bytes_max: 16 << 20 }
    }
}

/// The state that all watchers share.
pub(crate) struct Watchers {
    hub: Arc<Hub>,
    limits: WatchLimits,
    open: Arc<AtomicU64>,
    /// The number of watchers so far.
    count: AtomicU64,
    meter: Arc<WatchMeter>,
}

struct WatchMeter {
    watchers: Gauge,
    messages: Counter,
    rereads: Counter,
}

impl Watchers {
    pub(crate) fn new(handle: Handle, limits: WatchLimits) -> Watchers {
        describe_gauge!("allod_watchers", "Open watch streams");
        describe_counter!("allod_watch_messages_total", "Changes sent to watchers");
        describe_counter!(
            "allod_watch_rereads_total",
            "Times that a watcher fell behind and read the journal"
        );
        let bytes_max = usize::try_from(limits.watch_bytes_max).unwrap_or(usize::MAX);
        let meter = WatchMeter {
            watchers: gauge!("allod_watchers"),
            messages: counter!("allod_watch_messages_total"),
            rereads: counter!("allod_watch_rereads_total"),
        };
        Watchers {
            hub: Hub::new(handle, bytes_max),
            limits,
            open: Arc::new(AtomicU64::new(0)),
            count: AtomicU64::new(0),
            meter: Arc::new(meter),
        }
    }

    /// Reserves a slot, unless `watchers_max` is reached.
    fn admit(&self) -> Result<WatcherSlot, Problem> {
        let max = self.limits.watchers_max;
        if self.open.fetch_add(1, Ordering::Relaxed) >= max {
            self.open.fetch_sub(1, Ordering::Relaxed);
            return Err(Problem::new(
                StatusCode::SERVICE_UNAVAILABLE,
                "watchers_exceeded",
                "too many watchers",
                format!("all watchers are in use; watchers_max is {max}"),
            )
            .retry_after(5));
        }
        self.meter.watchers.increment(1);
        Ok(WatcherSlot { open: self.open.clone(), meter: self.meter.clone() })
    }

    /// The heartbeat interval, shortened by up to a quarter so that watchers that started together do not wake together.
    fn heartbeat(&self) -> Duration {
        let n = self.count.fetch_add(1, Ordering::Relaxed) % 64;
        let ms = self.limits.watch_heartbeat_ms;
        Duration::from_millis(ms - ms * n / 256)
    }
}

/// Counts a watcher until dropped.
struct WatcherSlot {
    open: Arc<AtomicU64>,
    meter: Arc<WatchMeter>,
}

impl Drop for WatcherSlot {
    fn drop(&mut self) {
        self.open.fetch_sub(1, Ordering::Relaxed);
        self.meter.watchers.decrement(1);
    }
}

pub(crate) async fn get(native: Arc<Native>, call: Call) -> Result<Reply, Reply> {
    let (filter, from) = read(&call)?;
    let now = || native.read(|snapshot| snapshot.at);
    now()?;
    let watch = &native.watch;
    let slot = watch.admit()?;
    let subscription = watch.hub.join(filter);
    // After joining, so that no change after the position in the head is missed.
    let mut at = now()?;
    if from.is_some_and(|from| from > at.position) {
        // Another server may have acknowledged it already.
        native.handle.confirm_tail().await.map_err(|why| refusals::failure(&why))?;
        at = now()?;
    }
    if let Some(from) = from.filter(|from| *from > at.position) {
        return Err(to_wire::at_position(unknown(from, at.position).reply(), &at));
    }
    let seen = from.unwrap_or(at.position);
    // Whether the position is retained must be known before the head is sent.
    let record = match subscription.has_after(seen) {
        true => None,
        false => {
            let record = native.handle.record_after(seen).await;
            Some(record.map_err(|unread| to_wire::at_position(refusals::unread(&unread), &at))?)
        }
    };
    let watcher = Watcher {
        handle: native.handle.clone(),
        identity: call.identity().clone(),
        heartbeat: watch.heartbeat(),
        subscription,
        seen,
        present: at.position,
        record,
        slot,
    };
    let mut reply = Reply::new(Body::endless(|sink| watcher.run(sink)));
    let headers = reply.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    // Keeps proxies from buffering the stream.
    headers.insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    Ok(to_wire::at_position(reply, &at))
}

/// The filter and the start position.
fn read(call: &Call) -> Result<(WatchFilter, Option<u64>), Problem> {
    let query = QueryParams::read_repeated(call, QUERY, &["pool", "provider", "consumer", "kind"])?;
    let mut filter = WatchFilter::default();
    let allowed = AllowedPools::of(call);
    for pool in query.texts("pool") {
        allowed.require(pool)?;
        filter.pool(pool);
    }
    if let Some(prefix) = query.text("owner_prefix") {
        filter.owner_prefix(prefix);
    }
    let (providers, consumers) = (query.uuids("provider")?, query.uuids("consumer")?);
    if !(providers.is_empty() && consumers.is_empty()) {
        allowed.require_capacity()?;
    }
    providers.into_iter().for_each(|provider| filter.provider(provider));
    consumers.into_iter().for_each(|consumer| filter.consumer(consumer));
    for kind in query.texts("kind") {
        if !filter.kind(kind) {
            let known = EventKind::ALL.map(EventKind::name).join(", ");
            return Err(Problem::malformed(format!("kind is '{kind}'; expected one of: {known}")));
        }
    }
    filter.full_reasons(ReasonDetail::of(call) == ReasonDetail::Full);
    if !allowed.is_unrestricted() {
        filter.scope(allowed.prefix());
    }
    let from = match from_wire::last_event_id(call)? {
        Some(id) => Some(id),
        None => query.text("from").map(|text| allod_edge::position("from", text)).transpose()?,
    };
    Ok((filter, from))
}

fn unknown(from: u64, end: u64) -> Problem {
    Problem::new(
        StatusCode::BAD_REQUEST,
        "position_unknown",
        "position is in the future",
        format!(
            "position {from} does not exist yet; the journal ends at {end}; if the journal was replaced or restored, read the current state and watch from its position"
        ),
    )
}
