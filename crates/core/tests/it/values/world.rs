//! A state under test, with the checks that must hold after every command.
//!
//! The expected answers are in the tables and in the naive model.

use std::fmt::Write;

use allod_core::claim::Claim;
use allod_core::command::{Command, Stamp, Transact};
use allod_core::event::Event;
use allod_core::limits::Limits;
use allod_core::receipt::Receipt;
use allod_core::refusal::{Refusal, Refused};
use allod_core::state::State;
use allod_core::state::restore::{Frozen, Restorer};
use allod_core::{decide, invariant};

/// The initial time of every world.
pub const EPOCH_MS: u64 = 1_000_000_000;

pub struct World {
    pub state: State,
    /// A follower: it gets only the events.
    replica: State,
    pub now_ms: u64,
    pub seed: u64,
    pub limits: Limits,
    /// The number of events of every journal entry so far.
    pub entries: Vec<usize>,
    /// Every refusal so far.
    pub refusals: Vec<Refusal>,
}

impl World {
    pub fn new() -> World {
        World {
            state: State::new(),
            replica: State::new(),
            now_ms: EPOCH_MS,
            seed: 0,
            limits: Limits::default(),
            entries: Vec::new(),
            refusals: Vec::new(),
        }
    }

    /// Decides a command, and checks what must hold for every decision.
    pub fn run(&mut self, command: &Command) -> Result<Receipt, Refused> {
        self.seed += 1;
        let stamp = Stamp { now_ms: self.now_ms, seed: self.seed };
        let frozen = self.state.freeze();
        let before = dump_frozen(&frozen);
        let dry = self.dry_run(&stamp, command, &before);

        let mut restored = restored(&self.state);
        assert_eq!(dump(&restored), before, "what was restored is not what was frozen");
        let answer = decide(&mut self.state, &stamp, command, &self.limits);
        let again = decide(&mut restored, &stamp, command, &self.limits);
        assert_sound(&self.state);
        assert_sound(&restored);
        let after = dump(&self.state);
        assert_eq!(dump(&restored), after, "a restored state decides otherwise");

        assert_eq!(dump_frozen(&frozen), before, "a frozen copy changed with its state");

        let decision = match answer {
            Err(refused) => {
                assert_eq!(after, before, "a refusal left something behind: {refused:?}");
                let again = again.err();
                assert_eq!(again.as_ref(), Some(&refused), "a restored state refuses otherwise");
                if let Some(dry) = dry {
                    assert_eq!(dry.err(), Some(refused.clone()), "a dry run answers otherwise");
                }
                self.refusals.push(refused.refusal.clone());
                return Err(refused);
            }
            Ok(decision) => decision,
        };
        if let Some(dry) = dry {
            assert_eq!(dry.as_ref(), Ok(&decision.receipt), "a dry run answers otherwise");
        }
        // Quarantines and leases of several pools that are due at the same time end in any order.
        let sorted = |events: &[Event]| {
            let mut events: Vec<String> = events.iter().map(|event| format!("{event:?}")).collect();
            events.sort_unstable();
            events
        };
        let again = again.expect("a restored state decides the same").events;
        assert_eq!(sorted(&again), sorted(&decision.events), "a restored state decides otherwise");
        if decision.events.is_empty() {
            assert_eq!(after, before, "something changed without an event");
        } else {
            self.replica.apply_entry(self.state.now_ms, &decision.events);
            self.entries.push(decision.events.len());
        }
        assert_sound(&self.replica);
        assert_eq!(dump(&self.replica), after, "the events do not lead to the same state");

        // Undone and decided again, so that every later step uses a state that was undone once.
        self.state.undo(decision.undo);
        assert_sound(&self.state);
        assert_eq!(dump(&self.state), before, "undo did not bring back what was there");
        let redone = decide(&mut self.state, &stamp, command, &self.limits).expect("as before");
        assert_eq!(redone.events, decision.events, "after undo the decision is another");
        assert_eq!(dump(&self.state), after);
        // Removed pools leave the indexes at different times in different copies, and nothing shows it.
        drop((self.state.clean_up(1), self.replica.clean_up(3)));
        assert_sound(&self.state);
        assert_sound(&self.replica);
        assert_eq!(dump(&self.state), after, "cleaning up changed something");
        assert_eq!(dump_frozen(&frozen), before, "a frozen copy changed with its state");
        Ok(redone.receipt)
    }

