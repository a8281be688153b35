//! Event streams: `streams/<name>/json` and `/xml`, as server-sent events.
//!
//! A stream begins now, at a time in the past (`start-time`), or after the last event that a client got before (its
//! `Last-Event-ID`, which is a position of the journal); from there on nothing is left out.
//!
//! - `filter`: which notifications are wanted
//! - `replay`: where in the journal a time is
//! - `run`: one stream at work
//! - `told`: what a record has to tell, made once for all streams
//! - `message`: what is sent

mod filter;
mod message;
mod replay;
mod run;
mod told;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use allod_edge::time;
use allod_edge::{Body, Reply};
use http::header::{ACCEPT, CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderName, HeaderValue, StatusCode};
use metrics::{Gauge, describe_gauge, gauge};

use super::ask::Ask;
use super::builtin::MONITORING;
use super::errors::{self, POSITION};
use super::{EVERYTHING, Restconf, error_format};
use crate::codec::Format;
use crate::fault::{Fault, Tag};
use crate::model::{Model, Target};
use crate::query::{Query, Use};
use filter::Filter;
use run::Stream;
use told::Newest;

const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// What all streams share: how many are open, and what was told last.
pub(super) struct Streams {
    open: Arc<AtomicU64>,
    newest: Newest,
    meter: Gauge,
}

/// Counts a stream while it is there.
pub(super) struct Place {
    open: Arc<AtomicU64>,
    meter: Gauge,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.open.fetch_sub(1, Ordering::Relaxed);
        self.meter.decrement(1);
    }
}

impl Streams {
    pub(super) fn new() -> Streams {
        describe_gauge!("allod_restconf_streams", "Open event streams of RESTCONF");
        let (open, newest) = (Arc::default(), Newest::default());
        Streams { open, newest, meter: gauge!("allod_restconf_streams") }
    }

    fn admit(&self, max: u64) -> Result<Place, Fault> {
        let before = self.open.fetch_add(1, Ordering::Relaxed);
        self.meter.increment(1);
        // It counts from here on, and no longer when it is let go, which is at once if there is no room for it.
        let place = Place { open: self.open.clone(), meter: self.meter.clone() };
        if before < max {
            return Ok(place);
        }
        let message = format!("restconf_streams_max is {max}, and all are in use");
        Err(Fault::application(Tag::ResourceDenied, message)
            .with_status(StatusCode::SERVICE_UNAVAILABLE)
            .retry_after(5))
    }
}

pub(super) async fn get(face: &Arc<Restconf>, ask: &Ask) -> Result<Reply, Fault> {
    let (models, format) = named(face, ask)?;
    takes_events(ask)?;
    let query = Query::parse(ask.query(), Use::Stream)?;
    let filter =
        query.filter.as_deref().map(|text| Filter::parse(&face.schema, text)).transpose()?;
    let position = face.look(|snapshot| Ok(snapshot.at.position))?;
    let now_ms = face.handle.status().now_ms;
    let (start_ms, stop_ms) = times(&query, now_ms)?;
    let place = face.streams.admit(face.settings.restconf_streams_max)?;
    // From here on whatever becomes durable is kept for it, or it is told that it has to read the journal.
    let feed = face.handle.feed();
    let last = feed.tail().seq;
    let unread = |unread| errors::unread(&unread);
    let (record, seen) = match (last_event(ask, position)?, start_ms) {
        (Some(seen), _) => (face.handle.record_after(seen).await.map_err(unread)?, seen),
        (None, Some(ms)) => (replay::record_at(&face.handle, last, ms).await.map_err(unread)?, 0),
        (None, None) => (last + 1, 0),
    };
    let stream = Stream {
        face: face.clone(),
        models,
        format,
        filter,
        start_ms,
        stop_ms,
        feed,
        record: record.saturating_sub(1),
        seen,
        identity: ask.call.identity().clone(),
        place,
    };
    let mut reply = Reply::new(Body::endless(|sink| stream.run(sink)));
    let headers = reply.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    // A proxy that collects before it sends would hold back what happens.
    headers.insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    headers.insert(POSITION, position.into());
    Ok(reply)
}

