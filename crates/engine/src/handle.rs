//! The handle that faces use: submit commands, and read a consistent snapshot of the committed state.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use allod_core::command::Command;
use allod_core::event::Event;
use allod_core::receipt::Receipt;
use allod_core::refusal::Refused;
use allod_core::state::State;
use allod_journal::{Guarantees, Hash, Journal, Tail};
use allod_record::Entry;
use parking_lot::{RwLock, RwLockWriteGuard};
use tokio::sync::{oneshot, watch};

use crate::availability::Availability;
use crate::backup::{BackupError, BackupSummary};
use crate::counters::{EngineCounters, SharedCounters};
use crate::feed::Ring;
use crate::history::HistoryReader;
use crate::long_reads::LongReads;
use crate::queue::{CommandQueue, Job};
use crate::reader::JournalReader;
use crate::retention::Retention;
use crate::stamp::{Clock, ClockStatus};

/// A committed position, and the hash that proves it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CommitPoint {
    pub position: u64,
    /// The hash of the last record at that time. It contains the position or a later one.
    pub hash: Hash,
}

/// The answer to a command. Sent once everything that it was decided on is durable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandReply {
    pub answer: Result<Receipt, Refused>,
    /// The position of the command if it changed something, else the position that it was decided at.
    pub at: CommitPoint,
}

/// Why there is no answer. Nothing was changed, unless the text says otherwise.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EngineError {
    #[error(
        "the queue is full with {queue_commands_max} commands (queue_commands_max); retry in a moment"
    )]
    QueueFull { queue_commands_max: usize },
    #[error(
        "{long_reads_queue_max} searches and long lists are waiting (long_reads_queue_max); retry in a moment"
    )]
    ReadQueueFull { long_reads_queue_max: usize },
    #[error("{what}")]
    Unavailable { what: String },
    #[error("the server is stopping")]
    Stopping,
    #[error(
        "the command would take {bytes} bytes in the journal, more than {max} (batch_bytes_max); split it"
    )]
    TooLarge { bytes: usize, max: usize },
    /// Deciding panicked, which is a defect of the program. The decision was undone.
    #[error("the command failed with an internal error, which has been logged")]
    Internal,
}

/// The committed state at one position. Hold it briefly: the next batch waits for it.
#[derive(Debug, Clone, Copy)]
pub struct Snapshot<'a> {
    pub state: &'a State,
    pub now_ms: u64,
    pub at: CommitPoint,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EngineStatus {
    /// The journal has been replayed.
    pub ready: bool,
    /// Why writes fail at present.
    pub degraded: Option<String>,
    pub at: CommitPoint,
    pub queue_commands: usize,
    pub queue_commands_max: usize,
    pub epoch: u64,
    pub checkpoint_position: u64,
    /// The time of the newest checkpoint's state.
    pub checkpoint_ms: Option<u64>,
    pub now_ms: u64,
    pub uptime_ms: u64,
    pub clock: ClockStatus,
    pub counters: EngineCounters,
    pub journal: Guarantees,
}

/// The committed state and its status: published by the writer, read by everything else.
pub struct SharedState {
    committed: RwLock<Committed>,
    position: watch::Sender<u64>,
    /// Counts the records that changed something at an authority, so that only they wake the reactor.
    authority_changes: watch::Sender<u64>,
    pub(crate) feed: Ring,
    ready: AtomicBool,
    pub(crate) epoch: AtomicU64,
    /// This server wrote the last record.
    pub(crate) leading: AtomicBool,
    /// The last applied record.
    seq: AtomicU64,
    pub(crate) checkpoint_position: AtomicU64,
    /// 0 if there is none.
    pub(crate) checkpoint_ms: AtomicU64,
    pub(crate) counts: SharedCounters,
    started_ms: u64,
    pub(crate) availability: Availability,
    clock: Arc<dyn Clock>,
}

#[derive(Debug, Default)]
pub(crate) struct Committed {
    pub state: State,
    pub at: CommitPoint,
}

impl std::fmt::Debug for SharedState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SharedState").field("at", &self.committed.read().at).finish_non_exhaustive()
    }
}

