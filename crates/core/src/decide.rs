//! Turns a command into events, or a refusal. One file for each command or operation; the commands of
//! [`crate::blocks`], [`crate::requests`], [`crate::authority`], [`crate::outbox`] and [`crate::alarm`] are decided there.
//!
//! A decision changes the speculative copy of the state; a refusal leaves it unchanged. Clocks, random numbers and wire
//! forms are not here.

pub(crate) mod capacity;
mod check;
pub(crate) mod claim;
pub(crate) mod exhausted;
pub(crate) mod lease;
pub(crate) mod pick;
pub(crate) mod pool;
pub(crate) mod release;
pub(crate) mod room;
mod tick;
mod transact;
pub(crate) mod valid;

use std::sync::Arc;

use crate::capacity::Uuid;
use crate::claim::Want;
use crate::command::{Command, Expect, Stamp};
use crate::event::{ClaimEvent, Event};
use crate::limits::{Limits, at_most};
use crate::random;
use crate::receipt::{Outcome, Receipt};
use crate::refusal::{Refusal, Refused};
use crate::span::Span;
use crate::spanset::StepsUsedUp;
use crate::state::State;
use crate::state::pool::Pool;
use crate::state::undo::Undo;
use crate::{alarm, authority, blocks, outbox, requests};

/// The search steps for each claim or quarantine that ends because another claim needs its values.
const STEPS_PER_END: u64 = 10;

/// What a provider or a consumer counts, beside its amounts.
const AMOUNTS_PER_THING: u64 = 4;

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
    let mut draft = Draft {
        state,
        limits,
        now_ms,
        version,
        seed: stamp.seed,
        events: Vec::new(),
        references: 0,
        ended: 0,
        search_steps: limits.search_steps_max,
        searched: None,
        requests: 0,
        amounts: 0,
        requests_max: RequestsMax::None,
    };
    let answer = match command {
        Command::Transact(transact) => transact::run(&mut draft, transact),
        Command::PutPool(put) => one(pool::put(&mut draft, put)),
        Command::DeletePool(delete) => one(pool::delete(&mut draft, delete)),
        Command::Capacity(command) => one(capacity::run(&mut draft, command)),
        Command::Blocks(command) => one(blocks::decide::run(&mut draft, command)),
        Command::Requests(command) => one(requests::decide::run(&mut draft, command)),
        Command::Outbox(command) => one(outbox::decide(&mut draft, command)),
        Command::Alarm(command) => one(alarm::decide(&mut draft, command)),
        Command::Authority(command) => one(authority::decide::run(&mut draft, command)),
        Command::Tick => one(tick::run(&mut draft)),
    };
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

/// The answer to a command that is one operation.
fn one(outcome: Result<Outcome, Refusal>) -> Result<Receipt, Refused> {
    match outcome {
        Ok(outcome) => Ok(Receipt::of(vec![outcome])),
        Err(refusal) => Err(Refused { op: 0, refusal }),
    }
}

impl Command {
    fn is_dry_run(&self) -> bool {
        matches!(self, Command::Transact(transact) if transact.dry_run)
    }
}

/// A decision in progress: the events so far are already applied to the state.
pub(crate) struct Draft<'a> {
    pub state: &'a mut State,
    pub limits: &'a Limits,
    pub now_ms: u64,
    /// The journal position of this decision, and the version of every claim that it changes.
    pub version: u64,
    seed: u64,
    pub events: Vec<Event>,
    /// The number of references that the command has drawn.
    references: u16,
    /// The number of claims that were ended for the claim that is being decided.
    pub ended: u64,
    /// The steps that are left for searches, see [`Limits::search_steps_max`].
    search_steps: u64,
    /// The last of these searches.
    searched: Option<CommonSearch>,
    /// The number of requests that the command has looked at, or entries of id pools.
    requests: u64,
    requests_max: RequestsMax,
    /// See [`Limits::allocations_per_request_max`].
    amounts: u64,
}

/// How many requests a command may look at.
enum RequestsMax {
    None,
    /// More than this refuse the command.
    Refuse(u64),
    /// More than this are left to the next tick.
    Leave(u64),
}

/// How far a search for a value that is free in several pools has come, so that the next claim of a transaction does not
/// begin again at the lowest value.
struct CommonSearch {
    pools: Vec<Arc<str>>,
    want: Want,
    /// No value below it is free in all of the pools.
    from: u128,
    /// The number of events when this was true.
    events: usize,
}

/// A point in a draft to which it can be rolled back.
pub(crate) struct Mark {
    changes: usize,
    events: usize,
    ended: u64,
}

