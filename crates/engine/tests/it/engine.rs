//! The engine with its thread and its queue.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
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

/// Waits for something that another thread brings about.
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

/// An engine whose appends each wait for a word, and fail as it says.
fn led_by_hand(storage: &MemoryStorage, config: Config) -> (Engine, Sender<InjectedFault>) {
    let (say, words): (Sender<InjectedFault>, Receiver<InjectedFault>) = channel();
    let words = Mutex::new(words);
    let journal = storage.open_with(Box::new(move |attempt| match attempt.operation {
        // When nobody speaks any more, everything works.
        JournalOperation::Append { .. } => words.lock().recv().unwrap_or(InjectedFault::None),
        _ => InjectedFault::None,
    }));
    let checkpoints = Arc::new(MemoryCheckpoints::new());
    (Engine::start(Arc::new(journal), checkpoints, config).unwrap(), say)
}

fn given(reply: Result<CommandReply, EngineError>) -> bool {
    reply.is_ok_and(|reply| reply.answer.is_ok())
}

#[test]
fn a_full_queue_refuses_and_loses_nothing() {
    let runtime = runtime();
    let storage = MemoryStorage::new();
    let config = Config { queue_commands_max: 4, ..Config::default() };
    let (engine, say) = led_by_hand(&storage, config);
    say.send(InjectedFault::None).unwrap();
    let handle = ready(&engine);
    let submit = |command| {
        let handle = handle.clone();
        runtime.spawn(async move { handle.submit(command).await })
    };
    let first = submit(pool("p", 99, None));
    // Once the first is being appended, the queue is empty again and takes four.
    eventually("the first is not taken", || handle.status().queue_commands == 0);
    std::thread::sleep(Duration::from_millis(50));
    let waiting: Vec<_> = (0..4).map(|n| submit(claim("p", &n.to_string()))).collect();
    eventually("the queue does not fill", || handle.status().queue_commands == 4);
    let refused = runtime.block_on(handle.submit(claim("p", "one too many")));
    assert_eq!(refused, Err(EngineError::QueueFull { queue_commands_max: 4 }));
    drop(say);
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
fn a_stop_answers_what_was_queued_and_refuses_what_comes_later() {
    let runtime = runtime();
    let storage = MemoryStorage::new();
    let (engine, say) = led_by_hand(&storage, Config::default());
    say.send(InjectedFault::None).unwrap();
    let handle = ready(&engine);
    let queued: Vec<_> = (0..3)
        .map(|_| {
            let handle = handle.clone();
            runtime.spawn(async move { handle.submit(pool("p", 9, None)).await })
        })
        .collect();
    std::thread::sleep(Duration::from_millis(50));
    let stopping = std::thread::spawn(move || engine.stop());
    eventually("the queue is still open", || {
        runtime.block_on(async {
            let asked =
                tokio::time::timeout(Duration::from_millis(5), handle.submit(claim("p", "late")));
            matches!(asked.await, Ok(Err(EngineError::Stopping)))
        })
    });
    drop(say);
    for one in queued {
        assert!(given(runtime.block_on(one).unwrap()));
    }
    stopping.join().unwrap().unwrap();
}

#[test]
fn a_full_disk_is_told_and_its_end_is_noticed_without_a_write() {
    let runtime = runtime();
    let storage = MemoryStorage::new();
    let (engine, say) = led_by_hand(&storage, Config::default());
    say.send(InjectedFault::None).unwrap();
    let handle = ready(&engine);
    say.send(InjectedFault::None).unwrap();
    assert!(given(runtime.block_on(handle.submit(pool("p", 9, Some(1))))));
    say.send(InjectedFault::None).unwrap();
    assert!(given(runtime.block_on(handle.submit(claim("p", "a")))));
    // The lease has run out and the pool reaps: from now on there is always something due.
    for _ in 0..3 {
        say.send(InjectedFault::Full).unwrap();
    }
    eventually("it is not degraded", || handle.status().degraded.is_some());
    assert!(handle.status().degraded.unwrap().contains("no room left"));
    assert!(handle.read(|snapshot| snapshot.state.pool("p").is_some()).unwrap());
    drop(say);
    eventually("it stays degraded", || handle.status().degraded.is_none());
    eventually("what is due is not done", || {
        handle.read(|snapshot| allod_core::view::claim(snapshot.state, "p", "a")).unwrap().is_none()
    });
    engine.stop().unwrap();
}

#[test]
fn a_full_disk_is_not_asked_without_a_break() {
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
    appends.lock().1 = true;
    eventually("the full journal is not asked", || appends.lock().0 > 0);
    std::thread::sleep(Duration::from_millis(700));
    let asked = appends.lock().0;
    assert!(asked < 10, "the full journal was asked {asked} times");
    appends.lock().1 = false;
    engine.stop().unwrap();
}

#[test]
fn a_command_of_unknown_fate_is_not_called_undone() {
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
    assert!(what.contains("not known whether"), "{what}");
}

#[test]
fn history_is_trimmed_to_what_the_checkpoints_need() {
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
    // The older of the two is enough as well.
    let newest = store.list().unwrap()[0].seq;
    assert!(store.alter(newest, |bytes| bytes.truncate(5)));
    let again = recover(&storage.open(), &store).unwrap();
    assert_eq!(state_hash(&again.state, again.level), hash);
}

#[test]
fn a_linearizable_read_sees_what_another_server_acknowledged() {
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
    // One that has nothing to do takes it in by itself, and writes nothing for that.
    assert!(given(runtime.block_on(second.submit(claim("p", "b")))));
    eventually("it does not follow", || seen("b"));
    assert_eq!(storage.open().tail().unwrap().epoch, second.status().epoch);
    assert_eq!(first.status().epoch, second.status().epoch);
    one.stop().unwrap();
    two.stop().unwrap();
}

#[test]
fn the_status_counts_what_was_done_and_what_a_rival_took() {
    let runtime = runtime();
    let storage = MemoryStorage::new();
    let store = MemoryCheckpoints::new();
    let start = |config| Engine::start(Arc::new(storage.open()), Arc::new(store.clone()), config);
    let one = start(Config { checkpoint_bytes: 1, ..Config::default() }).unwrap();
    let handle = ready(&one);
    assert!(given(runtime.block_on(handle.submit(pool("p", 0, None)))));
    assert!(given(runtime.block_on(handle.submit(claim("p", "a")))));
    // A refusal is decided and writes nothing.
    assert!(!given(runtime.block_on(handle.submit(claim("p", "b")))));
    let counted = handle.status().counters;
    assert_eq!((counted.commands, counted.records, counted.conflicts), (3, 3, 0));
    assert!(counted.bytes > 0 && counted.last_batch_commands == 1);
    eventually("no checkpoint", || handle.status().counters.checkpoints > 0);
    let checkpoint = handle.status();
    assert!(checkpoint.checkpoint_position > 0 && checkpoint.checkpoint_ms.is_some());

    // Another server says from its start how old the newest checkpoint is; and the first one finds itself overtaken.
    let two = start(Config::default()).unwrap();
    let second = ready(&two);
    assert!(second.status().checkpoint_position > 0 && second.status().checkpoint_ms.is_some());
    assert!(given(runtime.block_on(second.submit(claim("p", "a")))));
    // It may have read what the other wrote before it writes itself; but not every time.
    let overtaken = (0..1000).any(|n| {
        assert!(given(runtime.block_on(second.submit(pool(&format!("q{n}"), 9, None)))));
        assert!(given(runtime.block_on(handle.submit(pool(&format!("r{n}"), 9, None)))));
        handle.status().counters.conflicts > 0
    });
    assert!(overtaken);
    one.stop().unwrap();
    two.stop().unwrap();
}

#[test]
fn a_journal_that_is_away_at_the_start_is_waited_for() {
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
    eventually("it does not say why", || handle.status().degraded.is_some());
    assert!(!handle.status().ready && !engine.has_ended());
    away.store(false, Ordering::Relaxed);
    let handle = ready(&engine);
    assert!(given(runtime().block_on(handle.submit(pool("p", 9, None)))));
    assert_eq!(handle.status().degraded, None);
    engine.stop().unwrap();
}

#[test]
fn an_engine_that_waits_for_its_journal_can_be_stopped() {
    let journal = MemoryStorage::new().open_with(Box::new(|_| InjectedFault::Unavailable));
    let checkpoints = Arc::new(MemoryCheckpoints::new());
    let engine = Engine::start(Arc::new(journal), checkpoints, Config::default()).unwrap();
    eventually("it does not say why", || engine.handle().status().degraded.is_some());
    engine.stop().unwrap();
}

/// A store in which something happens just before it is looked at.
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

    fn keep_newest(&self, count: usize) -> Result<(), CheckpointStoreError> {
        self.0.keep_newest(count)
    }
}

#[test]
fn a_start_while_another_server_writes_a_checkpoint_is_no_loss_of_records() {
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
