//! The feed: a ring of the newest committed records, for watchers and the history index.
//!
//! The writer adds each committed record, its own and those of other servers. A listener asks for the records after the
//! last one that it knows, and waits if there is none. The ring is bounded in bytes; a listener that lags behind reads the
//! journal (`reader`). Without listeners, nothing is stored.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use allod_core::event::Event;
use allod_journal::{RecordFrame, Tail};
use allod_record::{Cause, Entry, Item};
use parking_lot::{Condvar, Mutex};
use tokio::sync::watch;

use crate::handle::{EngineError, SharedState};
use crate::replay::{Halt, decode_record};

/// One committed record, decoded. Entry `n` has position `first_position + n`; the last one has `tail.position`. An entry
/// without events is a position at which nothing changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeedRecord {
    /// The tail of the journal after this record.
    pub tail: Tail,
    pub first_position: u64,
    pub entries: Vec<Entry>,
}

impl FeedRecord {
    pub(crate) fn new(tail: Tail, entries: Vec<Entry>) -> FeedRecord {
        let first_position = (tail.position + 1).saturating_sub(entries.len() as u64);
        FeedRecord { tail, first_position, entries }
    }

    /// Decodes a stored record.
    pub(crate) fn decode(frame: &RecordFrame) -> Result<FeedRecord, Halt> {
        let items = decode_record(frame)?;
        Ok(FeedRecord::of_items(frame.tail(frame.hash()), frame.at_ms, items))
    }

    /// From the items of a stored record. A raised level has a position like an entry.
    pub(crate) fn of_items(tail: Tail, at_ms: u64, items: Vec<Item>) -> FeedRecord {
        let entry = |item| match item {
            Item::Entry(entry) => Some(entry),
            Item::Level { .. } => Some(Entry { at_ms, cause: Cause::Tick, events: Vec::new() }),
            Item::Epoch { .. } => None,
        };
        FeedRecord::new(tail, items.into_iter().filter_map(entry).collect())
    }

    /// Each entry with its position.
    pub fn changes(&self) -> impl Iterator<Item = (u64, &Entry)> {
        (self.first_position..).zip(&self.entries)
    }

    /// About its size in memory. The size of an event's texts is estimated, because measuring costs more than it is worth.
    fn bytes(&self) -> usize {
        const TEXTS: usize = 96;
        let events: usize = self.entries.iter().map(|entry| entry.events.len()).sum();
        self.entries.len() * size_of::<Entry>() + events * (size_of::<Event>() + TEXTS)
    }
}

/// The requested records are no longer in the feed: read the journal up to record `oldest`, then continue with the feed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lagged {
    pub oldest: u64,
}

/// The writer's side of the feed.
#[derive(Debug)]
pub(crate) struct Ring {
    inner: Mutex<RingState>,
    filled: Condvar,
    /// The number of the last record, for asynchronous waiters.
    last: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct RingState {
    records: VecDeque<Arc<FeedRecord>>,
    bytes: usize,
    bytes_max: usize,
    tail: Tail,
    listeners: usize,
    closed: bool,
}

impl Ring {
    pub fn new() -> Ring {
        Ring { inner: Mutex::default(), filled: Condvar::new(), last: watch::Sender::new(0) }
    }

    /// Starts at the end of the replayed journal.
    pub fn start(&self, tail: &Tail) {
        let mut inner = self.inner.lock();
        inner.records.clear();
        inner.bytes = 0;
        inner.tail = *tail;
        drop(inner);
        self.wake(tail.seq);
    }

    pub fn tail(&self) -> Tail {
        self.inner.lock().tail
    }

    pub fn limit(&self, bytes_max: usize) {
        self.inner.lock().bytes_max = bytes_max;
    }

    /// Adds a record that is committed and visible to readers.
    pub fn push(&self, tail: &Tail, entries: Vec<Entry>) {
        let mut inner = self.inner.lock();
        inner.tail = *tail;
        if inner.listeners == 0 {
            return;
        }
        let record = Arc::new(FeedRecord::new(*tail, entries));
        inner.bytes += record.bytes();
        inner.records.push_back(record);
        let mut old = Vec::new();
        while inner.bytes > inner.bytes_max && inner.records.len() > 1 {
            let Some(record) = inner.records.pop_front() else { break };
            inner.bytes -= record.bytes();
            old.push(record);
        }
        drop(inner);
        self.wake(tail.seq);
        drop(old);
    }

    /// Ends the feed; waiters get `Stopping`.
    pub fn close(&self) {
        let mut inner = self.inner.lock();
        inner.closed = true;
        let last = inner.tail.seq;
        drop(inner);
        self.wake(last);
    }

    fn wake(&self, seq: u64) {
        self.filled.notify_all();
        self.last.send_replace(seq);
    }

    /// Whether there is a record after this one; an error if the feed has ended.
    fn has_after(&self, seq: u64) -> Result<bool, EngineError> {
        let inner = self.inner.lock();
        if inner.tail.seq > seq {
            return Ok(true);
        }
        if inner.closed { Err(EngineError::Stopping) } else { Ok(false) }
    }
}

/// A listener.
#[derive(Debug)]
pub struct Feed(Arc<SharedState>);

impl Feed {
    /// Starts listening; dropping it stops.
    pub fn new(shared: Arc<SharedState>) -> Feed {
        shared.feed.inner.lock().listeners += 1;
        Feed(shared)
    }

    fn ring(&self) -> &Ring {
        &self.0.feed
    }

    /// The newest committed record.
    pub fn tail(&self) -> Tail {
        self.ring().tail()
    }

    /// All records after this one.
    pub fn after(&self, seq: u64) -> Result<Vec<Arc<FeedRecord>>, Lagged> {
        let inner = self.ring().inner.lock();
        let missing = inner.tail.seq.saturating_sub(seq);
        let here = inner.records.len() as u64;
        if missing > here {
            return Err(Lagged { oldest: inner.tail.seq + 1 - here });
        }
        Ok(inner.records.iter().skip((here - missing) as usize).cloned().collect())
    }

    /// Waits until there is a record after this one. An error if the feed has ended.
    pub async fn wait(&self, seq: u64) -> Result<(), EngineError> {
        let mut last = self.ring().last.subscribe();
        while !self.ring().has_after(seq)? {
            last.changed().await.map_err(|_| EngineError::Stopping)?;
        }
        Ok(())
    }

    /// Like `wait`, blocking, at most `wait_max`. Returns whether there is a record.
    pub fn wait_blocking(&self, seq: u64, wait_max: Duration) -> Result<bool, EngineError> {
        let mut inner = self.ring().inner.lock();
        if inner.tail.seq <= seq && !inner.closed {
            self.ring().filled.wait_for(&mut inner, wait_max);
        }
        drop(inner);
        self.ring().has_after(seq)
    }
}

impl Clone for Feed {
    fn clone(&self) -> Feed {
        Feed::new(self.0.clone())
    }
}

impl Drop for Feed {
    fn drop(&mut self) {
        let mut inner = self.ring().inner.lock();
        inner.listeners -= 1;
        if inner.listeners == 0 {
            inner.bytes = 0;
            let old = std::mem::take(&mut inner.records);
            drop(inner);
            drop(old);
        }
    }
}
