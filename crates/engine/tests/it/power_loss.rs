//! Simulated power loss for everything that a server keeps: journal, high-water mark, checkpoints, history index, archive, and a
//! restore. A recorder logs each write, sync and rename of a server that checkpoints, archives and trims all the time, and of a
//! restore. Each moment of that log is replayed as a disk may show it after the power failed.
//!
//! Whatever the disk shows, the server starts with every acknowledged record; a half-written checkpoint, index file or
//! segment is not believed; what was trimmed is in the archive; and a restore is complete or is refused.

mod disk;
mod recorder;

use std::fs::{self, File};
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use allod_core::invariant;
use allod_engine::history::{ChangeQuery, HistoryError, HistoryOrder};
use allod_engine::{
    Archive, Config, Engine, Handle, RetentionPolicy, recover, restore, state_hash, verify_segment,
};
use allod_journal::Journal;
use allod_journal::checkpoint::FileCheckpoints;
use allod_journal::embedded::{Embedded, Restoring};
use tokio::runtime::Runtime;

use self::disk::{Dice, Disk, Loss};
use self::recorder::{DiskOperation, Recording};
use crate::writer::world::{claim, pool};

/// How many states of the disk a run examines at least, and about how many it examines.
const CRASH_POINTS_MIN: usize = 2000;
const CRASH_POINTS: usize = 2600;

/// A whole server, with its index, is started on one of this many states.
const STARTS: usize = 25;

const LIVES: u64 = 4;
const CLAIMS_PER_LIFE: u64 = 40;

/// What the client knows at a moment of the log.
#[derive(Debug, Clone, Copy, Default)]
struct Known {
    /// Operations before this moment.
    operations: usize,
    acknowledged: u64,
    /// Claims that were sent, acknowledged or not.
    begun: u64,
    /// The restore has begun; it has ended.
    restoring: bool,
    restored: bool,
}

struct PowerStory {
    operations: Vec<DiskOperation>,
    known: Vec<Known>,
    /// What a restore must lead to.
    restored_hash: allod_engine::Hash,
}

fn data(root: &Path) -> PathBuf {
    root.join("data")
}

fn archive(root: &Path) -> PathBuf {
    root.join("archive")
}

/// With small files of each sort, so that there are many.
fn config(root: &Path) -> Config {
    Config {
        checkpoint_bytes: 1200,
        history: RetentionPolicy::Within { ms_max: None, bytes_max: Some(3000) },
        archive: Some(archive(root)),
        archive_segment_bytes: 1500,
        index: Some(data(root).join("index")),
        index_postings_max: 16,
        history_wait_ms_max: 20_000,
        ..Config::default()
    }
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime")
}

fn start(root: &Path) -> (Engine, Handle) {
    let journal = Embedded::open(&data(root)).expect("open").journal;
    let checkpoints = FileCheckpoints::open(&data(root)).expect("open");
    let engine = Engine::start(Arc::new(journal), Arc::new(checkpoints), config(root));
    let engine = engine.expect("start");
    let handle = engine.handle();
    eventually("it does not get ready", || handle.status().ready);
    (engine, handle)
}

fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < Duration::from_secs(60), "{what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn key(number: u64) -> String {
    format!("key-{number:05}")
}

/// The changes of a claim.
fn query(key: &str) -> ChangeQuery {
    ChangeQuery {
        pool: Some("p".into()),
        pool_prefix: "".into(),
        values: Vec::new(),
        key: Some(key.into()),
        owner: None,
        provider: None,
        consumer: None,
        since: None,
        until: None,
        order: HistoryOrder::OldestFirst,
        limit: 10,
        after: None,
    }
}

