//! A journal in memory, for tests and the simulation. Several handles may share one storage, handles may be dropped and
//! opened again, and a fault plan supplied by the caller makes chosen operations fail.
//!
//! It uses no threads, clock or randomness: the calls and the plan determine everything. The exception is `watch` on a
//! handle without a plan, which waits as with any other journal.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use crate::contract::{
    AppendOutcome, FillSource, Guarantees, Journal, JournalError, RECORD_BYTES, ensure_empty,
    ensure_fills,
};
use crate::frame::{BrokenChain, Hash, RecordFrame, Tail};

const BODY_BYTES_MAX: usize = 16 << 20;

/// The operation that the plan is asked about.
#[derive(Debug)]
pub struct OperationAttempt<'a> {
    /// Counts the operations of all handles on this storage, from 1.
    pub number: u64,
    pub operation: JournalOperation<'a>,
    /// The actual end of the journal.
    pub tail: Tail,
}

#[derive(Debug)]
pub enum JournalOperation<'a> {
    Append { expected: &'a Tail, frame: &'a RecordFrame },
    Tail,
    Read { from: u64 },
    Oldest,
    Trim { upto: u64 },
}

impl OperationAttempt<'_> {
    /// A record that begins another writer's epoch at the current tail; for `InjectedFault::Intruder`.
    pub fn intruder(&self, level: u32, batch: u128, at_ms: u64, body: Vec<u8>) -> Box<RecordFrame> {
        let ours = match self.operation {
            JournalOperation::Append { frame, .. } => frame.epoch,
            _ => 0,
        };
        Box::new(RecordFrame {
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

/// How one operation fails. Operations other than appends treat every fault except `Unavailable` as `None`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InjectedFault {
    None,
    /// The append happens, but its acknowledgement is lost.
    LoseAck,
    /// The append never happens, and its outcome is unknown to the writer.
    DropAppend,
    /// The outcome is unknown to the writer. The append happens after this many further operations, if the journal still
    /// ends at the expected tail.
    Late {
        after: u32,
    },
    /// Another writer appends this record first.
    Intruder(Box<RecordFrame>),
    Full,
    /// The operation does not happen.
    Unavailable,
}

/// Called before each operation of a handle.
pub type FaultPlan = Box<dyn FnMut(&OperationAttempt<'_>) -> InjectedFault + Send>;

/// The records that several handles share. Outlives the handles.
#[derive(Debug, Clone, Default)]
pub struct MemoryStorage {
    shared: Arc<SharedStorage>,
}

#[derive(Debug, Default)]
struct SharedStorage {
    held: Mutex<StoredRecords>,
    grown: Condvar,
}

#[derive(Debug, Default)]
struct StoredRecords {
    records: VecDeque<(RecordFrame, Hash)>,
    operations: u64,
    in_flight: Vec<DelayedAppend>,
}

#[derive(Debug)]
struct DelayedAppend {
    operations_left: u32,
    expected: Tail,
    frame: RecordFrame,
}

impl StoredRecords {
    fn tail(&self) -> Tail {
        self.records.back().map_or_else(Tail::default, |(frame, hash)| frame.tail(*hash))
    }

    fn oldest(&self) -> u64 {
        self.records.front().map_or(1, |(frame, _)| frame.seq)
    }

    fn push(&mut self, frame: RecordFrame) -> Tail {
        let hash = frame.hash();
        self.records.push_back((frame, hash));
        self.tail()
    }

    /// Performs the delayed appends that are due, oldest first.
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

    /// A handle without faults.
    pub fn open(&self) -> MemoryJournal {
        MemoryJournal { shared: self.shared.clone(), plan: None }
    }

    /// A handle with the faults of a plan. Its `watch` returns at once, because in the simulation nothing else runs
    /// meanwhile.
    pub fn open_with(&self, plan: FaultPlan) -> MemoryJournal {
        MemoryJournal { shared: self.shared.clone(), plan: Some(Mutex::new(plan)) }
    }

    /// Removes the last `count` records, as a fail-over to an asynchronous replica does. Returns the new tail.
    pub fn drop_last(&self, count: usize) -> Tail {
        let mut held = self.shared.held.lock();
        let kept = held.records.len().saturating_sub(count);
        held.records.truncate(kept);
        held.in_flight.clear();
        held.tail()
    }

    /// Performs all delayed appends whose expected tail still is the journal's.
    pub fn land_all(&self) {
        let mut held = self.shared.held.lock();
        for one in std::mem::take(&mut held.in_flight) {
            if one.expected == held.tail() {
                held.push(one.frame);
            }
        }
        self.shared.grown.notify_all();
    }

    /// Changes a stored record as a failing disk would. False if there is no such record.
    pub fn alter(&self, seq: u64, change: impl FnOnce(&mut RecordFrame)) -> bool {
        let mut held = self.shared.held.lock();
        let found = held.records.iter_mut().find(|(frame, _)| frame.seq == seq);
        found.map(|(frame, _)| change(frame)).is_some()
    }
}

/// One handle on a `MemoryStorage`.
pub struct MemoryJournal {
    shared: Arc<SharedStorage>,
    plan: Option<Mutex<FaultPlan>>,
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
    /// Begins an operation: performs the delayed appends that are due, then asks the plan.
    fn begin(&self, held: &mut StoredRecords, operation: JournalOperation<'_>) -> InjectedFault {
        held.land();
        let Some(plan) = &self.plan else { return InjectedFault::None };
        let attempt = OperationAttempt { number: held.operations, operation, tail: held.tail() };
        plan.lock()(&attempt)
    }

    fn begin_other(
        &self,
        held: &mut StoredRecords,
        operation: JournalOperation<'_>,
    ) -> Result<(), JournalError> {
        match self.begin(held, operation) {
            InjectedFault::Unavailable => Err(unavailable("injected fault")),
            _ => Ok(()),
        }
    }

    fn compare_and_push(
        held: &mut StoredRecords,
        expected: &Tail,
        frame: &RecordFrame,
    ) -> AppendOutcome {
        let tail = held.tail();
        if tail != *expected {
            return AppendOutcome::Conflict(tail);
        }
        AppendOutcome::Committed(held.push(frame.clone()))
    }
}

impl Journal for MemoryJournal {
    fn tail(&self) -> Result<Tail, JournalError> {
        let mut held = self.shared.held.lock();
        self.begin_other(&mut held, JournalOperation::Tail)?;
        Ok(held.tail())
    }

    fn append(&self, expected: &Tail, frame: &RecordFrame) -> AppendOutcome {
        if let Err(broken) = frame.follows(expected) {
            return AppendOutcome::Unknown(broken.into());
        }
        if frame.body.len() > BODY_BYTES_MAX {
            let bytes = frame.body.len();
            return AppendOutcome::Unknown(JournalError::TooLarge {
                bytes,
                bytes_max: BODY_BYTES_MAX,
            });
        }
        let mut held = self.shared.held.lock();
        let outcome = match self.begin(&mut held, JournalOperation::Append { expected, frame }) {
            InjectedFault::None => Self::compare_and_push(&mut held, expected, frame),
            InjectedFault::LoseAck => {
                Self::compare_and_push(&mut held, expected, frame);
                AppendOutcome::Unknown(unavailable("the acknowledgement of an append was lost"))
            }
            InjectedFault::DropAppend => AppendOutcome::Unknown(unavailable("an append was lost")),
            InjectedFault::Late { after } => {
                held.in_flight.push(DelayedAppend {
                    operations_left: after.max(1),
                    expected: *expected,
                    frame: frame.clone(),
                });
                AppendOutcome::Unknown(unavailable("an append took too long"))
            }
            InjectedFault::Intruder(record) => {
                if record.follows(&held.tail()).is_ok() {
                    held.push(*record);
                }
                Self::compare_and_push(&mut held, expected, frame)
            }
            InjectedFault::Full => {
                AppendOutcome::Unknown(JournalError::Full { what: "injected fault".into() })
            }
            InjectedFault::Unavailable => AppendOutcome::Unknown(unavailable("injected fault")),
        };
        self.shared.grown.notify_all();
        outcome
    }

    fn read(&self, from: u64, bytes_max: usize) -> Result<Vec<RecordFrame>, JournalError> {
        let mut held = self.shared.held.lock();
        self.begin_other(&mut held, JournalOperation::Read { from })?;
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
        self.begin_other(&mut held, JournalOperation::Oldest)?;
        Ok(held.oldest())
    }

    fn trim(&self, upto: u64) -> Result<(), JournalError> {
        let mut held = self.shared.held.lock();
        self.begin_other(&mut held, JournalOperation::Trim { upto })?;
        while held.records.len() > 1 && held.oldest() <= upto {
            held.records.pop_front();
        }
        Ok(())
    }

    fn fill(&self, next: &mut FillSource<'_>) -> Result<Tail, JournalError> {
        ensure_empty(&self.tail()?)?;
        let mut filled = StoredRecords::default();
        loop {
            let frames = next()?;
            if frames.is_empty() {
                break;
            }
            for frame in frames {
                ensure_fills(&frame, &filled.tail())?;
                filled.push(frame);
            }
        }
        let mut held = self.shared.held.lock();
        ensure_empty(&held.tail())?;
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