impl SharedState {
    pub fn new(clock: Arc<dyn Clock>) -> SharedState {
        SharedState {
            committed: RwLock::default(),
            position: watch::Sender::new(0),
            authority_changes: watch::Sender::new(0),
            feed: Ring::new(),
            ready: AtomicBool::new(false),
            epoch: AtomicU64::new(0),
            leading: AtomicBool::new(false),
            seq: AtomicU64::new(0),
            checkpoint_position: AtomicU64::new(0),
            checkpoint_ms: AtomicU64::new(0),
            counts: SharedCounters::default(),
            started_ms: clock.now_ms(),
            availability: Availability::default(),
            clock,
        }
    }

    pub(crate) fn now_ms(&self) -> u64 {
        self.clock.now_ms()
    }

    /// The time, not before the time of this state. Another server may have written it, with a clock that is ahead.
    pub(crate) fn now_ms_after(&self, state: &State) -> u64 {
        let now_ms = self.now_ms();
        if now_ms < state.now_ms {
            self.clock.advance_to(state.now_ms);
        }
        now_ms.max(state.now_ms)
    }

    /// Installs a replayed state.
    pub(crate) fn install(&self, state: State, tail: &Tail) {
        let position = state.position;
        *self.committed.write() =
            Committed { at: CommitPoint { position, hash: tail.hash }, state };
        self.seq.store(tail.seq, Ordering::Relaxed);
        self.position.send_replace(position);
        self.feed.start(tail);
        self.ready.store(true, Ordering::Release);
        self.authority_changes.send_modify(|count| *count += 1);
    }

    /// Wakes those that wait for changes at authorities, if a committed record has one.
    pub(crate) fn note_authority_changes(&self, entries: &[Entry]) {
        let mut events = entries.iter().flat_map(|entry| &entry.events);
        if events.any(|event| matches!(event, Event::Authority(_))) {
            self.authority_changes.send_modify(|count| *count += 1);
        }
    }

    /// Applies the entries or items of a committed record in slices, so that a reader never waits for a whole batch.
    pub(crate) fn apply<'a, T: 'a>(
        &self,
        tail: &Tail,
        changes: &'a [T],
        events: impl Fn(&T) -> usize,
        apply: impl Fn(&mut State, &'a T),
    ) {
        // In events; an entry is never divided.
        const SLICE: usize = 64;
        let mut committed = self.committed.write();
        committed.at.hash = tail.hash;
        let mut since = 0;
        for change in changes {
            if since > 0 && since + events(change) > SLICE {
                RwLockWriteGuard::bump(&mut committed);
                since = 0;
            }
            since += events(change).max(1);
            apply(&mut committed.state, change);
            committed.at.position = committed.state.position;
        }
        self.publish(committed, tail);
    }

    /// Changes the committed state in a way that readers do not see.
    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        change(&mut self.committed.write().state)
    }

    /// Advances past a committed record that changes nothing.
    pub(crate) fn skip_to(&self, tail: &Tail, position: u64) {
        let mut committed = self.committed.write();
        committed.state.position = position;
        committed.at = CommitPoint { position, hash: tail.hash };
        self.publish(committed, tail);
    }

    /// Lets readers see the committed state, and wakes those that wait for its position.
    fn publish(&self, committed: RwLockWriteGuard<'_, Committed>, tail: &Tail) {
        let position = committed.state.position;
        drop(committed);
        self.seq.store(tail.seq, Ordering::Relaxed);
        self.position.send_replace(position);
    }

    /// Reads the committed state.
    pub fn read<T>(&self, look: impl FnOnce(&Snapshot<'_>) -> T) -> T {
        let committed = self.committed.read();
        let now_ms = self.now_ms_after(&committed.state);
        look(&Snapshot { state: &committed.state, now_ms, at: committed.at })
    }

    pub(crate) fn seq(&self) -> u64 {
        self.seq.load(Ordering::Relaxed)
    }

    pub(crate) fn is_ready(&self) -> bool {
        self.ready.load(Ordering::Acquire)
    }
}

#[derive(Clone)]
pub struct Handle {
    pub(crate) shared: Arc<SharedState>,
    pub(crate) queue: Arc<CommandQueue>,
    pub(crate) reader: Arc<JournalReader>,
    pub(crate) retention: Arc<Retention>,
    pub(crate) history: Option<Arc<HistoryReader>>,
    pub(crate) journal: Arc<dyn Journal>,
    pub(crate) long_reads: Arc<LongReads>,
}

impl std::fmt::Debug for Handle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Handle").field("shared", &self.shared).finish_non_exhaustive()
    }
}

