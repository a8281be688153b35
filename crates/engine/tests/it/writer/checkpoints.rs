//! Starting from a journal and its checkpoints.

use std::fs;
use std::io::Read;

use allod_engine::{Config, Halt, recover, state_hash, verify, write_checkpoint};
use allod_journal::checkpoint::{CHECKPOINT_FOLDER, FileCheckpoints, MemoryCheckpoints};
use allod_journal::memory::MemoryStorage;
use allod_journal::{AppendOutcome, CheckpointStore, Journal, RecordFrame};

use crate::writer::world::{Server, claim, lead, pool, replay};

fn checkpoint(server: &Server, store: &MemoryCheckpoints) {
    let frozen = server.shared.read(|snapshot| snapshot.state.freeze());
    write_checkpoint(store, &frozen, server.writer.tail(), server.writer.level())
        .expect("it can be written");
}

/// A journal with three claims and a checkpoint after the first and after the second.
fn history() -> (MemoryStorage, MemoryCheckpoints, Server) {
    let (storage, store) = (MemoryStorage::new(), MemoryCheckpoints::new());
    let mut server = lead(&storage, &Config::default());
    server.write_batch(&[pool("p", 9), claim("p", "a")]);
    checkpoint(&server, &store);
    server.write_batch(&[claim("p", "b")]);
    checkpoint(&server, &store);
    server.write_batch(&[claim("p", "c")]);
    (storage, store, server)
}

#[test]
fn checkpoint_and_later_records_give_the_same_state() {
    let (storage, store, server) = history();
    let short = recover(&storage.open(), &store).unwrap();
    let long = replay(&storage);
    assert_eq!(short.tail, long.tail);
    assert_eq!(short.level, long.level);
    assert_eq!(state_hash(&short.state, short.level), state_hash(&long.state, long.level));
    assert_eq!(state_hash(&short.state, short.level), server.hash());
    assert!(short.bytes < long.bytes);
}

#[test]
fn damaged_checkpoint_is_skipped() {
    let (storage, store, server) = history();
    let newest = store.list().unwrap()[0].seq;
    let whole = recover(&storage.open(), &store).unwrap().bytes;
    assert!(store.alter(newest, |bytes| bytes[20] ^= 1));
    let older = recover(&storage.open(), &store).unwrap();
    assert!(older.bytes > whole);
    assert_eq!(state_hash(&older.state, older.level), server.hash());
    let oldest = store.list().unwrap()[1].seq;
    assert!(store.alter(oldest, |bytes| bytes.truncate(9)));
    let none = recover(&storage.open(), &store).unwrap();
    assert!(none.bytes > older.bytes);
    assert_eq!(state_hash(&none.state, none.level), server.hash());
}

/// The header names the record of a checkpoint, so it must be verified before it is used.
#[test]
fn checkpoint_with_a_damaged_header_is_skipped() {
    let (storage, memory, server) = history();
    let data = tempfile::tempdir().unwrap();
    let store = FileCheckpoints::open(data.path()).unwrap();
    for meta in memory.list().unwrap() {
        let mut contents = Vec::new();
        memory.open(&meta).unwrap().read_to_end(&mut contents).unwrap();
        store.put(&meta, &mut |out| out.write_all(&contents)).unwrap();
    }
    let newest = store.list().unwrap()[0].seq;
    let file = data.path().join(CHECKPOINT_FOLDER).join(format!("{newest:020}.checkpoint"));
    let sound = fs::read(&file).unwrap();
    for at in 0..120 {
        let mut bytes = sound.clone();
        bytes[at] ^= 0x10;
        fs::write(&file, bytes).unwrap();
        let older = recover(&storage.open(), &store);
        let older = older.unwrap_or_else(|halt| panic!("byte {at}: {halt}"));
        assert_eq!(state_hash(&older.state, older.level), server.hash(), "byte {at}");
    }
}

