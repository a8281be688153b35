//! The checker finds out every kind of lie: a true history passes, and each way of bending it does not.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use allod_core::claim::Want;
use allod_core::command::{
    ClaimOp, Command, ConfirmOp, DeletePool, Expect, Idempotency, Op, PutPool, ReleaseOp, RenewOp,
    Transact,
};
use allod_core::event::{Event, Was};
use allod_core::pool::{Labels, PoolRange, PoolSpec};
use allod_core::span::Span;
use allod_core::value::Kind;
use allod_engine::{BatchWriter, Clock, Config, Hash, Replayed, SharedState};
use allod_journal::memory::MemoryStorage;
use allod_testkit::history::PoolSeen;
use allod_testkit::{
    Answer, Call, Chain, ClaimSeen, Done, History, Refused, Request, check, read_chain,
};

struct StillClock(AtomicU64);

impl Clock for StillClock {
    fn now_ms(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// A run in which one client asks after the other.
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
        let (empty, config) = (Replayed::empty(), Config::default());
        let pause = Box::new(|_| false);
        let writer =
            BatchWriter::lead(journal, shared.clone(), empty, &config, Some(1), pause).unwrap();
        Run { writer, shared, clock, storage, calls: Vec::new() }
    }

    fn note(&mut self, request: Request, answer: Answer, position: u64, hash: Hash) -> usize {
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
        let (answer, at) = (Answer::of(&reply.answer), reply.at);
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
        self.note(request, Answer::Claim(seen), at.position, at.hash)
    }

    fn get_value(&mut self, pool: &str, value: &str, state: &str, key: Option<&str>) -> usize {
        let (claim, at) = self.shared.read(|snapshot| {
            let held = key.and_then(|key| allod_core::view::claim(snapshot.state, pool, key));
            (held.as_ref().map(ClaimSeen::of), snapshot.at)
        });
        let request = Request::GetValue { pool: pool.into(), value: value.into() };
        let answer = Answer::Value { state: state.into(), claim };
        self.note(request, answer, at.position, at.hash)
    }

