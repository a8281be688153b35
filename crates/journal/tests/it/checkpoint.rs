//! Checkpoint stores: their common contract, and damaged files.

use std::fs;
use std::io::{self, Read};
use std::path::PathBuf;

use allod_journal::checkpoint::{
    CHECKPOINT_FOLDER, CheckpointList, FileCheckpoints, MemoryCheckpoints,
};
use allod_journal::postgres::{Postgres, PostgresAddress};
use allod_journal::{CheckpointMeta, CheckpointStore, CheckpointStoreError, Hash};
use allod_testkit::postgres::Cluster;
use tempfile::TempDir;

fn meta(seq: u64) -> CheckpointMeta {
    CheckpointMeta {
        seq,
        hash: Hash([seq as u8; 32]),
        position: seq * 10,
        epoch: (1 << 40) + seq,
        level: u32::MAX - 1,
        at_ms: (1 << 42) + seq,
    }
}

#[track_caller]
fn put(store: &dyn CheckpointStore, seq: u64, contents: &[u8]) {
    // In two writes, as an encoder does.
    let (first, second) = contents.split_at(contents.len() / 2);
    let mut write =
        |out: &mut dyn io::Write| out.write_all(first).and_then(|()| out.write_all(second));
    store.put(&meta(seq), &mut write).expect("put");
}

#[track_caller]
fn contents(store: &dyn CheckpointStore, seq: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    store.open(&meta(seq)).expect("open").read_to_end(&mut bytes).expect("read");
    bytes
}

fn seqs(store: &dyn CheckpointStore) -> Vec<u64> {
    store.list().expect("list").iter().map(|meta| meta.seq).collect()
}

/// The newest valid checkpoint, and how many newer ones are invalid.
fn newest(store: &dyn CheckpointStore) -> (Option<u64>, usize) {
    let CheckpointList { metas, skipped } = store.survey().expect("survey");
    let (sound, bad): (Vec<&CheckpointMeta>, Vec<_>) =
        metas.iter().partition(|meta| store.open(meta).is_ok());
    (sound.first().map(|meta| meta.seq), skipped.len() + bad.len())
}

/// The contract of every store. `open` reopens the same storage.
fn fulfils_the_contract(open: &dyn Fn() -> Box<dyn CheckpointStore>) {
    let store = open();
    assert_eq!(seqs(&*store), [0_u64; 0]);
    assert_eq!(newest(&*store), (None, 0));
    store.keep_newest(2).expect("nothing to remove");
    assert!(matches!(store.open(&meta(1)), Err(CheckpointStoreError::Missing { seq: 1 })));

    let large: Vec<u8> = (0..1_000_000_u32).map(|at| (at % 251) as u8).collect();
    put(&*store, 9, b"nine");
    put(&*store, 100, &large);
    put(&*store, 20, b"");
    drop(store);

    let store = open();
    assert_eq!(store.list().expect("list"), [meta(100), meta(20), meta(9)]);
    assert_eq!(contents(&*store, 9), b"nine");
    assert_eq!(contents(&*store, 20), b"");
    assert!(contents(&*store, 100) == large);
    assert_eq!(newest(&*store), (Some(100), 0));

    // For the same record number of another journal.
    let fork = CheckpointMeta { hash: Hash([7; 32]), ..meta(20) };
    assert!(matches!(store.open(&fork), Err(CheckpointStoreError::Unsound { .. })));

    // A failed write keeps the previous checkpoint.
    let outcome = store.put(&meta(100), &mut |out| {
        out.write_all(b"half")?;
        Err(io::Error::other("the encoder failed"))
    });
    assert!(matches!(outcome, Err(CheckpointStoreError::Io { .. })), "{outcome:?}");
    assert!(contents(&*store, 100) == large);
    put(&*store, 100, b"again");
    assert_eq!(contents(&*store, 100), b"again");

    store.keep_newest(2).expect("keep_newest");
    assert_eq!(seqs(&*store), [100, 20]);
    store.keep_newest(0).expect("keep_newest");
    assert_eq!(seqs(&*open()), [100]);
}

