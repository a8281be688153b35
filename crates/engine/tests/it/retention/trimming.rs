//! Retention by age and size, and the archive.

use std::fs;
use std::path::Path;

use allod_engine::{Archive, Config, RestoreError, RetentionPolicy, restore, verify_segment};
use allod_journal::checkpoint::MemoryCheckpoints;
use allod_journal::memory::MemoryStorage;
use allod_journal::{CheckpointStore, Journal};

use crate::retention::backups::{backed_up, restored};
use crate::retention::world::{World, config, eventually, frames, hash};

fn within(ms_max: Option<u64>, bytes_max: Option<u64>) -> Config {
    Config { history: RetentionPolicy::Within { ms_max, bytes_max }, ..config() }
}

#[test]
fn age_limit_trims_older_records_only() {
    let hour = 3_600_000;
    let mut world = World::start(Config { checkpoint_bytes: 1 << 30, ..within(Some(hour), None) });
    world.claims(30);
    let old = world.end();
    let counter = world.oldest_calls.clone();
    let calls = || counter.load(std::sync::atomic::Ordering::Relaxed);
    // Several runs of retention, because one may have begun before the clock was set.
    for _ in 0..3 {
        let before = calls();
        world.later(hour / 6);
        eventually("retention does not run", || {
            world.claims(1);
            calls() > before
        });
    }
    world.claims(10);
    assert_eq!(world.oldest(), 1, "a record was trimmed too early");
    let middle = world.end();
    world.later(hour * 6 / 10);
    // A checkpoint is written because trimming needs one.
    let young = world.clock.0.load(std::sync::atomic::Ordering::Relaxed) - hour;
    world.claims(1);
    eventually("it is not trimmed", || world.oldest() > 1);
    // Trimmed up to the older one of two checkpoints.
    world.later(hour / 10);
    world.claims(1);
    eventually("it is not trimmed to the end", || world.oldest() > old);
    assert!(frames(&world.storage.open())[0].at_ms >= young);
    assert!(world.oldest() <= middle + 2);
    let (storage, checkpoints) = restored(&backed_up(&world));
    assert_eq!(hash(&storage.open(), &checkpoints), world.hash());
}

#[test]
fn size_limit_retains_the_newest_records() {
    let mut world =
        World::start(Config { checkpoint_bytes: 1 << 30, ..within(None, Some(30_000)) });
    world.claims_until_trimmed();
    let size = |world: &World| -> usize {
        frames(&world.storage.open()).iter().map(|frame| 160 + frame.body.len()).sum()
    };
    eventually("it is too large", || {
        world.claims(1);
        size(&world) <= 32_000
    });
    world.claims(300);
    eventually("it is too large", || {
        world.claims(1);
        size(&world) <= 32_000
    });
    assert!(size(&world) > 20_000, "too much was trimmed");
    world.stop();
    world.start_again(config());
    assert_eq!(world.handle().status().at.position, world.storage.open().tail().unwrap().position);
}

