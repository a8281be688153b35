//! What the engine has done since it started, for [`EngineStatus`](crate::Status). It is measured here and nothing is decided on
//! it, so the clock that is read here cannot change what happens.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use allod_journal::{AppendOutcome, Journal, RecordFrame, Tail};

/// Counters since the engine started, and how its last write went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EngineCounters {
    /// Commands taken from the queue.
    pub commands: u64,
    /// Records that became durable.
    pub records: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Appends that came too late, because another writer had appended.
    pub conflicts: u64,
    /// Checkpoints written.
    pub checkpoints: u64,
    /// How long the last append took; 0 before the first.
    pub last_append_us: u64,
    /// How many commands were decided together the last time.
    pub last_batch_commands: u64,
}

#[derive(Debug, Default)]
pub(crate) struct AtomicCounters {
    commands: AtomicU64,
    records: AtomicU64,
    bytes: AtomicU64,
    conflicts: AtomicU64,
    checkpoints: AtomicU64,
    last_append_us: AtomicU64,
    last_batch_commands: AtomicU64,
}

impl AtomicCounters {
    /// Appends, and takes note of how that went.
    pub(crate) fn append(
        &self,
        journal: &dyn Journal,
        expected: &Tail,
        frame: &RecordFrame,
    ) -> AppendOutcome {
        let started = Instant::now();
        let ended = journal.append(expected, frame);
        let took = u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX);
        self.last_append_us.store(took, Ordering::Relaxed);
        match &ended {
            AppendOutcome::Committed(_) => {
                self.records.fetch_add(1, Ordering::Relaxed);
                self.bytes.fetch_add(frame.body.len() as u64, Ordering::Relaxed);
            }
            AppendOutcome::Conflict(_) => drop(self.conflicts.fetch_add(1, Ordering::Relaxed)),
            AppendOutcome::Unknown(_) => {}
        }
        ended
    }

    /// Commands were decided together.
    pub(crate) fn batch(&self, commands: usize) {
        self.commands.fetch_add(commands as u64, Ordering::Relaxed);
        self.last_batch_commands.store(commands as u64, Ordering::Relaxed);
    }

    pub(crate) fn checkpoint(&self) {
        self.checkpoints.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn read(&self) -> EngineCounters {
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        EngineCounters {
            commands: read(&self.commands),
            records: read(&self.records),
            bytes: read(&self.bytes),
            conflicts: read(&self.conflicts),
            checkpoints: read(&self.checkpoints),
            last_append_us: read(&self.last_append_us),
            last_batch_commands: read(&self.last_batch_commands),
        }
    }
}
