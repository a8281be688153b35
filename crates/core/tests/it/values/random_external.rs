//! Random claims, transactions and look-ups at an inventory that loses and repeats answers. Each step is checked by
//! [`World`]; afterwards everything is answered, and the inventory has exactly what is held.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use allod_core::authority::command::{
    AuthorityCommand, GrantedValue, LookUpCommand, LookUpReport, ReconcileCommand, ReconcileReport,
    Report, Resolution, SeenValue, SettleAction,
};
use allod_core::authority::{
    AuthoritySpec, DriftPolicy, ExternalClaim, ExternalState, Findings, Missing, Orphan, Part,
    Protocol, RefusalCode, TransactionState,
};
use allod_core::capacity::Uuid;
use allod_core::claim::Want;
use allod_core::command::{ClaimOp, Command, Expect, Op, PutPool, ReleaseOp, Transact};
use allod_core::pool::{Labels, PoolRange, PoolSpec};
use allod_core::receipt::{Outcome, Receipt};
use allod_core::value::{Kind, ValueText};
use allod_core::view;
use proptest::prelude::*;

use crate::values::naive_external::{Inventory, Watched};
use crate::values::world::World;

const KEYS: [&str; 4] = ["a", "b", "c", "d"];
const POOLS: [&str; 2] = ["p", "q"];
const VALUES: [Option<&str>; 3] = [Some("1"), Some("2"), None];

#[derive(Debug, Clone, Copy)]
enum Step {
    Claim {
        pool: usize,
        key: usize,
        value: Option<u32>,
    },
    Release {
        pool: usize,
        key: usize,
    },
    ReleaseOwn {
        key: usize,
    },
    /// Own values and external ones.
    Transact {
        key: usize,
        both: bool,
    },
    /// The reactor works for one of the open claims.
    Work {
        nth: usize,
        luck: Luck,
    },
    /// An operator resolves one of the claims that need it.
    Operator {
        nth: usize,
    },
    Reconcile {
        adopt: bool,
    },
    PutLookUp {
        key: usize,
        policy: usize,
    },
    DeleteLookUp {
        key: usize,
    },
    Saw {
        key: usize,
        value: usize,
    },
    Accept {
        key: usize,
    },
    Refresh {
        key: Option<usize>,
    },
    Wait(u64),
}

/// What happens to a request to the inventory.
#[derive(Debug, Clone, Copy)]
enum Luck {
    Answered,
    /// The request has never arrived.
    Lost,
    /// The request was done, and the answer is lost.
    AnswerLost,
    /// The outcome can never be found out.
    Unclear,
    /// The answer is reported twice.
    Repeated,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let (pool, key) = (0..POOLS.len(), 0..KEYS.len());
    let luck = prop_oneof![
        6 => Just(Luck::Answered),
        2 => Just(Luck::Lost),
        2 => Just(Luck::AnswerLost),
        1 => Just(Luck::Unclear),
        1 => Just(Luck::Repeated),
    ];
    let value = prop::option::weighted(0.2, 1..9u32);
    let step = prop_oneof![
        6 => (pool.clone(), key.clone(), value)
            .prop_map(|(pool, key, value)| Step::Claim { pool, key, value }),
        4 => (pool, key.clone()).prop_map(|(pool, key)| Step::Release { pool, key }),
        1 => key.clone().prop_map(|key| Step::ReleaseOwn { key }),
        4 => (key.clone(), any::<bool>()).prop_map(|(key, both)| Step::Transact { key, both }),
        14 => (0..8usize, luck).prop_map(|(nth, luck)| Step::Work { nth, luck }),
        2 => (0..4usize).prop_map(|nth| Step::Operator { nth }),
        1 => any::<bool>().prop_map(|adopt| Step::Reconcile { adopt }),
        2 => (key.clone(), 0..3usize).prop_map(|(key, policy)| Step::PutLookUp { key, policy }),
        1 => key.clone().prop_map(|key| Step::DeleteLookUp { key }),
        4 => (key.clone(), 0..VALUES.len()).prop_map(|(key, value)| Step::Saw { key, value }),
        1 => key.clone().prop_map(|key| Step::Accept { key }),
        1 => prop::option::of(key).prop_map(|key| Step::Refresh { key }),
        1 => (1..120u64).prop_map(Step::Wait),
    ];
    prop::collection::vec(step, 1..60)
}

struct Play {
    world: World,
    inventory: Inventory,
    look_ups: BTreeMap<&'static str, Watched>,
    /// All references so far, with their claims.
    references: BTreeMap<Uuid, (Arc<str>, Arc<str>)>,
    /// The references that held a value after the last step.
    held: BTreeSet<Uuid>,
}

