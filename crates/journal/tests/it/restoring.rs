//! Restoring into a data folder: a partial restore cannot be started, and existing data is not overwritten.

use std::fs;
use std::path::Path;

use allod_journal::checkpoint::{CheckpointMeta, FileCheckpoints};
use allod_journal::embedded::{Embedded, JOURNAL_FILE, LOCK_FILE, RESTORING_FOLDER, Restoring};
use allod_journal::suite::append_many;
use allod_journal::{CheckpointStore, Hash, Journal, JournalError};

fn fill(restoring: &Restoring) {
    let folder = restoring.folder();
    append_many(&Embedded::open(&folder).expect("open").journal, 5);
    let meta =
        CheckpointMeta { seq: 5, hash: Hash::default(), position: 5, epoch: 1, level: 1, at_ms: 1 };
    let store = FileCheckpoints::open(&folder).expect("checkpoints");
    store.put(&meta, &mut |out| out.write_all(b"state")).expect("put");
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("a folder");
    let mut names: Vec<String> = entries
        .map(|entry| entry.expect("an entry").file_name().into_string().expect("a name"))
        .collect();
    names.sort();
    names
}

fn what<T: std::fmt::Debug>(refused: Result<T, JournalError>) -> String {
    refused.expect_err("it is refused").to_string()
}

#[test]
fn restored_folder_is_usable_only_when_finished() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("new/data");
    let restoring = Restoring::begin(&data).expect("begin");
    fill(&restoring);
    assert!(what(Embedded::open(&data)).contains("in use by another process"));
    assert!(what(Restoring::begin(&data)).contains("in use by another process"));
    restoring.finish().expect("finish");
    assert_eq!(names(&data), [LOCK_FILE, "checkpoints", JOURNAL_FILE]);
    let journal = Embedded::open(&data).expect("open").journal;
    assert_eq!(journal.tail().expect("tail").seq, 5);
    assert_eq!(FileCheckpoints::open(&data).expect("open").list().expect("list").len(), 1);
}

#[test]
fn dropped_restore_is_removed() {
    let folder = tempfile::tempdir().expect("a folder");
    let restoring = Restoring::begin(folder.path()).expect("begin");
    fill(&restoring);
    drop(restoring);
    assert_eq!(names(folder.path()), [LOCK_FILE]);
}

/// As after a kill of the process.
#[test]
fn interrupted_restore_prevents_a_start_and_can_be_repeated() {
    let folder = tempfile::tempdir().expect("a folder");
    let within = folder.path().join(RESTORING_FOLDER);
    append_many(&Embedded::open(&within).expect("open").journal, 3);
    let said = what(Embedded::open(folder.path()));
    assert!(said.contains("did not finish; restore again"), "{said}");
    let restoring = Restoring::begin(folder.path()).expect("begin");
    fill(&restoring);
    restoring.finish().expect("finish");
    assert_eq!(Embedded::open(folder.path()).expect("open").journal.tail().expect("tail").seq, 5);
}

/// A kill between the two moves leaves checkpoints without a journal. The engine refuses that, and the next restore reports
/// it.
#[test]
fn folder_that_is_not_empty_is_refused() {
    for name in ["journal.sqlite", "checkpoints", "notes.txt"] {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join(name), "mine").expect("write");
        let said = what(Restoring::begin(folder.path()));
        assert!(said.contains("is not empty") && said.contains(name), "{said}");
        assert_eq!(names(folder.path()), [name]);
    }
}