    fn get_pool(&mut self, pool: &str) -> usize {
        let (seen, at) = self.shared.read(|snapshot| {
            let view = allod_core::view::pool(snapshot.state, pool, snapshot.now_ms).unwrap();
            (PoolSeen::from(view), snapshot.at)
        });
        let request = Request::GetPool { pool: pool.into() };
        self.note(request, Answer::Pool(Some(seen)), at.position, at.hash)
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

    /// The truth passes; with this change, it does not, for this reason.
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
        Answer::Done(done) => match &mut done[0] {
            Done::Claimed { claims, .. } => claims,
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    }
}

fn no(code: &str) -> Answer {
    Answer::Refused(Refused { code: code.into(), ..Refused::default() })
}

#[test]
fn an_answer_that_the_journal_does_not_bear_out() {
    let mut run = Run::new();
    run.send(Command::PutPool(pool("p", 9)));
    let a = run.claim("p", "a");
    let b = run.claim("p", "b");
    run.lie("the answer says", |calls| claims(&mut calls[a])[0].values = vec!["5".into()]);
    run.lie("the answer says", |calls| claims(&mut calls[a])[0].owner = "x".into());
    run.lie("the answer says", |calls| claims(&mut calls[a])[0].version += 1);
    run.lie("the answer says", |calls| claims(&mut calls[a])[0].expires_ms = Some(5));
    run.lie("not the ones asked for", |calls| claims(&mut calls[a])[0].key = "b".into());
    // Granted, it says, where another was.
    run.lie("nothing was granted", |calls| {
        (calls[a].position, calls[a].hash) = (calls[b].position, calls[b].hash);
    });
    // The very same answer to two clients.
    run.lie("were given the same", |calls| {
        let twice = calls[b].clone();
        calls.push(Call { began_ns: 900, ended_ns: 901, ..twice });
    });
    run.lie("is no answer to", |calls| calls[a].answer = Answer::Claim(None));
    run.lie("outcomes", |calls| calls[a].answer = Answer::Done(Vec::new()));
}

#[test]
fn a_position_or_a_hash_that_is_not_there() {
    let mut run = Run::new();
    run.send(Command::PutPool(pool("p", 9)));
    let a = run.claim("p", "a");
    let b = run.claim("p", "b");
    run.lie("hash that is not there", |calls| calls[a].hash = Hash([7; 32]));
    run.lie("position that is not there", |calls| calls[b].position += 1);
    // A hash from before the position proves nothing about it.
    run.lie("hash of a record that ends at", |calls| calls[b].hash = calls[a].hash);
}

#[test]
fn an_answer_from_the_past() {
    let mut run = Run::new();
    run.send(Command::PutPool(pool("p", 9)));
    let before = run.get_claim("p", "a");
    run.claim("p", "a");
    run.get_claim("p", "a");
    run.lie("from before", |calls| {
        (calls[before].began_ns, calls[before].ended_ns) = (500, 510);
    });
    // While both were under way, either may come first.
    let mut calls = run.calls.clone();
    calls[before].ended_ns = 500;
    assert_eq!(run.problems(calls), Vec::<String>::new());
}

#[test]
fn reads_that_are_not_so() {
    let mut run = Run::new();
    run.send(Command::PutPool(pool("p", 9)));
    run.claim("p", "a");
    let claim = run.get_claim("p", "a");
    let none = run.get_claim("p", "b");
    let held = run.get_value("p", "0", "held", Some("a"));
    let free = run.get_value("p", "1", "free", None);
    let usage = run.get_pool("p");
    run.lie("the answer says", |calls| calls[claim].answer = Answer::Claim(None));
    run.lie("the answer says", |calls| calls[none].answer = calls[claim].answer.clone());
    run.lie("the answer says", |calls| {
        calls[held].answer = Answer::Value { state: "free".into(), claim: None };
    });
    run.lie("the answer says", |calls| {
        calls[free].answer = Answer::Value { state: "held".into(), claim: None };
    });
    run.lie("the answer says", |calls| match &mut calls[usage].answer {
        Answer::Pool(Some(seen)) => seen.usage.free += 1,
        other => panic!("{other:?}"),
    });
    run.lie("the pool is there", |calls| calls[claim].answer = no("pool_unknown"));
}

#[test]
fn refusals_without_a_reason() {
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
        let Answer::Refused(refused) = &run.calls[call].answer else { panic!("{call}") };
        assert_eq!(refused.code, code);
    }
    run.lie("the key holds something", |calls| calls[a].answer = no("exhausted"));
    run.lie("there is room", |calls| {
        // It says so at a time when there was one left.
        (calls[exhausted].position, calls[exhausted].hash) = (calls[a].position, calls[b].hash);
        calls[exhausted].began_ns = 0;
    });
    run.lie("it is held by", |calls| match &mut calls[taken].answer {
        Answer::Refused(refused) => refused.by = Some(("b".into(), "b".into())),
        other => panic!("{other:?}"),
    });
    run.lie("what is in the way", |calls| calls[taken].answer = no("value_quarantined"));
    run.lie("nobody is in the way", |calls| calls[outside].answer = no("taken"));
    run.lie("the value is", |calls| calls[taken].answer = no("value_excluded"));
    run.lie("or nothing", |calls| calls[b].answer = no("params_differ"));
    run.lie("the pool is there", |calls| calls[b].answer = no("pool_unknown"));
    run.lie("a pool is not there", |calls| calls[unknown].answer = no("exhausted"));
    run.lie("is no answer to", |calls| calls[exhausted].answer = no("check_failed"));
}

