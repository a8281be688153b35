//! Leases on a machine whose clock jumps.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use allod_core::claim::Want;
use allod_core::command::{ClaimOp, Command, Expect, Op, PutPool, Transact};
use allod_core::pool::{Labels, PoolRange, PoolSpec};
use allod_core::receipt::Outcome;
use allod_core::span::Span;
use allod_core::value::Kind;
use allod_engine::{ClockStatus, Config, Engine, Handle, SystemClock, TimeSource};
use allod_journal::checkpoint::MemoryCheckpoints;
use allod_journal::memory::MemoryStorage;

const START_MS: u64 = 1_700_000_000_000;
const DAY_MS: u64 = 24 * 3600 * 1000;

/// Clocks that the test sets.
#[derive(Clone, Default)]
struct TestTime {
    wall_ms: Arc<AtomicU64>,
    steady_ms: Arc<AtomicU64>,
}

impl TimeSource for TestTime {
    fn wall_ms(&self) -> u64 {
        self.wall_ms.load(Ordering::Relaxed)
    }

    fn steady_ms(&self) -> u64 {
        self.steady_ms.load(Ordering::Relaxed)
    }
}

impl TestTime {
    fn starting_at(wall_ms: u64) -> TestTime {
        let time = TestTime::default();
        time.wall_ms.store(wall_ms, Ordering::Relaxed);
        time
    }

    fn pass(&self, ms: u64) {
        self.wall_ms.fetch_add(ms, Ordering::Relaxed);
        self.steady_ms.fetch_add(ms, Ordering::Relaxed);
    }

    fn jump_ahead(&self, ms: u64) {
        self.wall_ms.fetch_add(ms, Ordering::Relaxed);
    }

    fn jump_back(&self, ms: u64) {
        self.wall_ms.fetch_sub(ms, Ordering::Relaxed);
    }
}

struct World {
    _engine: Engine,
    handle: Handle,
    runtime: tokio::runtime::Runtime,
}

impl World {
    fn start(storage: &MemoryStorage, time: &TestTime) -> World {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let engine = Engine::start_with_clock(
            Arc::new(storage.open()),
            Arc::new(MemoryCheckpoints::new()),
            Config::default(),
            Arc::new(SystemClock::new(time.clone())),
        );
        let engine = engine.unwrap();
        let handle = engine.handle();
        while !handle.status().ready {
            std::thread::yield_now();
        }
        World { _engine: engine, handle, runtime }
    }

    fn submit(&self, command: Command) -> Outcome {
        let reply = self.runtime.block_on(self.handle.submit(command)).unwrap();
        reply.answer.unwrap().outcomes.remove(0)
    }

    fn create_pool(&self) {
        let range = PoolRange { span: Span { first: 0, last: 99 }, subnet_len: None };
        let spec = PoolSpec::new(Kind::Id32, vec![range]);
        let put = PutPool { pool: "p".into(), spec, expect: Expect::Any, keep_held: false };
        self.submit(Command::PutPool(put));
    }

    /// Claims a value for five seconds and returns the end of its lease.
    fn claim(&self, key: &str) -> u64 {
        let outcome = self.submit(Command::Transact(Transact::one(Op::Claim(ClaimOp {
            pools: vec!["p".into()],
            key: key.into(),
            owner: None,
            want: Want::any(),
            ttl_ms: Some(5000),
            labels: Labels::default(),
            expect: Expect::Any,
        }))));
        let Outcome::Claimed { claims, .. } = outcome else { panic!("it claims") };
        claims[0].claim.expires_ms.unwrap()
    }

    fn now_ms(&self) -> u64 {
        self.handle.read(|snapshot| snapshot.now_ms).unwrap()
    }

    fn clock(&self) -> ClockStatus {
        self.now_ms();
        self.handle.status().clock
    }
}

#[test]
fn lease_has_its_length_while_the_clock_is_a_day_ahead_and_after_that() {
    let time = TestTime::starting_at(START_MS);
    let world = World::start(&MemoryStorage::new(), &time);
    world.create_pool();
    time.jump_ahead(DAY_MS);
    assert_eq!(world.claim("during"), START_MS + 5000);
    assert_eq!(world.clock(), ClockStatus { off_ms: DAY_MS as i64, jumps: 1 });
    time.pass(4999);
    assert_eq!(world.now_ms(), START_MS + 4999);
    time.jump_back(DAY_MS);
    time.pass(1);
    assert_eq!(world.now_ms(), START_MS + 5000);
    assert_eq!(world.claim("after"), START_MS + 10_000);
    assert_eq!(world.clock(), ClockStatus { off_ms: 0, jumps: 1 });
}

#[test]
fn clock_that_jumps_back_does_not_stop_the_time() {
    let time = TestTime::starting_at(START_MS);
    let world = World::start(&MemoryStorage::new(), &time);
    world.create_pool();
    time.jump_back(DAY_MS);
    assert_eq!(world.claim("a"), START_MS + 5000);
    time.pass(5000);
    assert_eq!(world.now_ms(), START_MS + 5000);
    assert_eq!(world.clock(), ClockStatus { off_ms: -(DAY_MS as i64), jumps: 1 });
}

#[test]
fn lease_has_its_length_on_a_journal_that_is_a_day_ahead() {
    let storage = MemoryStorage::new();
    let ahead = World::start(&storage, &TestTime::starting_at(START_MS + DAY_MS));
    ahead.create_pool();
    drop(ahead);
    let time = TestTime::starting_at(START_MS);
    let world = World::start(&storage, &time);
    assert_eq!(world.claim("a"), START_MS + DAY_MS + 5000);
    time.pass(5000);
    assert_eq!(world.now_ms(), START_MS + DAY_MS + 5000);
    assert_eq!(world.clock().off_ms, -(DAY_MS as i64));
}

#[test]
fn small_step_of_the_clock_is_followed() {
    let time = TestTime::starting_at(START_MS);
    let world = World::start(&MemoryStorage::new(), &time);
    time.jump_ahead(400);
    assert_eq!(world.now_ms(), START_MS + 400);
    time.pass(100);
    time.jump_ahead(800);
    assert_eq!(world.now_ms(), START_MS + 1300);
    assert_eq!(world.clock(), ClockStatus::default());
}
