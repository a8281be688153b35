//! Taking back what a decision has changed.
//!
//! A transaction is decided operation by operation on the speculative copy, each seeing what the ones before it did. If
//! one is refused, all that they changed is undone, in reverse; what is left is what was there, to the last index.

use std::sync::Arc;

use super::capacity::change::Change as CapacityChange;
use super::outbox::Notice;
use super::pool::{Change as PoolChange, Pool};
use super::{PoolIx, State};
use crate::event::RequestRemembered;
use crate::resource::{Alarm, AlarmKind};

/// One thing that changed, and what it was before.
#[derive(Debug, Clone)]
pub(crate) enum Change {
    Clock { position: u64, now_ms: u64 },
    PoolAdded(PoolIx),
    PoolDropped(Box<Pool>),
    Pool(PoolIx, PoolChange),
    RequestAdded(Arc<str>),
    RequestDropped(Arc<RequestRemembered>),
    Capacity(CapacityChange),
    Alarm { object: Arc<str>, kind: AlarmKind, before: Option<Alarm> },
    Notice { number: u128, before: Option<Arc<Notice>> },
}

/// The changes of the decision under way.
#[derive(Debug, Clone, Default)]
pub(crate) struct Log {
    pub on: bool,
    pub changes: Vec<Change>,
}

/// How to take back one decision. Good only while nothing newer has been decided, or after that was taken back.
#[derive(Debug, Default)]
#[must_use = "a decision that is not to stand must be undone"]
pub struct Undo(Vec<Change>);

impl State {
    /// From here on, remember how to take back what changes.
    pub(crate) fn begin(&mut self) {
        self.log.on = true;
        self.log.changes.clear();
        self.note(Change::Clock { position: self.position, now_ms: self.now_ms });
    }

    /// The changes since [`State::begin`], which may now stand.
    pub(crate) fn end(&mut self) -> Undo {
        self.log.on = false;
        Undo(std::mem::take(&mut self.log.changes))
    }

    /// How far the decision under way has come.
    pub(crate) fn mark(&self) -> usize {
        self.log.changes.len()
    }

    /// Takes back the part of the decision under way that came after the mark.
    pub(crate) fn back_to(&mut self, mark: usize) {
        let later = self.log.changes.split_off(mark);
        self.log.on = false;
        self.undo(Undo(later));
        self.log.on = true;
    }

    /// Takes a decision back.
    pub fn undo(&mut self, undo: Undo) {
        for change in undo.0.into_iter().rev() {
            match change {
                Change::Clock { position, now_ms } => {
                    (self.position, self.now_ms) = (position, now_ms)
                }
                Change::PoolAdded(ix) => drop(self.drop_pool(ix)),
                Change::PoolDropped(pool) => self.add_pool(pool),
                Change::Pool(ix, change) => self.undo_pool(ix, change),
                Change::RequestAdded(key) => drop(self.drop_request(&key)),
                Change::RequestDropped(request) => self.add_request(request),
                Change::Capacity(change) => self.capacity.undo(change),
                Change::Alarm { object, kind, before } => {
                    drop(self.put_alarm(object, kind, before))
                }
                Change::Notice { number, before } => drop(self.outbox.put(number, before)),
            }
        }
    }

    pub(crate) fn note(&mut self, change: Change) {
        if self.log.on {
            self.log.changes.push(change);
        }
    }
}
