//! Damage to the files of the embedded journal: interrupted writes and changed bytes. A journal either opens with every
//! acknowledged record, or is refused.

use std::fs;
use std::path::Path;

use allod_journal::embedded::{Embedded, JOURNAL_FILE, OpenedJournal, TornTail};
use allod_journal::suite::{append_many, committed, next_frame, read_whole};
use allod_journal::{AppendOutcome, Journal, JournalError, RecordFrame, Tail};
use tempfile::TempDir;

const WAL_FILE: &str = "journal.sqlite-wal";
const WAL_HEADER_BYTES: usize = 32;
const WAL_FRAME_BYTES: usize = 24 + 4096;

/// On a memory file system if there is one, because these tests open thousands of journals.
fn scratch() -> TempDir {
    let memory = tempfile::tempdir_in("/dev/shm");
    memory.or_else(|_| tempfile::tempdir()).expect("a folder")
}

/// Both files of a journal at one moment.
#[derive(Clone, Default)]
struct Files {
    main: Vec<u8>,
    wal: Vec<u8>,
}

impl Files {
    fn of(folder: &Path) -> Self {
        let main = fs::read(folder.join(JOURNAL_FILE)).expect("the database");
        Self { main, wal: fs::read(folder.join(WAL_FILE)).unwrap_or_default() }
    }

    fn open(&self) -> (TempDir, Result<OpenedJournal, JournalError>) {
        let folder = scratch();
        fs::write(folder.path().join(JOURNAL_FILE), &self.main).expect("write");
        fs::write(folder.path().join(WAL_FILE), &self.wal).expect("write");
        let opened = Embedded::open(folder.path());
        (folder, opened)
    }

    fn with_wal(&self, wal: Vec<u8>) -> Self {
        Self { wal, ..self.clone() }
    }

    /// Opens the journal and checks all records. Returns the interrupted write that was found.
    #[track_caller]
    fn assert_holds(&self, frames: &[RecordFrame], hint: &str) -> Option<TornTail> {
        let (_folder, opened) = self.open();
        let OpenedJournal { journal, torn } =
            opened.unwrap_or_else(|error| panic!("{hint}: {error}"));
        assert!(read_whole(&journal, 10_000) == frames, "{hint}: not the records that were there");
        torn
    }

    /// Like `assert_holds`, and then appends more records.
    #[track_caller]
    fn assert_goes_on(&self, frames: &[RecordFrame], hint: &str) -> Option<TornTail> {
        let (folder, opened) = self.open();
        let OpenedJournal { journal, torn } =
            opened.unwrap_or_else(|error| panic!("{hint}: {error}"));
        assert!(read_whole(&journal, 10_000) == frames, "{hint}: not the records that were there");
        let more = append_many(&journal, 2);
        drop(journal);
        let OpenedJournal { journal, torn: again } =
            Embedded::open(folder.path()).expect("open again");
        assert_eq!(again, None, "{hint}: what was torn is there again");
        assert!(read_whole(&journal, 10_000) == [frames, &more].concat(), "{hint}: not continued");
        torn
    }

    #[track_caller]
    fn assert_refused(&self, hint: &str) {
        match self.open().1 {
            Err(JournalError::Damaged { seq, what }) => {
                assert!(seq > 0 && what.contains("backup"), "{hint}: record {seq}: {what}");
            }
            Err(other) => panic!("{hint}: not Damaged but {other}"),
            Ok(opened) => {
                panic!("{hint}: opened with {:?}, torn {:?}", opened.journal, opened.torn)
            }
        }
    }
}

/// Pseudo-random numbers.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }
}

/// A journal, and its files after each record.
struct Story {
    frames: Vec<RecordFrame>,
    /// `files[n]` are the files after `n` records.
    files: Vec<Files>,
}

impl Story {
    /// After `opened_at` records the journal is closed and reopened, which empties its log.
    fn write(sizes: &[usize], opened_at: usize) -> Self {
        let folder = scratch();
        let mut journal = Embedded::open(folder.path()).expect("open").journal;
        let mut story = Self { frames: Vec::new(), files: vec![Files::of(folder.path())] };
        let mut tail = Tail::default();
        let mut numbers = Numbers(1);
        for (count, size) in sizes.iter().enumerate() {
            if count == opened_at {
                drop(journal);
                journal = Embedded::open(folder.path()).expect("open").journal;
                story.files.pop();
                story.files.push(Files::of(folder.path()));
            }
            let body: Vec<u8> = (0..*size).map(|_| numbers.next() as u8).collect();
            let frame = next_frame(&tail, 1, &body);
            tail = committed(journal.append(&tail, &frame));
            story.frames.push(frame);
            story.files.push(Files::of(folder.path()));
        }
        story
    }

