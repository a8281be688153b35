//! Event streams: `streams/<name>/json` and `/xml`, as server-sent events.
//!
//! A stream starts now, at a past time (`start-time`), or after the last event that the client received (`Last-Event-ID`, a
//! journal position). From there on it is complete.
//!
//! - `filter`: selects notifications
//! - `replay`: finds a time in the journal
//! - `run`: one open stream
//! - `rendered`: the events of a record, written once for all streams
//! - `message`: the text of an event

mod filter;
mod message;
mod rendered;
mod replay;
mod run;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use allod_edge::{Body, Reply, time};
use http::header::{ACCEPT, CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderName, HeaderValue, StatusCode};
use metrics::{Gauge, describe_gauge, gauge};

use super::builtin::MONITORING;
use super::errors::{self, POSITION};
use super::request::RestconfRequest;
use super::{ALL_EVENTS, Restconf, error_format};
use crate::codec::Encoding;
use crate::error::{ErrorTag, RestconfError, Result, invalid_value};
use crate::model::{InstancePath, YangModel};
use crate::query::{RequestKind, RestconfParams};
use filter::NotificationFilter;
use rendered::RenderCache;
use run::EventStream;

const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// Shared by all streams: their number, and the cache of rendered events.
pub(super) struct StreamRegistry {
    open: Arc<AtomicU64>,
    newest: RenderCache,
    meter: Gauge,
}

/// Counts an open stream until it is dropped.
pub(super) struct StreamSlot {
    open: Arc<AtomicU64>,
    meter: Gauge,
}

impl Drop for StreamSlot {
    fn drop(&mut self) {
        self.open.fetch_sub(1, Ordering::Relaxed);
        self.meter.decrement(1);
    }
}

impl StreamRegistry {
    pub(super) fn new() -> StreamRegistry {
        describe_gauge!("allod_restconf_streams", "Open event streams of RESTCONF");
        let (open, newest) = (Arc::default(), RenderCache::default());
        StreamRegistry { open, newest, meter: gauge!("allod_restconf_streams") }
    }

    fn admit(&self, max: u64) -> Result<StreamSlot> {
        let before = self.open.fetch_add(1, Ordering::Relaxed);
        self.meter.increment(1);
        // Counted until dropped, which happens at once if the limit is reached.
        let slot = StreamSlot { open: self.open.clone(), meter: self.meter.clone() };
        if before < max {
            return Ok(slot);
        }
        let message = format!("too many open streams: restconf_streams_max is {max}");
        Err(RestconfError::application(ErrorTag::ResourceDenied, message)
            .with_status(StatusCode::SERVICE_UNAVAILABLE)
            .retry_after(5))
    }
}

pub(super) async fn get(face: &Arc<Restconf>, request: &RestconfRequest) -> Result<Reply> {
    let (models, encoding) = named(face, request)?;
    ensure_accepts_events(request)?;
    let query = RestconfParams::parse(request.query(), RequestKind::Stream)?;
    let filter = query
        .filter
        .as_deref()
        .map(|text| NotificationFilter::parse(&face.schema, text))
        .transpose()?;
    let position = face.read_snapshot(|snapshot| Ok(snapshot.at.position))?;
    let now_ms = face.handle.status().now_ms;
    let (start_ms, stop_ms) = times(&query, now_ms)?;
    let slot = face.streams.admit(face.settings.restconf_streams_max)?;
    // From here on the feed retains new records, or reports that the stream must read the journal.
    let feed = face.handle.feed();
    let last = feed.tail().seq;
    let unread = |unread| errors::unread(&unread);
    let (record, seen) = match (last_event(request, position)?, start_ms) {
        (Some(seen), _) => (face.handle.record_after(seen).await.map_err(unread)?, seen),
        (None, Some(ms)) => (replay::record_at(&face.handle, last, ms).await.map_err(unread)?, 0),
        (None, None) => (last + 1, 0),
    };
    let stream = EventStream {
        face: face.clone(),
        models,
        encoding,
        filter,
        start_ms,
        stop_ms,
        feed,
        record: record.saturating_sub(1),
        seen,
        identity: request.call.identity().clone(),
        slot,
    };
    let mut reply = Reply::new(Body::endless(|sink| stream.run(sink)));
    let headers = reply.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    // A buffering proxy would delay the events.
    headers.insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    headers.insert(POSITION, position.into());
    Ok(reply)
}

