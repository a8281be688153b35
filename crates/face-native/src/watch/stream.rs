//! One watcher: it catches up from the journal and then follows the hub.

use std::time::Duration;

use allod_core::event::projection::Projection;
use allod_edge::{Identity, StreamError, StreamWriter};
use allod_engine::{FeedRecord, Handle, JournalReadError};
use bytes::BytesMut;
use tokio::time::{Instant, sleep_until};

use super::hub::{GroupMessages, Subscription};
use super::{WatcherSlot, message};

/// How much of the journal is read at a time.
const PIECE_BYTES: usize = 128 << 10;

/// How much is buffered for a watcher that catches up; the rest is read after that has been sent.
const SENT_BYTES: usize = 256 << 10;

pub(super) struct Watcher {
    pub handle: Handle,
    pub identity: Identity,
    pub heartbeat: Duration,
    pub subscription: Subscription,
    /// Everything up to this position has been sent or does not match.
    pub seen: u64,
    /// The end of the journal when the watcher started. A heartbeat says when the watcher has caught up with it.
    pub present: u64,
    /// The record to read from, if already known.
    pub record: Option<u64>,
    pub slot: WatcherSlot,
}

impl Watcher {
    /// Sends until the client disconnects, the server stops, or the journal has been trimmed too far. The client can resume
    /// from the id of its last event.
    pub(super) async fn run(mut self, sink: StreamWriter) -> Result<(), StreamError> {
        let mut greeted = false;
        let mut silent_until = Instant::now() + self.heartbeat;
        while !self.identity.has_lapsed() {
            let found = {
                // Enabled before the check, so that later messages wake the watcher.
                let news = match greeted {
                    true => self.subscription.news(),
                    false => self.subscription.progress(),
                };
                let mut news = std::pin::pin!(news.notified());
                news.as_mut().enable();
                let found = self.subscription.after(&mut self.seen);
                let nothing =
                    matches!(&found, GroupMessages::Messages(messages) if messages.is_empty());
                let wait = greeted || self.seen < self.present;
                if nothing && wait && Instant::now() < silent_until {
                    tokio::select! {
                        () = news => {}
                        () = sleep_until(silent_until) => {}
                    }
                    continue;
                }
                found
            };
            match found {
                GroupMessages::Closed => break,
                GroupMessages::Behind => {
                    self.slot.meter.rereads.increment(1);
                    // Boxed, so that an idle watcher's future stays small.
                    if Box::pin(self.catch_up(&sink)).await.is_err() {
                        break;
                    }
                }
                GroupMessages::Messages(messages) if messages.is_empty() => {
                    greeted |= self.seen >= self.present;
                    sink.send(message::heartbeat(self.seen)).await;
                }
                GroupMessages::Messages(messages) => {
                    self.slot.meter.messages.increment(messages.len() as u64);
                    for message in messages {
                        sink.send(message).await;
                    }
                }
            }
            silent_until = Instant::now() + self.heartbeat;
        }
        Ok(())
    }

    /// Sends from the journal until the group has the rest.
    async fn catch_up(&mut self, sink: &StreamWriter) -> Result<(), JournalReadError> {
        let mut next = match self.record.take() {
            Some(record) => record,
            None => self.handle.record_after(self.seen).await?,
        };
        let mut silent_until = Instant::now() + self.heartbeat;
        while !self.subscription.has_after(self.seen) && !self.identity.has_lapsed() {
            let records = self.handle.read_journal(next, PIECE_BYTES).await?;
            if records.is_empty() {
                break;
            }
            let mut out = BytesMut::new();
            next = self.pick(&records, &mut out);
            drop(records);
            if !out.is_empty() {
                sink.send(out).await;
            } else if Instant::now() >= silent_until {
                sink.send(message::heartbeat(self.seen)).await;
            } else {
                continue;
            }
            silent_until = Instant::now() + self.heartbeat;
        }
        Ok(())
    }

    /// Writes the messages of these records up to the size limit; returns the next record.
    fn pick(&mut self, records: &[FeedRecord], out: &mut BytesMut) -> u64 {
        let (filter, hub) = (self.subscription.filter(), self.subscription.hub());
        let kind_of = |pool: &str| hub.kind_of(pool);
        let picks =
            |event: &&_| Projection::of(event).is_some_and(|subject| filter.picks(&subject));
        let mut count = 0;
        for record in records {
            for (position, entry) in record.changes() {
                if position <= self.seen {
                    continue;
                }
                let events = entry.events.iter().filter(picks);
                let message =
                    message::change(position, entry.at_ms, events, &kind_of, filter.reasons());
                if let Some(message) = message {
                    out.extend_from_slice(&message);
                    count += 1;
                }
                self.seen = position;
                if out.len() >= SENT_BYTES {
                    self.slot.meter.messages.increment(count);
                    return record.tail.seq;
                }
            }
            self.seen = self.seen.max(record.tail.position);
        }
        self.slot.meter.messages.increment(count);
        records.last().map_or(0, |record| record.tail.seq + 1)
    }
}
