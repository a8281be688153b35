//! Undoes a decision.
//!
//! A transaction is decided operation by operation on the speculative copy; each operation sees the changes of those
//! before it. If one is refused, all changes are undone in reverse order, which restores every index exactly.

use std::sync::Arc;

use super::capacity::update::CapacityUndo;
use super::pool::PoolChange;
use super::{PoolIx, State};
use crate::alarm::{Alarm, AlarmKind};
use crate::authority::state::{Authority, LookUpName};
use crate::authority::{ExternalClaim, LookUp};
use crate::capacity::Uuid;
use crate::event::IdempotencyStored;
use crate::outbox::Notification;
use crate::requests::event::Retry;

/// One change of the state, with what is needed to undo it.
#[derive(Debug, Clone)]
pub(crate) enum StateChange {
    Clock { position: u64, now_ms: u64 },
    PoolAdded(PoolIx),
    PoolRemoved(PoolIx),
    Pool(PoolIx, PoolChange),
    IdempotencyAdded(IdempotencyStored),
    IdempotencyDropped(IdempotencyStored),
    Capacity(CapacityUndo),
    Alarm { object: Arc<str>, kind: AlarmKind, before: Option<Alarm> },
    RetryGroups(Option<Retry>),
    Notification { number: u128, before: Option<Arc<Notification>> },
    Identity(Option<u32>),
    Authority { name: Arc<str>, before: Option<Arc<Authority>> },
    LookUp { name: LookUpName, before: Option<Arc<LookUp>> },
    External { reference: Uuid, before: Option<Arc<ExternalClaim>> },
}

/// The changes of the decision in progress.
#[derive(Debug, Clone, Default)]
pub(crate) struct ChangeLog {
    pub on: bool,
    pub changes: Vec<StateChange>,
}

/// Undoes one decision. Valid only while no newer decision exists, or after the newer ones were undone.
#[derive(Debug, Default)]
#[must_use = "a decision that is not durable must be undone"]
pub struct Undo(Vec<StateChange>);

impl State {
    /// Starts to log changes.
    pub(crate) fn begin(&mut self) {
        self.log.on = true;
        self.log.changes.clear();
        self.note(StateChange::Clock { position: self.position, now_ms: self.now_ms });
    }

    /// Stops the log and returns the changes since [`State::begin`].
    pub(crate) fn end(&mut self) -> Undo {
        self.log.on = false;
        Undo(std::mem::take(&mut self.log.changes))
    }

    /// The current length of the log, for [`State::back_to`].
    pub(crate) fn mark(&self) -> usize {
        self.log.changes.len()
    }

    /// Undoes the changes after the mark.
    pub(crate) fn back_to(&mut self, mark: usize) {
        let later = self.log.changes.split_off(mark);
        self.log.on = false;
        self.undo(Undo(later));
        self.log.on = true;
    }

    pub fn undo(&mut self, undo: Undo) {
        for change in undo.0.into_iter().rev() {
            match change {
                StateChange::Clock { position, now_ms } => {
                    (self.position, self.now_ms) = (position, now_ms)
                }
                StateChange::PoolAdded(ix) => self.take_pool_back(ix),
                StateChange::PoolRemoved(ix) => self.bring_pool_back(ix),
                StateChange::Pool(ix, change) => self.undo_pool(ix, change),
                StateChange::IdempotencyAdded(stored) => drop(self.answers.remove(stored.key())),
                StateChange::IdempotencyDropped(stored) => self.answers.add(stored),
                StateChange::Capacity(change) => self.capacity.undo(change),
                StateChange::RetryGroups(before) => self.retry_groups = before,
                StateChange::Alarm { object, kind, before } => {
                    drop(self.alarms.put(object, kind, before))
                }
                StateChange::Identity(before) => self.authorities.identity = before,
                StateChange::Authority { name, before } => drop(self.set_authority(name, before)),
                StateChange::LookUp { name, before } => {
                    drop(self.authorities.lookups.put(name, before))
                }
                StateChange::External { reference, before } => {
                    drop(self.authorities.put(reference, before))
                }
                StateChange::Notification { number, before } => {
                    drop(self.outbox.put(number, before))
                }
            }
        }
    }

    pub(crate) fn note(&mut self, change: StateChange) {
        if self.log.on {
            self.log.changes.push(change);
        }
    }
}
