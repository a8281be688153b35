//! The embedded journal: the conformance suite, and opening a data folder.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use allod_journal::embedded::{Embedded, JOURNAL_FILE, LOCK_FILE};
use allod_journal::suite::{self, append_many, read_whole};
use allod_journal::{Journal, JournalError, Tail};

fn fresh() -> suite::OpenStorage {
    let folder = tempfile::tempdir().expect("a folder");
    Box::new(move || Box::new(Embedded::open(folder.path()).expect("open").journal))
}

#[test]
fn passes_the_suite() {
    suite::run_all(fresh);
}

#[test]
fn can_be_filled_from_any_record() {
    suite::run_fill(fresh);
}

#[track_caller]
fn refused(folder: &Path) -> JournalError {
    match Embedded::open(folder) {
        Ok(opened) => panic!("opened: {opened:?}"),
        Err(error) => error,
    }
}

#[test]
fn missing_folder_is_created() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("not/yet");
    let opened = Embedded::open(&path).expect("open");
    assert_eq!(opened.torn, None);
    append_many(&opened.journal, 1);
    drop(opened);
    assert_eq!(Embedded::open(&path).expect("open").journal.tail().expect("tail").seq, 1);
}

#[test]
fn empty_file_is_a_new_journal() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join(JOURNAL_FILE), b"").expect("write");
    let journal = Embedded::open(folder.path()).expect("open").journal;
    assert_eq!(journal.tail().expect("tail"), Tail::default());
    append_many(&journal, 1);
}

#[test]
fn error_names_a_folder_that_cannot_be_written() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("file"), b"").expect("write");
    // Below a file, and where not even root can create files.
    for path in [folder.path().join("file/below"), "/proc/self/fdinfo".into()] {
        let error = refused(&path);
        assert!(matches!(error, JournalError::Unusable { .. }), "{error:?}");
        assert!(error.to_string().contains(&path.display().to_string()), "{error}");
    }
}

#[test]
fn unrelated_file_is_refused_and_not_changed() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join(JOURNAL_FILE);
    let foreign = folder.path().join("foreign.sqlite");
    rusqlite::Connection::open(&foreign)
        .and_then(|db| db.execute_batch("CREATE TABLE foreign_table (x)"))
        .expect("a database");
    for contents in [b"hello".to_vec(), vec![0; 5000], fs::read(&foreign).expect("read")] {
        fs::write(&path, &contents).expect("write");
        let error = refused(folder.path());
        assert!(matches!(error, JournalError::Unusable { .. }), "{error:?}");
        assert!(error.to_string().contains("not an allod journal"), "{error}");
        assert_eq!(fs::read(&path).expect("read"), contents);
    }
}

#[test]
fn newer_format_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let journal = Embedded::open(folder.path()).expect("open").journal;
    append_many(&journal, 2);
    drop(journal);
    let path = folder.path().join(JOURNAL_FILE);
    let set_version = |version: u32| {
        let db = rusqlite::Connection::open(&path).expect("open");
        db.pragma_update(None, "user_version", version).expect("user_version");
    };
    set_version(2);
    let error = refused(folder.path());
    assert!(matches!(error, JournalError::TooNew { found: 2, known: 1 }), "{error:?}");

    // Also while the change is only in the write-ahead log.
    set_version(1);
    let db = rusqlite::Connection::open(&path).expect("open");
    db.pragma_update(None, "user_version", 3).expect("user_version");
    let copy = tempfile::tempdir().expect("a folder");
    for name in [JOURNAL_FILE, "journal.sqlite-wal"] {
        fs::copy(folder.path().join(name), copy.path().join(name)).expect("copy");
    }
    let error = refused(copy.path());
    assert!(matches!(error, JournalError::TooNew { found: 3, known: 1 }), "{error:?}");
    drop(db);

    set_version(1);
    let journal = Embedded::open(folder.path()).expect("open").journal;
    assert_eq!(read_whole(&journal, 1000).len(), 2);
}

#[test]
fn second_open_is_refused_at_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let journal = Embedded::open(folder.path()).expect("open").journal;
    append_many(&journal, 1);
    let before = fs::read(folder.path().join("journal.sqlite-wal")).expect("read");
    let error = refused(folder.path());
    assert!(matches!(error, JournalError::InUse { .. }), "{error:?}");
    let text = error.to_string();
    assert!(text.contains(&folder.path().display().to_string()), "{text}");
    assert!(text.contains(&format!("process {}", std::process::id())), "{text}");
    assert_eq!(fs::read(folder.path().join("journal.sqlite-wal")).expect("read"), before);
    drop(journal);
    Embedded::open(folder.path()).expect("the lock is let go");
}

const HOLD: &str = "ALLOD_TEST_HOLD_FOLDER";

/// Run by the test below in its own process: holds the journal open until its input ends.
#[test]
fn holds_a_folder_when_asked() {
    let Some(folder) = std::env::var_os(HOLD) else { return };
    let journal = Embedded::open(Path::new(&folder)).expect("open").journal;
    append_many(&journal, 3);
    fs::write(Path::new(&folder).join("ready"), b"").expect("write");
    std::io::copy(&mut std::io::stdin(), &mut std::io::sink()).expect("wait");
}

#[test]
fn another_process_is_refused_until_this_one_is_gone() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut holder = Command::new(std::env::current_exe().expect("this program"))
        .args(["embedded::holds_a_folder_when_asked", "--exact"])
        .env(HOLD, folder.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .expect("spawn");
    while !folder.path().join("ready").exists() {
        assert!(holder.try_wait().expect("wait").is_none(), "the other process has ended");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let error = refused(folder.path());
    assert!(matches!(error, JournalError::InUse { .. }), "{error:?}");
    assert!(error.to_string().contains(&format!("process {}", holder.id())), "{error}");

    // Killed, so that it cannot release the lock itself.
    holder.kill().expect("kill");
    holder.wait().expect("wait");
    assert!(folder.path().join(LOCK_FILE).exists());
    let opened = Embedded::open(folder.path()).expect("open");
    assert_eq!(opened.torn, None);
    assert_eq!(read_whole(&opened.journal, 1000).len(), 3);
}

#[test]
fn database_open_in_another_program_is_in_use() {
    let folder = tempfile::tempdir().expect("a folder");
    drop(Embedded::open(folder.path()).expect("open"));
    let db = rusqlite::Connection::open(folder.path().join(JOURNAL_FILE)).expect("open");
    db.execute_batch("BEGIN IMMEDIATE").expect("begin");
    let error = refused(folder.path());
    assert!(matches!(error, JournalError::InUse { .. }), "{error:?}");
}
