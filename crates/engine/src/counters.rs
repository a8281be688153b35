//! Counters for [`EngineStatus`](crate::EngineStatus). Nothing is decided on them, so the clock that is read here cannot
//! change what happens.

use std::time::Instant;

use allod_journal::{AppendOutcome, Journal, RecordFrame, Tail};
use parking_lot::Mutex;

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
pub(crate) struct SharedCounters(Mutex<EngineCounters>);

impl SharedCounters {
    /// Appends a record and counts the outcome.
    pub(crate) fn append(
        &self,
        journal: &dyn Journal,
        expected: &Tail,
        frame: &RecordFrame,
    ) -> AppendOutcome {
        let started = Instant::now();
        let ended = journal.append(expected, frame);
        let mut counters = self.0.lock();
        counters.last_append_us = u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX);
        match &ended {
            AppendOutcome::Committed(_) => {
                counters.records += 1;
                counters.bytes += frame.body.len() as u64;
            }
            AppendOutcome::Conflict(_) => counters.conflicts += 1,
            AppendOutcome::Unknown(_) => {}
        }
        ended
    }

    /// Counts a batch of commands.
    pub(crate) fn batch(&self, commands: usize) {
        let mut counters = self.0.lock();
        counters.commands += commands as u64;
        counters.last_batch_commands = commands as u64;
    }

    pub(crate) fn checkpoint(&self) {
        self.0.lock().checkpoints += 1;
    }

    pub(crate) fn read(&self) -> EngineCounters {
        *self.0.lock()
    }
}