impl Draft<'_> {
    pub fn record(&mut self, event: impl Into<Event>) {
        let event = event.into();
        self.state.apply(&event);
        self.events.push(event);
    }

    pub fn mark(&self) -> Mark {
        Mark { changes: self.state.mark(), events: self.events.len(), ended: self.ended }
    }

    /// Reverts everything after the mark.
    pub fn back_to(&mut self, mark: Mark) {
        self.state.back_to(mark.changes);
        self.events.truncate(mark.events);
        self.ended = mark.ended;
        self.searched = None;
    }

    /// Records the end of a claim whose values another claim needs.
    pub fn end(&mut self, event: Event) {
        self.record(event);
        self.ended += 1;
        self.search_steps = self.search_steps.saturating_sub(STEPS_PER_END);
    }

    pub fn may_end_more(&self) -> bool {
        self.ended < self.limits.claims_ended_per_claim_max && self.search_steps >= STEPS_PER_END
    }

    /// Refuses when the command may not end so many more claims or quarantines.
    pub fn ensure_may_end(&self, many: u64) -> Result<(), Refusal> {
        self.ensure_steps(many.saturating_mul(STEPS_PER_END))
    }

    /// Counts search steps.
    pub fn spend(&mut self, steps: u64) -> Result<(), Refusal> {
        self.ensure_steps(steps)?;
        self.search_steps -= steps;
        Ok(())
    }

    /// Refuses when the command has fewer search steps left.
    pub fn ensure_steps(&self, steps: u64) -> Result<(), Refusal> {
        let (max, left) = (self.limits.search_steps_max, self.search_steps);
        at_most("search_steps_max", max, (max - left).saturating_add(steps))
    }

    /// From here on the command is refused if it looks at more requests than an edit may.
    pub fn limit_requests(&mut self) {
        self.requests_max = RequestsMax::Refuse(self.limits.requests_per_edit_max);
    }

    /// From here on failed requests are tried again, a limited number of them.
    pub fn begin_retries(&mut self) {
        let max = self.limits.waiting_requests_per_entry_max;
        self.requests_max = RequestsMax::Leave(self.requests.saturating_add(max));
    }

    /// Counts requests that the command looks at.
    pub fn touch_requests(&mut self, many: u64) -> Result<(), Refusal> {
        self.requests = self.requests.saturating_add(many);
        match self.requests_max {
            RequestsMax::Refuse(max) => at_most("requests_per_edit_max", max, self.requests),
            RequestsMax::None | RequestsMax::Leave(_) => Ok(()),
        }
    }

    /// Counts amounts of a provider or a consumer: those that are set, and those that it has.
    pub fn touch_amounts(&mut self, set: usize, has: usize) -> Result<(), Refusal> {
        let (first, max) = (self.amounts == 0, self.limits.allocations_per_request_max);
        let set = AMOUNTS_PER_THING.saturating_add(set as u64);
        self.amounts = self.amounts.saturating_add(set).saturating_add(has as u64);
        let counted = if first { set } else { self.amounts };
        at_most("allocations_per_request_max", max, counted)
    }

    /// Whether a tick may release the allocations of another consumer.
    pub fn may_touch_more_amounts(&self) -> bool {
        self.amounts < self.limits.allocations_per_request_max
    }

    pub fn may_retry_more(&self) -> bool {
        match self.requests_max {
            RequestsMax::Leave(max) => self.requests < max,
            RequestsMax::None | RequestsMax::Refuse(_) => true,
        }
    }

    pub fn pool(&self, name: &Arc<str>) -> Result<&Pool, Refusal> {
        self.state.pool(name).ok_or_else(|| Refusal::PoolUnknown { pool: name.clone() })
    }

    /// The smallest value that is free in all of the pools; a refusal when the search takes too many steps.
    pub fn pick_common(
        &mut self,
        names: &[Arc<str>],
        want: &Want,
    ) -> Result<Option<Span>, Refusal> {
        let last = self.searched.take().filter(|last| {
            last.pools == names && last.want == *want && self.only_granted_since(last.events)
        });
        let from = last.map_or(0, |last| last.from);
        let pools = names.iter().map(|name| self.pool(name)).collect::<Result<Vec<_>, _>>()?;
        let mut steps = self.search_steps;
        let found = pick::pick_common(&pools, want, from, &mut steps);
        self.search_steps = steps;
        let found = found.map_err(|StepsUsedUp| Refusal::SearchTooLong {
            pools: names.to_vec(),
            steps_max: self.limits.search_steps_max,
        })?;
        if let Some(value) = found {
            let (pools, want) = (names.to_vec(), want.clone());
            let events = self.events.len();
            self.searched = Some(CommonSearch { pools, want, from: value.first, events });
        }
        Ok(found)
    }

    /// Whether no value has become free since the draft had this number of events.
    fn only_granted_since(&self, events: usize) -> bool {
        let since = self.events.get(events..);
        since.is_some_and(|since| {
            since.iter().all(|event| matches!(event, Event::Claim(ClaimEvent::Granted(_))))
        })
    }

    /// A new reference for an authority.
    pub fn reference(&mut self) -> Uuid {
        let identity = self.state.authorities.identity.unwrap_or_default();
        let (random, place) = (self.random(), self.references);
        self.references += 1;
        authority::reference(identity, random, self.version, place)
    }

    pub fn random(&mut self) -> u64 {
        random::next(&mut self.seed)
    }
}

impl Expect {
    /// Whether the actual version meets the expectation; `None`: the thing does not exist.
    pub(crate) fn holds(self, actual: Option<u64>) -> bool {
        match self {
            Expect::Any => true,
            Expect::Absent => actual.is_none(),
            Expect::Present => actual.is_some(),
            Expect::Is(version) => actual == Some(version),
        }
    }
}