fn story() -> PowerStory {
    let folder = tempfile::tempdir().expect("a folder");
    let root = fs::canonicalize(folder.path()).expect("the folder");
    let root = root.as_path();
    let recording = Recording::start(root);
    let (mut known, mut now) = (vec![Known::default()], Known::default());
    let runtime = runtime();
    let mut backup = None;
    for life in 0..LIVES {
        let (engine, handle) = start(root);
        if life == 0 {
            runtime
                .block_on(handle.submit(pool("p", 100_000)))
                .expect("answer")
                .answer
                .expect("a pool");
        }
        for _ in 0..CLAIMS_PER_LIFE {
            now.begun += 1;
            known.push(Known { operations: recording.count(), ..now });
            let reply = runtime.block_on(handle.submit(claim("p", &key(now.begun))));
            reply.expect("answer").answer.expect("a claim");
            now.acknowledged = now.begun;
            known.push(Known { operations: recording.count(), ..now });
        }
        let segments = || fs::read_dir(archive(root)).map_or(0, Iterator::count) as u64;
        eventually("nothing is archived", || segments() > life);
        if life + 1 == LIVES {
            let mut bytes = Vec::new();
            handle.backup(&mut bytes).expect("a backup");
            backup = Some(bytes);
        }
        engine.stop().expect("stop");
    }
    now.restoring = true;
    known.push(Known { operations: recording.count(), ..now });
    let target = root.join("restored");
    let restoring = Restoring::begin(&target).expect("begin");
    {
        let journal = Embedded::open(&restoring.folder()).expect("open").journal;
        let checkpoints = FileCheckpoints::open(&restoring.folder()).expect("open");
        let backup = backup.expect("a backup");
        let archive = Archive::new(archive(root), 1500);
        restore(&backup[..], Some(&archive), &journal, &checkpoints, &mut |_, _| {})
            .expect("restore");
    }
    restoring.finish().expect("finish");
    now.restored = true;
    known.push(Known { operations: recording.count(), ..now });
    let operations = recording.end();
    PowerStory { operations, known, restored_hash: hash(&target).expect("it is restored") }
}

/// The state that a start would have, or why it refuses.
fn hash(folder: &Path) -> Result<allod_engine::Hash, String> {
    let journal = Embedded::open(folder).map_err(|error| error.to_string())?.journal;
    let checkpoints = FileCheckpoints::open(folder).map_err(|error| error.to_string())?;
    let replica = recover(&journal, &checkpoints).map_err(|error| error.to_string())?;
    Ok(state_hash(&replica.state, replica.level))
}

impl PowerStory {
    /// What was known when this many operations had been done.
    fn known_at(&self, operations: usize) -> Known {
        let after = self.known.partition_point(|known| known.operations <= operations);
        self.known[after.saturating_sub(1)]
    }

    #[track_caller]
    fn check_data(&self, root: &Path, known: Known, hint: &str) {
        let journal = Embedded::open(&data(root)).unwrap_or_else(|error| panic!("{hint}: {error}"));
        let journal = journal.journal;
        let checkpoints = FileCheckpoints::open(&data(root)).expect("open");
        let replica =
            recover(&journal, &checkpoints).unwrap_or_else(|error| panic!("{hint}: {error}"));
        assert_eq!(invariant::check(&replica.state), Vec::<String>::new(), "{hint}");
        let claims =
            replica.state.pool("p").map_or(0, |pool| pool.claims_by_value().count() as u64);
        assert!(
            (known.acknowledged..=known.begun).contains(&claims),
            "{hint}: {claims} claims, but {} were acknowledged and {} begun",
            known.acknowledged,
            known.begun
        );
        let oldest = journal.oldest().expect("oldest");
        if oldest == 1 {
            return;
        }
        // Everything that the journal no longer has.
        let segments = Archive::new(archive(root), 1500).leading_to(oldest - 1);
        let segments = segments.unwrap_or_else(|error| panic!("{hint}: {error}"));
        assert_eq!(segments.first().map(|segment| segment.first), Some(1), "{hint}");
        for segment in segments {
            let file = BufReader::new(File::open(&segment.path).expect("a segment"));
            let found = verify_segment(file, &mut |_, _| {});
            let found = found.unwrap_or_else(|error| panic!("{hint}: {segment:?}: {error}"));
            assert_eq!((found.first, found.tail.seq), (segment.first, segment.last), "{hint}");
        }
    }