    /// The range in the log of the last transaction after `count` records, without the header, which is synced before.
    fn last_transaction(&self, count: usize) -> std::ops::Range<usize> {
        self.files[count - 1].wal.len().max(WAL_HEADER_BYTES)..self.files[count].wal.len()
    }
}

fn crash_story() -> Story {
    Story::write(&[10, 4096, 9000, 0, 300], 0)
}

#[test]
fn committed_records_survive_a_crash() {
    let story = crash_story();
    for (count, files) in story.files.iter().enumerate() {
        let torn = files.assert_goes_on(&story.frames[..count], &format!("{count} records"));
        assert_eq!(torn, None);
    }
}

#[test]
fn truncated_log_loses_only_the_last_transaction() {
    let story = crash_story();
    for count in 1..=story.frames.len() {
        let files = &story.files[count];
        let range = story.last_transaction(count);
        let cuts = [range.start + 1, range.start + 8, range.start + 24, range.end - 1];
        for cut in range.clone().step_by(512).chain(cuts) {
            let cut_off = files.with_wal(files.wal[..cut].to_vec());
            let hint = format!("{count} records, cut at {cut} of {range:?}");
            let torn = cut_off.assert_goes_on(&story.frames[..count - 1], &hint);
            let bytes = (cut - range.start) as u64;
            assert_eq!(torn.map(|torn| torn.bytes), (bytes > 0).then_some(bytes), "{hint}");
        }
    }
    let wal = story.files[1].wal[..7].to_vec();
    let torn = story.files[1].with_wal(wal).assert_holds(&[], "a truncated header");
    assert_eq!(torn, Some(TornTail { frames: 0, bytes: 7 }));
}

#[test]
fn log_with_lost_sectors_loses_only_the_last_transaction() {
    let story = crash_story();
    let mut numbers = Numbers(2);
    for count in 1..=story.frames.len() {
        let files = &story.files[count];
        let range = story.last_transaction(count);
        let check = |wal: Vec<u8>, hint: String| {
            if wal == files.wal {
                return;
            }
            let torn = files.with_wal(wal).assert_holds(&story.frames[..count - 1], &hint);
            assert!(torn.is_some(), "{hint}: not reported");
        };
        // Each sector in turn, as zeros and as random bytes.
        for at in range.clone().step_by(512) {
            let noise = numbers.next() as u8;
            for (name, fill) in [("zeros", 0), ("noise", noise | 1)] {
                let mut wal = files.wal.clone();
                for (index, byte) in wal[at..range.end.min(at + 512)].iter_mut().enumerate() {
                    *byte = if name == "noise" { (index as u8).wrapping_mul(fill) } else { fill };
                }
                check(wal, format!("{count} records, {name} at {at} of {range:?}"));
            }
        }
        // Random subsets of the sectors, and single bytes.
        for round in 0..20 {
            let mut wal = files.wal.clone();
            for at in range.clone().step_by(512) {
                if numbers.below(3) == 0 {
                    wal[at..range.end.min(at + 512)].fill(0);
                }
            }
            check(wal, format!("{count} records, lost sectors, round {round}"));
            let mut wal = files.wal.clone();
            wal[range.start + numbers.below(range.len())] ^= 1 << numbers.below(8);
            check(wal, format!("{count} records, a flipped bit, round {round}"));
        }
    }
}

