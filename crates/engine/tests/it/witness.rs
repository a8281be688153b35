//! Checkpoints and the history index prove that a journal has lost records at its end.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use allod_engine::{
    Config, Engine, Halt, discard_witnesses, loss_witnesses, recover, write_checkpoint,
};
use allod_journal::checkpoint::{CheckpointStore, MemoryCheckpoints};
use allod_journal::embedded::Embedded;
use allod_journal::{Journal, RecordFrame};

use crate::writer::world::{claim, pool};

fn config(index: &Path) -> Config {
    Config { index: Some(index.to_owned()), index_postings_max: 4, ..Config::default() }
}

fn start(folder: &Path, checkpoints: &MemoryCheckpoints) -> Engine {
    let journal = Embedded::open(&folder.join("data")).unwrap().journal;
    let (journal, checkpoints) = (Arc::new(journal), Arc::new(checkpoints.clone()));
    Engine::start(journal, checkpoints, config(&folder.join("index"))).unwrap()
}

fn index_files(folder: &Path) -> usize {
    let files = std::fs::read_dir(folder.join("index")).into_iter().flatten().flatten();
    files.filter(|file| file.path().extension().is_some_and(|suffix| suffix == "index")).count()
}

fn frames(journal: &dyn Journal) -> Vec<RecordFrame> {
    journal.read(1, usize::MAX).unwrap()
}

/// A journal with an index of all its records but the last few.
fn indexed(folder: &Path) -> Vec<RecordFrame> {
    let engine = start(folder, &MemoryCheckpoints::new());
    let handle = engine.handle();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let began = Instant::now();
    while !handle.status().ready {
        assert!(began.elapsed() < Duration::from_secs(20), "it is not ready");
        std::thread::sleep(Duration::from_millis(5));
    }
    runtime.block_on(handle.submit(pool("p", 1000))).unwrap();
    let mut n = 0;
    while index_files(folder) < 2 || n < 20 {
        runtime.block_on(handle.submit(claim("p", &format!("key-{n}")))).unwrap();
        n += 1;
        assert!(began.elapsed() < Duration::from_secs(20), "no file is written");
    }
    engine.stop().unwrap();
    drop(handle);
    frames(&Embedded::open(&folder.join("data")).unwrap().journal)
}

/// Replaces the journal by its first records. There is no high-water mark any more.
fn cut(folder: &Path, records: &[RecordFrame]) {
    std::fs::remove_dir_all(folder.join("data")).unwrap();
    let journal = Embedded::open(&folder.join("data")).unwrap().journal;
    let mut left = Some(records.to_vec());
    journal.fill(&mut || Ok(left.take().unwrap_or_default())).unwrap();
}

/// Why an engine does not start.
fn halt(folder: &Path, checkpoints: &MemoryCheckpoints) -> Halt {
    let engine = start(folder, checkpoints);
    let began = Instant::now();
    while !engine.has_ended() {
        assert!(began.elapsed() < Duration::from_secs(20), "it starts");
        std::thread::sleep(Duration::from_millis(5));
    }
    engine.stop().unwrap_err()
}

#[test]
fn the_index_proves_a_loss_until_it_is_accepted() {
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path();
    let whole = indexed(folder);
    let none = MemoryCheckpoints::new();
    cut(folder, &whole[..3]);
    let files = index_files(folder);
    let lost = match halt(folder, &none) {
        Halt::JournalTruncated(lost) => lost,
        other => panic!("{other:?}"),
    };
    assert_eq!(lost.end, (3, whole[2].position));
    assert!(lost.known.0 > 3 && lost.known.0 <= whole.len() as u64, "{lost:?}");
    assert!(lost.known.1.is_none_or(|position| position > whole[2].position), "{lost:?}");
    assert!(lost.to_string().contains("the history index proves"), "{lost}");
    assert_eq!(index_files(folder), files, "the evidence was removed");

    let journal = Embedded::open(&folder.join("data")).unwrap().journal;
    let index = folder.join("index");
    assert_eq!(loss_witnesses(&journal, &none, Some(&index)).unwrap()[0], lost);
    assert_eq!(loss_witnesses(&journal, &none, None).unwrap(), []);
    let removed = discard_witnesses(&journal, &none, Some(&index)).unwrap();
    assert!(!removed.is_empty());
    assert_eq!(loss_witnesses(&journal, &none, Some(&index)).unwrap(), []);
    drop(journal);
    let engine = start(folder, &none);
    let handle = engine.handle();
    let began = Instant::now();
    while !handle.status().ready {
        assert!(!engine.has_ended() && began.elapsed() < Duration::from_secs(20));
        std::thread::sleep(Duration::from_millis(5));
    }
    engine.stop().unwrap();
}

#[test]
fn a_damaged_file_of_the_index_proves_nothing() {
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path();
    let whole = indexed(folder);
    cut(folder, &whole[..3]);
    for file in std::fs::read_dir(folder.join("index")).unwrap() {
        let path = file.unwrap().path();
        let mut bytes = std::fs::read(&path).unwrap();
        if let Some(last) = bytes.last_mut() {
            *last ^= 1;
        }
        std::fs::write(&path, bytes).unwrap();
    }
    let journal = Embedded::open(&folder.join("data")).unwrap().journal;
    let (none, index) = (MemoryCheckpoints::new(), folder.join("index"));
    assert_eq!(loss_witnesses(&journal, &none, Some(&index)).unwrap(), []);
}

#[test]
fn checkpoints_beyond_the_end_or_of_other_records_are_discarded() {
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path();
    let whole = indexed(folder);
    let store = MemoryCheckpoints::new();
    for records in [2, 5, 9] {
        cut(folder, &whole[..records]);
        let journal = Embedded::open(&folder.join("data")).unwrap().journal;
        let replayed = recover(&journal, &MemoryCheckpoints::new()).unwrap();
        write_checkpoint(&store, &replayed.state.freeze(), &replayed.tail, replayed.level).unwrap();
    }
    cut(folder, &whole[..7]);
    let journal = Embedded::open(&folder.join("data")).unwrap().journal;
    let witnesses = loss_witnesses(&journal, &store, None).unwrap();
    assert_eq!(witnesses.iter().map(|lost| lost.known.0).collect::<Vec<_>>(), [9]);
    assert_eq!(discard_witnesses(&journal, &store, None).unwrap().len(), 1);
    assert_eq!(store.list().unwrap().iter().map(|meta| meta.seq).collect::<Vec<_>>(), [5, 2]);
    recover(&journal, &store).unwrap();
}