fn name(text: &str) -> Arc<str> {
    text.into()
}

fn claim_op(pool: &str, key: &str, value: Option<u32>) -> Op {
    let want = Want { value: value.map(|n| ValueText(n.to_string().into())), ..Want::any() };
    Op::Claim(ClaimOp {
        pools: vec![name(pool)],
        key: name(key),
        owner: None,
        want,
        ttl_ms: None,
        labels: Labels::default(),
        expect: Expect::Any,
    })
}

fn release_op(pool: &str, key: &str) -> Op {
    Op::Release(ReleaseOp { pool: name(pool), key: name(key), expect: Expect::Any })
}

impl Play {
    fn new() -> Play {
        let mut play = Play {
            world: World::new(),
            inventory: Inventory::default(),
            look_ups: BTreeMap::new(),
            references: BTreeMap::new(),
            held: BTreeSet::new(),
        };
        let spec = AuthoritySpec {
            alarm_after_ms: 60_000,
            ..AuthoritySpec::new(Protocol::Http, "http://127.0.0.1:1")
        };
        play.authority(AuthorityCommand::Put { name: name("inv"), spec, expect: Expect::Any });
        for (pool, authority) in [("p", Some("inv")), ("q", Some("inv")), ("own", None)] {
            let (span, subnet_len) = Kind::Id32.parse_range("1-8").expect("a range");
            let spec = PoolSpec {
                authority: authority.map(name),
                ..PoolSpec::new(Kind::Id32, vec![PoolRange { span, subnet_len }])
            };
            let (pool, expect) = (name(pool), Expect::Any);
            play.run(Command::PutPool(PutPool { pool, spec, expect, keep_held: false }));
        }
        play
    }

    fn run(&mut self, command: Command) -> Option<Receipt> {
        let receipt = self.world.run(&command).ok();
        self.check_references();
        receipt
    }

    fn authority(&mut self, command: AuthorityCommand) -> Option<Outcome> {
        self.run(Command::Authority(command))?.outcomes.pop()
    }