    /// Starts a server with all that it has: it continues, and its history is that of the journal.
    #[track_caller]
    fn check_start(&self, root: &Path, known: Known, runtime: &Runtime, hint: &str) {
        let (engine, handle) = start(root);
        if known.begun > 0 {
            for more in 0..3 {
                let reply = runtime.block_on(handle.submit(claim("p", &format!("more-{more}"))));
                reply.expect("answer").answer.expect("a claim");
            }
        }
        for number in 1..=known.acknowledged {
            let history = handle.history().expect("an index");
            let query = query(&key(number));
            match runtime.block_on(history.changes(query)) {
                Ok(page) => {
                    let events: usize = page.changes.iter().map(|entry| entry.events.len()).sum();
                    // Trimmed, or granted once.
                    assert!(events == 1 || page.changes.is_empty(), "{hint}: {page:?}");
                    let is_kept = number == known.acknowledged;
                    assert!(
                        events == 1 || !is_kept,
                        "{hint}: the last claim is not in the history"
                    );
                }
                Err(HistoryError::Trimmed { .. }) => {}
                Err(error) => panic!("{hint}: {error}"),
            }
        }
        engine.stop().unwrap_or_else(|error| panic!("{hint}: {error}"));
    }

    /// The restore is complete, or a start is refused, or there is nothing yet.
    #[track_caller]
    fn check_restored(&self, root: &Path, known: Known, hint: &str) {
        let target = root.join("restored");
        let found = target.is_dir();
        assert!(found || !known.restored, "{hint}: the restored folder is missing");
        if !found {
            return;
        }
        let is_empty = fs::read_dir(&target)
            .expect("read")
            .all(|entry| entry.is_ok_and(|entry| entry.file_name() == "allod.lock"));
        match hash(&target) {
            Ok(hash) if hash == self.restored_hash => {}
            Ok(_) => assert!(is_empty && !known.restored, "{hint}: a part of the restore is used"),
            Err(refused) => {
                assert!(!known.restored, "{hint}: {refused}");
                assert!(refused.contains("a restore into"), "{hint}: {refused}");
            }
        }
    }
}

#[test]
fn a_server_survives_power_loss_at_every_moment() {
    let story = story();
    // On a memory file system if there is one, because this opens thousands of journals.
    let scratch =
        tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).expect("a folder");
    // Twice what depends on the dice: the number of operations depends on how the server batches.
    let random = [Loss::Random, Loss::Torn];
    let losses = [[Loss::Nothing, Loss::Everything], random, random].concat();
    let every = (story.operations.len() * losses.len() / CRASH_POINTS).max(1);
    let (mut seen, mut points, mut dice, mut disk) = (0, 0, Dice(1), Disk::default());
    let runtime = runtime();
    for operations in 0..=story.operations.len() {
        if operations > 0 {
            disk.apply(&story.operations[operations - 1]);
        }
        for &loss in &losses {
            seen += 1;
            if seen % every != 0 {
                continue;
            }
            let Some(shown) = disk.after_power_loss(loss, &mut dice) else { continue };
            let last = &story.operations[operations.saturating_sub(20)..operations];
            let hint = format!("{loss:?}, point {points}, after {operations} operations, {last:?}");
            let root = scratch.path().join("root");
            fs::create_dir(&root).expect("create");
            shown.write_to(&root);
            let known = story.known_at(operations);
            if known.restoring {
                story.check_restored(&root, known, &hint);
            }
            story.check_data(&root, known, &hint);
            if points % STARTS == 0 && known.begun > 0 {
                story.check_start(&root, known, &runtime, &hint);
            }
            fs::remove_dir_all(&root).expect("remove");
            points += 1;
        }
    }
    assert!(points >= CRASH_POINTS_MIN, "only {points} states of the disk were examined");
}
