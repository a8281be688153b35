//! Simulated power loss: a layer below SQLite logs every write and sync of a journal, and each moment of that log is replayed as
//! a disk may show it after the power failed. What was synced is there. Of the rest each write may be missing, complete, or
//! torn at a sector, in any order.
//!
//! Whatever the disk shows, the journal opens: with every acknowledged record, with nothing that was never appended, and with
//! the high-water mark that was written last.

mod disk;
mod layer;

use std::fs;
use std::path::{Path, PathBuf};

use allod_journal::embedded::{Embedded, HIGH_WATER_FILE};
use allod_journal::suite::{append_many, committed, next_frame, read_whole};
use allod_journal::{Journal, RecordFrame};

use self::disk::{Dice, Disk, Loss};
use self::layer::{DiskOperation, Recording};

/// How many states of the disk a run examines at least.
const CRASH_POINTS_MIN: usize = 2000;

/// What the client knows at a moment of the log.
#[derive(Clone, Default)]
struct Known {
    /// Operations before this moment.
    operations: usize,
    acknowledged: usize,
    /// Appends that have begun, acknowledged or not.
    begun: usize,
    /// Records up to the first number have been trimmed, and up to the second one they may have been.
    trimmed: (u64, u64),
    /// The high-water mark of the last acknowledged record, if it has been written.
    mark: Option<Vec<u8>>,
}

/// A journal, what was done to its disk, and what was known meanwhile.
struct PowerStory {
    frames: Vec<RecordFrame>,
    operations: Vec<DiskOperation>,
    known: Vec<Known>,
}

/// Appends, trims and reopens, so that the log is copied into the database in each of the ways that there are.
fn story() -> PowerStory {
    let folder = tempfile::tempdir().expect("a folder");
    let recording = Recording::start(folder.path());
    let (mut frames, mut known) = (Vec::new(), vec![Known::default()]);
    let mut now = Known::default();
    for round in 0..5_u64 {
        let journal = Embedded::open(folder.path()).expect("open").journal;
        for n in 0..7_u64 {
            let tail = journal.tail().expect("tail");
            let size = [0, 40, 3000, 4096, 9000, 700, 20_000][n as usize];
            let frame = next_frame(&tail, round + 1, &vec![(n + round) as u8; size]);
            frames.push(frame.clone());
            now.begun = frames.len();
            known.push(Known { operations: recording.count(), ..now.clone() });
            committed(journal.append(&tail, &frame));
            now.acknowledged = frames.len();
            known.push(Known { operations: recording.count(), ..now.clone() });
            // The mark is written after the record was synced, here as soon as possible.
            journal.accept_end().expect("the mark");
            now.mark = Some(fs::read(folder.path().join(HIGH_WATER_FILE)).expect("the mark"));
            known.push(Known { operations: recording.count(), ..now.clone() });
        }
        if round % 2 == 1 {
            // Several slices, after which the log is copied while the journal is open.
            for _ in 0..4 {
                now.trimmed.1 = now.trimmed.0 + 1;
                known.push(Known { operations: recording.count(), ..now.clone() });
                journal.trim(now.trimmed.1).expect("trim");
                now.trimmed.0 = now.trimmed.1;
                known.push(Known { operations: recording.count(), ..now.clone() });
            }
        }
        drop(journal);
    }
    PowerStory { frames, operations: recording.end(), known }
}

impl PowerStory {
    /// What was known when this many operations had been done.
    fn known_at(&self, operations: usize) -> &Known {
        let after = self.known.partition_point(|known| known.operations <= operations);
        &self.known[after.saturating_sub(1)]
    }

    /// Opens the journal as the disk shows it, and checks it.
    #[track_caller]
    fn check(&self, disk: &Disk, operations: usize, scratch: &Path, hint: &str) {
        let folder = fresh_folder(scratch);
        disk.write_to(&folder);
        let known = self.known_at(operations);
        if let Some(mark) = &known.mark {
            fs::write(folder.join(HIGH_WATER_FILE), mark).expect("write");
        }
        let journal = match Embedded::open(&folder) {
            Ok(opened) => opened.journal,
            Err(error) => panic!("{hint}: {error}"),
        };
        let found = read_whole(&journal, 1 << 20);
        let last = journal.tail().expect("tail").seq;
        assert!(
            (known.acknowledged as u64..=known.begun as u64).contains(&last),
            "{hint}: ends at {last}, but {} were acknowledged and {} begun",
            known.acknowledged,
            known.begun
        );
        let oldest = journal.oldest().expect("oldest");
        let (trimmed_min, trimmed_max) = known.trimmed;
        assert!((trimmed_min..=trimmed_max).contains(&(oldest - 1)), "{hint}: from {oldest}");
        let expected = &self.frames[oldest as usize - 1..last as usize];
        assert!(found == expected, "{hint}: other records than were appended");
        let more = append_many(&journal, 2);
        drop(journal);
        let journal = Embedded::open(&folder).expect("open again").journal;
        assert!(
            read_whole(&journal, 1 << 20) == [expected, &more].concat(),
            "{hint}: not continued"
        );
    }
}

fn fresh_folder(scratch: &Path) -> PathBuf {
    let folder = scratch.join("data");
    if folder.exists() {
        fs::remove_dir_all(&folder).expect("remove");
    }
    fs::create_dir(&folder).expect("create");
    folder
}

#[test]
fn a_journal_survives_power_loss_at_every_moment() {
    let story = story();
    // On a memory file system if there is one, because this opens thousands of journals.
    let scratch =
        tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).expect("a folder");
    let mut points = 0;
    let mut dice = Dice(1);
    let mut disk = Disk::default();
    for operations in 0..=story.operations.len() {
        if operations > 0 {
            disk.apply(&story.operations[operations - 1]);
        }
        for loss in [Loss::Nothing, Loss::Everything, Loss::Random, Loss::Random, Loss::Torn] {
            let Some(shown) = disk.after_power_loss(loss, &mut dice) else { continue };
            let last = &story.operations[operations.saturating_sub(20)..operations];
            let hint = format!("{loss:?}, point {points}, after {operations} operations, {last:?}");
            story.check(&shown, operations, scratch.path(), &hint);
            points += 1;
        }
    }
    assert!(points >= CRASH_POINTS_MIN, "only {points} states of the disk were examined");
}
