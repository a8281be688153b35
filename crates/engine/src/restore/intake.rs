//! Takes records in on their way to a journal and follows what they lead to.
//!
//! There are two ways to a state: from the very first record, and from a checkpoint. Where a backup and an archive
//! together offer both, they must come to the same.

use allod_core::invariant;
use allod_journal::segment::Link;
use allod_journal::{RecordFrame, Tail};

use super::RestoreError;
use crate::checkpoint::state_hash;
use crate::replay::{Halt, Replayed, decode};

pub(super) struct Intake {
    /// What the records lead to, from where that is known on.
    replayed: Option<Replayed>,
    /// The state at a record that is still to come.
    checkpoint: Option<Replayed>,
    /// The record that the first must follow, when it is not the first of all.
    before: Option<Link>,
    last: Option<Tail>,
    first: u64,
    between_ms: Option<(u64, u64)>,
    /// Whether the records need not lead to a state.
    stateless: bool,
}

/// What all the records came to.
pub(super) struct IntakeSummary {
    pub replayed: Replayed,
    /// The first of them; 0 when there was none.
    pub first: u64,
    /// When the first and the last of them were written.
    pub between_ms: Option<(u64, u64)>,
}

impl Intake {
    /// For records from `first` on.
    pub(super) fn new(
        first: u64,
        before: Option<Link>,
        checkpoint: Option<Replayed>,
        stateless: bool,
    ) -> Intake {
        let (mut replayed, mut checkpoint) = (None, checkpoint);
        if first == 1 {
            replayed = Some(Replayed::empty());
        } else if checkpoint.as_ref().is_some_and(|state| state.tail.seq + 1 == first) {
            replayed = checkpoint.take();
        }
        let between_ms = None;
        Intake { replayed, checkpoint, before, last: None, first: 0, between_ms, stateless }
    }

    pub(super) fn take_in(&mut self, frame: &RecordFrame) -> Result<(), RestoreError> {
        self.follows(frame)?;
        match &mut self.replayed {
            Some(replayed) => replayed.take_in(frame).map_err(RestoreError::Contents)?,
            // What leads up to a checkpoint must at least be readable.
            None => drop(decode(frame).map_err(RestoreError::Contents)?),
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

    /// The record that the checkpoint was taken at has come: from here on its state is known, or must be the one that we
    /// have.
    fn reach_checkpoint(&mut self, record: u64) -> Result<(), RestoreError> {
        let Some(state) = self.checkpoint.take() else { return Ok(()) };
        let hash = |state: &Replayed| state_hash(&state.state, state.level);
        let same = self.last == Some(state.tail)
            && self.replayed.as_ref().is_none_or(|replayed| hash(replayed) == hash(&state));
        if !same {
            return Err(RestoreError::Differs { record });
        }
        self.replayed.get_or_insert(state);
        Ok(())
    }

    /// At the end of all records: whether what they lead to is in order.
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
            None if self.stateless => Replayed::empty(),
            None => return Err(RestoreError::Contents(Halt::MissingCheckpoint { oldest: first })),
        };
        Ok(IntakeSummary { replayed, first, between_ms })
    }
}