    /// The answer of a dry run of the same command.
    fn dry_run(
        &mut self,
        stamp: &Stamp,
        command: &Command,
        before: &str,
    ) -> Option<Result<Receipt, Refused>> {
        let Command::Transact(transact) = command else { return None };
        let dry = Command::Transact(Transact { dry_run: true, ..transact.clone() });
        let answer = decide(&mut self.state, stamp, &dry, &self.limits);
        assert_sound(&self.state);
        assert_eq!(dump(&self.state), before, "a dry run changed something");
        Some(answer.map(|decision| {
            assert!(decision.events.is_empty(), "a dry run has events");
            decision.receipt
        }))
    }
}

fn assert_sound(state: &State) {
    let wrong = invariant::check(state);
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// The state after a restart from a checkpoint.
pub fn restored(state: &State) -> State {
    let frozen = state.freeze();
    let mut restorer = Restorer::new(frozen.position, frozen.now_ms);
    frozen.events().for_each(|event| restorer.event(&event));
    for pool in frozen.pools {
        restorer.pool(pool.image());
        pool.rows.claims().for_each(|claim| restorer.claim(claim));
        let asked = pool.requests.iter().flat_map(|requests| requests.iter());
        asked.for_each(|asked| restorer.request(asked.clone()));
    }
    frozen.idempotency.iter().for_each(|stored| restorer.idempotency(stored.clone()));
    frozen.capacity.classes().for_each(|named| restorer.class(named.clone()));
    frozen.capacity.traits().for_each(|named| restorer.trait_name(named.clone()));
    frozen.capacity.providers().for_each(|image| restorer.provider(image));
    frozen.capacity.consumers().for_each(|image| restorer.consumer(image));
    restorer.finish()
}

/// The whole state as text, in an order that does not depend on its history.
pub fn dump(state: &State) -> String {
    dump_frozen(&state.freeze())
}

pub fn dump_frozen(frozen: &Frozen) -> String {
    let mut out = format!("position {} at {}\n", frozen.position, frozen.now_ms);
    for pool in &frozen.pools {
        let (image, rows, requests) = (pool.image(), &pool.rows, &pool.requests);
        let (name, generation, spec) = (&image.name, image.generation, &image.spec);
        let _ = writeln!(out, "pool {name} generation {generation} {spec:?}");
        let _ = writeln!(out, "  cursor {:?} released {:?}", image.cursor, image.released);
        let _ = writeln!(out, "  blocks {:?} requests {:?}", image.blocks, image.requests);
        let mut asked: Vec<_> = requests.iter().flat_map(|requests| requests.iter()).collect();
        asked.sort_by_key(|asked| asked.key.clone());
        let _ = writeln!(out, "  {asked:?}");
        let mut claims: Vec<Claim> = rows.claims().collect();
        claims.sort_by_key(|claim| claim.values.first());
        for claim in claims {
            let _ = writeln!(out, "  {claim:?}");
        }
    }
    let _ = writeln!(out, "outbox {:?} alarms {:?}", frozen.notifications, frozen.alarms);
    let _ = writeln!(out, "retries {:?}", frozen.retries);
    for event in frozen.authorities.events() {
        let _ = writeln!(out, "{event:?}");
    }
    for request in frozen.idempotency.iter() {
        let _ = writeln!(out, "request {request:?}");
    }
    let capacity = &frozen.capacity;
    for named in capacity.classes().chain(capacity.traits()) {
        let _ = writeln!(out, "{named:?}");
    }
    let mut providers: Vec<_> = capacity.providers().collect();
    providers.sort_by_key(|image| image.uuid);
    let mut consumers: Vec<_> = capacity.consumers().collect();
    consumers.sort_by_key(|image| image.uuid);
    for provider in providers {
        let _ = writeln!(out, "{provider:?}");
    }
    for consumer in consumers {
        let _ = writeln!(out, "{consumer:?}");
    }
    out
}
