//! Requests that wait until an authority has answered (`Prefer: wait=N`).
//!
//! Each waiting request registers what it waits for. One task reads the feed while there are waiting requests, and wakes
//! those that an event is about. So a commit costs the same for any number of waiting requests, and a request that waits
//! costs nothing until its event or its time limit.

use std::sync::{Arc, Weak};
use std::time::Duration;

use allod_core::authority::event::AuthorityEvent;
use allod_core::capacity::Uuid;
use allod_core::event::Event;
use allod_engine::{Feed, FeedRecord, Handle};
use hashbrown::HashMap;
use metrics::{Gauge, describe_gauge, gauge};
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::Instant;

/// How much of the journal is read at a time after the feed was too fast.
const PIECE_BYTES: usize = 256 << 10;

/// The limits of waiting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WaitLimits {
    /// The longest time for which a request can ask to wait. A longer time is shortened to this.
    pub wait_ms_max: u64,
    /// Requests that wait at a time. Further ones are answered without waiting.
    pub waiters_max: u64,
}

impl Default for WaitLimits {
    fn default() -> WaitLimits {
        // With all watchers fewer than connections, so that they never take the last one.
        WaitLimits { wait_ms_max: 60_000, waiters_max: 3000 }
    }
}

/// What a request waits for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum WaitKey {
    /// A claim in a pool with an authority, by its reference.
    Claim(Uuid),
    /// A look-up, by its authority and name.
    LookUp(Arc<str>, Arc<str>),
    /// The reconciliation of an authority.
    Reconciliation(Arc<str>),
}

/// All waiting requests.
pub(crate) struct Waiters {
    handle: Handle,
    limits: WaitLimits,
    state: Mutex<WaitersState>,
    waiting: Gauge,
}

#[derive(Default)]
struct WaitersState {
    /// Each with a number of its own.
    by_key: HashMap<WaitKey, Vec<(u64, Arc<Notify>)>>,
    count: u64,
    next: u64,
    /// The task that reads the feed is running.
    running: bool,
    /// The server stops: further requests do not wait.
    stopped: bool,
}

/// A waiting request, until dropped.
pub(crate) struct Waiter {
    all: Arc<Waiters>,
    key: WaitKey,
    number: u64,
    news: Arc<Notify>,
    deadline: Instant,
}

impl Waiters {
    pub(crate) fn new(handle: Handle, limits: WaitLimits) -> Arc<Waiters> {
        describe_gauge!("allod_waiting_requests", "Requests that wait for an authority");
        let waiting = gauge!("allod_waiting_requests");
        Arc::new(Waiters { handle, limits, state: Mutex::default(), waiting })
    }

    pub(crate) fn limits(&self) -> WaitLimits {
        self.limits
    }

    /// Registers a request that waits for at most this time. `None`: it must not wait, because as many wait as are allowed,
    /// or the server stops. What it waits for must be read after this, so that no change in between is missed.
    pub(crate) fn join(self: &Arc<Waiters>, key: WaitKey, wait: Duration) -> Option<Waiter> {
        let wait = wait.min(Duration::from_millis(self.limits.wait_ms_max));
        let mut state = self.state.lock();
        if state.stopped || state.count >= self.limits.waiters_max || wait.is_zero() {
            return None;
        }
        if !state.running {
            state.running = true;
            let feed = self.handle.feed();
            let seq = feed.tail().seq;
            tokio::spawn(run(Arc::downgrade(self), feed, seq));
        }
        let (number, news) = (state.next, Arc::new(Notify::new()));
        state.next += 1;
        state.count += 1;
        state.by_key.entry(key.clone()).or_default().push((number, news.clone()));
        self.waiting.increment(1);
        let deadline = Instant::now() + wait;
        Some(Waiter { all: self.clone(), key, number, news, deadline })
    }

    /// The server stops: all waiting requests are answered with what is known now.
    pub(crate) fn stop(&self) {
        let mut state = self.state.lock();
        state.stopped = true;
        state.wake_all();
    }

