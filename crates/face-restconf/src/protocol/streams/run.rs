//! One event stream: first from the journal, then live.

use std::sync::Arc;
use std::time::Duration;

use allod_edge::{Identity, StreamError, StreamWriter};
use allod_engine::{Feed, FeedRecord};
use tokio::time::{Instant, sleep, sleep_until};

use super::filter::NotificationFilter;
use super::rendered::{RenderedEvent, RenderedRecord};
use super::{StreamSlot, message};
use crate::codec::Encoding;
use crate::protocol::{Restconf, errors};

/// How much of the journal is read at a time.
const PIECE_BYTES: usize = 128 << 10;

/// How long to collect events after a record without wanted ones.
const MOMENT: Duration = Duration::from_millis(5);

pub(super) struct EventStream {
    pub face: Arc<Restconf>,
    /// The indexes of its models.
    pub models: Vec<usize>,
    pub encoding: Encoding,
    pub filter: Option<NotificationFilter>,
    pub start_ms: Option<u64>,
    pub stop_ms: Option<u64>,
    pub feed: Feed,
    /// The last record that was sent.
    pub record: u64,
    /// The client received everything up to this position on another connection.
    pub seen: u64,
    pub identity: Identity,
    pub slot: StreamSlot,
}

impl EventStream {
    /// Sends until the client disconnects, the server stops, or `stop-time` is over. The client can resume with the id of
    /// the last event.
    pub(super) async fn run(mut self, sink: StreamWriter) -> Result<(), StreamError> {
        let heartbeat = Duration::from_millis(self.face.settings.stream_heartbeat_ms);
        // The first time that there are no more events, send a comment at once.
        let mut greeted = false;
        let mut silent_until = Instant::now() + heartbeat;
        while !self.identity.has_lapsed() {
            let (records, live) = match self.records().await {
                Ok(found) => found,
                Err(what) => {
                    sink.send(message::comment(&format!("error: {what}"))).await;
                    break;
                }
            };
            let mut out = Vec::new();
            for record in &records {
                let rendered = match live {
                    true => self.face.streams.newest.of(&self.face, record),
                    false => Arc::new(RenderedRecord::new(&self.face, record)),
                };
                self.write(&rendered, &mut out);
                self.record = record.tail.seq;
            }
            if !out.is_empty() {
                sink.send(out).await;
                silent_until = Instant::now() + heartbeat;
            } else if live && !records.is_empty() {
                // None of it was wanted: collect more before the next look.
                sleep(MOMENT).await;
            }
            if !records.is_empty() {
                continue;
            }
            if self.is_over() {
                break;
            }
            if !greeted || Instant::now() >= silent_until {
                greeted = true;
                sink.send(message::comment("nothing new")).await;
                silent_until = Instant::now() + heartbeat;
                continue;
            }
            let wake = silent_until.min(self.end());
            tokio::select! {
                more = self.feed.wait(self.record) => if more.is_err() { break },
                () = sleep_until(wake) => {}
            }
        }
        drop(self.slot);
        Ok(())
    }

    /// The next records (empty: none yet), and whether they are live. An error says why the journal cannot be read.
    async fn records(&self) -> Result<(Vec<Arc<FeedRecord>>, bool), String> {
        if let Ok(records) = self.feed.after(self.record) {
            return Ok((records, true));
        }
        match self.face.handle.read_journal(self.record + 1, PIECE_BYTES).await {
            Ok(records) => Ok((records.into_iter().map(Arc::new).collect(), false)),
            Err(unread) => Err(errors::unread(&unread).message),
        }
    }

    fn write(&self, rendered: &RenderedRecord, out: &mut Vec<u8>) {
        for entry in &rendered.entries {
            let early = self.start_ms.is_some_and(|start| entry.at_ms < start);
            let late = self.stop_ms.is_some_and(|stop| entry.at_ms > stop);
            if entry.position <= self.seen || early || late {
                continue;
            }
            let wanted: Vec<&RenderedEvent> =
                entry.events.iter().filter(|event| self.wants(event)).collect();
            for (n, event) in wanted.iter().enumerate() {
                // A client that resumes from an id has everything up to that position, so only the last event of an entry
                // has one.
                if n + 1 == wanted.len() {
                    message::id(entry.position, out);
                }
                out.extend_from_slice(event.text(&self.face, self.encoding, entry.at_ms));
            }
        }
    }

    fn wants(&self, event: &RenderedEvent) -> bool {
        self.models.contains(&event.model)
            && self.filter.as_ref().is_none_or(|filter| filter.selects(&event.node))
    }

    /// Whether `stop-time` is over.
    fn is_over(&self) -> bool {
        self.stop_ms.is_some_and(|stop| self.face.handle.status().now_ms > stop)
    }

    /// When to check for `stop-time`.
    fn end(&self) -> Instant {
        let far = Instant::now() + Duration::from_secs(3600);
        let Some(stop) = self.stop_ms else { return far };
        let left = stop.saturating_sub(self.face.handle.status().now_ms) + 1;
        (Instant::now() + Duration::from_millis(left.min(3_600_000))).min(far)
    }
}
