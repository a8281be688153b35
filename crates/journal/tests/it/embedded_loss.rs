//! A journal that lost acknowledged records at its end: a disk that lied about a sync, or an incomplete copy. It is refused,
//! its files stay as they are, and an operator can accept the loss.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use allod_journal::checkpoint::{CheckpointMeta, CheckpointStore, FileCheckpoints};
use allod_journal::embedded::{
    Embedded, HIGH_WATER_FILE, IncompleteJournal, JOURNAL_FILE, LOCK_FILE, accepted_losses,
    add_accepted_loss,
};
use allod_journal::suite::{append_many, committed, next_frame, read_whole};
use allod_journal::{AppendOutcome, Hash, Journal, JournalError, LostRecords, RecordFrame};
use tempfile::TempDir;

const WAL_FILE: &str = "journal.sqlite-wal";

/// The files of a folder, except the lock, which names the last process.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(folder).expect("the folder").map(|entry| entry.expect("an entry"));
    let files = entries.filter(|entry| entry.file_type().expect("a type").is_file());
    files
        .map(|entry| (entry.file_name().to_str().expect("a name").to_owned(), entry.path()))
        .filter(|(name, _)| name != LOCK_FILE)
        .map(|(name, path)| (name, fs::read(path).expect("a file")))
        .collect()
}

fn write(folder: &Path, files: &BTreeMap<String, Vec<u8>>) {
    for (name, bytes) in files {
        fs::write(folder.join(name), bytes).expect("write");
    }
}

/// The files after each record as a crash leaves them, and the mark of a clean end.
struct LossStory {
    frames: Vec<RecordFrame>,
    files: Vec<BTreeMap<String, Vec<u8>>>,
    mark: Vec<u8>,
}

fn story(records: usize) -> LossStory {
    let folder = tempfile::tempdir().expect("a folder");
    let journal = Embedded::open(folder.path()).expect("open").journal;
    let mut all = vec![files(folder.path())];
    let mut frames = Vec::new();
    for _ in 0..records {
        frames.extend(append_many(&journal, 1));
        all.push(files(folder.path()));
    }
    drop(journal);
    let mark = fs::read(folder.path().join(HIGH_WATER_FILE)).expect("the mark");
    LossStory { frames, files: all, mark }
}

impl LossStory {
    /// A folder whose journal ends after `records`, with the mark of the end.
    fn cut(&self, records: usize) -> TempDir {
        let folder = tempfile::tempdir().expect("a folder");
        write(folder.path(), &self.files[records]);
        fs::write(folder.path().join(HIGH_WATER_FILE), &self.mark).expect("write");
        folder
    }

    fn position(&self, records: usize) -> u64 {
        records.checked_sub(1).map_or(0, |last| self.frames[last].position)
    }

    #[track_caller]
    fn assert_refused(&self, folder: &Path, end: usize) -> LostRecords {
        let before = files(folder);
        match Embedded::open(folder) {
            Err(JournalError::Shortened(lost)) => {
                let known = self.frames.len();
                assert_eq!(lost.end, (end as u64, self.position(end)));
                assert_eq!(lost.known, (known as u64, Some(self.position(known))));
                assert!(lost.witness.contains("high-water"), "{lost}");
                let advice = format!("accept-loss --at {}", self.position(end));
                assert!(lost.to_string().contains(&advice), "{lost}");
                assert!(files(folder) == before, "the evidence was changed");
                lost
            }
            other => panic!("opened with {end} records: {other:?}"),
        }
    }
}

#[test]
fn a_journal_that_ends_before_its_mark_is_refused_and_left_alone() {
    let story = story(12);
    for records in 0..12 {
        let folder = story.cut(records);
        for _ in 0..2 {
            story.assert_refused(folder.path(), records);
        }
    }
    let whole = story.cut(12);
    let journal = Embedded::open(whole.path()).expect("nothing is missing").journal;
    assert!(read_whole(&journal, 1 << 20) == story.frames);
}

#[test]
fn a_cut_inside_the_log_is_refused_wherever_it_is() {
    let story = story(5);
    let log = &story.files[5][WAL_FILE];
    // With the mark, damage to the last transaction is not taken for an interrupted write any more.
    for bytes in (0..log.len()).step_by(1009) {
        let folder = story.cut(5);
        fs::write(folder.path().join(WAL_FILE), &log[..bytes]).expect("write");
        match Embedded::open(folder.path()) {
            Err(JournalError::Shortened(_)) => {}
            other => panic!("{bytes} of {} bytes: {other:?}", log.len()),
        }
        assert_eq!(fs::read(folder.path().join(WAL_FILE)).expect("the log"), log[..bytes]);
    }
    let folder = story.cut(5);
    fs::remove_file(folder.path().join(WAL_FILE)).expect("remove");
    assert!(matches!(Embedded::open(folder.path()), Err(JournalError::Shortened(_))));
}

