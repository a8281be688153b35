//! One event stream: from where it begins through the journal to the present, and then as things happen.

use std::sync::Arc;
use std::time::Duration;

use allod_edge::{BodyWriter, Identity, StreamError};
use allod_engine::{Feed, FeedRecord};
use tokio::time::{Instant, sleep, sleep_until};

use super::filter::Filter;
use super::told::{Event, Told};
use super::{Place, message};
use crate::codec::Format;
use crate::protocol::{Restconf, errors};

/// How much of the journal is read at a time.
const PIECE_BYTES: usize = 128 << 10;

/// How long events that nobody waits for are let come together.
const MOMENT: Duration = Duration::from_millis(5);

pub(super) struct Stream {
    pub face: Arc<Restconf>,
    /// Whose notifications it has, by their numbers.
    pub models: Vec<usize>,
    pub format: Format,
    pub filter: Option<Filter>,
    pub start_ms: Option<u64>,
    pub stop_ms: Option<u64>,
    pub feed: Feed,
    /// The last record that has been dealt with.
    pub record: u64,
    /// Everything up to this position was sent before, on another connection.
    pub seen: u64,
    pub identity: Identity,
    pub place: Place,
}

impl Stream {
    /// Sends until the client has enough, the server stops, or the time for which events are wanted is over. The client
    /// goes on with the id of the last event that it got.
    pub(super) async fn run(mut self, sink: BodyWriter) -> Result<(), StreamError> {
        let heartbeat = Duration::from_millis(self.face.settings.stream_heartbeat_ms);
        // The first time that there is nothing more to tell, that is told at once.
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
                let told = match live {
                    true => self.face.streams.newest.of(&self.face, record),
                    false => Arc::new(Told::new(&self.face, record)),
                };
                self.write(&told, &mut out);
                self.record = record.tail.seq;
            }
            if !out.is_empty() {
                sink.send(out).await;
                silent_until = Instant::now() + heartbeat;
            } else if live && !records.is_empty() {
                // Nothing of it was wanted, so what comes next can wait a moment for what comes after it.
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
        drop(self.place);
        Ok(())
    }

    /// What comes next; nothing, when everything has been told; and whether it is the newest there is. An error says why
    /// there is no more to be had.
    async fn records(&self) -> Result<(Vec<Arc<FeedRecord>>, bool), String> {
        if let Ok(records) = self.feed.after(self.record) {
            return Ok((records, true));
        }
        match self.face.handle.read_journal(self.record + 1, PIECE_BYTES).await {
            Ok(records) => Ok((records.into_iter().map(Arc::new).collect(), false)),
            Err(unread) => Err(errors::unread(&unread).message),
        }
    }

    fn write(&self, told: &Told, out: &mut Vec<u8>) {
        for entry in &told.entries {
            let early = self.start_ms.is_some_and(|start| entry.at_ms < start);
            let late = self.stop_ms.is_some_and(|stop| entry.at_ms > stop);
            if entry.position <= self.seen || early || late {
                continue;
            }
            let wanted: Vec<&Event> =
                entry.events.iter().filter(|event| self.wants(event)).collect();
            for (n, event) in wanted.iter().enumerate() {
                // Who goes on from an id has everything up to its position: only the last event of an entry says so.
                if n + 1 == wanted.len() {
                    message::id(entry.position, out);
                }
                out.extend_from_slice(event.text(&self.face, self.format, entry.at_ms));
            }
        }
    }

    fn wants(&self, event: &Event) -> bool {
        self.models.contains(&event.model)
            && self.filter.as_ref().is_none_or(|filter| filter.picks(&event.node))
    }

    /// Whether no event can come any more that is wanted.
    fn is_over(&self) -> bool {
        self.stop_ms.is_some_and(|stop| self.face.handle.status().now_ms > stop)
    }

    /// When it is worth looking whether it is over.
    fn end(&self) -> Instant {
        let far = Instant::now() + Duration::from_secs(3600);
        let Some(stop) = self.stop_ms else { return far };
        let left = stop.saturating_sub(self.face.handle.status().now_ms) + 1;
        (Instant::now() + Duration::from_millis(left.min(3_600_000))).min(far)
    }
}
