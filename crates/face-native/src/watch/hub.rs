//! The hub: reads new records once for all watchers, and wakes only the watchers whose filter matches.
//!
//! Watchers with equal filters form a group. A change is serialised once for each group that it matches, and is buffered
//! there; the buffers of all groups together are bounded in bytes. A watcher that needs messages which its group has
//! dropped reads the journal instead (`stream`). Everything is ordered by position: a group knows the position after which
//! it has every message, a watcher the position up to which it has seen everything.

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
use super::index::FilterIndex;
use super::message;

/// How much of the journal the hub reads at a time when it falls behind the feed.
const PIECE_BYTES: usize = 256 << 10;

pub(crate) struct Hub {
    handle: Handle,
    bytes_max: usize,
    state: Mutex<HubState>,
    /// The messages of all positions up to this one are in the groups.
    reached: AtomicU64,
    /// Notified when `reached` changes.
    progress: Notify,
    /// The feed has ended.
    closed: AtomicBool,
}

#[derive(Default)]
struct HubState {
    index: FilterIndex,
    groups: Vec<Option<Arc<WatcherGroup>>>,
    /// Empty slots of `groups`.
    free: Vec<usize>,
    by_filter: HashMap<WatchFilter, usize>,
    reached: u64,
    /// The buffered messages of all groups, oldest first: group, position, bytes.
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
    /// The buffer has every message after this position.
    after: u64,
    messages: VecDeque<(u64, Bytes)>,
    members: usize,
}

/// A watcher's membership of its group; ends when dropped.
pub(crate) struct Subscription {
    hub: Arc<Hub>,
    group: Arc<WatcherGroup>,
}

/// What a group has for a watcher.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum GroupMessages {
    /// All messages after the watcher's position, possibly none.
    Messages(Vec<Bytes>),
    /// Some have been dropped; the watcher must read the journal.
    Behind,
    /// The feed has ended and there are no more messages.
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

    /// Joins the group of this filter. The group has every message after the hub's current position.
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

    /// Processes records until the last watcher leaves or the feed ends.
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

    /// Reads a piece of the journal after the hub has fallen behind the feed.
    async fn catch_up(&self, feed: &Feed, seq: u64) -> u64 {
        match self.handle.read_journal(seq + 1, PIECE_BYTES).await {
            Ok(records) => {
                records.iter().for_each(|record| self.take(record));
                records.last().map_or(seq, |record| record.tail.seq)
            }
            Err(unread) => {
                tracing::warn!(?unread, "cannot read the journal; watchers read it themselves");
                let tail = feed.tail();
                self.skip_to(&tail);
                tail.seq
            }
        }
    }

    /// Adds each event of a record to the groups that it matches.
    fn take(&self, record: &FeedRecord) {
        let mut state = self.state.lock();
        let mut woken: Vec<Arc<WatcherGroup>> = Vec::new();
        let mut picked: Vec<(usize, &Event)> = Vec::new();
        for (position, entry) in record.changes() {
            for event in &entry.events {
                let Some(subject) = Projection::of(event) else { continue };
                let candidates = state.index.candidates(&subject);
                picked.extend(candidates.filter_map(|slot| {
                    let group = state.groups[slot].as_ref()?;
                    group.filter.picks(&subject).then_some((slot, event))
                }));
            }
            // Stable, so that the events of a group keep their order.
            picked.sort_by_key(|(slot, _)| *slot);
            for events in picked.chunk_by(|(one, _), (other, _)| one == other) {
                let Some(group) = state.groups[events[0].0].clone() else { continue };
                let events = events.iter().map(|(_, event)| *event);
                let kind_of = |pool: &str| self.kind_of(pool);
                if let Some(message) =
                    message::change(position, entry.at_ms, events, &kind_of, group.filter.reasons())
                {
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

    /// Continues from this position; every group drops what it has.
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

    /// Must come after the messages are in the groups.
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
    /// The messages after `seen`, which is advanced. Call it after [`Subscription::news`] has been enabled.
    pub(crate) fn after(&self, seen: &mut u64) -> GroupMessages {
        let closed = self.hub.closed.load(Ordering::Acquire);
        let reached = self.hub.reached.load(Ordering::Acquire);
        let buffer = self.group.buffer.lock();
        if *seen < buffer.after {
            return if closed { GroupMessages::Closed } else { GroupMessages::Behind };
        }
        let first = buffer.messages.partition_point(|(position, _)| position <= seen);
        let news = buffer.messages.range(first..).map(|(_, message)| message.clone()).collect();
        let last = buffer.messages.back().map_or(0, |(position, _)| *position);
        drop(buffer);
        *seen = (*seen).max(reached).max(last);
        match news {
            messages if closed && Vec::is_empty(&messages) => GroupMessages::Closed,
            messages => GroupMessages::Messages(messages),
        }
    }

    /// Whether the group has every message after this position.
    pub(crate) fn has_after(&self, seen: u64) -> bool {
        self.group.buffer.lock().after <= seen
    }

    /// Notified when the hub has processed a record, for this group or not.
    pub(crate) fn progress(&self) -> &Notify {
        &self.hub.progress
    }

    /// Notified when the group may have new messages.
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
