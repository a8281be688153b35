//! The engine with its thread and its queue.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use allod_core::claim::Want;
use allod_core::command::{ClaimOp, Command, Expect, Op, PutPool, Transact};
use allod_core::pool::{Labels, PoolRange, PoolSpec};
use allod_core::span::Span;
use allod_core::value::Kind;
use allod_engine::{
    CommandReply, Config, Engine, EngineError, Handle, RetentionPolicy, recover, state_hash,
};
use allod_journal::checkpoint::{
    CheckpointContents, CheckpointList, CheckpointMeta, CheckpointStoreError, MemoryCheckpoints,
};
use allod_journal::memory::{InjectedFault, JournalOperation, MemoryStorage};
use allod_journal::{CheckpointStore, Journal};
use parking_lot::Mutex;

/// How long a test waits for what must happen.
const PATIENCE: Duration = Duration::from_secs(20);

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_time().build().unwrap()
}

fn pool(name: &str, last: u128, lease_ms: Option<u64>) -> Command {
    let range = PoolRange { span: Span { first: 0, last }, subnet_len: None };
    let spec = PoolSpec { lease_ms, reap: true, ..PoolSpec::new(Kind::Id32, vec![range]) };
    Command::PutPool(PutPool { pool: name.into(), spec, expect: Expect::Any, keep_held: false })
}

fn claim(pool: &str, key: &str) -> Command {
    Command::Transact(Transact::one(Op::Claim(ClaimOp {
        pools: vec![pool.into()],
        key: key.into(),
        owner: None,
        want: Want::any(),
        ttl_ms: None,
        labels: Labels::default(),
        expect: Expect::Any,
    })))
}

