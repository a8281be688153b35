//! One event stream: from where it begins through the journal to the present, and then as things happen.

use std::sync::Arc;
use std::time::Duration;

use allod_edge::{Broken, Identity, Sink};
use allod_engine::{Feed, Record};
use tokio::time::{Instant, sleep_until};

use super::filter::Filter;
use super::{Place, message};
use crate::codec::Format;
use crate::model::Model;
use crate::protocol::{Restconf, errors};
use crate::tree::Node;

/// How much of the journal is read at a time.
const PIECE_BYTES: usize = 128 << 10;

pub(super) struct Stream {
    pub face: Arc<Restconf>,
    /// Whose notifications it has.
    pub models: Vec<Arc<dyn Model>>,
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
    pub(super) async fn run(mut self, sink: Sink) -> Result<(), Broken> {
        let heartbeat = Duration::from_millis(self.face.settings.stream_heartbeat_ms);
        // The first time that there is nothing to tell, that is told at once.
        let mut silent_until = Instant::now();
        while !self.identity.has_lapsed() {
            let records = match self.records().await {
                Ok(records) => records,
                Err(what) => {
                    sink.send(message::comment(&format!("error: {what}"))).await;
                    break;
                }
            };
            let mut out = Vec::new();
            for record in &records {
                self.write(record, &mut out);
                self.record = record.tail.seq;
            }
            if !out.is_empty() {
                sink.send(out).await;
                silent_until = Instant::now() + heartbeat;
            }
            if !records.is_empty() {
                continue;
            }
            if self.is_over() {
                break;
            }
            if Instant::now() >= silent_until {
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

    /// What comes next; nothing, when everything has been told. An error says why there is no more to be had.
    async fn records(&self) -> Result<Vec<Arc<Record>>, String> {
        if let Ok(records) = self.feed.after(self.record) {
            return Ok(records);
        }
        let records = self.face.handle.read_journal(self.record + 1, PIECE_BYTES).await;
        match records {
            Ok(records) => Ok(records.into_iter().map(Arc::new).collect()),
            Err(unread) => Err(errors::unread(&unread).message),
        }
    }

    fn write(&self, record: &Record, out: &mut Vec<u8>) {
        for (position, entry) in record.changes() {
            let early = self.start_ms.is_some_and(|start| entry.at_ms < start);
            let late = self.stop_ms.is_some_and(|stop| entry.at_ms > stop);
            if position <= self.seen || early || late {
                continue;
            }
            let mut nodes: Vec<Node> = Vec::new();
            for event in &entry.events {
                nodes.extend(self.models.iter().flat_map(|model| model.notifications(event)));
            }
            nodes.retain(|node| self.filter.as_ref().is_none_or(|filter| filter.picks(node)));
            for (n, node) in nodes.iter().enumerate() {
                // Who goes on from an id has everything up to its position: only the last event of an entry says so.
                let id = (n + 1 == nodes.len()).then_some(position);
                let schema = &self.face.schema;
                message::write(schema, self.format, entry.at_ms, id, node, out);
            }
        }
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
