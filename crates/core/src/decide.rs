//! Turns a command into events, or a refusal. One file for each command or operation.
//!
//! A decision changes the speculative copy of the state; a refusal leaves it unchanged. Clocks, random numbers and wire
//! forms are not here.

mod capacity;
mod check;
mod claim;
mod exhausted;
pub(crate) mod ids;
mod lease;
mod pick;
mod pool;
mod release;
mod resource;
mod room;
mod tick;
mod transact;
mod valid;

use std::sync::Arc;

use crate::command::{Command, Expect, Stamp};
use crate::event::Event;
use crate::limits::Limits;
use crate::random;
use crate::receipt::{Outcome, Receipt};
use crate::refusal::{Refusal, Refused};
use crate::state::pool::Pool;
use crate::state::undo::Undo;
use crate::state::{PoolIx, State};

/// The result of a command that was accepted.
#[derive(Debug)]
pub struct Decision {
    /// One journal entry; empty when the command changed nothing.
    pub events: Vec<Event>,
    pub receipt: Receipt,
    /// Reverts the decision, in case the events do not become durable.
    pub undo: Undo,
}

/// Decides a command. The events of the decision are applied to the state; a refusal does not change it.
pub fn decide(
    state: &mut State,
    stamp: &Stamp,
    command: &Command,
    limits: &Limits,
) -> Result<Decision, Refused> {
    let now_ms = stamp.now_ms.max(state.now_ms);
    let version = state.position + 1;
    state.begin();
    state.now_ms = now_ms;
    let mut draft =
        Draft { state, limits, now_ms, version, seed: stamp.seed, events: Vec::new(), ended: 0 };
    let answer = match command {
        Command::PutPool(put) => pool::put(&mut draft, put).map_err(first),
        Command::DeletePool(delete) => pool::delete(&mut draft, delete).map_err(first),
        Command::Transact(transact) => transact::run(&mut draft, transact),
        Command::Capacity(command) => {
            capacity::run(&mut draft, command).map(Receipt::from).map_err(first)
        }
        Command::Resource(command) => {
            resource::run(&mut draft, command).map(Receipt::from).map_err(first)
        }
        Command::Ids(command) => ids::run(&mut draft, command).map(Receipt::from).map_err(first),
        Command::Tick => Ok(tick::run(&mut draft)),
    };
    // Whatever was released may be what somebody waits for.
    let settled = match (&answer, command) {
        (Err(_), _) | (_, Command::Resource(_)) => Ok(()),
        _ => resource::settle(&mut draft).map_err(first),
    };
    let answer = settled.and(answer);
    let mut events = draft.events;
    let keep = answer.is_ok() && !command.is_dry_run();
    if keep && !events.is_empty() {
        state.position += 1;
    }
    let mut undo = state.end();
    if !keep || events.is_empty() {
        events.clear();
        state.undo(std::mem::take(&mut undo));
    }
    answer.map(|receipt| Decision { events, receipt, undo })
}

/// The refusal of a command that is one operation.
fn first(refusal: Refusal) -> Refused {
    Refused { op: 0, refusal }
}

impl Command {
    fn is_dry_run(&self) -> bool {
        matches!(self, Command::Transact(transact) if transact.dry_run)
    }
}

impl From<Outcome> for Receipt {
    fn from(outcome: Outcome) -> Receipt {
        Receipt { outcomes: vec![outcome] }
    }
}

/// A decision in progress: the events so far are already applied to the state.
struct Draft<'a> {
    state: &'a mut State,
    limits: &'a Limits,
    now_ms: u64,
    /// The journal position of this decision, and the version of every claim that it changes.
    version: u64,
    seed: u64,
    events: Vec<Event>,
    /// The number of claims that were ended for the claim that is being decided.
    ended: u64,
}

/// A point in a draft to which it can be rolled back.
struct Mark {
    changes: usize,
    events: usize,
    ended: u64,
}

impl Draft<'_> {
    fn record(&mut self, event: Event) {
        self.state.apply(&event);
        self.events.push(event);
    }

    fn mark(&self) -> Mark {
        Mark { changes: self.state.mark(), events: self.events.len(), ended: self.ended }
    }

    /// Reverts everything after the mark.
    fn back_to(&mut self, mark: Mark) {
        self.state.back_to(mark.changes);
        self.events.truncate(mark.events);
        self.ended = mark.ended;
    }

    /// Records the end of a claim whose values another claim needs.
    fn end(&mut self, event: Event) {
        self.record(event);
        self.ended += 1;
    }

    fn may_end_more(&self) -> bool {
        self.ended < self.limits.claims_ended_per_claim_max
    }

    fn pool_ix(&self, name: &Arc<str>) -> Result<PoolIx, Refusal> {
        self.state
            .names
            .get(name)
            .copied()
            .ok_or_else(|| Refusal::PoolUnknown { pool: name.clone() })
    }

    fn pool(&self, name: &Arc<str>) -> Result<&Pool, Refusal> {
        let ix = self.pool_ix(name)?;
        self.state.pool_at(ix).ok_or_else(|| Refusal::PoolUnknown { pool: name.clone() })
    }

    fn random(&mut self) -> u64 {
        random::next(&mut self.seed)
    }
}

impl Expect {
    /// Whether the actual version meets the expectation; `None`: the thing does not exist.
    fn holds(self, actual: Option<u64>) -> bool {
        match self {
            Expect::Any => true,
            Expect::Absent => actual.is_none(),
            Expect::Present => actual.is_some(),
            Expect::Is(version) => actual == Some(version),
        }
    }
}