/// Whose events, and in which form.
fn named(face: &Restconf, ask: &Ask) -> Result<(Vec<usize>, Format), Fault> {
    let text = |index| ask.call.param(index).map_err(|problem| error_format::of_problem(&problem));
    let (name, encoding) = (text(0)?, text(1)?);
    let format = match &*encoding {
        "json" => Format::Json,
        "xml" => Format::Xml,
        other => return Err(nothing(format!("streams are in json and in xml, not in '{other}'"))),
    };
    let is_named = |(_, model): &(usize, &Arc<dyn Model>)| {
        let own = model.modules().first().is_some_and(|own| *own == name);
        model.stream().is_some() && (own || name == EVERYTHING)
    };
    let models: Vec<usize> =
        face.models.iter().enumerate().filter(is_named).map(|(index, _)| index).collect();
    if models.is_empty() && name != EVERYTHING {
        let message = format!("there is no stream '{name}'; restconf-state says which there are");
        return Err(nothing(message));
    }
    Ok((models, format))
}

fn nothing(message: String) -> Fault {
    Fault::protocol(Tag::InvalidValue, message).with_status(StatusCode::NOT_FOUND)
}

/// Whoever says what they take has to take events.
fn takes_events(ask: &Ask) -> Result<(), Fault> {
    let mut named = ask.headers().get_all(ACCEPT).iter().peekable();
    let fits = |value: &HeaderValue| {
        let text = String::from_utf8_lossy(value.as_bytes()).to_ascii_lowercase();
        ["text/event-stream", "text/*", "*/*"].iter().any(|known| text.contains(known))
    };
    if named.peek().is_none() || named.any(fits) {
        return Ok(());
    }
    let message = "a stream can only be had as text/event-stream";
    Err(Fault::protocol(Tag::InvalidValue, message).with_status(StatusCode::NOT_ACCEPTABLE))
}

/// When the events that are wanted begin and end.
fn times(query: &Query, now_ms: u64) -> Result<(Option<u64>, Option<u64>), Fault> {
    let invalid = |message: String| Fault::protocol(Tag::InvalidValue, message);
    let read = |text: &Option<String>| {
        text.as_deref().map(time::read_rfc3339).transpose().map_err(invalid)
    };
    let (start, stop) = (read(&query.start_time)?, read(&query.stop_time)?);
    if start.is_some_and(|start| start > now_ms) {
        return Err(invalid("start-time is in the future".to_owned()));
    }
    if let (Some(start), Some(stop)) = (start, stop)
        && stop < start
    {
        return Err(invalid("stop-time is before start-time".to_owned()));
    }
    Ok((start, stop))
}

/// The position up to which the client has everything.
fn last_event(ask: &Ask, end: u64) -> Result<Option<u64>, Fault> {
    let invalid = |message: String| Fault::protocol(Tag::InvalidValue, message);
    let Some(text) = ask.headers().get(LAST_EVENT_ID) else { return Ok(None) };
    let text = String::from_utf8_lossy(text.as_bytes());
    let seen = text.trim().parse::<u64>();
    let seen =
        seen.map_err(|_| invalid(format!("last-event-id is '{text}'; a number is expected")))?;
    if seen > end {
        return Err(invalid(format!(
            "position {seen} is asked for, and the journal ends at {end}"
        )));
    }
    Ok(Some(seen))
}

/// Before the state of the streams is read: from when on their events are kept.
pub(super) async fn note_log(face: &Arc<Restconf>, target: &Target) {
    let module = face.schema.module_named(MONITORING);
    let about = target.steps.first().map(|first| face.schema.node(first.node).module);
    if about.is_some() && about != module {
        return;
    }
    let last = face.handle.feed().tail().seq;
    // Where it cannot be found out, nothing is said of it.
    if let Ok(Some(ms)) = replay::oldest_time(&face.handle, last).await {
        face.builtin.log_begins(ms);
    }
}
