//! A journal in memory, for tests and for the simulation: several handles may share one storage, a handle may be
//! dropped and opened again, and a plan of the caller's says which operation goes wrong, and how.
//!
//! Not here: threads, a clock, randomness. What happens is decided by the calls and by the plan alone. (`watch` on a
//! handle without a plan is the exception: it waits, as any other journal's does.)

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use crate::contract::{
    Append, Guarantees, Journal, JournalError, RECORD_BYTES, Source, fills, must_be_empty,
};
use crate::frame::{BrokenChain, Frame, Hash, Tail};

const BODY_BYTES_MAX: usize = 16 << 20;

/// What is about to happen when the plan is asked.
#[derive(Debug)]
pub struct Attempt<'a> {
    /// Counts the operations of all handles on this storage, from 1.
    pub number: u64,
    pub operation: Operation<'a>,
    /// Where the journal really ends.
    pub tail: Tail,
}

#[derive(Debug)]
pub enum Operation<'a> {
    Append { expected: &'a Tail, frame: &'a Frame },
    Tail,
    Read { from: u64 },
    Oldest,
    Trim { upto: u64 },
}

impl Attempt<'_> {
    /// The first record of another writer's epoch, which would follow the present tail; for `Fault::Intruder`.
    pub fn intruder(&self, level: u32, batch: u128, at_ms: u64, body: Vec<u8>) -> Box<Frame> {
        let ours = match self.operation {
            Operation::Append { frame, .. } => frame.epoch,
            _ => 0,
        };
        Box::new(Frame {
            seq: self.tail.seq + 1,
            epoch: self.tail.epoch.max(ours) + 1,
            batch,
            prev: self.tail.hash,
            level,
            position: self.tail.position,
            at_ms,
            body,
        })
    }
}

/// What goes wrong with one operation. On anything but an append every fault except `Unavailable` counts as `None`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    None,
    /// The append happens, but the writer is not told.
    LoseAck,
    /// The append never happens, and the writer is not told either.
    DropAppend,
    /// The writer is not told, and the append happens only when this many further operations have begun; unless the
    /// journal no longer ends where the append expected.
    Late {
        after: u32,
    },
    /// This record of another writer's is appended first.
    Intruder(Box<Frame>),
    Full,
    /// The operation does not happen.
    Unavailable,
}

/// Asked before each operation of a handle.
pub type Plan = Box<dyn FnMut(&Attempt<'_>) -> Fault + Send>;

/// What the handles share, and what outlives them.
#[derive(Debug, Clone, Default)]
pub struct MemoryStorage {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    held: Mutex<Held>,
    grown: Condvar,
}

#[derive(Debug, Default)]
struct Held {
    records: VecDeque<(Frame, Hash)>,
    operations: u64,
    in_flight: Vec<InFlight>,
}

#[derive(Debug)]
struct InFlight {
    operations_left: u32,
    expected: Tail,
    frame: Frame,
}

impl Held {
    fn tail(&self) -> Tail {
        self.records.back().map_or_else(Tail::default, |(frame, hash)| frame.tail(*hash))
    }

    fn oldest(&self) -> u64 {
        self.records.front().map_or(1, |(frame, _)| frame.seq)
    }

    fn push(&mut self, frame: Frame) -> Tail {
        let hash = frame.hash();
        self.records.push_back((frame, hash));
        self.tail()
    }

    /// Lets the appends that are due now happen, the longest under way first.
    fn land(&mut self) {
        self.operations += 1;
        let mut waiting = Vec::new();
        for mut one in std::mem::take(&mut self.in_flight) {
            one.operations_left = one.operations_left.saturating_sub(1);
            if one.operations_left > 0 {
                waiting.push(one);
            } else if one.expected == self.tail() {
                self.push(one.frame);
            }
        }
        self.in_flight = waiting;
    }
}

impl MemoryStorage {
    pub fn new() -> Self {
        Self::default()
    }

    /// A handle on which nothing goes wrong.
    pub fn open(&self) -> MemoryJournal {
        MemoryJournal { shared: self.shared.clone(), plan: None }
    }

    /// A handle on which goes wrong what the plan says. Its `watch` returns at once: in a simulation nobody else runs
    /// while one waits.
    pub fn open_with(&self, plan: Plan) -> MemoryJournal {
        MemoryJournal { shared: self.shared.clone(), plan: Some(Mutex::new(plan)) }
    }

    /// Forgets the last `count` records, as an asynchronous replica does that takes over without them. A writer that
    /// follows makes different ones in their place. Returns the new tail.
    pub fn drop_last(&self, count: usize) -> Tail {
        let mut held = self.shared.held.lock();
        let kept = held.records.len().saturating_sub(count);
        held.records.truncate(kept);
        held.in_flight.clear();
        held.tail()
    }

    /// Lets every append that is under way happen now, if the journal still ends where it expected.
    pub fn land_all(&self) {
        let mut held = self.shared.held.lock();
        for one in std::mem::take(&mut held.in_flight) {
            if one.expected == held.tail() {
                held.push(one.frame);
            }
        }
        self.shared.grown.notify_all();
    }

    /// Changes a stored record behind the journal's back, as a failing disk would. False when it is not kept.
    pub fn alter(&self, seq: u64, change: impl FnOnce(&mut Frame)) -> bool {
        let mut held = self.shared.held.lock();
        let found = held.records.iter_mut().find(|(frame, _)| frame.seq == seq);
        found.map(|(frame, _)| change(frame)).is_some()
    }
}

/// One handle on a `MemoryStorage`.
pub struct MemoryJournal {
    shared: Arc<Shared>,
    plan: Option<Mutex<Plan>>,
}

impl fmt::Debug for MemoryJournal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryJournal")
            .field("has_plan", &self.plan.is_some())
            .finish_non_exhaustive()
    }
}

