//! The feed: the records that have become durable most lately, for whoever lives from them.
//!
//! The writer leaves each record here when it is committed, its own and those of others. A listener asks for what comes
//! after the record that it knows, and waits when there is nothing. What is kept is bounded in bytes; who falls behind
//! reads the journal (`reader`). While nobody listens nothing is kept, and the writer pays for a lock that nobody else
//! takes.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use allod_core::event::Event;
use allod_journal::Tail;
use allod_record::{Cause, Entry, Item};
use parking_lot::{Condvar, Mutex};
use tokio::sync::watch;

use crate::handle::{EngineError, SharedState};

/// One durable record and what it says. Entry `n` stands at position `first_position + n`, and the last one at
/// `tail.position`. An entry without events is a position that changed nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeedRecord {
    /// The journal's end after this record.
    pub tail: Tail,
    pub first_position: u64,
    pub entries: Vec<Entry>,
}

impl FeedRecord {
    pub(crate) fn new(tail: Tail, entries: Vec<Entry>) -> FeedRecord {
        let first_position = (tail.position + 1).saturating_sub(entries.len() as u64);
        FeedRecord { tail, first_position, entries }
    }

    /// From a record that was read. A raised level takes a position as an entry does.
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

    /// About what it takes in memory. What the texts of an event take is guessed: to look at each would cost more than
    /// to be wrong.
    fn bytes(&self) -> usize {
        const TEXTS: usize = 96;
        let events: usize = self.entries.iter().map(|entry| entry.events.len()).sum();
        self.entries.len() * size_of::<Entry>() + events * (size_of::<Event>() + TEXTS)
    }
}

/// What was asked for is no longer in the feed: read the journal up to record `oldest`, then go on here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lagged {
    pub oldest: u64,
}

/// Where the writer leaves records.
#[derive(Debug)]
pub(crate) struct Ring {
    inner: Mutex<RingState>,
    filled: Condvar,
    /// The number of the last record, for those who wait without a thread.
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

    /// The journal has been replayed up to here.
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

    /// A record has become durable, and everybody can see what it changed.
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

    /// There will be no more.
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

    /// Whether there is something after this record; an error when there never will be.
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
    /// Listens from now on, until it is dropped.
    pub fn new(shared: Arc<SharedState>) -> Feed {
        shared.feed.inner.lock().listeners += 1;
        Feed(shared)
    }

    fn ring(&self) -> &Ring {
        &self.0.feed
    }

    /// The newest record that is or was here.
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

    /// Waits until there is a record after this one. An error says that there will be none.
    pub async fn wait(&self, seq: u64) -> Result<(), EngineError> {
        let mut last = self.ring().last.subscribe();
        while !self.ring().has_after(seq)? {
            last.changed().await.map_err(|_| EngineError::Stopping)?;
        }
        Ok(())
    }

    /// The same on a thread that has nothing else to do; says whether there is one before the time is over.
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