#[test]
fn damage_error_tells_the_operator_what_to_do() {
    let (storage, store, _) = history();
    let journal = storage.open();
    let tail = journal.tail().unwrap();
    let frame = RecordFrame {
        seq: tail.seq + 1,
        epoch: tail.epoch,
        batch: 1,
        prev: tail.hash,
        level: 1,
        position: tail.position,
        at_ms: 2_000_000,
        body: vec![0xff; 3],
    };
    assert!(matches!(journal.append(&tail, &frame), AppendOutcome::Committed(_)));
    let ended = recover(&journal, &store).unwrap_err().to_string();
    assert!(ended.contains(&format!("damaged at record {}", frame.seq)), "{ended}");
    assert!(ended.contains("restore it from a backup"), "{ended}");
    storage.alter(2, |frame| frame.at_ms += 1);
    let none = MemoryCheckpoints::new();
    let ended = recover(&journal, &none).unwrap_err().to_string();
    assert!(ended.contains("damaged: record 2 "), "{ended}");
    assert!(ended.contains("restore it from a backup"), "{ended}");
}

#[test]
fn trimmed_journal_needs_its_checkpoint() {
    let (storage, store, server) = history();
    let metas = store.list().unwrap();
    storage.open().trim(metas[0].seq).unwrap();
    let found = verify(&storage.open(), &store, &mut |_| {}).unwrap();
    assert_eq!((found.state_hash, found.violations), (server.hash(), Vec::new()));
    assert_eq!(found.from, metas[0].seq + 1);
    assert!(store.alter(metas[0].seq, |bytes| bytes.truncate(9)));
    let oldest = metas[0].seq + 1;
    let ended = recover(&storage.open(), &store).unwrap_err();
    assert!(
        matches!(ended, Halt::MissingCheckpoint { oldest: found } if found == oldest),
        "{ended}"
    );
}

#[test]
fn checkpoint_of_lost_records_prevents_the_start() {
    let (storage, store, _) = history();
    storage.drop_last(2);
    assert!(matches!(recover(&storage.open(), &store), Err(Halt::JournalTruncated { .. })));
    // Its header is enough, even if its contents cannot be read.
    let newest = store.list().unwrap()[0].seq;
    assert!(store.alter(newest, |bytes| bytes[20] ^= 1));
    assert!(matches!(recover(&storage.open(), &store), Err(Halt::JournalTruncated { .. })));
    // Another server has written different records.
    lead(&storage, &Config::default()).write_batch(&[claim("p", "x")]);
    assert!(matches!(recover(&storage.open(), &store), Err(Halt::CheckpointMismatch { .. })));
}

#[test]
fn newer_level_prevents_the_start() {
    let (storage, store, _) = history();
    let journal = storage.open();
    let tail = journal.tail().unwrap();
    let frame = RecordFrame {
        seq: tail.seq + 1,
        epoch: tail.epoch,
        batch: 1,
        prev: tail.hash,
        level: allod_record::LEVEL + 1,
        position: tail.position,
        at_ms: 2_000_000,
        body: vec![1, 2, 3],
    };
    assert!(matches!(journal.append(&tail, &frame), AppendOutcome::Committed(_)));
    let ended = recover(&journal, &store).unwrap_err();
    let known = allod_record::LEVEL;
    assert!(
        matches!(ended, Halt::TooNew { seq, found, known: k } if seq == frame.seq && found == known + 1 && k == known),
        "{ended}"
    );
    assert!(ended.to_string().contains("start a newer one"));
}

#[test]
fn record_with_a_wrong_end_position_prevents_the_start() {
    let (storage, store, mut server) = history();
    let journal = storage.open();
    let tail = journal.tail().unwrap();
    let frame = RecordFrame {
        seq: tail.seq + 1,
        epoch: tail.epoch,
        batch: 1,
        prev: tail.hash,
        level: 1,
        position: tail.position + 5,
        at_ms: 2_000_000,
        body: Vec::new(),
    };
    assert!(matches!(journal.append(&tail, &frame), AppendOutcome::Committed(_)));
    assert!(recover(&journal, &store).unwrap_err().to_string().contains("but its entries end at"));
    // A follower detects it too.
    let command = claim("p", "d");
    let ended = server.writer.write_batch(&[&command]).unwrap_err();
    assert!(ended.to_string().contains("but its entries end at"), "{ended}");
}