fn unavailable(what: &str) -> JournalError {
    JournalError::Unavailable { what: what.to_owned() }
}

impl MemoryJournal {
    /// What begins every operation: late appends land, then the plan is asked.
    fn begin(&self, held: &mut Held, operation: Operation<'_>) -> Fault {
        held.land();
        let Some(plan) = &self.plan else { return Fault::None };
        let attempt = Attempt { number: held.operations, operation, tail: held.tail() };
        plan.lock()(&attempt)
    }

    fn begin_other(&self, held: &mut Held, operation: Operation<'_>) -> Result<(), JournalError> {
        match self.begin(held, operation) {
            Fault::Unavailable => Err(unavailable("the plan says so")),
            _ => Ok(()),
        }
    }

    fn compare_and_push(held: &mut Held, expected: &Tail, frame: &Frame) -> Append {
        let tail = held.tail();
        if tail != *expected {
            return Append::Conflict(tail);
        }
        Append::Committed(held.push(frame.clone()))
    }
}

impl Journal for MemoryJournal {
    fn tail(&self) -> Result<Tail, JournalError> {
        let mut held = self.shared.held.lock();
        self.begin_other(&mut held, Operation::Tail)?;
        Ok(held.tail())
    }

    fn append(&self, expected: &Tail, frame: &Frame) -> Append {
        if let Err(broken) = frame.follows(expected) {
            return Append::Unknown(broken.into());
        }
        if frame.body.len() > BODY_BYTES_MAX {
            let bytes = frame.body.len();
            return Append::Unknown(JournalError::TooLarge { bytes, bytes_max: BODY_BYTES_MAX });
        }
        let mut held = self.shared.held.lock();
        let outcome = match self.begin(&mut held, Operation::Append { expected, frame }) {
            Fault::None => Self::compare_and_push(&mut held, expected, frame),
            Fault::LoseAck => {
                Self::compare_and_push(&mut held, expected, frame);
                Append::Unknown(unavailable("the answer to an append was lost"))
            }
            Fault::DropAppend => Append::Unknown(unavailable("an append was lost")),
            Fault::Late { after } => {
                held.in_flight.push(InFlight {
                    operations_left: after.max(1),
                    expected: *expected,
                    frame: frame.clone(),
                });
                Append::Unknown(unavailable("an append takes too long"))
            }
            Fault::Intruder(record) => {
                if record.follows(&held.tail()).is_ok() {
                    held.push(*record);
                }
                Self::compare_and_push(&mut held, expected, frame)
            }
            Fault::Full => Append::Unknown(JournalError::Full { what: "the plan says so".into() }),
            Fault::Unavailable => Append::Unknown(unavailable("the plan says so")),
        };
        self.shared.grown.notify_all();
        outcome
    }

    fn read(&self, from: u64, bytes_max: usize) -> Result<Vec<Frame>, JournalError> {
        let mut held = self.shared.held.lock();
        self.begin_other(&mut held, Operation::Read { from })?;
        let (from, oldest) = (from.max(1), held.oldest());
        if from < oldest {
            return Err(JournalError::Trimmed { asked: from, oldest });
        }
        let skipped = usize::try_from(from - oldest).unwrap_or(usize::MAX);
        let mut before = skipped
            .checked_sub(1)
            .and_then(|index| held.records.get(index))
            .map(|(frame, hash)| frame.tail(*hash));
        let mut frames = Vec::new();
        let mut bytes = 0;
        for (frame, hash) in held.records.iter().skip(skipped) {
            bytes += RECORD_BYTES + frame.body.len();
            if bytes > bytes_max && !frames.is_empty() {
                break;
            }
            if frame.hash() != *hash {
                return Err(BrokenChain::Altered { seq: frame.seq }.into());
            }
            if let Some(before) = before {
                frame.follows(&before)?;
            }
            before = Some(frame.tail(*hash));
            frames.push(frame.clone());
        }
        Ok(frames)
    }

    fn oldest(&self) -> Result<u64, JournalError> {
        let mut held = self.shared.held.lock();
        self.begin_other(&mut held, Operation::Oldest)?;
        Ok(held.oldest())
    }

    fn trim(&self, upto: u64) -> Result<(), JournalError> {
        let mut held = self.shared.held.lock();
        self.begin_other(&mut held, Operation::Trim { upto })?;
        while held.records.len() > 1 && held.oldest() <= upto {
            held.records.pop_front();
        }
        Ok(())
    }

    fn fill(&self, next: &mut Source<'_>) -> Result<Tail, JournalError> {
        must_be_empty(&self.tail()?)?;
        let mut filled = Held::default();
        loop {
            let frames = next()?;
            if frames.is_empty() {
                break;
            }
            for frame in frames {
                fills(&frame, &filled.tail())?;
                filled.push(frame);
            }
        }
        let mut held = self.shared.held.lock();
        must_be_empty(&held.tail())?;
        held.records = filled.records;
        self.shared.grown.notify_all();
        Ok(held.tail())
    }

    fn watch(&self, seq: u64, wait_max: Duration) {
        if self.plan.is_some() {
            return;
        }
        let mut held = self.shared.held.lock();
        if held.tail().seq <= seq {
            self.shared.grown.wait_for(&mut held, wait_max);
        }
    }

    fn guarantees(&self) -> Guarantees {
        Guarantees {
            name: "memory",
            durable: false,
            replicated: false,
            shared: true,
            note: None,
            body_bytes_max: BODY_BYTES_MAX,
        }
    }
}