#[test]
fn damage_before_an_acknowledged_record_is_refused() {
    let story = Story::write(&[10, 4096, 100, 9000, 0, 300], 2);
    let count = story.frames.len();
    let files = &story.files[count];
    let acknowledged = ..story.last_transaction(count).start;
    let offsets = (0..files.wal.len()).filter(|at| {
        let in_frame = at.checked_sub(WAL_HEADER_BYTES).map(|at| at % WAL_FRAME_BYTES);
        in_frame.is_none_or(|at| at < 24 || at % 173 == 0)
    });
    let mut numbers = Numbers(3);
    let mut flips = 0;
    for at in offsets {
        for mask in [1 << numbers.below(8), 0xff] {
            let mut wal = files.wal.clone();
            wal[at] ^= mask;
            let hint = format!("byte {at} of the log, before {acknowledged:?}, ^ {mask:#x}");
            let flipped = files.with_wal(wal);
            if acknowledged.contains(&at) {
                flipped.assert_refused(&hint);
            } else {
                let torn = flipped.assert_holds(&story.frames[..count - 1], &hint);
                assert!(torn.is_some(), "{hint}: not reported");
            }
            flips += 1;
        }
    }
    assert!(flips > 500, "{flips} flips only");
}

/// The commit mark of a frame is a number of pages. If it becomes zero, the transaction seems to continue.
#[test]
fn lost_commit_mark_is_detected() {
    let story = Story::write(&[10, 20, 30], 0);
    let files = &story.files[3];
    let mark = files_mark(&story.files[2].wal);
    let mut wal = files.wal.clone();
    wal[mark..mark + 4].fill(0);
    files.with_wal(wal).assert_refused("the commit mark of record 2");
}

/// The offset of the commit mark of the last frame.
fn files_mark(wal: &[u8]) -> usize {
    wal.len() - WAL_FRAME_BYTES + 4
}

#[test]
fn frames_of_an_older_log_are_not_damage() {
    let folder = scratch();
    let journal = Embedded::open(folder.path()).expect("open").journal;
    let mut tail = Tail::default();
    let mut frames = Vec::new();
    let mut append = |size: usize| {
        let frame = next_frame(&tail, 1, &vec![frames.len() as u8; size]);
        tail = committed(journal.append(&tail, &frame));
        frames.push(frame);
    };
    // Enough to restart the log twice, and then to overwrite the first of the older frames.
    (0..20).for_each(|_| append(1 << 19));
    let before = Files::of(folder.path()).wal;
    append(5000);
    append(5000);
    let files = Files::of(folder.path());
    assert!(files.wal.len() < 8 << 20, "the log grows: {}", files.wal.len());
    assert_eq!(files.wal.len(), before.len(), "the log was not restarted");
    assert_eq!(files.assert_goes_on(&frames, "older frames follow"), None);

    // The first frame of the last transaction is torn, and older frames follow.
    let changed =
        (0..before.len()).rev().find(|at| before[*at] != files.wal[*at]).expect("a change");
    let last_frame = (changed - WAL_HEADER_BYTES) / WAL_FRAME_BYTES;
    let mut wal = files.wal.clone();
    wal[WAL_HEADER_BYTES + last_frame * WAL_FRAME_BYTES + 100] ^= 1;
    let torn = files.with_wal(wal).assert_goes_on(&frames[..21], "torn, older frames follow");
    assert!(torn.is_some_and(|torn| torn.frames <= 4), "{torn:?}");

    // The first transaction of the new log is damaged, and another one follows.
    let mut wal = files.wal.clone();
    wal[WAL_HEADER_BYTES + 100] ^= 1;
    files.with_wal(wal).assert_refused("damaged, older frames follow");
}

#[test]
fn damage_in_the_database_is_detected_when_read() {
    for sizes in [&[10, 0, 4096, 300, 700, 9000, 40][..], &[200; 60][..]] {
        let folder = scratch();
        let journal = Embedded::open(folder.path()).expect("open").journal;
        let mut tail = Tail::default();
        for size in sizes {
            let frame = next_frame(&tail, 1, &vec![0x5a; *size]);
            tail = committed(journal.append(&tail, &frame));
        }
        let frames = read_whole(&journal, 10_000);
        drop(journal);
        let files = Files::of(folder.path());
        assert!(files.wal.is_empty());

        let mut numbers = Numbers(4);
        let mut found = 0;
        // Every byte of the page headers and cell pointers, and a sample of the rest.
        let offsets = (0..files.main.len()).filter(|at| at % 4096 < 40 || at % 41 == 0);
        for at in offsets {
            let mut flipped = files.clone();
            flipped.main[at] ^= 1 << numbers.below(8);
            let (_folder, opened) = flipped.open();
            let Ok(OpenedJournal { journal, .. }) = opened else {
                found += 1;
                continue;
            };
            let read = read_all(&journal);
            found += usize::from(read.is_err());
            if let Ok(read) = read {
                assert_eq!(journal.tail().expect("tail"), tail, "byte {at}: a different tail");
                assert!(read == frames, "byte {at}: different records");
            }
        }
        assert!(found > 100, "{found} flips were found");
    }
}