impl Handle {
    /// Submits a command. The answer, also a refusal, is sent once everything that it was decided on is durable.
    pub async fn submit(&self, command: Command) -> Result<CommandReply, EngineError> {
        self.send(|reply| Job::Command { command, reply }).await
    }

    /// Reads the committed state. Never waits for the disk.
    pub fn read<T>(&self, look: impl FnOnce(&Snapshot<'_>) -> T) -> Result<T, EngineError> {
        self.ready()?;
        Ok(self.shared.read(look))
    }

    /// Waits until `read` shows this position.
    pub async fn wait_for(&self, position: u64) -> Result<(), EngineError> {
        self.ready()?;
        let mut seen = self.shared.position.subscribe();
        seen.wait_for(|seen| *seen >= position).await.map(|_| ()).map_err(|_| EngineError::Stopping)
    }

    /// Changes after each record that changes something at an authority, and when the journal has been replayed.
    pub fn authority_changes(&self) -> watch::Receiver<u64> {
        self.shared.authority_changes.subscribe()
    }

    /// Whether other servers may write to the same journal.
    pub fn is_shared(&self) -> bool {
        self.journal.guarantees().shared
    }

    /// Waits until `read` has the consistency that a client asks for: `linearizable` and `min_position` as in
    /// [`Handle::confirm_tail`] and [`Handle::wait_for`].
    pub async fn wait_for_read(
        &self,
        linearizable: bool,
        min_position: Option<u64>,
    ) -> Result<(), EngineError> {
        if linearizable {
            self.confirm_tail().await?;
        }
        match min_position {
            Some(position) => self.wait_for(position).await,
            None => Ok(()),
        }
    }

    /// Waits until `read` shows everything that any server had acknowledged before this call.
    pub async fn confirm_tail(&self) -> Result<(), EngineError> {
        self.send(|reply| Job::Barrier { reply }).await
    }

    /// Whether this server is the leader: it wrote the last record. A server that is alone always is. Leadership is only a
    /// hint about who does shared work; the append alone decides who may write.
    pub fn leads(&self) -> bool {
        self.shared.leading.load(Ordering::Relaxed)
    }

    /// Writes a backup of what is committed now. Blocks the caller; other work continues.
    pub fn backup(&self, out: impl Write) -> Result<BackupSummary, BackupError> {
        self.ready().map_err(|failure| BackupError::NotReady { what: failure.to_string() })?;
        Ok(self.retention.backup(self.shared.now_ms(), out, &mut |_, _| {})?.1)
    }

    /// The history; an error if this server has no index of it.
    pub fn history(&self) -> Result<&Arc<HistoryReader>, EngineError> {
        self.ready()?;
        self.history.as_ref().ok_or_else(|| EngineError::Unavailable {
            what: "this server has no history index".into(),
        })
    }

    pub fn status(&self) -> EngineStatus {
        let now_ms = self.shared.now_ms();
        let checkpoint_ms = self.shared.checkpoint_ms.load(Ordering::Relaxed);
        EngineStatus {
            ready: self.shared.is_ready(),
            degraded: self.shared.availability.reason(),
            at: self.shared.committed.read().at,
            queue_commands: self.queue.len(),
            queue_commands_max: self.queue.max(),
            epoch: self.shared.epoch.load(Ordering::Relaxed),
            checkpoint_position: self.shared.checkpoint_position.load(Ordering::Relaxed),
            checkpoint_ms: Some(checkpoint_ms).filter(|&ms| ms > 0),
            now_ms,
            uptime_ms: now_ms.saturating_sub(self.shared.started_ms),
            clock: self.shared.clock.status(),
            counters: self.shared.counts.read(),
            journal: self.journal.guarantees(),
        }
    }

    pub(crate) fn ready(&self) -> Result<(), EngineError> {
        if self.shared.is_ready() {
            return Ok(());
        }
        Err(EngineError::Unavailable {
            what: "the journal is being replayed; retry in a moment".into(),
        })
    }

    async fn send<T>(
        &self,
        job: impl FnOnce(oneshot::Sender<Result<T, EngineError>>) -> Job,
    ) -> Result<T, EngineError> {
        self.ready()?;
        if let Some(what) = self.shared.availability.refusal() {
            return Err(EngineError::Unavailable { what });
        }
        let (reply, answer) = oneshot::channel();
        self.queue.push(job(reply))?;
        answer.await.unwrap_or(Err(EngineError::Stopping))
    }
}