    fn take(&self, record: &FeedRecord) {
        let state = self.state.lock();
        for (_, entry) in record.changes() {
            for event in &entry.events {
                let Some(key) = key_of(event) else { continue };
                for (_, news) in state.by_key.get(&key).into_iter().flatten() {
                    news.notify_one();
                }
            }
        }
    }

    /// Processes what the feed no longer has; returns the last record.
    async fn catch_up(&self, feed: &Feed, seq: u64) -> u64 {
        match self.handle.read_journal(seq + 1, PIECE_BYTES).await {
            Ok(records) => {
                records.iter().for_each(|record| self.take(record));
                records.last().map_or(seq, |record| record.tail.seq)
            }
            Err(unread) => {
                tracing::warn!(?unread, "cannot read the journal; waiting requests look again");
                let seq = feed.tail().seq;
                self.state.lock().wake_all();
                seq
            }
        }
    }

    /// Whether the task that reads the feed must end, because no request waits.
    fn is_done(&self) -> bool {
        let mut state = self.state.lock();
        state.running = state.count > 0;
        !state.running
    }
}

impl WaitersState {
    fn wake_all(&self) {
        self.by_key.values().flatten().for_each(|(_, news)| news.notify_one());
    }
}

/// Wakes waiting requests until there are none, or the feed ends.
async fn run(waiters: Weak<Waiters>, feed: Feed, mut seq: u64) {
    while feed.wait(seq).await.is_ok() {
        let Some(waiters) = waiters.upgrade() else { return };
        match feed.after(seq) {
            Ok(records) => {
                for record in &records {
                    waiters.take(record);
                    seq = record.tail.seq;
                }
            }
            Err(_) => seq = waiters.catch_up(&feed, seq).await,
        }
        if waiters.is_done() {
            return;
        }
    }
    if let Some(waiters) = waiters.upgrade() {
        waiters.stop();
    }
}

/// What an event is about, if requests can wait for it.
fn key_of(event: &Event) -> Option<WaitKey> {
    let Event::Authority(event) = event else { return None };
    match event {
        AuthorityEvent::Progressed(event) => Some(WaitKey::Claim(event.reference)),
        AuthorityEvent::Closed(event) => Some(WaitKey::Claim(event.reference)),
        AuthorityEvent::LookUpChanged(event) => {
            let look_up = &event.look_up;
            Some(WaitKey::LookUp(look_up.authority.clone(), look_up.key.clone()))
        }
        AuthorityEvent::LookUpChecked(event) => {
            Some(WaitKey::LookUp(event.authority.clone(), event.key.clone()))
        }
        AuthorityEvent::LookUpRemoved(event) => {
            Some(WaitKey::LookUp(event.authority.clone(), event.key.clone()))
        }
        AuthorityEvent::ReconciliationEnded(event) => {
            Some(WaitKey::Reconciliation(event.authority.clone()))
        }
        AuthorityEvent::IdentityDrawn(_)
        | AuthorityEvent::ReconciliationWanted(_)
        | AuthorityEvent::FindingSettled(_)
        | AuthorityEvent::Defined(_)
        | AuthorityEvent::Removed(_)
        | AuthorityEvent::Wanted(_)
        | AuthorityEvent::LookUpsRefreshed(_)
        | AuthorityEvent::ReconciliationWanted(_)
        | AuthorityEvent::ReconciliationEnded(_)
        | AuthorityEvent::FindingSettled(_) => None,
    }
}

impl Waiter {
    /// Waits until something has changed. False: the time is over, or the server stops.
    pub(crate) async fn changed(&self) -> bool {
        if self.all.state.lock().stopped {
            return false;
        }
        tokio::time::timeout_at(self.deadline, self.news.notified()).await.is_ok()
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        let mut state = self.all.state.lock();
        state.count -= 1;
        if let Some(those) = state.by_key.get_mut(&self.key) {
            those.retain(|(number, _)| *number != self.number);
            if those.is_empty() {
                state.by_key.remove(&self.key);
            }
        }
        drop(state);
        self.all.waiting.decrement(1);
    }
}