/// The models and the encoding of the stream.
fn named(face: &Restconf, request: &RestconfRequest) -> Result<(Vec<usize>, Encoding)> {
    let text =
        |index| request.call.param(index).map_err(|problem| error_format::from_problem(&problem));
    let (name, encoding) = (text(0)?, text(1)?);
    let encoding = match &*encoding {
        "json" => Encoding::Json,
        "xml" => Encoding::Xml,
        other => return Err(nothing(format!("unknown encoding '{other}'; use json or xml"))),
    };
    let is_named = |(_, model): &(usize, &Arc<dyn YangModel>)| {
        let own = model.modules().first().is_some_and(|own| *own == name);
        model.stream().is_some() && (own || name == ALL_EVENTS)
    };
    let models: Vec<usize> =
        face.models.iter().enumerate().filter(is_named).map(|(index, _)| index).collect();
    if models.is_empty() && name != ALL_EVENTS {
        let message = format!("unknown stream '{name}'; restconf-state lists the streams");
        return Err(nothing(message));
    }
    Ok((models, encoding))
}

fn nothing(message: String) -> RestconfError {
    invalid_value(message).with_status(StatusCode::NOT_FOUND)
}

/// Checks that an Accept header, if present, allows server-sent events.
fn ensure_accepts_events(request: &RestconfRequest) -> Result<()> {
    let mut named = request.headers().get_all(ACCEPT).iter().peekable();
    let fits = |value: &HeaderValue| {
        let text = String::from_utf8_lossy(value.as_bytes()).to_ascii_lowercase();
        ["text/event-stream", "text/*", "*/*"].iter().any(|known| text.contains(known))
    };
    if named.peek().is_none() || named.any(fits) {
        return Ok(());
    }
    let message = "a stream is available as text/event-stream only";
    Err(invalid_value(message).with_status(StatusCode::NOT_ACCEPTABLE))
}

/// The start and the end of the requested events.
fn times(query: &RestconfParams, now_ms: u64) -> Result<(Option<u64>, Option<u64>)> {
    let read = |text: &Option<String>| {
        text.as_deref().map(time::read_rfc3339).transpose().map_err(invalid_value)
    };
    let (start, stop) = (read(&query.start_time)?, read(&query.stop_time)?);
    if start.is_some_and(|start| start > now_ms) {
        return Err(invalid_value("start-time is in the future"));
    }
    if let (Some(start), Some(stop)) = (start, stop)
        && stop < start
    {
        return Err(invalid_value("stop-time is before start-time"));
    }
    Ok((start, stop))
}

/// The position up to which the client has all events.
fn last_event(request: &RestconfRequest, end: u64) -> Result<Option<u64>> {
    let Some(text) = request.headers().get(LAST_EVENT_ID) else { return Ok(None) };
    let text = String::from_utf8_lossy(text.as_bytes());
    let seen = text.trim().parse::<u64>();
    let seen =
        seen.map_err(|_| invalid_value(format!("last-event-id is '{text}'; it must be a number")))?;
    if seen > end {
        return Err(invalid_value(format!(
            "last-event-id is {seen}, but the journal ends at {end}"
        )));
    }
    Ok(Some(seen))
}

/// Updates the time of the oldest retained event, before `restconf-state` is read.
pub(super) async fn update_log_start(face: &Arc<Restconf>, target: &InstancePath) {
    let module = face.schema.module_named(MONITORING);
    let about = target.steps.first().map(|first| face.schema.node(first.node).module);
    if about.is_some() && about != module {
        return;
    }
    let last = face.handle.feed().tail().seq;
    // On an error the old value stays.
    if let Ok(Some(ms)) = replay::oldest_time(&face.handle, last).await {
        face.builtin.set_log_start(ms);
    }
}