#[test]
fn an_incomplete_journal_can_be_read_but_not_written() {
    let story = story(6);
    let folder = story.cut(4);
    let before = files(folder.path());
    let IncompleteJournal { journal, lost } =
        Embedded::open_incomplete(folder.path()).expect("open");
    assert_eq!(lost.expect("it lost records").known.0, 6);
    assert!(read_whole(&journal, 1 << 20) == story.frames[..4]);
    let tail = journal.tail().expect("tail");
    let refused = journal.append(&tail, &story.frames[4]);
    assert!(
        matches!(refused, AppendOutcome::Unknown(JournalError::Unusable { .. })),
        "{refused:?}"
    );
    assert!(matches!(journal.trim(2), Err(JournalError::Unusable { .. })));
    drop(journal);
    assert!(files(folder.path()) == before, "the evidence was changed");
    let missing = tempfile::tempdir().expect("a folder");
    assert!(Embedded::open_incomplete(missing.path()).is_err());
    assert!(!missing.path().join(JOURNAL_FILE).exists());
}

#[test]
fn an_accepted_loss_is_final_and_recorded() {
    let story = story(6);
    let folder = story.cut(4);
    let IncompleteJournal { journal, .. } = Embedded::open_incomplete(folder.path()).expect("open");
    add_accepted_loss(folder.path(), "the first").expect("a line");
    add_accepted_loss(folder.path(), "the second").expect("a line");
    journal.accept_end().expect("accept");
    drop(journal);
    assert_eq!(accepted_losses(folder.path()), ["the first", "the second"]);
    let journal = Embedded::open(folder.path()).expect("open").journal;
    assert!(read_whole(&journal, 1 << 20) == story.frames[..4]);
    let mut tail = journal.tail().expect("tail");
    let mut more = Vec::new();
    for n in 0..3 {
        // Another writer, so that these are not the lost records again.
        more.push(next_frame(&tail, 2, &[n]));
        tail = committed(journal.append(&tail, &more[usize::from(n)]));
    }
    drop(journal);
    let journal = Embedded::open(folder.path()).expect("open again").journal;
    assert!(read_whole(&journal, 1 << 20) == [&story.frames[..4], &more].concat());
    drop(journal);
    // The lost records come back, in a journal that is as long: they are not the ones that were acknowledged last.
    let mark = fs::read(folder.path().join(HIGH_WATER_FILE)).expect("the mark");
    let longer = self::story(9).cut(9);
    fs::write(longer.path().join(HIGH_WATER_FILE), mark).expect("write");
    match Embedded::open(longer.path()) {
        Err(JournalError::Shortened(lost)) => {
            assert!(lost.to_string().contains("is not the one that"), "{lost}");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_mark_that_is_behind_missing_or_trimmed_does_not_matter() {
    let story = story(8);
    for change in ["behind", "missing", "empty", "damaged"] {
        let folder = story.cut(8);
        let mark = folder.path().join(HIGH_WATER_FILE);
        match change {
            "behind" => drop(fs::write(&mark, &story.files[0][HIGH_WATER_FILE])),
            "missing" => fs::remove_file(&mark).expect("remove"),
            "empty" => drop(fs::write(&mark, b"")),
            _ => drop(fs::write(&mark, vec![7; story.mark.len()])),
        }
        let journal = Embedded::open(folder.path()).expect(change).journal;
        journal.trim(5).expect("trim");
        append_many(&journal, 1);
        drop(journal);
        // From now on there is one again.
        let whole = files(folder.path());
        write(folder.path(), &story.files[3]);
        fs::write(&mark, &whole[HIGH_WATER_FILE]).expect("write");
        assert!(
            matches!(Embedded::open(folder.path()), Err(JournalError::Shortened(_))),
            "{change}"
        );
    }
}

#[test]
fn all_files_are_private_and_existing_ones_become_so() {
    let scratch = tempfile::tempdir().expect("a folder");
    let folder = scratch.path().join("data");
    let store = |folder: &Path| {
        let store = FileCheckpoints::open(folder).expect("checkpoints");
        let meta = CheckpointMeta {
            seq: 1,
            hash: Hash::default(),
            position: 1,
            epoch: 1,
            level: 1,
            at_ms: 1,
        };
        store.put(&meta, &mut |out| out.write_all(b"contents")).expect("put");
    };
    let journal = Embedded::open(&folder).expect("open").journal;
    append_many(&journal, 2);
    store(&folder);
    assert_private(&folder, 6);
    drop(journal);
    // As an older version left them.
    for path in all(&folder) {
        let mode = if path.is_dir() { 0o755 } else { 0o644 };
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("chmod");
    }
    let journal = Embedded::open(&folder).expect("open").journal;
    FileCheckpoints::open(&folder).expect("checkpoints");
    append_many(&journal, 1);
    assert_private(&folder, 6);
}

fn all(folder: &Path) -> Vec<std::path::PathBuf> {
    let mut paths = vec![folder.to_owned()];
    for entry in fs::read_dir(folder).expect("the folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() { paths.extend(all(&path)) } else { paths.push(path) }
    }
    paths
}

#[track_caller]
fn assert_private(folder: &Path, at_least: usize) {
    let paths = all(folder);
    assert!(paths.len() >= at_least, "{paths:?}");
    for path in paths {
        let mode = fs::metadata(&path).expect("metadata").permissions().mode() & 0o7777;
        assert_eq!(mode, if path.is_dir() { 0o700 } else { 0o600 }, "{}", path.display());
    }
}
