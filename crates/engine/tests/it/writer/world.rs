//! A writer on a journal with injected faults, and helpers for its tests.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use allod_core::claim::Want;
use allod_core::command::{ClaimOp, Command, Expect, Op, PutPool, ReleaseOp, Transact};
use allod_core::invariant;
use allod_core::pool::{Labels, PoolRange, PoolSpec};
use allod_core::receipt::Outcome;
use allod_core::span::Span;
use allod_core::value::{Kind, ValueText};
use allod_engine::{
    BatchWriter, Clock, CommandReply, Config, EngineError, Halt, Hash, Replica, SharedState,
    state_hash,
};
use allod_journal::memory::{InjectedFault, JournalOperation, MemoryStorage};
use allod_journal::{Journal, RecordFrame};
use allod_record::Item;

pub struct TestClock(pub AtomicU64);

impl Clock for TestClock {
    fn now_ms(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// The faults of the next appends, in order, and of reads.
#[derive(Default)]
pub struct Faults {
    pub appends: VecDeque<InjectedFault>,
    pub reads: VecDeque<InjectedFault>,
    pub operations: u32,
}

pub type SharedFaults = Arc<parking_lot::Mutex<Faults>>;

pub struct Server {
    pub writer: BatchWriter,
    pub shared: Arc<SharedState>,
    pub faults: SharedFaults,
    pub clock: Arc<TestClock>,
}

/// A writer that has taken over, without faults so far.
pub fn lead(storage: &MemoryStorage, config: &Config) -> Server {
    lead_with(storage, config, replay(storage), |_| {}).expect("it leads")
}

/// A writer that calls this between two attempts.
pub fn lead_with(
    storage: &MemoryStorage,
    config: &Config,
    replayed: Replica,
    mut between: impl FnMut(&MemoryStorage) + Send + 'static,
) -> Result<Server, Halt> {
    let faults = SharedFaults::default();
    let of_plan = faults.clone();
    let journal = storage.open_with(Box::new(move |attempt| {
        let mut faults = of_plan.lock();
        faults.operations += 1;
        assert!(faults.operations < 1000, "the writer does not terminate");
        let next = match attempt.operation {
            JournalOperation::Append { .. } => faults.appends.pop_front(),
            _ => faults.reads.pop_front(),
        };
        next.unwrap_or(InjectedFault::None)
    }));
    let clock = Arc::new(TestClock(AtomicU64::new(1_000_000)));
    let shared = Arc::new(SharedState::new(clock.clone()));
    let in_pause = storage.clone();
    let pause = Box::new(move |attempt| {
        between(&in_pause);
        attempt < 20
    });
    let writer =
        BatchWriter::lead(Arc::new(journal), shared.clone(), replayed, config, Some(7), pause)?;
    Ok(Server { writer, shared, faults, clock })
}

/// The state after all records.
pub fn replay(storage: &MemoryStorage) -> Replica {
    let none = allod_journal::checkpoint::MemoryCheckpoints::new();
    allod_engine::recover(&storage.open(), &none).expect("it can be replayed")
}

pub fn frames(storage: &MemoryStorage) -> Vec<RecordFrame> {
    storage.open().read(1, usize::MAX).expect("it can be read")
}

/// The epochs of the records that begin one.
pub fn epochs(storage: &MemoryStorage) -> Vec<u64> {
    let begins = |frame: &RecordFrame| {
        let items = allod_record::decode(&frame.body).expect("it can be read");
        items.iter().any(|item| matches!(item, Item::Epoch { .. }))
    };
    frames(storage).iter().filter(|frame| begins(frame)).map(|frame| frame.epoch).collect()
}

impl Server {
    pub fn write_batch(&mut self, commands: &[Command]) -> Vec<Result<CommandReply, EngineError>> {
        let answers = self.writer.write_batch(&commands.iter().collect::<Vec<_>>());
        let answers = answers.expect("the writer continues");
        self.check();
        answers
    }

    pub fn fail(&self, appends: impl IntoIterator<Item = InjectedFault>) {
        self.faults.lock().appends.extend(appends);
    }

    pub fn hash(&self) -> Hash {
        state_hash(self.writer.state(), self.writer.level())
    }

    /// Checks the invariants of both copies, and that they are equal.
    pub fn check(&self) {
        let (state, level) = (self.writer.state(), self.writer.level());
        assert_eq!(invariant::check(state), Vec::<String>::new());
        self.shared.read(|snapshot| {
            assert_eq!(state_hash(snapshot.state, level), state_hash(state, level));
            assert_eq!(snapshot.at.position, self.writer.tail().position);
            assert_eq!(snapshot.at.hash, self.writer.tail().hash);
        });
    }
}

/// A pool of IDs that begins with 0.
pub fn pool(name: &str, size: u128) -> Command {
    pool_of(name, Kind::Id32, size)
}

pub fn pool_of(name: &str, kind: Kind, size: u128) -> Command {
    let span = Span { first: 0, last: size - 1 };
    Command::PutPool(PutPool {
        pool: name.into(),
        spec: PoolSpec::new(kind, vec![PoolRange { span, subnet_len: None }]),
        expect: Expect::Any,
        keep_held: false,
    })
}

pub fn claim(pool: &str, key: &str) -> Command {
    claim_wanted(pool, Want::any(), key)
}

/// A claim that names its value.
pub fn claim_value(pool: &str, value: &str, key: &str) -> Command {
    claim_wanted(pool, Want { value: Some(value.into()), ..Want::any() }, key)
}

fn claim_wanted(pool: &str, want: Want<ValueText>, key: &str) -> Command {
    Command::Transact(Transact::one(Op::Claim(ClaimOp {
        pools: vec![pool.into()],
        key: key.into(),
        owner: None,
        want,
        ttl_ms: None,
        labels: Labels::default(),
        expect: Expect::Any,
    })))
}

pub fn release(pool: &str, key: &str) -> Command {
    Command::Transact(Transact::one(Op::Release(ReleaseOp {
        pool: pool.into(),
        key: key.into(),
        expect: Expect::Any,
    })))
}

/// The first value in an answer.
pub fn value(answer: &Result<CommandReply, EngineError>) -> Option<u128> {
    match answer.as_ref().ok()?.answer.as_ref().ok()?.outcomes.first()? {
        Outcome::Claimed { claims, .. } => {
            claims.first().map(|given| given.claim.values.first().first)
        }
        _ => None,
    }
}

/// The code of a refusal.
pub fn code(answer: &Result<CommandReply, EngineError>) -> Option<&'static str> {
    answer.as_ref().ok()?.answer.as_ref().err().map(|refused| refused.refusal.code())
}
