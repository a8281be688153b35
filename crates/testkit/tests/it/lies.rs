//! The checker detects every kind of wrong answer: the true history passes, and each falsified one fails.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use allod_core::claim::Want;
use allod_core::command::{
    ClaimOp, Command, ConfirmOp, DeletePool, Expect, Idempotency, Op, PutPool, ReleaseOp, RenewOp,
    Transact,
};
use allod_core::event::{ClaimEvent, Event, Was};
use allod_core::pool::{Labels, PoolRange, PoolSpec};
use allod_core::span::Span;
use allod_core::value::Kind;
use allod_engine::{BatchWriter, Clock, Config, Hash, Replica, SharedState};
use allod_journal::memory::MemoryStorage;
use allod_testkit::history::PoolSeen;
use allod_testkit::{
    Call, CallAnswer, Chain, ClaimSeen, History, OpOutcome, RefusalSeen, Request, check, read_chain,
};

struct StillClock(AtomicU64);

impl Clock for StillClock {
    fn now_ms(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// A run in which clients send one request after the other.
struct Run {
    writer: BatchWriter,
    shared: Arc<SharedState>,
    clock: Arc<StillClock>,
    storage: MemoryStorage,
    calls: Vec<Call>,
}

impl Run {
    fn new() -> Run {
        let storage = MemoryStorage::new();
        let clock = Arc::new(StillClock(AtomicU64::new(1_000_000)));
        let shared = Arc::new(SharedState::new(clock.clone()));
        let journal = Arc::new(storage.open());
        let (empty, config) = (Replica::empty(), Config::default());
        let pause = Box::new(|_| false);
        let writer =
            BatchWriter::lead(journal, shared.clone(), empty, &config, Some(1), pause).unwrap();
        Run { writer, shared, clock, storage, calls: Vec::new() }
    }

    fn note(&mut self, request: Request, answer: CallAnswer, position: u64, hash: Hash) -> usize {
        let at = self.calls.len() as u64 * 10;
        self.calls.push(Call {
            request,
            answer,
            position,
            hash,
            began_ns: at,
            ended_ns: at + 5,
            earliest_ms: self.clock.now_ms(),
            connection: 0,
        });
        self.calls.len() - 1
    }

    fn send(&mut self, command: Command) -> usize {
        let answers = self.writer.write_batch(&[&command]).unwrap();
        let reply = answers.into_iter().next().unwrap().unwrap();
        let (answer, at) = (CallAnswer::of(&reply.answer), reply.at);
        self.note(Request::Command(command), answer, at.position, at.hash)
    }

    fn op(&mut self, op: Op) -> usize {
        self.send(Command::Transact(Transact::one(op)))
    }

    fn claim(&mut self, pool: &str, key: &str) -> usize {
        self.op(Op::Claim(claim(pool, key)))
    }

    fn get_claim(&mut self, pool: &str, key: &str) -> usize {
        let (seen, at) = self.shared.read(|snapshot| {
            let seen = allod_core::view::claim(snapshot.state, pool, key);
            (seen.as_ref().map(ClaimSeen::of), snapshot.at)
        });
        let request = Request::GetClaim { pool: pool.into(), key: key.into() };
        self.note(request, CallAnswer::Claim(seen), at.position, at.hash)
    }

    fn get_value(&mut self, pool: &str, value: &str, state: &str, key: Option<&str>) -> usize {
        let (claim, at) = self.shared.read(|snapshot| {
            let held = key.and_then(|key| allod_core::view::claim(snapshot.state, pool, key));
            (held.as_ref().map(ClaimSeen::of), snapshot.at)
        });
        let request = Request::GetValue { pool: pool.into(), value: value.into() };
        let answer = CallAnswer::Value { state: state.into(), claim };
        self.note(request, answer, at.position, at.hash)
    }

    fn get_pool(&mut self, pool: &str) -> usize {
        let (seen, at) = self.shared.read(|snapshot| {
            let view = allod_core::view::pool(snapshot.state, pool, snapshot.now_ms).unwrap();
            (PoolSeen::from(view), snapshot.at)
        });
        let request = Request::GetPool { pool: pool.into() };
        self.note(request, CallAnswer::Pool(Some(seen)), at.position, at.hash)
    }

    fn wait(&self, ms: u64) {
        self.clock.0.fetch_add(ms, Ordering::Relaxed);
    }

    fn chain(&self) -> Chain {
        read_chain(&self.storage.open()).unwrap()
    }

    fn problems(&self, calls: Vec<Call>) -> Vec<String> {
        check(&self.chain(), &History { calls }, true).problems
    }

    /// The true history passes; with this change it fails for this reason.
    fn lie(&self, words: &str, change: impl FnOnce(&mut Vec<Call>)) {
        assert_eq!(self.problems(self.calls.clone()), Vec::<String>::new());
        let mut calls = self.calls.clone();
        change(&mut calls);
        let problems = self.problems(calls);
        assert!(problems.iter().any(|problem| problem.contains(words)), "{words}: {problems:#?}");
    }
}

fn pool(name: &str, last: u128) -> PutPool {
    let range = PoolRange { span: Span { first: 0, last }, subnet_len: None };
    let spec = PoolSpec::new(Kind::Id32, vec![range]);
    PutPool { pool: name.into(), spec, expect: Expect::Any, keep_held: false }
}

fn claim(pool: &str, key: &str) -> ClaimOp {
    ClaimOp {
        pools: vec![pool.into()],
        key: key.into(),
        owner: None,
        want: Want::any(),
        ttl_ms: None,
        labels: Labels::default(),
        expect: Expect::Any,
    }
}

fn release(pool: &str, key: &str) -> Op {
    Op::Release(ReleaseOp { pool: pool.into(), key: key.into(), expect: Expect::Any })
}

fn claims(call: &mut Call) -> &mut Vec<ClaimSeen> {
    match &mut call.answer {
        CallAnswer::Done(done) => match &mut done[0] {
            OpOutcome::Claimed { claims, .. } => claims,
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    }
}

fn no(code: &str) -> CallAnswer {
    CallAnswer::Refused(RefusalSeen { code: code.into(), ..RefusalSeen::default() })
}

#[test]
fn an_answer_that_the_journal_does_not_confirm_is_found() {
    let mut run = Run::new();
    run.send(Command::PutPool(pool("p", 9)));
    let a = run.claim("p", "a");
    let b = run.claim("p", "b");
    run.lie("the answer says", |calls| claims(&mut calls[a])[0].values = vec!["5".into()]);
    run.lie("the answer says", |calls| claims(&mut calls[a])[0].owner = "x".into());
    run.lie("the answer says", |calls| claims(&mut calls[a])[0].version += 1);
    run.lie("the answer says", |calls| claims(&mut calls[a])[0].expires_ms = Some(5));
    run.lie("not the requested claims", |calls| claims(&mut calls[a])[0].key = "b".into());
    // Reports a grant at the position of another one.
    run.lie("nothing was granted", |calls| {
        (calls[a].position, calls[a].hash) = (calls[b].position, calls[b].hash);
    });
    // The same answer to two clients.
    run.lie("report that they created the same claim", |calls| {
        let twice = calls[b].clone();
        calls.push(Call { began_ns: 900, ended_ns: 901, ..twice });
    });
    run.lie("is not an answer to", |calls| calls[a].answer = CallAnswer::Claim(None));
    run.lie("outcomes", |calls| calls[a].answer = CallAnswer::Done(Vec::new()));
}

#[test]
fn an_unknown_position_or_hash_is_found() {
    let mut run = Run::new();
    run.send(Command::PutPool(pool("p", 9)));
    let a = run.claim("p", "a");
    let b = run.claim("p", "b");
    run.lie("an unknown hash", |calls| calls[a].hash = Hash([7; 32]));
    run.lie("a position after the end", |calls| calls[b].position += 1);
    // A hash from before the position proves nothing about it.
    run.lie("hash of a record that ends at", |calls| calls[b].hash = calls[a].hash);
}

#[test]
fn an_answer_from_the_past_is_found() {
    let mut run = Run::new();
    run.send(Command::PutPool(pool("p", 9)));
    let before = run.get_claim("p", "a");
    run.claim("p", "a");
    run.get_claim("p", "a");
    run.lie("an earlier position", |calls| {
        (calls[before].began_ns, calls[before].ended_ns) = (500, 510);
    });
    // Of two concurrent calls, either may come first.
    let mut calls = run.calls.clone();
    calls[before].ended_ns = 500;
    assert_eq!(run.problems(calls), Vec::<String>::new());
}

#[test]
fn a_wrong_read_is_found() {
    let mut run = Run::new();
    run.send(Command::PutPool(pool("p", 9)));
    run.claim("p", "a");
    let claim = run.get_claim("p", "a");
    let none = run.get_claim("p", "b");
    let held = run.get_value("p", "0", "held", Some("a"));
    let free = run.get_value("p", "1", "free", None);
    let usage = run.get_pool("p");
    run.lie("the answer says", |calls| calls[claim].answer = CallAnswer::Claim(None));
    run.lie("the answer says", |calls| calls[none].answer = calls[claim].answer.clone());
    run.lie("the answer says", |calls| {
        calls[held].answer = CallAnswer::Value { state: "free".into(), claim: None };
    });
    run.lie("the answer says", |calls| {
        calls[free].answer = CallAnswer::Value { state: "held".into(), claim: None };
    });
    run.lie("the answer says", |calls| match &mut calls[usage].answer {
        CallAnswer::Pool(Some(seen)) => seen.usage.free += 1,
        other => panic!("{other:?}"),
    });
    run.lie("the pool exists", |calls| calls[claim].answer = no("pool_unknown"));
}

#[test]
fn a_refusal_without_a_reason_is_found() {
    let mut run = Run::new();
    run.send(Command::PutPool(pool("p", 1)));
    let a = run.claim("p", "a");
    let named = |value: &str| {
        let want = Want { value: Some(value.into()), ..Want::any() };
        Op::Claim(ClaimOp { want, ..claim("p", "n") })
    };
    let taken = run.op(named("0"));
    let outside = run.op(named("7"));
    let b = run.claim("p", "b");
    let exhausted = run.claim("p", "c");
    let differ = run.op(Op::Claim(ClaimOp { ttl_ms: Some(5_000), ..claim("p", "a") }));
    let unknown = run.claim("q", "a");
    for (call, code) in [
        (taken, "taken"),
        (outside, "value_outside"),
        (exhausted, "exhausted"),
        (differ, "params_differ"),
        (unknown, "pool_unknown"),
    ] {
        let CallAnswer::Refused(refused) = &run.calls[call].answer else { panic!("{call}") };
        assert_eq!(refused.code, code);
    }
    run.lie("the key holds something", |calls| calls[a].answer = no("exhausted"));
    run.lie("there are free values", |calls| {
        // At this position one value was still free.
        (calls[exhausted].position, calls[exhausted].hash) = (calls[a].position, calls[b].hash);
        calls[exhausted].began_ns = 0;
    });
    run.lie("it is held by", |calls| match &mut calls[taken].answer {
        CallAnswer::Refused(refused) => refused.by = Some(("b".into(), "b".into())),
        other => panic!("{other:?}"),
    });
    run.lie("the value is blocked by", |calls| calls[taken].answer = no("value_quarantined"));
    run.lie("nothing blocks the value", |calls| calls[outside].answer = no("taken"));
    run.lie("the value is", |calls| calls[taken].answer = no("value_excluded"));
    run.lie("or nothing", |calls| calls[b].answer = no("params_differ"));
    run.lie("the pool exists", |calls| calls[b].answer = no("pool_unknown"));
    run.lie("a pool does not exist", |calls| calls[unknown].answer = no("exhausted"));
    run.lie("is not an answer to", |calls| calls[exhausted].answer = no("check_failed"));
}

#[test]
fn a_refusal_because_of_an_expired_lease_is_found() {
    let mut run = Run::new();
    let mut put = pool("p", 0);
    put.spec.lease_ms = Some(1_000);
    run.send(Command::PutPool(put));
    run.claim("p", "a");
    let refused = run.claim("p", "b");
    // The lease has expired by then.
    run.lie("leases have expired", |calls| calls[refused].earliest_ms += 2_000);
    run.wait(2_000);
    run.claim("p", "b");
    let renewed = run.op(Op::Renew(RenewOp {
        pool: "p".into(),
        key: "b".into(),
        expect: Expect::Any,
        ttl_ms: None,
    }));
    let confirmed =
        run.op(Op::Confirm(ConfirmOp { pool: "p".into(), key: "b".into(), expect: Expect::Any }));
    run.lie("nothing was renewed", |calls| {
        let before = calls[renewed - 1].clone();
        (calls[renewed].position, calls[renewed].hash) = (before.position, before.hash);
        calls[renewed].began_ns = before.began_ns;
    });
    run.lie("still has a lease", |calls| calls[confirmed].answer = calls[renewed].answer.clone());
}

#[test]
fn a_release_that_did_not_happen_is_found() {
    let mut run = Run::new();
    run.send(Command::PutPool(pool("p", 9)));
    run.claim("p", "a");
    let done = run.op(release("p", "a"));
    let again = run.op(release("p", "a"));
    run.claim("p", "a");
    let last = run.op(Op::Release(ReleaseOp {
        pool: "p".into(),
        key: "b".into(),
        expect: Expect::Present,
    }));
    run.lie("still holds something", |calls| {
        let held = calls[again + 1].clone();
        (calls[again].position, calls[again].hash) = (held.position, held.hash);
        calls[again].ended_ns = 900;
    });
    run.lie("nothing was released", |calls| {
        calls[last].answer = CallAnswer::Done(vec![OpOutcome::Released { existed: Some(true) }]);
    });
    run.lie("the key holds something", |calls| {
        let held = calls[again + 1].clone();
        let request = calls[done].request.clone();
        calls.push(Call { request, answer: no("claim_unknown"), ..held });
    });
}

#[test]
fn a_repeated_answer_that_differs_is_found() {
    let mut run = Run::new();
    run.send(Command::PutPool(pool("p", 9)));
    let request = |byte: u8| {
        Command::Transact(Transact {
            ops: vec![Op::Claim(claim("p", "a")), release("p", "z")],
            idempotency: Some(Idempotency { key: "r".into(), fingerprint: [byte; 32] }),
            ..Transact::default()
        })
    };
    run.send(request(1));
    run.op(release("p", "a"));
    let again = run.send(request(1));
    let differs = run.send(request(2));
    run.lie("is stored", |calls| claims(&mut calls[again])[0].values = vec!["5".into()]);
    run.lie("another request is stored", |calls| {
        calls[differs].answer = calls[again].answer.clone();
    });
    run.lie("not in use", |calls| calls[again].answer = no("idempotency_differs"));
}

#[test]
fn a_wrong_answer_about_a_pool_is_found() {
    let mut run = Run::new();
    let put = run.send(Command::PutPool(pool("p", 9)));
    let delete = Command::DeletePool(DeletePool { pool: "p".into(), expect: Expect::Any });
    run.claim("p", "a");
    let in_use = run.send(delete.clone());
    run.op(release("p", "a"));
    let deleted = run.send(delete);
    run.lie("the pool is", |calls| match &mut calls[put].answer {
        CallAnswer::Done(done) => done[0] = OpOutcome::PoolPut { created: true, generation: 7 },
        other => panic!("{other:?}"),
    });
    run.lie("the answer says", |calls| calls[in_use].answer = calls[deleted].answer.clone());
    run.lie("not in use", |calls| calls[deleted].answer = no("pool_in_use"));
}

#[test]
fn a_journal_that_grants_a_value_twice_is_found() {
    let mut run = Run::new();
    run.send(Command::PutPool(pool("p", 9)));
    run.claim("p", "a");
    run.claim("p", "b");
    let mut chain = run.chain();
    let granted = |chain: &mut Chain, at: usize, change: fn(&mut Event)| {
        let (_, events) = chain.entries[at].as_mut().unwrap();
        events.iter_mut().for_each(change);
    };
    let find = |chain: &Chain| check(chain, &History::default(), true).problems.join("\n");
    assert_eq!(find(&chain), "");
    granted(&mut chain, 3, |event| {
        if let Event::Claim(ClaimEvent::Granted(granted)) = event {
            granted.values = allod_core::claim::Values::one(Span::one(0));
        }
    });
    assert!(find(&chain).contains("is granted to"), "{}", find(&chain));
    granted(&mut chain, 3, |event| {
        if let Event::Claim(ClaimEvent::Granted(granted)) = event {
            granted.values = allod_core::claim::Values::one(Span::one(77));
        }
    });
    assert!(find(&chain).contains("which is Outside"), "{}", find(&chain));
    granted(&mut chain, 3, |event| {
        if let Event::Claim(ClaimEvent::Granted(granted)) = event {
            granted.key = "a".into();
        }
    });
    assert!(find(&chain).contains("granted twice"), "{}", find(&chain));
}

#[test]
fn a_journal_that_names_the_wrong_claim_is_found() {
    let mut run = Run::new();
    run.send(Command::PutPool(pool("p", 9)));
    run.claim("p", "a");
    run.op(release("p", "a"));
    let find = |change: fn(&mut Was)| {
        let mut chain = run.chain();
        let (_, events) = chain.entries[3].as_mut().unwrap();
        let [Event::Claim(ClaimEvent::Released(released))] = &mut events[..] else {
            panic!("{events:?}")
        };
        change(released.was.as_mut().unwrap());
        check(&chain, &History::default(), true).problems.join("\n")
    };
    assert_eq!(find(|_| {}), "");
    let lies: [fn(&mut Was); 3] = [
        |was| was.owner = "b".into(),
        |was| was.values = allod_core::claim::Values::one(Span::one(7)),
        |was| was.kind = Kind::Id64,
    ];
    for lie in lies {
        assert!(find(lie).contains("the event names"), "{}", find(lie));
    }
}

#[test]
fn a_journal_with_a_broken_chain_is_found() {
    let mut run = Run::new();
    run.send(Command::PutPool(pool("p", 9)));
    run.claim("p", "a");
    run.claim("p", "b");
    assert!(run.storage.alter(3, |frame| frame.at_ms += 1));
    assert!(read_chain(&run.storage.open()).is_err());
}

#[test]
fn failed_and_lost_calls_are_not_judged() {
    let mut run = Run::new();
    run.send(Command::PutPool(pool("p", 9)));
    let a = run.claim("p", "a");
    let mut calls = run.calls.clone();
    for answer in [CallAnswer::Failed, CallAnswer::Lost] {
        (calls[a].answer, calls[a].position, calls[a].hash) = (answer, 0, Hash::default());
        assert_eq!(run.problems(calls.clone()), Vec::<String>::new());
    }
}
