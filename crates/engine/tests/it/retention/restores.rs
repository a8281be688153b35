//! Restores of damaged backups, and into unsuitable targets.

use allod_core::state::State;
use allod_engine::{
    Archive, Config, Halt, RestoreError, RetentionPolicy, backup, restore, verify_segment,
    write_checkpoint,
};
use allod_journal::checkpoint::MemoryCheckpoints;
use allod_journal::embedded::{Embedded, Restoring};
use allod_journal::memory::{InjectedFault, JournalOperation, MemoryStorage};
use allod_journal::segment::{Link, SegmentHeader, SegmentKind};
use allod_journal::{Journal, RecordFrame, SegmentWriter, Tail};

use crate::retention::backups::{backed_up, restored};
use crate::retention::trimming::archived;
use crate::retention::world::{World, config, frames, hash};

fn trimmed() -> World {
    let mut world = World::start(Config { history: RetentionPolicy::SinceCheckpoint, ..config() });
    world.claims_until_trimmed();
    world
}

fn refused(bytes: &[u8]) -> RestoreError {
    let (storage, checkpoints) = (MemoryStorage::new(), MemoryCheckpoints::new());
    let error = restore(bytes, None, &storage.open(), &checkpoints, &mut |_, _| {}).unwrap_err();
    assert_eq!(storage.open().tail().unwrap(), Tail::default(), "a failed restore left records");
    assert!(verify_segment(bytes, &mut |_, _| {}).is_err(), "only a restore notices: {error}");
    error
}

#[test]
fn damaged_backup_is_refused() {
    let mut world = World::start(Config::default());
    world.claims(3);
    for bytes in [backed_up(&world), backed_up(&trimmed())] {
        for at in (0..bytes.len()).step_by(17) {
            let mut changed = bytes.clone();
            changed[at] ^= 4;
            refused(&changed);
            refused(&bytes[..at]);
        }
    }
}

/// A valid backup of invalid records.
fn forged(frames: &[RecordFrame]) -> Vec<u8> {
    let end = frames.last().map_or_else(Tail::default, |frame| frame.tail(frame.hash()));
    let after = Link::default();
    let header = SegmentHeader { kind: SegmentKind::Backup, created_ms: 1, after, end };
    let mut writer = SegmentWriter::begin(Vec::new(), &header).unwrap();
    frames.iter().for_each(|frame| writer.frame(frame).unwrap());
    writer.finish().unwrap().0
}

#[test]
fn backup_that_cannot_be_replayed_is_refused() {
    let mut world = World::start(Config::default());
    world.claims(2);
    let good = frames(&world.storage.open());
    assert_eq!(good.len(), 4);
    let last = |change: fn(&mut RecordFrame)| {
        let mut frames = good.clone();
        change(frames.last_mut().unwrap());
        forged(&frames)
    };
    let text = refused(&last(|frame| frame.body.truncate(3))).to_string();
    assert!(text.contains("damaged at record 4"), "{text}");
    let text = refused(&last(|frame| frame.position += 1)).to_string();
    assert!(text.contains("but its entries end at"), "{text}");
    let text = refused(&last(|frame| frame.level = 99)).to_string();
    assert!(text.contains("start a newer one"), "{text}");
    // The same claim twice: each record is valid, but the resulting position is wrong.
    let mut twice = good.clone();
    let before = good[3].tail(good[3].hash());
    twice.push(RecordFrame { seq: 5, prev: before.hash, ..good[3].clone() });
    refused(&forged(&twice));
}

#[test]
fn restore_into_a_target_that_is_not_empty_is_refused() {
    let mut world = World::start(config());
    world.claims(1);
    let bytes = backed_up(&world);
    let (storage, checkpoints) = restored(&bytes);
    let again = restore(&bytes[..], None, &storage.open(), &checkpoints, &mut |_, _| {});
    let text = again.unwrap_err().to_string();
    assert!(
        text.contains("ends at record 3") && text.contains("restore into an empty one"),
        "{text}"
    );
    // Checkpoints alone make a target not empty.
    let again =
        restore(&bytes[..], None, &MemoryStorage::new().open(), &checkpoints, &mut |_, _| {});
    assert!(matches!(again, Err(RestoreError::NotEmpty { records: 0, checkpoints: 1 })));
}

/// A checkpoint can be checked only if the archive has the records before it.
#[test]
fn checkpoint_that_does_not_match_the_archive_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let world = archived(folder.path());
    let (storage, checkpoints) = (world.storage.clone(), MemoryCheckpoints::new());
    // A checkpoint of the record before the oldest, with an empty state.
    let first = &frames(&storage.open())[0];
    let (seq, hash, position) = (first.seq - 1, first.prev, first.position - 1);
    let tail = Tail { seq, hash, position, epoch: first.epoch };
    let mut state = State::new();
    state.position = position;
    write_checkpoint(&checkpoints, &state.freeze(), &tail, allod_record::LEVEL).unwrap();
    let made = backup(&storage.open(), &checkpoints, 1, Vec::new(), &mut |_, _| {});
    let bytes = made.unwrap().0;
    let archive = Archive::new(folder.path().to_owned(), 1);
    let (fresh, none) = (MemoryStorage::new(), MemoryCheckpoints::new());
    let ended = restore(&bytes[..], Some(&archive), &fresh.open(), &none, &mut |_, _| {});
    assert!(matches!(ended, Err(RestoreError::Differs { record }) if record == seq), "{ended:?}");
}

#[test]
fn backup_of_one_back_end_restores_into_another() {
    for world in [World::start(config()), trimmed()] {
        let mut world = world;
        world.claims(10);
        let bytes = backed_up(&world);
        let folder = tempfile::tempdir().unwrap();
        let restoring = Restoring::begin(folder.path()).unwrap();
        let journal = Embedded::open(&restoring.folder()).unwrap().journal;
        let checkpoints = MemoryCheckpoints::new();
        let done = restore(&bytes[..], None, &journal, &checkpoints, &mut |_, _| {}).unwrap();
        assert_eq!(done.verified.state_hash, world.hash());
        assert_eq!(frames(&journal), frames(&world.storage.open()));
        drop(journal);
        restoring.finish().unwrap();
        // And back again.
        let journal = Embedded::open(folder.path()).unwrap().journal;
        let made = backup(&journal, &checkpoints, 1, Vec::new(), &mut |_, _| {});
        let (storage, checkpoints) = restored(&made.unwrap().0);
        assert_eq!(frames(&storage.open()), frames(&world.storage.open()));
        assert_eq!(hash(&storage.open(), &checkpoints), world.hash());
    }
}

#[test]
fn failing_target_is_distinguished_from_a_bad_backup() {
    let mut world = World::start(config());
    world.claims(1);
    let journal = MemoryStorage::new().open_with(Box::new(|attempt| match attempt.operation {
        JournalOperation::Oldest => InjectedFault::Unavailable,
        _ => InjectedFault::None,
    }));
    let bytes = backed_up(&world);
    let ended = restore(&bytes[..], None, &journal, &MemoryCheckpoints::new(), &mut |_, _| {});
    assert!(matches!(ended, Err(RestoreError::Target(Halt::Journal(_)))), "{ended:?}");
}
