//! Long reads: they see one position, and writes and other reads proceed meanwhile.

use std::sync::Arc;
use std::sync::mpsc::channel;

use allod_core::capacity::Uuid;
use allod_core::command::Command;
use allod_core::command::capacity::{CapacityCommand, CreateProvider};
use allod_core::view;
use allod_engine::{Config, Engine, EngineError};
use allod_journal::checkpoint::MemoryCheckpoints;
use allod_journal::memory::MemoryStorage;

fn provider(number: u128) -> Command {
    let name = format!("p{number}").into();
    let create = CreateProvider { uuid: Uuid(number), name, parent: None };
    Command::Capacity(CapacityCommand::CreateProvider(create))
}

fn engine(config: Config) -> Engine {
    let (storage, checkpoints) = (MemoryStorage::new(), Arc::new(MemoryCheckpoints::new()));
    let engine = Engine::start(Arc::new(storage.open()), checkpoints, config).unwrap();
    while !engine.handle().status().ready {
        std::thread::yield_now();
    }
    engine
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writes_and_reads_proceed_while_a_long_read_is_in_progress() {
    let engine = engine(Config { long_reads_max: 1, ..Config::default() });
    let handle = engine.handle();
    handle.submit(provider(1)).await.unwrap().answer.unwrap();

    let (begun, has_begun) = channel::<()>();
    let (proceed, may_proceed) = channel::<()>();
    let frozen = handle.freeze().unwrap();
    let at = frozen.at;
    let reader = handle.clone();
    let count = |capacity: view::capacity::CapacityView<'_>| {
        (capacity.provider_count(), capacity.providers_from(Uuid(0)).count())
    };
    let search = tokio::spawn(async move {
        let search = move || {
            begun.send(()).unwrap();
            may_proceed.recv().unwrap();
            (count(frozen.capacity.view()), frozen.at)
        };
        reader.read_long(search).await
    });
    tokio::task::spawn_blocking(move || has_begun.recv()).await.unwrap().unwrap();

    // The search is in progress and does not end before the last line of this block.
    for number in 2..=100 {
        handle.submit(provider(number)).await.unwrap().answer.unwrap();
    }
    let now = handle.read(|snapshot| count(view::capacity(snapshot.state))).unwrap();
    assert_eq!(now, (100, 100));
    proceed.send(()).unwrap();

    assert_eq!(search.await.unwrap(), Ok(((1, 1), at)));
    assert!(handle.status().at.position > at.position);
    engine.stop().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn long_read_without_room_in_the_queue_is_refused_while_writes_are_accepted() {
    let config = Config { long_reads_max: 1, long_reads_queue_max: 0, ..Config::default() };
    let engine = engine(config);
    let handle = engine.handle();
    let (begun, has_begun) = channel::<()>();
    let (proceed, may_proceed) = channel::<()>();
    let reader = handle.clone();
    let first = tokio::spawn(async move {
        let read = move || {
            begun.send(()).unwrap();
            may_proceed.recv().unwrap();
        };
        reader.read_long(read).await
    });
    tokio::task::spawn_blocking(move || has_begun.recv()).await.unwrap().unwrap();
    let refused = handle.read_long(|| ()).await;
    assert_eq!(refused, Err(EngineError::ReadQueueFull { long_reads_queue_max: 0 }));
    handle.submit(provider(1)).await.unwrap().answer.unwrap();
    proceed.send(()).unwrap();
    assert_eq!(first.await.unwrap(), Ok(()));
    assert_eq!(handle.read_long(|| 7).await, Ok(7));
    engine.stop().unwrap();
}