#[test]
fn leases_that_have_run_out_are_no_excuse() {
    let mut run = Run::new();
    let mut put = pool("p", 0);
    put.spec.lease_ms = Some(1_000);
    run.send(Command::PutPool(put));
    run.claim("p", "a");
    let refused = run.claim("p", "b");
    // By then, the lease is over.
    run.lie("leases have run out", |calls| calls[refused].earliest_ms += 2_000);
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
fn releases_that_did_not_happen() {
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
        calls[last].answer = Answer::Done(vec![Done::Released { existed: Some(true) }]);
    });
    run.lie("the key holds something", |calls| {
        let held = calls[again + 1].clone();
        let request = calls[done].request.clone();
        calls.push(Call { request, answer: no("claim_unknown"), ..held });
    });
}

#[test]
fn remembered_requests_are_held_to_what_was_said() {
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
    run.lie("is remembered", |calls| claims(&mut calls[again])[0].values = vec!["5".into()]);
    run.lie("another request is remembered", |calls| {
        calls[differs].answer = calls[again].answer.clone();
    });
    run.lie("not in use", |calls| calls[again].answer = no("idempotency_differs"));
}

#[test]
fn pools_that_are_not_as_answered() {
    let mut run = Run::new();
    let put = run.send(Command::PutPool(pool("p", 9)));
    let delete = Command::DeletePool(DeletePool { pool: "p".into(), expect: Expect::Any });
    run.claim("p", "a");
    let in_use = run.send(delete.clone());
    run.op(release("p", "a"));
    let deleted = run.send(delete);
    run.lie("the pool is", |calls| match &mut calls[put].answer {
        Answer::Done(done) => done[0] = Done::PoolPut { created: true, generation: 7 },
        other => panic!("{other:?}"),
    });
    run.lie("the answer says", |calls| calls[in_use].answer = calls[deleted].answer.clone());
    run.lie("not in use", |calls| calls[deleted].answer = no("pool_in_use"));
}

#[test]
fn a_journal_that_gives_a_value_twice() {
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
        if let Event::ClaimGranted(granted) = event {
            granted.values = allod_core::claim::Values::one(Span::one(0));
        }
    });
    assert!(find(&chain).contains("is given to"), "{}", find(&chain));
    granted(&mut chain, 3, |event| {
        if let Event::ClaimGranted(granted) = event {
            granted.values = allod_core::claim::Values::one(Span::one(77));
        }
    });
    assert!(find(&chain).contains("which is Outside"), "{}", find(&chain));
    granted(&mut chain, 3, |event| {
        if let Event::ClaimGranted(granted) = event {
            granted.key = "a".into();
        }
    });
    assert!(find(&chain).contains("granted twice"), "{}", find(&chain));
}

#[test]
fn a_journal_that_says_wrongly_whose_it_was() {
    let mut run = Run::new();
    run.send(Command::PutPool(pool("p", 9)));
    run.claim("p", "a");
    run.op(release("p", "a"));
    let find = |change: fn(&mut Was)| {
        let mut chain = run.chain();
        let (_, events) = chain.entries[3].as_mut().unwrap();
        let [Event::ClaimReleased(released)] = &mut events[..] else { panic!("{events:?}") };
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
        assert!(find(lie).contains("is said to have been"), "{}", find(lie));
    }
}

#[test]
fn a_journal_whose_chain_is_broken() {
    let mut run = Run::new();
    run.send(Command::PutPool(pool("p", 9)));
    run.claim("p", "a");
    run.claim("p", "b");
    assert!(run.storage.alter(3, |frame| frame.at_ms += 1));
    assert!(read_chain(&run.storage.open()).is_err());
}

#[test]
fn what_failed_or_was_lost_is_not_held_to_anything() {
    let mut run = Run::new();
    run.send(Command::PutPool(pool("p", 9)));
    let a = run.claim("p", "a");
    let mut calls = run.calls.clone();
    for answer in [Answer::Failed, Answer::Lost] {
        (calls[a].answer, calls[a].position, calls[a].hash) = (answer, 0, Hash::default());
        assert_eq!(run.problems(calls.clone()), Vec::<String>::new());
    }
}
