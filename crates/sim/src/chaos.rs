//! What goes wrong with the journal, and when.

use std::sync::Arc;

use allod_engine::{Clock, SharedState};
use allod_journal::memory::{
    FaultPlan, InjectedFault, JournalOperation, MemoryStorage, OperationAttempt,
};
use allod_journal::{Hash, Journal, Tail};
use allod_record::Item;
use parking_lot::Mutex;

use crate::clock::SimClock;
use crate::dice::Dice;

/// More operations than this in one step, and nothing will ever come of it.
const OPERATIONS_MAX: u32 = 5_000;

/// How often a writer asks a journal that does not answer before it gives up.
const ATTEMPTS_MAX: u32 = 12;

/// Records that were lost, as an asynchronous fail-over loses them.
#[derive(Debug)]
pub struct Cut {
    pub kept: Tail,
    pub lost: Vec<Hash>,
    /// Whether the writer that was at work had already shown one of them to others.
    pub seen: bool,
}

pub struct Chaos {
    dice: Dice,
    /// Of a hundred appends, how many go wrong.
    pub appends_percent: u64,
    /// Whether records may be lost.
    pub forks: bool,
    /// For how many more operations the journal does not answer.
    away: u64,
    /// For how many more appends it has no room.
    full: u64,
    operations: u32,
    pub cuts: Vec<Cut>,
    /// What happened since somebody last looked.
    pub notes: Vec<String>,
}

impl Chaos {
    pub fn new(dice: Dice, forks: bool) -> Chaos {
        Chaos {
            dice,
            appends_percent: 0,
            forks,
            away: 0,
            full: 0,
            operations: 0,
            cuts: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// A new step: how much goes wrong may change.
    pub fn next_step(&mut self) {
        self.operations = 0;
        if self.dice.percent(10) {
            self.appends_percent = *self.dice.one_of(&[0, 0, 5, 20, 50]);
        }
    }

    /// From here on everything works.
    pub fn calm(&mut self) {
        (self.appends_percent, self.away, self.full, self.forks) = (0, 0, 0, false);
        self.operations = 0;
    }

    fn fault(&mut self, attempt: &OperationAttempt<'_>, now_ms: u64) -> InjectedFault {
        self.operations += 1;
        assert!(self.operations < OPERATIONS_MAX, "the writer goes round in circles");
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
        if !self.dice.percent(percent) {
            return InjectedFault::None;
        }
        match self.dice.below(if append { 14 } else { 1 }) {
            0 => {
                self.away = self.dice.below(8);
                InjectedFault::Unavailable
            }
            1..=3 => InjectedFault::LoseAck,
            4..=6 => InjectedFault::DropAppend,
            7..=9 => InjectedFault::Late { after: self.dice.between(1, 10) as u32 },
            10..=11 => {
                self.full = self.dice.below(3);
                InjectedFault::Full
            }
            _ => {
                let body = allod_record::encode(&[Item::Epoch { writer: "intruder".into() }]);
                let batch = u128::from(self.dice.roll()) << 64 | u128::from(self.dice.roll());
                InjectedFault::Intruder(attempt.intruder(1, batch, now_ms, body))
            }
        }
    }

    /// Between two attempts: whether to go on, and whether the journal loses something meanwhile.
    fn between_attempts(
        &mut self,
        attempt: u32,
        storage: &MemoryStorage,
        shared: &SharedState,
    ) -> bool {
        if self.forks && self.dice.percent(10) {
            let seen = shared.read(|snapshot| snapshot.at.hash);
            self.fork(storage, Some(seen));
        }
        attempt < ATTEMPTS_MAX && !self.dice.percent(2)
    }

    /// The last few records are lost, but never all.
    pub fn fork(&mut self, storage: &MemoryStorage, seen: Option<Hash>) {
        let journal = storage.open();
        let read = |from| journal.read(from, usize::MAX).unwrap_or_default();
        let end = journal.tail().map(|tail| tail.seq).unwrap_or_default();
        let count = self.dice.between(1, 4).min(end.saturating_sub(1));
        if count == 0 {
            return;
        }
        let lost: Vec<Hash> = read(end - count + 1).iter().map(|frame| frame.hash()).collect();
        let kept = storage.drop_last(lost.len());
        let seen = seen.is_some_and(|seen| lost.contains(&seen));
        self.notes.push(format!("the journal lost {} records after {}", lost.len(), kept.seq));
        self.cuts.push(Cut { kept, lost, seen });
    }
}

/// The plan for one handle on the journal.
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

/// What a writer does between two attempts.
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
