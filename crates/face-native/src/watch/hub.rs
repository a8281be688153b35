//! The hub: takes in what becomes durable, once for all watchers, and wakes only those that it is for.
//!
//! Watchers with the same filter are a group. A change is written as a message once for each group that picks it, and
//! waits there until its watchers have it; what waits is bounded in bytes over all groups together. A watcher that finds
//! that its group no longer has what it needs reads the journal instead (`stream`). Everything goes by position: a group
//! knows after which position it has everything, a watcher up to which it has seen everything, so it does not matter in
//! which order they come to know of each other.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use allod_core::event::Event;
use allod_core::event::projection::Projection;
use allod_core::value::Kind;
use allod_engine::{Feed, FeedRecord, Handle, Tail};
use bytes::Bytes;
use hashbrown::HashMap;
use parking_lot::Mutex;
use tokio::sync::Notify;

use super::filter::WatchFilter;
use super::index::Index;
use super::message;

/// How much of the journal the hub reads at a time when it has fallen behind itself.
const PIECE_BYTES: usize = 256 << 10;

pub(crate) struct Hub {
    handle: Handle,
    bytes_max: usize,
    state: Mutex<HubState>,
    /// Every message up to this position is where it belongs.
    reached: AtomicU64,
    /// Woken whenever `reached` has moved.
    progress: Notify,
    /// There will be no more.
    closed: AtomicBool,
}

#[derive(Default)]
struct HubState {
    index: Index,
    groups: Vec<Option<Arc<WatcherGroup>>>,
    /// Places among them that are empty.
    free: Vec<usize>,
    by_filter: HashMap<WatchFilter, usize>,
    reached: u64,
    /// All waiting messages of all groups, oldest first.
    waiting: VecDeque<(Weak<WatcherGroup>, u64, usize)>,
    waiting_bytes: usize,
    running: bool,
}

struct WatcherGroup {
    filter: WatchFilter,
    buffer: Mutex<GroupBuffer>,
    news: Notify,
}

struct GroupBuffer {
    /// The group has had every message after this position, and has all of them still.
    after: u64,
    messages: VecDeque<(u64, Bytes)>,
    members: usize,
}

/// A watcher's place in its group. Leaves it when dropped.
pub(crate) struct Subscription {
    hub: Arc<Hub>,
    group: Arc<WatcherGroup>,
}

/// What a watcher finds in its group.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Pending {
    /// All messages after its position; perhaps none.
    Messages(Vec<Bytes>),
    /// Some are no longer here: the journal has them.
    Behind,
    /// There is nothing, and never will be.
    Closed,
}

impl Hub {
    pub(crate) fn new(handle: Handle, bytes_max: usize) -> Arc<Hub> {
        Arc::new(Hub {
            handle,
            bytes_max,
            state: Mutex::default(),
            reached: AtomicU64::new(0),
            progress: Notify::new(),
            closed: AtomicBool::new(false),
        })
    }

    /// Joins the group of this filter. From now on the group has every message after the position where the hub is.
    pub(crate) fn join(self: &Arc<Hub>, filter: WatchFilter) -> Subscription {
        let mut state = self.state.lock();
        if !state.running {
            state.running = true;
            let feed = self.handle.feed();
            let tail = feed.tail();
            self.reach(&mut state, &tail);
            tokio::spawn(self.clone().run(feed, tail.seq));
        }
        let HubState { index, groups, free, by_filter, reached, .. } = &mut *state;
        let known = by_filter.get(&filter).and_then(|&slot| groups[slot].clone());
        let group = known.unwrap_or_else(|| {
            let slot = free.pop().unwrap_or_else(|| {
                groups.push(None);
                groups.len() - 1
            });
            let buffer = GroupBuffer { after: *reached, messages: VecDeque::new(), members: 0 };
            let (buffer, news) = (Mutex::new(buffer), Notify::new());
            let group = Arc::new(WatcherGroup { filter: filter.clone(), buffer, news });
            index.insert(&filter, slot);
            by_filter.insert(filter, slot);
            groups[slot] = Some(group.clone());
            group
        });
        group.buffer.lock().members += 1;
        Subscription { hub: self.clone(), group }
    }

    fn leave(&self, group: &WatcherGroup) {
        let mut state = self.state.lock();
        let mut buffer = group.buffer.lock();
        buffer.members -= 1;
        if buffer.members == 0
            && let Some(slot) = state.by_filter.remove(&group.filter)
        {
            state.index.remove(&group.filter, slot);
            state.groups[slot] = None;
            state.free.push(slot);
        }
    }

    /// Takes in records until nobody watches any more, or there will be none.
    async fn run(self: Arc<Hub>, feed: Feed, mut seq: u64) {
        while feed.wait(seq).await.is_ok() {
            match feed.after(seq) {
                Ok(records) => {
                    for record in &records {
                        self.take(record);
                        seq = record.tail.seq;
                    }
                }
                Err(_) => seq = self.catch_up(&feed, seq).await,
            }
            let mut state = self.state.lock();
            if state.by_filter.is_empty() {
                state.running = false;
                return;
            }
        }
        self.closed.store(true, Ordering::Release);
        for group in self.state.lock().groups.iter().flatten() {
            group.news.notify_waiters();
        }
        self.progress.notify_waiters();
    }

