//! Reading old records while the engine runs.

use std::sync::Arc;
use std::time::Duration;

use allod_core::claim::Want;
use allod_core::command::{ClaimOp, Command, Expect, Op, PutPool, Transact};
use allod_core::pool::{Labels, PoolRange, PoolSpec};
use allod_core::span::Span;
use allod_core::value::Kind;
use allod_engine::{Config, Engine, EngineError, Handle, JournalReadError};
use allod_journal::Journal;
use allod_journal::checkpoint::MemoryCheckpoints;
use allod_journal::memory::MemoryStorage;

async fn started(storage: &MemoryStorage) -> (Engine, Handle) {
    let (journal, checkpoints) = (storage.open(), MemoryCheckpoints::new());
    let engine = Engine::start(Arc::new(journal), Arc::new(checkpoints), Config::default());
    let engine = engine.unwrap();
    let handle = engine.handle();
    while !handle.status().ready || handle.status().epoch == 0 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    (engine, handle)
}

async fn put_pool(handle: &Handle) {
    let range = PoolRange { span: Span { first: 0, last: 99_999 }, subnet_len: None };
    let spec = PoolSpec::new(Kind::Id32, vec![range]);
    let put = PutPool { pool: "p".into(), spec, expect: Expect::Any, keep_held: false };
    handle.submit(Command::PutPool(put)).await.unwrap().answer.unwrap();
}

async fn claim(handle: &Handle, key: &str) -> u64 {
    let op = Op::Claim(ClaimOp {
        pools: vec!["p".into()],
        key: key.into(),
        owner: None,
        want: Want::any(),
        ttl_ms: None,
        labels: Labels::default(),
        expect: Expect::Any,
    });
    let reply = handle.submit(Command::Transact(Transact::one(op))).await.unwrap();
    reply.answer.unwrap();
    reply.at.position
}

/// The positions of all entries with events after this one, read in small pieces.
async fn positions_after(handle: &Handle, position: u64) -> Result<Vec<u64>, JournalReadError> {
    let mut from = handle.record_after(position).await?;
    let mut all = Vec::new();
    loop {
        let records = handle.read_journal(from, 1000).await?;
        let Some(last) = records.last() else { return Ok(all) };
        from = last.tail.seq + 1;
        let entries = records.iter().flat_map(|record| record.changes());
        let said = entries.filter(|(at, entry)| *at > position && !entry.events.is_empty());
        all.extend(said.map(|(at, _)| at));
    }
}

#[tokio::test]
async fn records_after_any_position_are_readable_until_trimmed() {
    let storage = MemoryStorage::new();
    let (engine, handle) = started(&storage).await;
    put_pool(&handle).await;
    let pool = handle.status().at.position;
    let mut last = pool;
    for n in 0..100 {
        last = claim(&handle, &n.to_string()).await;
    }
    for position in 0..=last {
        let wanted = (position + 1).max(pool)..=last;
        assert_eq!(positions_after(&handle, position).await, Ok(wanted.collect()), "{position}");
    }
    let journal = storage.open();
    let trimmed = journal.seq_of_position(50).unwrap();
    journal.trim(trimmed).unwrap();
    let oldest_position = journal.read(trimmed + 1, 0).unwrap()[0].position - 1;
    for position in 0..=last {
        let wanted = if position < oldest_position {
            Err(JournalReadError::Trimmed { oldest_position })
        } else {
            Ok((position + 1..=last).collect())
        };
        assert_eq!(positions_after(&handle, position).await, wanted, "{position}");
    }
    // Trimmed between finding the record and reading it.
    let read = handle.read_journal(trimmed, 1000).await;
    assert_eq!(read, Err(JournalReadError::Trimmed { oldest_position }));
    engine.stop().unwrap();
}

#[tokio::test]
async fn listener_waits_for_the_next_record_and_gets_the_end() {
    let storage = MemoryStorage::new();
    let (engine, handle) = started(&storage).await;
    let feed = handle.feed();
    let seq = feed.tail().seq;
    let is_waiting =
        async |seq| tokio::time::timeout(Duration::ZERO, feed.wait(seq)).await.is_err();
    assert!(is_waiting(seq).await);
    put_pool(&handle).await;
    feed.wait(seq).await.unwrap();
    let new = feed.after(seq).unwrap();
    assert_eq!(new.len(), 1);
    let last = new[0].tail.seq;
    assert!(is_waiting(last).await);
    tokio::task::spawn_blocking(|| engine.stop()).await.unwrap().unwrap();
    assert_eq!(feed.wait(last).await, Err(EngineError::Stopping));
}
