//! An engine on a journal in memory, with a settable clock.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use allod_core::claim::Want;
use allod_core::command::{ClaimOp, Command, Expect, Op, PutPool, Transact};
use allod_core::pool::{Labels, PoolRange, PoolSpec};
use allod_core::span::Span;
use allod_core::value::Kind;
use allod_engine::{Clock, Config, Engine, Handle, Hash, recover, state_hash};
use allod_journal::checkpoint::MemoryCheckpoints;
use allod_journal::memory::{InjectedFault, JournalOperation, MemoryStorage};
use allod_journal::{Journal, RecordFrame};
use tokio::runtime::Runtime;

#[derive(Clone)]
pub struct TestClock(pub Arc<AtomicU64>);

impl Clock for TestClock {
    fn now_ms(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

pub struct World {
    pub storage: MemoryStorage,
    pub checkpoints: MemoryCheckpoints,
    pub clock: TestClock,
    pub runtime: Runtime,
    engine: Option<Engine>,
    claims: u64,
    /// How often the journal was asked for its oldest record: twice in each run of retention.
    pub oldest_calls: Arc<AtomicU64>,
}

/// With frequent checkpoints.
pub fn config() -> Config {
    Config { checkpoint_bytes: 2000, ..Config::default() }
}

impl World {
    /// A server with a large pool.
    pub fn start(config: Config) -> World {
        let mut world = World {
            storage: MemoryStorage::new(),
            checkpoints: MemoryCheckpoints::new(),
            clock: TestClock(Arc::new(AtomicU64::new(1_000_000_000))),
            runtime: tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap(),
            engine: None,
            claims: 0,
            oldest_calls: Arc::default(),
        };
        world.engine = Some(world.engine(config));
        let range = PoolRange { span: Span { first: 0, last: 1 << 31 }, subnet_len: None };
        let spec = PoolSpec::new(Kind::Id32, vec![range]);
        let put = PutPool { pool: "p".into(), spec, expect: Expect::Any, keep_held: false };
        world.submit(Command::PutPool(put));
        world
    }

    fn engine(&self, config: Config) -> Engine {
        let (calls, checkpoints) = (self.oldest_calls.clone(), self.checkpoints.clone());
        let journal = self.storage.open_with(Box::new(move |attempt| {
            if matches!(attempt.operation, JournalOperation::Oldest) {
                calls.fetch_add(1, Ordering::Relaxed);
            }
            InjectedFault::None
        }));
        let clock = Arc::new(self.clock.clone());
        let engine =
            Engine::start_with_clock(Arc::new(journal), Arc::new(checkpoints), config, clock);
        let engine = engine.unwrap();
        let handle = engine.handle();
        eventually("it does not get ready", || handle.status().ready);
        engine
    }

    pub fn handle(&self) -> Handle {
        self.engine.as_ref().unwrap().handle()
    }

    fn submit(&self, command: Command) {
        self.runtime.block_on(self.handle().submit(command)).unwrap().answer.unwrap();
    }

    /// Submits this many claims, each in its own record.
    pub fn claims(&mut self, count: u64) {
        for _ in 0..count {
            self.claims += 1;
            self.submit(claim(&format!("key-{:06}", self.claims)));
        }
    }

    pub fn later(&self, ms: u64) {
        self.clock.0.fetch_add(ms, Ordering::Relaxed);
    }

    pub fn oldest(&self) -> u64 {
        self.storage.open().oldest().unwrap()
    }

    pub fn end(&self) -> u64 {
        self.storage.open().tail().unwrap().seq
    }

    pub fn stop(&mut self) {
        self.engine.take().unwrap().stop().unwrap();
    }

    pub fn start_again(&mut self, config: Config) {
        self.engine = Some(self.engine(config));
    }

    pub fn hash(&self) -> Hash {
        hash(&self.storage.open(), &self.checkpoints)
    }

    /// Claims until the journal is trimmed.
    pub fn claims_until_trimmed(&mut self) {
        let started = Instant::now();
        while self.oldest() == 1 {
            self.claims(5);
            assert!(started.elapsed() < Duration::from_secs(20), "nothing is trimmed");
        }
    }
}

pub fn claim(key: &str) -> Command {
    Command::Transact(Transact::one(Op::Claim(ClaimOp {
        pools: vec!["p".into()],
        key: key.into(),
        owner: None,
        want: Want::any(),
        ttl_ms: None,
        labels: Labels::default(),
        expect: Expect::Any,
    })))
}

/// Waits for a condition that another thread fulfils.
pub fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let started = Instant::now();
    while !holds() {
        assert!(started.elapsed() < Duration::from_secs(20), "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

pub fn hash(journal: &dyn Journal, checkpoints: &MemoryCheckpoints) -> Hash {
    let replayed = recover(journal, checkpoints).unwrap();
    state_hash(&replayed.state, replayed.level)
}

pub fn frames(journal: &dyn Journal) -> Vec<RecordFrame> {
    journal.read(journal.oldest().unwrap(), usize::MAX).unwrap()
}