    /// The feed went faster than the hub: one piece from the journal, once for all watchers.
    async fn catch_up(&self, feed: &Feed, seq: u64) -> u64 {
        match self.handle.read_journal(seq + 1, PIECE_BYTES).await {
            Ok(records) => {
                records.iter().for_each(|record| self.take(record));
                records.last().map_or(seq, |record| record.tail.seq)
            }
            Err(unread) => {
                tracing::warn!(?unread, "watchers read the journal themselves, or begin anew");
                let tail = feed.tail();
                self.skip_to(&tail);
                tail.seq
            }
        }
    }

    /// Gives each event of a record to the groups that pick it.
    fn take(&self, record: &FeedRecord) {
        let mut state = self.state.lock();
        let mut woken: Vec<Arc<WatcherGroup>> = Vec::new();
        let mut picked: Vec<(usize, &Event)> = Vec::new();
        for (position, entry) in record.changes() {
            for event in &entry.events {
                let Some(about) = Projection::of(event) else { continue };
                let candidates = state.index.candidates(&about);
                picked.extend(candidates.filter_map(|slot| {
                    let group = state.groups[slot].as_ref()?;
                    group.filter.picks(&about).then_some((slot, event))
                }));
            }
            // Stable, so that the events of a group stay in their order.
            picked.sort_by_key(|(slot, _)| *slot);
            for events in picked.chunk_by(|(one, _), (other, _)| one == other) {
                let Some(group) = state.groups[events[0].0].clone() else { continue };
                let events = events.iter().map(|(_, event)| *event);
                let kind_of = |pool: &str| self.kind_of(pool);
                if let Some(message) = message::change(position, entry.at_ms, events, &kind_of) {
                    state.keep(&group, position, message);
                    woken.push(group);
                }
            }
            picked.clear();
        }
        state.drop_oldest(self.bytes_max);
        self.reach(&mut state, &record.tail);
        drop(state);
        woken.iter().for_each(|group| group.news.notify_waiters());
        self.progress.notify_waiters();
    }

    /// Goes on from here without what came before; every group then says that it does not have it.
    fn skip_to(&self, tail: &Tail) {
        let mut state = self.state.lock();
        self.reach(&mut state, tail);
        for group in state.groups.iter().flatten() {
            let mut buffer = group.buffer.lock();
            buffer.after = tail.position;
            buffer.messages.clear();
            drop(buffer);
            group.news.notify_waiters();
        }
    }

    /// Messages first, then this: who sees it finds all of them.
    fn reach(&self, state: &mut HubState, tail: &Tail) {
        state.reached = tail.position;
        self.reached.store(tail.position, Ordering::Release);
    }

    pub(crate) fn kind_of(&self, pool: &str) -> Option<Kind> {
        let kind = self.handle.read(|snapshot| Some(snapshot.state.pool(pool)?.spec.kind));
        kind.ok().flatten()
    }
}

impl HubState {
    fn keep(&mut self, group: &Arc<WatcherGroup>, position: u64, message: Bytes) {
        self.waiting_bytes += message.len();
        self.waiting.push_back((Arc::downgrade(group), position, message.len()));
        group.buffer.lock().messages.push_back((position, message));
    }

    fn drop_oldest(&mut self, bytes_max: usize) {
        while self.waiting_bytes > bytes_max {
            let Some((group, position, bytes)) = self.waiting.pop_front() else { break };
            self.waiting_bytes -= bytes;
            let Some(group) = group.upgrade() else { continue };
            let mut buffer = group.buffer.lock();
            if buffer.messages.front().is_some_and(|(oldest, _)| *oldest == position) {
                buffer.messages.pop_front();
                buffer.after = position;
            }
        }
    }
}

impl Subscription {
    /// What there is after `seen`, which is moved on to where everything has been found. To be asked after
    /// [`Subscription::news`] has been enabled.
    pub(crate) fn after(&self, seen: &mut u64) -> Pending {
        let closed = self.hub.closed.load(Ordering::Acquire);
        let reached = self.hub.reached.load(Ordering::Acquire);
        let buffer = self.group.buffer.lock();
        if *seen < buffer.after {
            return if closed { Pending::Closed } else { Pending::Behind };
        }
        let first = buffer.messages.partition_point(|(position, _)| position <= seen);
        let news = buffer.messages.range(first..).map(|(_, message)| message.clone()).collect();
        let last = buffer.messages.back().map_or(0, |(position, _)| *position);
        drop(buffer);
        *seen = (*seen).max(reached).max(last);
        match news {
            messages if closed && Vec::is_empty(&messages) => Pending::Closed,
            messages => Pending::Messages(messages),
        }
    }

    /// Whether the group has everything after this position.
    pub(crate) fn has_after(&self, seen: u64) -> bool {
        self.group.buffer.lock().after <= seen
    }

    /// Wakes when the hub has taken in a record, whether or not it is for this group.
    pub(crate) fn progress(&self) -> &Notify {
        &self.hub.progress
    }

    /// Wakes when there may be something new.
    pub(crate) fn news(&self) -> &Notify {
        &self.group.news
    }

    pub(crate) fn filter(&self) -> &WatchFilter {
        &self.group.filter
    }

    pub(crate) fn hub(&self) -> &Hub {
        &self.hub
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.hub.leave(&self.group);
    }
}