    /// A reference belongs to one claim for ever, and a held value is given up only when the inventory does not have it.
    fn check_references(&mut self) {
        let all = view::authority::authorities(&self.world.state);
        let claims: Vec<Arc<ExternalClaim>> = all.claims_after("inv", None).cloned().collect();
        let mut held = BTreeSet::new();
        for claim in &claims {
            let request = &claim.request;
            let of = (request.pool.clone(), request.key.clone());
            let known = self.references.entry(request.reference).or_insert_with(|| of.clone());
            let is_adopted = known.0.is_empty() || of.0.is_empty();
            assert!(*known == of || is_adopted, "a reference was used for another claim");
            *known = of;
            if view::claim(&self.world.state, &request.pool, &request.key).is_some() {
                held.insert(request.reference);
            }
        }
        for reference in self.held.difference(&held) {
            let is_granted = self.inventory.grants.contains_key(reference);
            assert!(!is_granted, "a value was given up that the inventory still has");
        }
        self.held = held;
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Claim { pool, key, value } => {
                let op = claim_op(POOLS[pool], KEYS[key], value);
                self.run(Command::Transact(Transact::one(op)));
            }
            Step::Release { pool, key } => {
                let op = release_op(POOLS[pool], KEYS[key]);
                self.run(Command::Transact(Transact::one(op)));
            }
            Step::ReleaseOwn { key } => {
                self.run(Command::Transact(Transact::one(release_op("own", KEYS[key]))));
            }
            Step::Transact { key, both } => {
                let mut ops = vec![claim_op("own", KEYS[key], None)];
                ops.push(claim_op("p", KEYS[key], None));
                ops.extend(both.then(|| claim_op("q", KEYS[key], None)));
                self.run(Command::Transact(Transact { ops, ..Transact::default() }));
            }
            Step::Work { nth, luck } => {
                let open = self.open();
                if let Some(claim) = open.get(nth % open.len().max(1)).cloned() {
                    self.work(&claim, luck);
                }
            }
            Step::Operator { nth } => {
                let stopped = self.stopped();
                if let Some(claim) = stopped.get(nth % stopped.len().max(1)).cloned() {
                    self.resolve(&claim);
                }
            }
            Step::Reconcile { adopt } => self.reconcile(adopt),
            Step::Wait(seconds) => {
                self.world.now_ms += seconds * 1000;
                self.run(Command::Tick);
            }
            step => self.look_up_step(step),
        }
    }

    fn open(&self) -> Vec<Arc<ExternalClaim>> {
        let all = view::authority::authorities(&self.world.state);
        all.open("inv").cloned().collect()
    }

    fn stopped(&self) -> Vec<Arc<ExternalClaim>> {
        let all = view::authority::authorities(&self.world.state);
        let is_stopped = |claim: &&Arc<ExternalClaim>| {
            matches!(claim.progress.state, ExternalState::Stuck | ExternalState::Conflict)
        };
        all.claims_after("inv", None).filter(is_stopped).cloned().collect()
    }

    fn report(&mut self, claim: &ExternalClaim, report: Report) -> Option<Outcome> {
        let (reference, version) = (claim.request.reference, Some(claim.progress.version));
        self.authority(AuthorityCommand::Report { reference, version, report })
    }

    /// What the reactor does: it asks the inventory and reports what it has learned.
    fn work(&mut self, claim: &ExternalClaim, luck: Luck) {
        let reference = claim.request.reference;
        let failed = Report::Failed {
            reason: name("timeout"),
            again_ms: self.world.now_ms + 10_000,
            asked: true,
        };
        if let Luck::Lost = luck {
            self.report(claim, failed);
            return;
        }
        let report = if claim.progress.state == ExternalState::Releasing {
            self.inventory.release(reference);
            Report::Gone
        } else {
            let want = claim.request.params.want.value.map(|value| value.first as u32);
            match self.inventory.grant(reference, want) {
                Some(value) => Report::Granted(GrantedValue {
                    value: value.to_string().into(),
                    handle: None,
                    version: None,
                    still_held: None,
                }),
                None => Report::Refused { code: RefusalCode::Exhausted, reason: name("full") },
            }
        };
        let report = match luck {
            Luck::AnswerLost => failed,
            Luck::Unclear => Report::Stuck { reason: name("unclear") },
            Luck::Answered | Luck::Repeated | Luck::Lost => report,
        };
        let outcome = self.report(claim, report.clone());
        if let Luck::Repeated = luck {
            self.report(claim, report.clone());
            let reference = claim.request.reference;
            self.authority(AuthorityCommand::Report { reference, version: None, report });
        } else if let Some(Outcome::Reported { look_up: Some(holder) }) = outcome {
            // The inventory has granted a value whose release is not confirmed here.
            assert!(!self.inventory.grants.contains_key(&holder));
            let (version, gone) = (None, Report::Gone);
            self.authority(AuthorityCommand::Report { reference: holder, version, report: gone });
            self.report(claim, report);
        }
    }

    /// The operator looks into the inventory.
    fn resolve(&mut self, claim: &ExternalClaim) {
        let reference = claim.request.reference;
        let resolution = match self.inventory.grants.get(&reference) {
            Some(value) => Resolution::Granted { value: value.to_string().into() },
            None => Resolution::Gone,
        };
        let resolve = AuthorityCommand::Resolve { reference, resolution };
        if self.authority(resolve) == Some(Outcome::Reported { look_up: None }) {
            return;
        }
        let resolution = Resolution::AskAgain;
        self.authority(AuthorityCommand::Resolve { reference, resolution });
    }

    fn reconcile(&mut self, adopt: bool) {
        let command = |command| AuthorityCommand::Reconcile(command);
        let request = ReconcileCommand::Request { authority: name("inv") };
        let Some(Outcome::Reconciling { number }) = self.authority(command(request)) else {
            panic!("a reconciliation was not accepted");
        };
        let all = view::authority::authorities(&self.world.state);
        let orphans = self.inventory.grants.iter().filter(|(one, _)| all.get(**one).is_none());
        let orphan = |(reference, value): (&Uuid, &u32)| Orphan {
            reference: *reference,
            value: value.to_string().into(),
            handle: None,
            own: true,
        };
        let held = all.claims_after("inv", None).filter(|claim| {
            claim.progress.state == ExternalState::Held
                && !self.inventory.grants.contains_key(&claim.request.reference)
        });
        let missing = |claim: &Arc<ExternalClaim>| Missing {
            reference: claim.request.reference,
            pool: claim.request.pool.clone(),
            key: claim.request.key.clone(),
            value: claim.progress.value.clone().unwrap_or_default(),
        };
        let findings = Findings {
            orphans: orphans.map(orphan).collect(),
            missing: held.map(missing).collect(),
            ..Findings::default()
        };
        let authority = name("inv");
        let report = ReconcileReport::Listed(findings.clone());
        self.authority(command(ReconcileCommand::Report { authority, number, report }));
        for orphan in findings.orphans {
            let (pool, key) = (name("p"), name(&format!("o{}", orphan.reference)));
            let action = match adopt {
                true => SettleAction::Adopt { pool, owner: key.clone(), key },
                false => SettleAction::Release,
            };
            let (authority, reference) = (name("inv"), orphan.reference);
            self.authority(command(ReconcileCommand::Settle { authority, reference, action }));
        }
        for missing in findings.missing {
            let (authority, reference) = (name("inv"), missing.reference);
            let action = SettleAction::Forget;
            self.authority(command(ReconcileCommand::Settle { authority, reference, action }));
        }
    }

    fn look_up_step(&mut self, step: Step) {
        let (authority, expect) = (name("inv"), Expect::Any);
        let command = match step {
            Step::PutLookUp { key, policy } => {
                let policy = DriftPolicy::ALL[policy];
                let watched = self.look_ups.entry(KEYS[key]).or_insert(Watched::new(policy));
                watched.set_policy(policy);
                LookUpCommand::Put { authority, key: name(KEYS[key]), policy, expect }
            }
            Step::DeleteLookUp { key } => {
                self.look_ups.remove(KEYS[key]);
                LookUpCommand::Delete { authority, key: name(KEYS[key]), expect }
            }
            Step::Saw { key, value } => {
                let known = view::authority::lookup(&self.world.state, "inv", KEYS[key]);
                let version = known.map_or(0, |known| known.version);
                if let Some(watched) = self.look_ups.get_mut(KEYS[key]) {
                    watched.saw(VALUES[value]);
                }
                let seen =
                    VALUES[value].map(|value| SeenValue { value: name(value), version: None });
                let (key, report) = (name(KEYS[key]), LookUpReport::Seen(seen));
                LookUpCommand::Report { authority, key, version, report }
            }
            Step::Accept { key } => {
                let watched = self.look_ups.get_mut(KEYS[key]);
                let watched = watched.filter(|watched| watched.policy != DriftPolicy::Pin);
                watched.into_iter().for_each(Watched::accept);
                LookUpCommand::Accept { authority, key: name(KEYS[key]), expect }
            }
            Step::Refresh { key } => {
                LookUpCommand::Refresh { authority, key: key.map(|key| name(KEYS[key])) }
            }
            other => panic!("{other:?} is about claims"),
        };
        self.authority(AuthorityCommand::LookUp(command));
        let stored = view::authority::lookups_after(&self.world.state, "inv", None);
        let stored: Vec<_> = stored.cloned().collect();
        assert_eq!(stored.len(), self.look_ups.len());
        for look_up in stored {
            self.look_ups[&*look_up.key].assert_same(&look_up);
        }
    }

    /// Everything is answered: then nothing waits, and the inventory has what is held.
    fn finish(mut self) {
        for _ in 0..200 {
            let (open, stopped) = (self.open(), self.stopped());
            let Some(claim) = open.first().or(stopped.first()).cloned() else { break };
            match open.is_empty() {
                true => self.resolve(&claim),
                false => self.work(&claim, Luck::Answered),
            }
        }
        self.reconcile(false);
        while let Some(claim) = self.open().first().cloned() {
            self.work(&claim, Luck::Answered);
        }
        let state = &self.world.state;
        assert_eq!(view::authority::transactions_waiting(state), 0, "a transaction waits");
        for transaction in view::authority::transactions_after(state, None) {
            let is_refused = transaction.state == TransactionState::Refused;
            for part in transaction.parts.iter().filter(|_| is_refused) {
                let (pool, key) = match part {
                    Part::Claim { pool, key } => (pool, key),
                    Part::External { reference, key, .. } => {
                        let all = view::authority::authorities(state);
                        let known = all.get(*reference).filter(|known| known.request.key == *key);
                        let is_held =
                            known.is_some_and(|known| known.progress.state == ExternalState::Held);
                        assert!(!is_held, "{key} was not released");
                        continue;
                    }
                    Part::Consumer(_) => continue,
                };
                let held = view::claim(state, pool, key);
                let own = held.is_some_and(|held| held.claim.created_ms == transaction.since_ms);
                let version = view::claim(state, pool, key).map(|held| held.claim.version);
                assert!(!own || version > Some(transaction.version), "{key} was not released");
            }
        }
        let all = view::authority::authorities(state);
        let held = all.claims_after("inv", None).filter_map(|claim| {
            let held = view::claim(state, &claim.request.pool, &claim.request.key)?;
            Some((claim.request.reference, held.claim.values.first().first as u32))
        });
        assert_eq!(held.collect::<BTreeMap<_, _>>(), self.inventory.grants);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn inventory_and_claims_agree_in_the_end(steps in steps()) {
        let mut play = Play::new();
        steps.into_iter().for_each(|step| play.step(step));
        play.finish();
    }
}