/// Waits for a condition that another thread fulfils.
fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let started = Instant::now();
    while !holds() {
        assert!(started.elapsed() < Duration::from_secs(20), "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn ready(engine: &Engine) -> Handle {
    let handle = engine.handle();
    eventually("the engine is not ready", || handle.status().ready);
    handle
}

/// Controls the appends of an engine.
struct Appends {
    /// Each append waits for one of these. Once this is dropped, all appends succeed.
    faults: Sender<InjectedFault>,
    begun: Arc<AtomicU32>,
}

impl Appends {
    fn next(&self, fault: InjectedFault) {
        self.faults.send(fault).unwrap();
    }

    fn wait_for(&self, count: u32) {
        eventually("the append does not begin", || self.begun.load(Ordering::Relaxed) == count);
    }
}

fn with_controlled_appends(storage: &MemoryStorage, config: Config) -> (Engine, Appends) {
    let (faults, received): (Sender<InjectedFault>, Receiver<InjectedFault>) = channel();
    let (received, begun) = (Mutex::new(received), Arc::new(AtomicU32::new(0)));
    let counted = begun.clone();
    let journal = storage.open_with(Box::new(move |attempt| match attempt.operation {
        JournalOperation::Append { .. } => {
            counted.fetch_add(1, Ordering::Relaxed);
            received.lock().recv().unwrap_or(InjectedFault::None)
        }
        _ => InjectedFault::None,
    }));
    let checkpoints = Arc::new(MemoryCheckpoints::new());
    let engine = Engine::start(Arc::new(journal), checkpoints, config).unwrap();
    (engine, Appends { faults, begun })
}

fn given(reply: Result<CommandReply, EngineError>) -> bool {
    reply.is_ok_and(|reply| reply.answer.is_ok())
}

#[test]
fn full_queue_refuses_commands_and_loses_none() {
    let runtime = runtime();
    let storage = MemoryStorage::new();
    let config = Config { queue_commands_max: 4, ..Config::default() };
    let (engine, appends) = with_controlled_appends(&storage, config);
    appends.next(InjectedFault::None);
    let handle = ready(&engine);
    let submit = |command| {
        let handle = handle.clone();
        runtime.spawn(async move { handle.submit(command).await })
    };
    let first = submit(pool("p", 99, None));
    // While the first command is being appended, the queue is empty and has room for four.
    appends.wait_for(2);
    let waiting: Vec<_> = (0..4).map(|n| submit(claim("p", &n.to_string()))).collect();
    eventually("the queue does not fill", || handle.status().queue_commands == 4);
    let refused = runtime.block_on(handle.submit(claim("p", "one too many")));
    assert_eq!(refused, Err(EngineError::QueueFull { queue_commands_max: 4 }));
    drop(appends);
    assert!(given(runtime.block_on(first).unwrap()));
    for one in waiting {
        assert!(given(runtime.block_on(one).unwrap()));
    }
    engine.stop().unwrap();
    let (journal, none) = (storage.open(), MemoryCheckpoints::new());
    // The level, the pool, and four claims.
    assert_eq!(recover(&journal, &none).unwrap().state.position, 6);
}

#[test]
fn stop_answers_queued_commands_and_refuses_later_ones() {
    let runtime = runtime();
    let storage = MemoryStorage::new();
    let (engine, appends) = with_controlled_appends(&storage, Config::default());
    appends.next(InjectedFault::None);
    let handle = ready(&engine);
    let submit = || {
        let handle = handle.clone();
        runtime.spawn(async move { handle.submit(pool("p", 9, None)).await })
    };
    let mut queued = vec![submit()];
    appends.wait_for(2);
    queued.extend([submit(), submit()]);
    eventually("they are not queued", || handle.status().queue_commands == 2);
    let stopping = std::thread::spawn(move || engine.stop());
    eventually("the queue is still open", || {
        runtime.block_on(async {
            let asked =
                tokio::time::timeout(Duration::from_millis(5), handle.submit(claim("p", "late")));
            matches!(asked.await, Ok(Err(EngineError::Stopping)))
        })
    });
    drop(appends);
    for one in queued {
        assert!(given(runtime.block_on(one).unwrap()));
    }
    stopping.join().unwrap().unwrap();
}

#[test]
fn full_disk_is_reported_and_recovery_needs_no_command() {
    let runtime = runtime();
    let storage = MemoryStorage::new();
    let (engine, appends) = with_controlled_appends(&storage, Config::default());
    appends.next(InjectedFault::None);
    let handle = ready(&engine);
    appends.next(InjectedFault::None);
    assert!(given(runtime.block_on(handle.submit(pool("p", 9, Some(1))))));
    appends.next(InjectedFault::None);
    assert!(given(runtime.block_on(handle.submit(claim("p", "a")))));
    // The lease expires and the pool reaps, so the engine writes without a command.
    for _ in 0..3 {
        appends.next(InjectedFault::Full);
    }
    eventually("it is not degraded", || handle.status().degraded.is_some());
    assert!(handle.status().degraded.unwrap().contains("no room left"));
    assert!(handle.read(|snapshot| snapshot.state.pool("p").is_some()).unwrap());
    drop(appends);
    eventually("it stays degraded", || handle.status().degraded.is_none());
    eventually("the claim does not expire", || {
        handle.read(|snapshot| allod_core::view::claim(snapshot.state, "p", "a")).unwrap().is_none()
    });
    engine.stop().unwrap();
}

/// The answer to a command that is refused although the journal does not answer.
fn refusal(runtime: &tokio::runtime::Runtime, handle: &Handle, key: &str) -> String {
    let asked = async { tokio::time::timeout(PATIENCE, handle.submit(claim("p", key))).await };
    match runtime.block_on(asked) {
        Ok(Err(EngineError::Unavailable { what })) => what,
        other => panic!("{other:?}"),
    }
}

#[test]
fn commands_are_refused_while_an_append_is_not_answered() {
    let runtime = runtime();
    let storage = MemoryStorage::new();
    let (engine, appends) = with_controlled_appends(&storage, Config::default());
    appends.next(InjectedFault::None);
    let handle = ready(&engine);
    let asked = handle.clone();
    let first = runtime.spawn(async move { asked.submit(pool("p", 9, None)).await });
    appends.wait_for(2);
    // The append is answered only after these: the first one waits in the queue, the second one is not even queued.
    for key in ["queued", "refused"] {
        let what = refusal(&runtime, &handle, key);
        assert!(what.contains("has not answered for 2 s"), "{what}");
    }
    assert!(handle.status().degraded.is_some());
    assert!(handle.read(|snapshot| snapshot.state.pool("p").is_none()).unwrap());
    drop(appends);
    assert!(given(runtime.block_on(first).unwrap()), "the append was committed after all");
    eventually("it stays degraded", || handle.status().degraded.is_none());
    assert!(given(runtime.block_on(handle.submit(claim("p", "later")))));
    engine.stop().unwrap();
}

#[test]
fn commands_are_refused_while_an_outcome_is_looked_up() {
    let runtime = runtime();
    let storage = MemoryStorage::new();
    let (engine, appends) = with_controlled_appends(&storage, Config::default());
    appends.next(InjectedFault::None);
    let handle = ready(&engine);
    appends.next(InjectedFault::DropAppend);
    let asked = handle.clone();
    let first = runtime.spawn(async move { asked.submit(pool("p", 9, None)).await });
    // The record that takes the place of the lost one is being appended, and is answered only after this.
    appends.wait_for(3);
    let what = refusal(&runtime, &handle, "refused");
    assert!(what.contains("unavailable"), "{what}");
    drop(appends);
    let first = runtime.block_on(first).unwrap();
    assert!(matches!(first, Err(EngineError::Unavailable { .. })), "{first:?}");
    eventually("it stays degraded", || handle.status().degraded.is_none());
    assert!(given(runtime.block_on(handle.submit(pool("p", 9, None)))));
    engine.stop().unwrap();
}

#[test]
fn full_disk_is_retried_with_pauses() {
    let runtime = runtime();
    let storage = MemoryStorage::new();
    let appends = Arc::new(Mutex::new((0u32, false)));
    let counted = appends.clone();
    let journal = storage.open_with(Box::new(move |attempt| {
        let mut counted = counted.lock();
        match attempt.operation {
            JournalOperation::Append { .. } if counted.1 => {
                counted.0 += 1;
                InjectedFault::Full
            }
            _ => InjectedFault::None,
        }
    }));
    let checkpoints = Arc::new(MemoryCheckpoints::new());
    let engine = Engine::start(Arc::new(journal), checkpoints, Config::default()).unwrap();
    let handle = ready(&engine);
    assert!(given(runtime.block_on(handle.submit(pool("p", 9, Some(1))))));
    assert!(given(runtime.block_on(handle.submit(claim("p", "a")))));
    let started = Instant::now();
    appends.lock().1 = true;
    // The first two attempts may follow each other directly; then there is half a second before each.
    eventually("the full journal is not retried", || appends.lock().0 >= 4);
    assert!(started.elapsed() >= Duration::from_millis(900), "{:?}", started.elapsed());
    appends.lock().1 = false;
    engine.stop().unwrap();
}

#[test]
fn command_of_unknown_outcome_is_reported_as_unknown() {
    let runtime = runtime();
    let storage = MemoryStorage::new();
    let journal = storage.open_with(Box::new(move |attempt| match attempt.operation {
        JournalOperation::Append { frame, .. } if frame.seq == 2 => InjectedFault::LoseAck,
        JournalOperation::Read { from: 2 } => InjectedFault::Unavailable,
        _ => InjectedFault::None,
    }));
    let checkpoints = Arc::new(MemoryCheckpoints::new());
    let engine = Engine::start(Arc::new(journal), checkpoints, Config::default()).unwrap();
    let handle = ready(&engine);
    let asked = runtime.spawn(async move { handle.submit(pool("p", 9, None)).await });
    let handle = engine.handle();
    eventually("it is not degraded", || handle.status().degraded.is_some());
    assert!(engine.stop().is_err());
    let Err(EngineError::Unavailable { what }) = runtime.block_on(asked).unwrap() else {
        panic!("it was answered")
    };
    assert!(what.contains("outcome of the command is not known"), "{what}");
}

#[test]
fn journal_is_trimmed_up_to_the_oldest_retained_checkpoint() {
    let runtime = runtime();
    let storage = MemoryStorage::new();
    let store = MemoryCheckpoints::new();
    let config = Config {
        history: RetentionPolicy::SinceCheckpoint,
        checkpoint_bytes: 2_000,
        checkpoints_kept: 2,
        ..Config::default()
    };
    let engine = Engine::start(Arc::new(storage.open()), Arc::new(store.clone()), config).unwrap();
    let handle = ready(&engine);
    assert!(given(runtime.block_on(handle.submit(pool("p", 9_999, None)))));
    let mut n = 0;
    eventually("nothing is trimmed", || {
        n += 1;
        assert!(given(runtime.block_on(handle.submit(claim("p", &n.to_string())))));
        storage.open().oldest().unwrap() > 20 && store.list().unwrap().len() == 2
    });
    let hash = handle.read(|snapshot| state_hash(snapshot.state, allod_record::LEVEL)).unwrap();
    engine.stop().unwrap();
    let oldest_kept = store.list().unwrap().last().unwrap().seq;
    assert!(storage.open().oldest().unwrap() <= oldest_kept + 1);
    let again = recover(&storage.open(), &store).unwrap();
    assert_eq!(state_hash(&again.state, again.level), hash);
    // The older checkpoint is sufficient too.
    let newest = store.list().unwrap()[0].seq;
    assert!(store.alter(newest, |bytes| bytes.truncate(5)));
    let again = recover(&storage.open(), &store).unwrap();
    assert_eq!(state_hash(&again.state, again.level), hash);
}

#[test]
fn linearizable_read_sees_commands_of_another_server() {
    let runtime = runtime();
    let storage = MemoryStorage::new();
    let start = || {
        let checkpoints = Arc::new(MemoryCheckpoints::new());
        Engine::start(Arc::new(storage.open()), checkpoints, Config::default()).unwrap()
    };
    let one = start();
    let first = ready(&one);
    assert!(given(runtime.block_on(first.submit(pool("p", 9, None)))));
    let two = start();
    let second = ready(&two);
    assert!(given(runtime.block_on(second.submit(claim("p", "a")))));
    let seen = |key: &str| {
        first.read(|snapshot| allod_core::view::claim(snapshot.state, "p", key)).unwrap().is_some()
    };
    runtime.block_on(first.confirm_tail()).unwrap();
    assert!(seen("a"));
    // An idle server follows too, without writing anything.
    assert!(given(runtime.block_on(second.submit(claim("p", "b")))));
    eventually("it does not follow", || seen("b"));
    assert_eq!(storage.open().tail().unwrap().epoch, second.status().epoch);
    assert_eq!(first.status().epoch, second.status().epoch);
    one.stop().unwrap();
    two.stop().unwrap();
}

#[test]
fn status_counts_commands_records_and_conflicts() {
    let runtime = runtime();
    let storage = MemoryStorage::new();
    let store = MemoryCheckpoints::new();
    let start = |config| Engine::start(Arc::new(storage.open()), Arc::new(store.clone()), config);
    let one = start(Config { checkpoint_bytes: 1, ..Config::default() }).unwrap();
    let handle = ready(&one);
    assert!(given(runtime.block_on(handle.submit(pool("p", 0, None)))));
    assert!(given(runtime.block_on(handle.submit(claim("p", "a")))));
    // A refusal counts as a command and writes no record.
    assert!(!given(runtime.block_on(handle.submit(claim("p", "b")))));
    let counted = handle.status().counters;
    assert_eq!((counted.commands, counted.records, counted.conflicts), (3, 3, 0));
    assert!(counted.bytes > 0 && counted.last_batch_commands == 1);
    eventually("no checkpoint", || handle.status().counters.checkpoints > 0);
    let checkpoint = handle.status();
    assert!(checkpoint.checkpoint_position > 0 && checkpoint.checkpoint_ms.is_some());

    // Another server knows the newest checkpoint from its start; its writes cause conflicts on the first server.
    let two = start(Config::default()).unwrap();
    let second = ready(&two);
    assert!(second.status().checkpoint_position > 0 && second.status().checkpoint_ms.is_some());
    assert!(given(runtime.block_on(second.submit(claim("p", "a")))));
    // The first server may read the record before it writes, but not every time.
    let has_conflict = (0..1000).any(|n| {
        assert!(given(runtime.block_on(second.submit(pool(&format!("q{n}"), 9, None)))));
        assert!(given(runtime.block_on(handle.submit(pool(&format!("r{n}"), 9, None)))));
        handle.status().counters.conflicts > 0
    });
    assert!(has_conflict);
    one.stop().unwrap();
    two.stop().unwrap();
}

#[test]
fn start_waits_for_an_unavailable_journal() {
    let storage = MemoryStorage::new();
    let away = Arc::new(AtomicBool::new(true));
    let is_away = away.clone();
    let journal = storage.open_with(Box::new(move |_| {
        if is_away.load(Ordering::Relaxed) {
            InjectedFault::Unavailable
        } else {
            InjectedFault::None
        }
    }));
    let checkpoints = Arc::new(MemoryCheckpoints::new());
    let engine = Engine::start(Arc::new(journal), checkpoints, Config::default()).unwrap();
    let handle = engine.handle();
    eventually("it is not degraded", || handle.status().degraded.is_some());
    assert!(!handle.status().ready && !engine.has_ended());
    away.store(false, Ordering::Relaxed);
    let handle = ready(&engine);
    assert!(given(runtime().block_on(handle.submit(pool("p", 9, None)))));
    assert_eq!(handle.status().degraded, None);
    engine.stop().unwrap();
}

#[test]
fn engine_that_waits_for_its_journal_can_be_stopped() {
    let journal = MemoryStorage::new().open_with(Box::new(|_| InjectedFault::Unavailable));
    let checkpoints = Arc::new(MemoryCheckpoints::new());
    let engine = Engine::start(Arc::new(journal), checkpoints, Config::default()).unwrap();
    eventually("it is not degraded", || engine.handle().status().degraded.is_some());
    engine.stop().unwrap();
}

/// A checkpoint store that calls a function before it lists its checkpoints.
struct Meanwhile<F>(MemoryCheckpoints, F);

impl<F: Fn() + Send + Sync> CheckpointStore for Meanwhile<F> {
    fn put(
        &self,
        meta: &CheckpointMeta,
        write: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), CheckpointStoreError> {
        self.0.put(meta, write)
    }

    fn survey(&self) -> Result<CheckpointList, CheckpointStoreError> {
        (self.1)();
        self.0.survey()
    }

    fn open(&self, meta: &CheckpointMeta) -> Result<CheckpointContents, CheckpointStoreError> {
        self.0.open(meta)
    }

    fn remove(&self, seq: u64) -> Result<(), CheckpointStoreError> {
        self.0.remove(seq)
    }

    fn keep_newest(&self, count: usize) -> Result<(), CheckpointStoreError> {
        self.0.keep_newest(count)
    }
}

#[test]
fn checkpoint_written_during_a_start_is_not_taken_for_a_loss_of_records() {
    let (storage, store) = (MemoryStorage::new(), MemoryCheckpoints::new());
    let config = Config { checkpoint_bytes: 1, ..Config::default() };
    let other = Engine::start(Arc::new(storage.open()), Arc::new(store.clone()), config).unwrap();
    let handle = ready(&other);
    let meanwhile = Meanwhile(store, || {
        let made = runtime().block_on(handle.submit(pool("p", 9, None)));
        let position = made.unwrap().at.position;
        eventually("no checkpoint", || handle.status().checkpoint_position >= position);
    });
    let replayed = recover(&storage.open(), &meanwhile).unwrap();
    assert!(replayed.state.pool("p").is_some());
    other.stop().unwrap();
}
