//! 64 concurrent tasks on an engine with a journal on disk, verified by the checker.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use allod_core::claim::{Parity, Want};
use allod_core::command::{
    Check, ClaimOp, Command, Expect, Idempotency, Op, PutPool, ReleaseOp, RenewOp, Transact,
};
use allod_core::pool::{Labels, PoolRange, PoolSpec, Strategy};
use allod_core::span::Span;
use allod_core::value::Kind;
use allod_core::view;
use allod_engine::{Config, Engine, Handle};
use allod_journal::checkpoint::FileCheckpoints;
use allod_journal::embedded::Embedded;
use allod_testkit::{Call, CallAnswer, ClaimSeen, History, Request, check, read_chain};

const TASKS: u64 = 64;
const CALLS: u64 = 60;

/// A few pools that are small enough to be exhausted.
fn pools() -> Vec<Command> {
    let pool = |name: &str, kind: Kind, range: &str, change: fn(&mut PoolSpec)| {
        let (span, subnet_len) = kind.parse_range(range).unwrap();
        let mut spec = PoolSpec::new(kind, vec![PoolRange { span, subnet_len }]);
        change(&mut spec);
        Command::PutPool(PutPool { pool: name.into(), spec, expect: Expect::Any, keep_held: false })
    };
    vec![
        pool("ids", Kind::Id32, "0-29", |_| {}),
        pool("leased", Kind::Id32, "0-19", |spec| {
            (spec.lease_ms, spec.strategy) = (Some(3), Strategy::Random);
        }),
        pool("kept", Kind::Address4, "10.0.0.0/28", |spec| spec.quarantine_ms = 4),
        pool("reaped", Kind::Prefix4, "10.0.0.0/27", |spec| {
            (spec.lease_ms, spec.reap) = (Some(5), true);
        }),
    ]
}

fn roll(seed: &mut u64, n: u64) -> u64 {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*seed >> 33) % n
}

fn request(seed: &mut u64) -> Request {
    let pool = ["ids", "leased", "kept", "reaped"][roll(seed, 4) as usize];
    let key: Arc<str> = format!("key-{}", roll(seed, 40)).into();
    let claim = |seed: &mut u64| {
        let mut want = Want::any();
        if pool == "reaped" {
            want.prefix_len = Some(29 + roll(seed, 4) as u8);
        } else {
            match roll(seed, 6) {
                0 => want.parity = Some(Parity::Even),
                1 => want.count = 2,
                2 if pool != "kept" => {
                    want.value = Some(Kind::Id32.text(Span::one(roll(seed, 30).into())))
                }
                _ => {}
            }
        }
        Op::Claim(ClaimOp {
            pools: vec![pool.into()],
            key: key.clone(),
            owner: None,
            want,
            ttl_ms: None,
            labels: Labels::default(),
            expect: Expect::Any,
        })
    };
    let release =
        Op::Release(ReleaseOp { pool: pool.into(), key: key.clone(), expect: Expect::Any });
    let one = |op| Request::Command(Command::Transact(Transact::one(op)));
    match roll(seed, 20) {
        0..9 => one(claim(seed)),
        9..13 => one(release),
        13 => one(Op::Renew(RenewOp {
            pool: pool.into(),
            key: key.clone(),
            expect: Expect::Any,
            ttl_ms: Some(5),
        })),
        14 => {
            let n = roll(seed, 10);
            // The same key always means the same request.
            let ops = vec![
                claim(&mut (n + 1)),
                Op::Check(Check::Pool { pool: "ids".into(), expect: Expect::Present }),
            ];
            let name = format!("{pool} {key} {n}");
            let idempotency = Idempotency { key: name.into(), fingerprint: [n as u8; 32] };
            Request::Command(Command::Transact(Transact {
                ops,
                idempotency: Some(idempotency),
                ..Transact::default()
            }))
        }
        15 => {
            let ops = vec![release, claim(seed)];
            Request::Command(Command::Transact(Transact { ops, ..Transact::default() }))
        }
        16..18 => Request::GetClaim { pool: pool.into(), key: key.to_string() },
        _ => Request::GetPool { pool: pool.into() },
    }
}

async fn perform(handle: &Handle, request: Request, start: Instant, connection: u64) -> Call {
    let earliest_ms = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as u64;
    let began_ns = start.elapsed().as_nanos() as u64;
    let (answer, at) = match &request {
        Request::Command(command) => {
            let reply = handle.submit(command.clone()).await.unwrap();
            (CallAnswer::of(&reply.answer), reply.at)
        }
        Request::GetClaim { pool, key } => handle
            .read(|snapshot| {
                let seen = view::claim(snapshot.state, pool, key);
                (CallAnswer::Claim(seen.as_ref().map(ClaimSeen::of)), snapshot.at)
            })
            .unwrap(),
        Request::GetPool { pool } => handle
            .read(|snapshot| {
                let seen = view::pool(snapshot.state, pool, snapshot.now_ms);
                (CallAnswer::Pool(seen.map(|seen| seen.into())), snapshot.at)
            })
            .unwrap(),
        Request::GetValue { .. } => panic!("this test sends no such request"),
    };
    let ended_ns = start.elapsed().as_nanos() as u64;
    let (position, hash) = (at.position, at.hash);
    Call { request, answer, position, hash, began_ns, ended_ns, earliest_ms, connection }
}

#[test]
fn concurrent_tasks_get_correct_answers() {
    let data = tempfile::tempdir().unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let start_engine = || {
        let journal = Arc::new(Embedded::open(data.path()).unwrap().journal);
        let checkpoints = Arc::new(FileCheckpoints::open(data.path()).unwrap());
        let config = Config { checkpoint_bytes: 60_000, ..Config::default() };
        Engine::start(journal, checkpoints, config).unwrap()
    };
    let start = Instant::now();
    let mut history = History::default();
    // Two runs, so that the second starts from a checkpoint.
    for life in 0..2 {
        let engine = start_engine();
        let handle = engine.handle();
        while !handle.status().ready {
            std::thread::sleep(Duration::from_millis(1));
        }
        runtime.block_on(async {
            for command in pools() {
                let request = Request::Command(command);
                history.calls.push(perform(&handle, request, start, 0).await);
            }
            let tasks: Vec<_> = (0..TASKS)
                .map(|task| {
                    let handle = handle.clone();
                    tokio::spawn(async move {
                        let mut seed = life * 1000 + task;
                        let mut calls = Vec::new();
                        for _ in 0..CALLS {
                            let request = request(&mut seed);
                            calls.push(perform(&handle, request, start, task).await);
                        }
                        calls
                    })
                })
                .collect();
            for task in tasks {
                history.calls.extend(task.await.unwrap());
            }
        });
        engine.stop().unwrap();
    }
    let journal = Embedded::open(data.path()).unwrap().journal;
    let chain = read_chain(&journal).unwrap();
    let verdict = check(&chain, &history, true);
    verdict.expect_no_problems();
    assert!(verdict.right > 2 * TASKS * CALLS * 9 / 10, "{} judged", verdict.right);
    let refused = history.calls.iter().filter(|call| matches!(call.answer, CallAnswer::Refused(_)));
    assert!(refused.count() > 200);
}
