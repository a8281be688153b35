//! Counters for [`EngineStatus`](crate::EngineStatus). Nothing is decided on them, so the clock that is read here cannot
//! change what happens.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use allod_journal::{AppendOutcome, Journal, RecordFrame, Tail};

/// Counters since the engine started, and figures of the last write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EngineCounters {
    /// Commands taken from the queue.
    pub commands: u64,
    /// Records appended.
    pub records: u64,
    /// Bytes of these records.
    pub bytes: u64,
    /// Appends that failed because another writer had appended.
    pub conflicts: u64,
    /// Checkpoints written.
    pub checkpoints: u64,
    /// How long the last append took; 0 before the first.
    pub last_append_us: u64,
    /// Commands in the last batch.
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
    /// Appends a record and counts the outcome.
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

    /// Counts a batch of commands.
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
