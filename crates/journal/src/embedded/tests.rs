//! Tests that need the connection itself: a full disk, and a failing storage.

use super::*;
use crate::suite::{append_many, committed, next_frame, read_whole};

fn pages_max(journal: &Embedded, pages: i64) -> i64 {
    let inner = journal.inner.lock();
    let set = inner.db.pragma_update_and_check(None, "max_page_count", pages, |row| row.get(0));
    set.expect("max_page_count")
}

#[test]
fn full_disk_loses_nothing_and_works_after_reopening() {
    let folder = tempfile::tempdir().expect("a folder");
    let journal = Embedded::open(folder.path()).expect("open").journal;
    let mut frames = append_many(&journal, 3);
    // Room for the present pages and four more.
    let pages = pages_max(&journal, 1) + 4;
    pages_max(&journal, pages);

    for round in 0..3 {
        let tail = journal.tail().expect("tail");
        let large = next_frame(&tail, 1, &[7; 100_000]);
        match journal.append(&tail, &large) {
            AppendOutcome::Unknown(error @ JournalError::Full { .. }) => {
                assert!(error.changed_nothing())
            }
            other => panic!("expected Full, got {other:?}"),
        }
        assert_eq!(journal.tail().expect("tail"), tail);
        assert_eq!(read_whole(&journal, 1000), frames);
        // A small one still fits.
        let small = next_frame(&tail, 1, &[round]);
        committed(journal.append(&tail, &small));
        frames.push(small);
    }
    drop(journal);

    let journal = Embedded::open(folder.path()).expect("open").journal;
    assert_eq!(read_whole(&journal, 1000), frames);
    let tail = journal.tail().expect("tail");
    let large = next_frame(&tail, 1, &[7; 100_000]);
    committed(journal.append(&tail, &large));
    frames.push(large);
    frames.extend(append_many(&journal, 2));
    assert_eq!(read_whole(&journal, 1000), frames);
}

#[test]
fn full_disk_works_again_without_reopening() {
    let folder = tempfile::tempdir().expect("a folder");
    let journal = Embedded::open(folder.path()).expect("open").journal;
    pages_max(&journal, 1);
    let mut appended = 0;
    let full = loop {
        let tail = journal.tail().expect("tail");
        match journal.append(&tail, &next_frame(&tail, 1, &[1; 3000])) {
            AppendOutcome::Committed(_) => appended += 1,
            AppendOutcome::Unknown(error) => break error,
            AppendOutcome::Conflict(tail) => panic!("conflict at {tail:?}"),
        }
        assert!(appended < 10, "the limit does not hold");
    };
    assert!(matches!(full, JournalError::Full { .. }), "{full}");
    assert_eq!(read_whole(&journal, 1000).len(), appended);
    pages_max(&journal, 1_000_000);
    append_many(&journal, 5);
    assert_eq!(read_whole(&journal, 1000).len(), appended + 5);
}

#[test]
fn every_call_fails_after_a_fatal_error() {
    let folder = tempfile::tempdir().expect("a folder");
    let journal = Embedded::open(folder.path()).expect("open").journal;
    let frames = append_many(&journal, 2);
    let tail = journal.tail().expect("tail");
    // Any error other than "full" and "corrupt" is treated like a failed sync.
    journal.inner.lock().db.pragma_update(None, "query_only", true).expect("query_only");
    for _ in 0..2 {
        match journal.append(&tail, &next_frame(&tail, 1, b"x")) {
            AppendOutcome::Unknown(JournalError::Fatal { what }) => {
                assert!(what.contains("readonly"), "{what}")
            }
            other => panic!("expected Fatal, got {other:?}"),
        }
        journal.inner.lock().db.pragma_update(None, "query_only", false).expect("query_only");
    }
    assert!(matches!(journal.tail(), Err(JournalError::Fatal { .. })));
    assert!(matches!(journal.read(1, 100), Err(JournalError::Fatal { .. })));
    assert!(matches!(journal.oldest(), Err(JournalError::Fatal { .. })));
    assert!(matches!(journal.trim(1), Err(JournalError::Fatal { .. })));
    assert!(matches!(journal.seq_of_position(1), Err(JournalError::Fatal { .. })));
    drop(journal);
    let journal = Embedded::open(folder.path()).expect("open").journal;
    assert_eq!(read_whole(&journal, 1000), frames);
}

#[test]
fn sqlite_has_the_required_settings() {
    let folder = tempfile::tempdir().expect("a folder");
    let journal = Embedded::open(folder.path()).expect("open").journal;
    let inner = journal.inner.lock();
    let text = |name| inner.db.pragma_query_value(None, name, |row| row.get::<_, String>(0));
    let number = |name| inner.db.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    assert_eq!(text("journal_mode"), Ok("wal".to_owned()));
    assert_eq!(text("locking_mode"), Ok("exclusive".to_owned()));
    assert_eq!(number("synchronous"), Ok(2));
    assert_eq!(number("wal_autocheckpoint"), Ok(0));
    assert_eq!(number("application_id"), Ok(0x616c_6f64));
    assert_eq!(number("user_version"), Ok(1));
    assert!(!folder.path().join("journal.sqlite-shm").exists());
}

#[test]
fn long_trim_is_sliced_and_freed_pages_are_reused() {
    let folder = tempfile::tempdir().expect("a folder");
    let journal = Embedded::open(folder.path()).expect("open").journal;
    let mut tail = Tail::default();
    let mut append = |count, size| {
        for _ in 0..count {
            tail = committed(journal.append(&tail, &next_frame(&tail, 1, &vec![3; size])));
        }
    };
    append(20, 1 << 20);
    append(5, 10);
    assert!(journal.inner.lock().trim_slice(22).expect("trim"));
    let oldest = journal.oldest().expect("oldest");
    assert!((2..10).contains(&oldest), "one slice went up to {oldest}");
    journal.trim(22).expect("trim");
    assert_eq!(journal.oldest().expect("oldest"), 23);
    let pages = |journal: &Embedded| {
        let inner = journal.inner.lock();
        inner.db.pragma_query_value(None, "page_count", |row| row.get::<_, i64>(0)).expect("pages")
    };
    let before = pages(&journal);
    append(15, 1 << 20);
    assert_eq!(pages(&journal), before, "the space of trimmed records is reused");
    assert_eq!(read_whole(&journal, 1 << 20).len(), 18);
}