#[test]
fn stricter_of_age_and_size_limit_applies() {
    let mut world = World::start(within(Some(1 << 40), Some(30_000)));
    world.claims_until_trimmed();
    let mut world = World::start(within(Some(1000), Some(1 << 40)));
    world.claims(40);
    world.later(10_000);
    world.claims(20);
    world.later(10_000);
    eventually("it is not trimmed", || {
        world.claims(1);
        world.oldest() > 1
    });
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn archiving(folder: &Path) -> Config {
    let archive = Some(folder.to_owned());
    let history = RetentionPolicy::SinceCheckpoint;
    Config { history, archive, archive_segment_bytes: 3000, ..config() }
}

/// Runs until checkpoints, archiving and trimming have happened several times.
pub fn archived(folder: &Path) -> World {
    let mut world = World::start(archiving(folder));
    for _ in 0..3 {
        let oldest = world.oldest();
        eventually("it is not trimmed", || {
            world.claims(5);
            world.oldest() > oldest
        });
    }
    world
}

#[test]
fn trimmed_records_are_archived_and_restored_with_a_backup() {
    let folder = tempfile::tempdir().unwrap();
    let archive = Archive::new(folder.path().to_owned(), 1);
    // Compared with a journal that is never trimmed.
    let mut world = archived(folder.path());
    world.stop();
    let segments = archive.list().unwrap();
    assert!(segments.len() >= 3, "{segments:?}");
    assert_eq!(segments[0].first, 1);
    for pair in segments.windows(2) {
        assert_eq!(pair[0].last + 1, pair[1].first);
    }
    assert!(segments.last().unwrap().last + 1 >= world.oldest());
    for one in &segments {
        verify_segment(fs::File::open(&one.path).unwrap(), &mut |_, _| {}).unwrap();
        assert!(fs::metadata(&one.path).unwrap().len() < 6000);
    }
    let made = allod_engine::backup(
        &world.storage.open(),
        &world.checkpoints,
        1,
        Vec::new(),
        &mut |_, _| {},
    );
    let bytes = made.unwrap().0;
    let (storage, checkpoints) = (MemoryStorage::new(), MemoryCheckpoints::new());
    let done = restore(&bytes[..], Some(&archive), &storage.open(), &checkpoints, &mut |_, _| {});
    let done = done.unwrap();
    assert_eq!((done.first, done.verified.from), (1, 1));
    assert_eq!(done.verified.state_hash, world.hash());
    let kept = frames(&world.storage.open());
    let whole = frames(&storage.open());
    assert_eq!(whole[whole.len() - kept.len()..], kept);
    // Without the first segment it begins later; with a gap in the middle it is refused.
    fs::remove_file(&segments[0].path).unwrap();
    let fresh = MemoryStorage::new();
    let done = restore(
        &bytes[..],
        Some(&archive),
        &fresh.open(),
        &MemoryCheckpoints::new(),
        &mut |_, _| {},
    );
    assert_eq!(done.unwrap().first, segments[1].first);
    for one in &segments[1..] {
        fs::remove_file(&one.path).unwrap();
    }
    let none = restore(
        &bytes[..],
        Some(&archive),
        &MemoryStorage::new().open(),
        &MemoryCheckpoints::new(),
        &mut |_, _| {},
    );
    assert!(matches!(none, Err(RestoreError::Archive(_))), "{none:?}");
}

#[test]
fn damaged_or_foreign_archive_is_refused() {
    let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let world = archived(folder.path());
    let bytes = backed_up(&world);
    let archive = Archive::new(folder.path().to_owned(), 1);
    let last = archive.list().unwrap().pop().unwrap();
    let sound = fs::read(&last.path).unwrap();
    let into = |archive: &Archive| {
        let fresh = MemoryStorage::new();
        restore(&bytes[..], Some(archive), &fresh.open(), &MemoryCheckpoints::new(), &mut |_, _| {})
    };
    for at in (0..sound.len()).step_by(41) {
        let mut changed = sound.clone();
        changed[at] ^= 1;
        fs::write(&last.path, changed).unwrap();
        assert!(into(&archive).is_err(), "byte {at}");
    }
    fs::write(&last.path, &sound).unwrap();
    assert!(into(&archive).is_ok());
    let elsewhere = archived(other.path());
    drop(elsewhere);
    let foreign = into(&Archive::new(other.path().to_owned(), 1));
    assert!(foreign.is_err(), "records of another server were accepted: {foreign:?}");
}

#[test]
fn records_that_cannot_be_archived_are_not_trimmed() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("archive");
    fs::write(&place, "not a folder").unwrap();
    let mut world = World::start(archiving(&place));
    let checkpoint = |world: &World| world.handle().status().checkpoint_position;
    eventually("there are no checkpoints", || {
        world.claims(10);
        world.checkpoints.list().unwrap().len() > 1 && checkpoint(&world) > 100
    });
    assert_eq!(world.oldest(), 1);
    // It continues once the folder is usable.
    fs::remove_file(&place).unwrap();
    world.claims_until_trimmed();
    assert!(names(&place)[0].starts_with("00000000000000000001-"));
    // The archive of another server is not extended.
    let mut other = World::start(archiving(&place));
    let before = names(&place);
    eventually("there are no checkpoints", || {
        other.claims(10);
        checkpoint(&other) > 100
    });
    other.stop();
    assert_eq!(other.oldest(), 1);
    assert!(names(&place).len() >= before.len());
}

/// After a crash between archiving and trimming, or during the write of a segment.
#[test]
fn archiving_continues_after_a_crash() {
    let folder = tempfile::tempdir().unwrap();
    let mut world = archived(folder.path());
    world.stop();
    let litter = folder.path().join("00000000000000000001-00000000000000000009.segment.tmp");
    fs::write(&litter, "half of something").unwrap();
    world.start_again(archiving(folder.path()));
    let oldest = world.oldest();
    eventually("it is not trimmed", || {
        world.claims(5);
        world.oldest() > oldest
    });
    world.stop();
    assert!(!litter.exists());
    let segments = Archive::new(folder.path().to_owned(), 1).list().unwrap();
    for pair in segments.windows(2) {
        assert_eq!(pair[0].last + 1, pair[1].first);
    }
    let end = world.storage.open().tail().unwrap().seq;
    assert!(segments.last().unwrap().last < end);
}
