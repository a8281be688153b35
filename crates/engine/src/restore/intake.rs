//! Checks the records of a restore and computes the state that they lead to.
//!
//! The state is computed from the first record, or from a checkpoint. If a backup and an archive allow both, the results
//! must be equal.

use allod_core::invariant;
use allod_journal::segment::Link;
use allod_journal::{RecordFrame, Tail};

use super::RestoreError;
use crate::checkpoint::state_hash;
use crate::replay::{Halt, Replica, decode_record};

pub(super) struct Intake {
    /// The state after the records so far; `None` before the checkpoint is reached.
    replayed: Option<Replica>,
    /// The state after a later record.
    checkpoint: Option<Replica>,
    /// The predecessor of the first record.
    before: Option<Link>,
    last: Option<Tail>,
    first: u64,
    between_ms: Option<(u64, u64)>,
    /// The records need not lead to a state.
    stateless: bool,
}

/// The result after all records.
pub(super) struct IntakeSummary {
    pub replayed: Replica,
    /// The first record; 0 if there is none.
    pub first: u64,
    /// When the first and the last record were written.
    pub between_ms: Option<(u64, u64)>,
}

impl Intake {
    /// For records that begin with `first`.
    pub(super) fn new(
        first: u64,
        before: Option<Link>,
        checkpoint: Option<Replica>,
        stateless: bool,
    ) -> Intake {
        let (mut replayed, mut checkpoint) = (None, checkpoint);
        if first == 1 {
            replayed = Some(Replica::empty());
        } else if checkpoint.as_ref().is_some_and(|state| state.tail.seq + 1 == first) {
            replayed = checkpoint.take();
        }
        let between_ms = None;
        Intake { replayed, checkpoint, before, last: None, first: 0, between_ms, stateless }
    }

    pub(super) fn add(&mut self, frame: &RecordFrame) -> Result<(), RestoreError> {
        self.follows(frame)?;
        match &mut self.replayed {
            Some(replayed) => drop(replayed.apply_record(frame).map_err(RestoreError::Contents)?),
            // Records before the checkpoint must at least be decodable.
            None => drop(decode_record(frame).map_err(RestoreError::Contents)?),
        }
        self.last = Some(frame.tail(frame.hash()));
        self.first = if self.first == 0 { frame.seq } else { self.first };
        let from_ms = self.between_ms.map_or(frame.at_ms, |(from_ms, _)| from_ms);
        self.between_ms = Some((from_ms, frame.at_ms));
        if self.checkpoint.as_ref().is_some_and(|state| state.tail.seq <= frame.seq) {
            self.reach_checkpoint(frame.seq)?;
        }
        Ok(())
    }

    fn follows(&self, frame: &RecordFrame) -> Result<(), RestoreError> {
        let forked = |broken| RestoreError::Contents(Halt::Forked(broken));
        match (self.last, self.before) {
            (Some(last), _) => frame.follows(&last).map_err(forked),
            (None, Some(Link { seq, hash })) => {
                frame.follows(&Tail { seq, hash, position: 0, epoch: 0 }).map_err(forked)
            }
            (None, None) => Ok(()),
        }
    }

    /// The checkpoint's record has been reached: compares its state with ours, or continues from it.
    fn reach_checkpoint(&mut self, record: u64) -> Result<(), RestoreError> {
        let Some(state) = self.checkpoint.take() else { return Ok(()) };
        let hash = |state: &Replica| state_hash(&state.state, state.level);
        let same = self.last == Some(state.tail)
            && self.replayed.as_ref().is_none_or(|replayed| hash(replayed) == hash(&state));
        if !same {
            return Err(RestoreError::Differs { record });
        }
        self.replayed.get_or_insert(state);
        Ok(())
    }

    /// After all records: checks the resulting state.
    pub(super) fn check(&self) -> Result<(), RestoreError> {
        if let Some(state) = &self.checkpoint {
            return Err(RestoreError::Differs { record: state.tail.seq });
        }
        let violations = self.replayed.iter().flat_map(|state| invariant::check(&state.state));
        let violations: Vec<String> = violations.collect();
        if violations.is_empty() { Ok(()) } else { Err(RestoreError::Violations(violations)) }
    }

    pub(super) fn finish(self) -> Result<IntakeSummary, RestoreError> {
        let Intake { first, between_ms, .. } = self;
        let replayed = match self.replayed {
            Some(replayed) => replayed,
            None if self.stateless => Replica::empty(),
            None => return Err(RestoreError::Contents(Halt::MissingCheckpoint { oldest: first })),
        };
        Ok(IntakeSummary { replayed, first, between_ms })
    }
}
