//! One watcher: from where it left off through the journal to the present, and then as things happen.

use std::time::Duration;

use allod_core::event::projection::Projection;
use allod_edge::{BodyWriter, Identity, StreamError};
use allod_engine::{FeedRecord, Handle, JournalReadError};
use bytes::BytesMut;
use tokio::time::{Instant, sleep_until};

use super::hub::{Pending, Subscription};
use super::{WatcherSlot, message};

/// How much of the journal is read at a time.
const PIECE_BYTES: usize = 128 << 10;

/// How much is kept for a watcher that catches up. What does not fit is read again when it has been sent.
const SENT_BYTES: usize = 256 << 10;

pub(super) struct Watcher {
    pub handle: Handle,
    pub identity: Identity,
    pub heartbeat: Duration,
    pub subscription: Subscription,
    /// Everything up to this position has been sent, or was not wanted.
    pub seen: u64,
    /// Where the journal ended when it was asked. Once that is seen, it has caught up, and is told.
    pub present: u64,
    /// The record to read from, when it is known already.
    pub record: Option<u64>,
    pub slot: WatcherSlot,
}

impl Watcher {
    /// Sends until the client has enough, the server stops, or what is needed is gone. The client goes on with the id of
    /// the last message that it got.
    pub(super) async fn run(mut self, sink: BodyWriter) -> Result<(), StreamError> {
        let mut greeted = false;
        let mut silent_until = Instant::now() + self.heartbeat;
        while !self.identity.has_lapsed() {
            let found = {
                // Enabled before looking, so that what comes after the look wakes it.
                let news = match greeted {
                    true => self.subscription.news(),
                    false => self.subscription.progress(),
                };
                let mut news = std::pin::pin!(news.notified());
                news.as_mut().enable();
                let found = self.subscription.after(&mut self.seen);
                let nothing = matches!(&found, Pending::Messages(messages) if messages.is_empty());
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
                Pending::Closed => break,
                Pending::Behind => {
                    self.slot.meter.rereads.increment(1);
                    // Boxed: a watcher that only waits need not have room for it.
                    if Box::pin(self.catch_up(&sink)).await.is_err() {
                        break;
                    }
                }
                Pending::Messages(messages) if messages.is_empty() => {
                    greeted |= self.seen >= self.present;
                    sink.send(message::heartbeat(self.seen)).await;
                }
                Pending::Messages(messages) => {
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

    /// Sends from the journal until the group has the rest. An error: what is needed cannot be had.
    async fn catch_up(&mut self, sink: &BodyWriter) -> Result<(), JournalReadError> {
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

    /// Writes the messages of these records, as far as they fit; says which record comes next.
    fn pick(&mut self, records: &[FeedRecord], out: &mut BytesMut) -> u64 {
        let (filter, hub) = (self.subscription.filter(), self.subscription.hub());
        let kind_of = |pool: &str| hub.kind_of(pool);
        let picks = |event: &&_| Projection::of(event).is_some_and(|about| filter.picks(&about));
        let mut count = 0;
        for record in records {
            for (position, entry) in record.changes() {
                if position <= self.seen {
                    continue;
                }
                let events = entry.events.iter().filter(picks);
                if let Some(message) = message::change(position, entry.at_ms, events, &kind_of) {
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