#[test]
fn files_fulfil_the_contract() {
    let data = tempfile::tempdir().expect("a folder");
    fulfils_the_contract(&|| Box::new(FileCheckpoints::open(data.path()).expect("open")));
    // No temporary file is left.
    let names = fs::read_dir(data.path().join(CHECKPOINT_FOLDER)).expect("read_dir");
    assert_eq!(names.count(), 1);
}

#[test]
fn memory_fulfils_the_contract() {
    let storage = MemoryCheckpoints::new();
    fulfils_the_contract(&|| Box::new(storage.clone()));
}

#[test]
fn postgresql_fulfils_the_contract() {
    let cluster = Cluster::start(&[]).expect("a cluster");
    let address = PostgresAddress::parse(&cluster.url()).expect("an address");
    let open = || Postgres::open(&address, false).expect("open").checkpoints();
    fulfils_the_contract(&|| Box::new(open()));
    // Several parts, one of them damaged.
    let store = open();
    let large: Vec<u8> = (0..3_500_000_u32).map(|at| (at % 241) as u8).collect();
    put(&store, 200, &large);
    assert!(contents(&store, 200) == large);
    for change in [
        "UPDATE allod.checkpoint_part SET data = set_byte(data, 99, 7) WHERE seq = 200 AND part = 2",
        "DELETE FROM allod.checkpoint_part WHERE seq = 200 AND part = 3",
    ] {
        cluster.sql(change).expect("sql");
        assert_eq!(newest(&store), (Some(100), 1), "{change}");
        put(&store, 200, &large);
        assert_eq!(newest(&store), (Some(200), 0));
    }
    store.keep_newest(1).expect("keep_newest");
    assert_eq!(cluster.sql("SELECT count(*) FROM allod.checkpoint_part").expect("sql"), "4");
}

#[test]
fn changed_checkpoint_in_memory_is_refused() {
    let store = MemoryCheckpoints::new();
    put(&store, 1, b"one");
    put(&store, 2, b"two");
    assert!(store.alter(2, |contents| contents[0] ^= 1));
    assert!(!store.alter(3, |_| ()));
    assert_eq!(newest(&store), (Some(1), 1));
}

fn two_files() -> (TempDir, FileCheckpoints, PathBuf) {
    let data = tempfile::tempdir().expect("a folder");
    let store = FileCheckpoints::open(data.path()).expect("open");
    put(&store, 1, b"the older one");
    put(&store, 2, b"the newer one, which suffers");
    let path = data.path().join(CHECKPOINT_FOLDER).join(format!("{:020}.checkpoint", 2));
    (data, store, path)
}

#[test]
fn damaged_file_is_skipped_for_an_older_one() {
    let (_data, store, path) = two_files();
    let whole = fs::read(&path).expect("read");
    for at in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x10;
        fs::write(&path, bytes).expect("write");
        assert_eq!(newest(&store), (Some(1), 1), "byte {at}");
    }
    for length in 0..whole.len() {
        fs::write(&path, &whole[..length]).expect("write");
        assert_eq!(newest(&store), (Some(1), 1), "truncated to {length}");
    }
    fs::write(&path, [&whole[..], b"x"].concat()).expect("write");
    assert_eq!(newest(&store), (Some(1), 1), "with an additional byte");
    fs::write(&path, &whole).expect("write");
    assert_eq!(newest(&store), (Some(2), 0));
}

#[test]
fn unfinished_files_are_removed_and_unrelated_files_are_kept() {
    let (data, store, path) = two_files();
    drop(store);
    let unfinished = path.with_extension("tmp");
    let stranger = path.with_file_name("README");
    fs::write(&unfinished, b"half").expect("write");
    fs::write(&stranger, b"hello").expect("write");
    let store = FileCheckpoints::open(data.path()).expect("open");
    assert!(!unfinished.exists());
    assert_eq!(newest(&store), (Some(2), 0));
    // A file with the name of another record is not used.
    fs::copy(&path, path.with_file_name(format!("{:020}.checkpoint", 3))).expect("copy");
    assert_eq!(newest(&store), (Some(2), 1));
    store.keep_newest(1).expect("keep_newest");
    assert_eq!(seqs(&store), [2]);
    assert!(stranger.exists());
}
