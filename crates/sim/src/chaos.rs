//! InjectedFault injection: what goes wrong with the journal, and when.

use std::sync::Arc;

use allod_engine::{Clock, SharedState};
use allod_journal::memory::{
    FaultPlan, InjectedFault, JournalOperation, MemoryStorage, OperationAttempt,
};
use allod_journal::{Hash, Journal, Tail};
use allod_record::Item;
use parking_lot::Mutex;

use crate::clock::SimClock;
use crate::random::SimRandom;

/// The maximum number of operations in one step; more mean an endless loop.
const OPERATIONS_MAX: u32 = 5_000;

/// How often a writer retries on a journal that does not answer.
const ATTEMPTS_MAX: u32 = 12;

/// Records that were lost, as in an asynchronous failover.
#[derive(Debug)]
pub struct LostRecords {
    pub kept: Tail,
    pub lost: Vec<Hash>,
    /// Whether the active writer had already published one of them.
    pub seen: bool,
}

pub struct Chaos {
    random: SimRandom,
    /// The percentage of appends that fail.
    pub appends_percent: u64,
    /// Whether records may be lost.
    pub forks: bool,
    /// The number of further operations that the journal does not answer.
    away: u64,
    /// The number of further appends that fail because the journal is full.
    full: u64,
    operations: u32,
    pub lost_records: Vec<LostRecords>,
    /// Notes for the trace since the last step.
    pub notes: Vec<String>,
}

impl Chaos {
    pub fn new(random: SimRandom, forks: bool) -> Chaos {
        Chaos {
            random,
            appends_percent: 0,
            forks,
            away: 0,
            full: 0,
            operations: 0,
            lost_records: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// Starts a new step, which may change the rate of faults.
    pub fn next_step(&mut self) {
        self.operations = 0;
        if self.random.percent(10) {
            self.appends_percent = *self.random.one_of(&[0, 0, 5, 20, 50]);
        }
    }

    /// Stops all faults.
    pub fn calm(&mut self) {
        (self.appends_percent, self.away, self.full, self.forks) = (0, 0, 0, false);
        self.operations = 0;
    }

    fn fault(&mut self, attempt: &OperationAttempt<'_>, now_ms: u64) -> InjectedFault {
        self.operations += 1;
        assert!(self.operations < OPERATIONS_MAX, "the writer is in an endless loop");
        let append = matches!(attempt.operation, JournalOperation::Append { .. });
        if self.away > 0 {
            self.away -= 1;
            return InjectedFault::Unavailable;
        }
        if append && self.full > 0 {
            self.full -= 1;
            return InjectedFault::Full;
        }
        let percent = if append { self.appends_percent } else { self.appends_percent / 5 };
        if !self.random.percent(percent) {
            return InjectedFault::None;
        }
        match self.random.below(if append { 14 } else { 1 }) {
            0 => {
                self.away = self.random.below(8);
                InjectedFault::Unavailable
            }
            1..=3 => InjectedFault::LoseAck,
            4..=6 => InjectedFault::DropAppend,
            7..=9 => InjectedFault::Late { after: self.random.between(1, 10) as u32 },
            10..=11 => {
                self.full = self.random.below(3);
                InjectedFault::Full
            }
            _ => {
                let body = allod_record::encode(&[Item::Epoch { writer: "intruder".into() }]);
                let batch =
                    u128::from(self.random.next_u64()) << 64 | u128::from(self.random.next_u64());
                InjectedFault::Intruder(attempt.intruder(1, batch, now_ms, body))
            }
        }
    }

    /// Called between two attempts: returns whether to continue. The journal may lose records meanwhile.
    fn between_attempts(
        &mut self,
        attempt: u32,
        storage: &MemoryStorage,
        shared: &SharedState,
    ) -> bool {
        if self.forks && self.random.percent(10) {
            let seen = shared.read(|snapshot| snapshot.at.hash);
            self.fork(storage, Some(seen));
        }
        attempt < ATTEMPTS_MAX && !self.random.percent(2)
    }

    /// Drops the last few records, but never all.
    pub fn fork(&mut self, storage: &MemoryStorage, seen: Option<Hash>) {
        let journal = storage.open();
        let read = |from| journal.read(from, usize::MAX).unwrap_or_default();
        let end = journal.tail().map(|tail| tail.seq).unwrap_or_default();
        let count = self.random.between(1, 4).min(end.saturating_sub(1));
        if count == 0 {
            return;
        }
        let lost: Vec<Hash> = read(end - count + 1).iter().map(|frame| frame.hash()).collect();
        let kept = storage.drop_last(lost.len());
        let seen = seen.is_some_and(|seen| lost.contains(&seen));
        self.notes.push(format!("the journal lost {} records after {}", lost.len(), kept.seq));
        self.lost_records.push(LostRecords { kept, lost, seen });
    }
}

/// The faults for one handle on the journal.
pub fn plan(chaos: &Arc<Mutex<Chaos>>, clock: &Arc<SimClock>) -> FaultPlan {
    let (chaos, clock) = (chaos.clone(), clock.clone());
    Box::new(move |attempt| {
        let mut chaos = chaos.lock();
        let fault = chaos.fault(attempt, clock.now_ms());
        if fault != InjectedFault::None {
            let what = match &fault {
                InjectedFault::Intruder(frame) => format!("intruder of epoch {}", frame.epoch),
                fault => format!("{fault:?}"),
            };
            chaos.notes.push(format!("operation {}: {what}", attempt.number));
        }
        fault
    })
}

/// The pause of a writer between two attempts.
pub fn pause(
    chaos: &Arc<Mutex<Chaos>>,
    clock: &Arc<SimClock>,
    storage: &MemoryStorage,
    shared: &Arc<SharedState>,
) -> allod_engine::Pause {
    let (chaos, clock, storage, shared) =
        (chaos.clone(), clock.clone(), storage.clone(), shared.clone());
    Box::new(move |attempt| {
        clock.step(10 << attempt.min(6));
        chaos.lock().between_attempts(attempt, &storage, &shared)
    })
}