fn read_all(journal: &dyn Journal) -> Result<Vec<RecordFrame>, JournalError> {
    let mut frames = Vec::new();
    let mut from = journal.oldest()?;
    loop {
        let page = journal.read(from, 10_000)?;
        if page.is_empty() {
            return Ok(frames);
        }
        from += page.len() as u64;
        frames.extend(page);
    }
}

#[test]
fn empty_database_with_a_log_is_refused() {
    let story = Story::write(&[10, 20], 0);
    let files = Files { main: Vec::new(), wal: story.files[2].wal.clone() };
    files.assert_refused("an empty database");

    let (folder, _) = files.open();
    fs::write(folder.path().join("journal.sqlite-journal"), b"left over").expect("write");
    assert!(matches!(Embedded::open(folder.path()), Err(JournalError::Damaged { .. })));
    fs::remove_file(folder.path().join("journal.sqlite-journal")).expect("remove");
    fs::remove_file(folder.path().join(JOURNAL_FILE)).expect("remove");
    assert!(matches!(Embedded::open(folder.path()), Err(JournalError::Damaged { .. })));
}

#[test]
fn changed_record_is_detected() {
    let story = Story::write(&[10, 20, 30, 40], 4);
    let (folder, opened) = story.files[4].open();
    drop(opened);
    let change = |sql: &str| {
        let db = rusqlite::Connection::open(folder.path().join(JOURNAL_FILE)).expect("open");
        db.execute_batch(sql).expect(sql);
    };
    let read = || Embedded::open(folder.path()).and_then(|opened| read_all(&opened.journal));
    assert!(read().is_ok());
    change("UPDATE journal SET position = position + 1 WHERE seq = 2");
    assert!(matches!(read(), Err(JournalError::Chain(_))));
    change("UPDATE journal SET position = position - 1 WHERE seq = 2");
    assert!(read().is_ok());
    change("DELETE FROM journal WHERE seq = 2");
    assert!(matches!(read(), Err(JournalError::Chain(_))));
    change("DELETE FROM journal WHERE seq = 4");
    assert!(matches!(read(), Err(JournalError::Damaged { seq: 4, .. })));
    change("DELETE FROM journal WHERE seq = 1");
    assert!(matches!(read(), Err(JournalError::Damaged { seq: 1, .. })));
}

#[test]
fn interrupted_creation_is_repeated() {
    let folder = scratch();
    fs::write(folder.path().join(JOURNAL_FILE), b"").expect("write");
    fs::write(folder.path().join("journal.sqlite-journal"), [0; 512]).expect("write");
    let journal = Embedded::open(folder.path()).expect("open").journal;
    append_many(&journal, 2);
    drop(journal);
    assert!(!folder.path().join("journal.sqlite-journal").exists());
    let journal = Embedded::open(folder.path()).expect("open").journal;
    assert_eq!(read_whole(&journal, 1000).len(), 2);
}

/// A second crash before the remains of the first one are overwritten.
#[test]
fn crash_after_crash() {
    let story = crash_story();
    let count = story.frames.len();
    let files = &story.files[count];
    let range = story.last_transaction(count);
    let mut wal = files.wal.clone();
    wal[range.start + 200] ^= 1;
    let (folder, opened) = files.with_wal(wal).open();
    let OpenedJournal { journal, torn } = opened.expect("open");
    assert!(torn.is_some());
    let tail = journal.tail().expect("tail");
    let frame = next_frame(&tail, 2, b"another in its place");
    assert!(matches!(journal.append(&tail, &frame), AppendOutcome::Committed(_)));
    let second = Files::of(folder.path());
    let mut frames = story.frames[..count - 1].to_vec();
    frames.push(frame);
    assert_eq!(second.assert_goes_on(&frames, "after the second crash"), None);
    let half = second.wal.len() - WAL_FRAME_BYTES / 2;
    let torn = second
        .with_wal(second.wal[..half].to_vec())
        .assert_holds(&frames[..count - 1], "torn again");
    assert!(torn.is_some());
}
