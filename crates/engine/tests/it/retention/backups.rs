//! Backups of a journal that is being written.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use allod_engine::{BackupError, Config, Halt, RetentionPolicy, backup, restore, verify_segment};
use allod_journal::Journal;
use allod_journal::checkpoint::MemoryCheckpoints;
use allod_journal::memory::MemoryStorage;
use parking_lot::Mutex;

use crate::retention::world::{World, claim, config, eventually, frames, hash};

/// A backup of a server, as bytes.
pub fn backed_up(world: &World) -> Vec<u8> {
    let mut bytes = Vec::new();
    world.handle().backup(&mut bytes).unwrap();
    bytes
}

/// Restores into a journal in memory.
pub fn restored(bytes: &[u8]) -> (MemoryStorage, MemoryCheckpoints) {
    let (storage, checkpoints) = (MemoryStorage::new(), MemoryCheckpoints::new());
    restore(bytes, None, &storage.open(), &checkpoints, &mut |_, _| {}).unwrap();
    (storage, checkpoints)
}

#[test]
fn restored_journal_has_the_same_records() {
    let mut world = World::start(config());
    world.claims(60);
    let bytes = backed_up(&world);
    let (storage, checkpoints) = restored(&bytes);
    assert_eq!(frames(&storage.open()), frames(&world.storage.open()));
    assert_eq!(hash(&storage.open(), &checkpoints), world.hash());
    let found = verify_segment(&bytes[..], &mut |_, _| {}).unwrap();
    assert_eq!((found.first, found.tail), (1, world.storage.open().tail().unwrap()));
    assert_eq!(found.verified.state_hash, world.hash());
    // A backup of the restored journal has the same records again.
    let mut again = Vec::new();
    backup(&storage.open(), &checkpoints, 1, &mut again, &mut |_, _| {}).unwrap();
    let (third, _) = restored(&again);
    assert_eq!(frames(&third.open()), frames(&storage.open()));
}

#[test]
fn empty_journal_can_be_backed_up() {
    let (storage, none) = (MemoryStorage::new(), MemoryCheckpoints::new());
    let (bytes, made) = backup(&storage.open(), &none, 1, Vec::new(), &mut |_, _| {}).unwrap();
    assert_eq!((made.trailer.records, made.checkpoint), (0, None));
    let (storage, _) = restored(&bytes);
    assert_eq!(storage.open().tail().unwrap().seq, 0);
}

#[test]
fn backup_of_a_trimmed_journal_contains_a_checkpoint() {
    let mut world = World::start(Config { history: RetentionPolicy::SinceCheckpoint, ..config() });
    world.claims_until_trimmed();
    let bytes = backed_up(&world);
    let (storage, checkpoints) = restored(&bytes);
    assert_eq!(hash(&storage.open(), &checkpoints), world.hash());
    let kept = frames(&storage.open());
    assert!(kept[0].seq > 1);
    assert_eq!(kept, frames(&world.storage.open())[..kept.len()]);
    let found = verify_segment(&bytes[..], &mut |_, _| {}).unwrap();
    assert_eq!((found.first, found.verified.state_hash), (kept[0].seq, world.hash()));
}

#[test]
fn trimmed_journal_without_a_checkpoint_cannot_be_backed_up() {
    let mut world = World::start(Config { history: RetentionPolicy::SinceCheckpoint, ..config() });
    world.claims_until_trimmed();
    world.stop();
    let mut out = Vec::new();
    let none = MemoryCheckpoints::new();
    let refused = backup(&world.storage.open(), &none, 1, &mut out, &mut |_, _| {});
    assert!(matches!(refused, Err(BackupError::Source(Halt::MissingCheckpoint { .. }))));
    assert_eq!(out, [], "a failed backup must not write anything");
}

/// A writer that waits for a signal before each write.
struct ByHand {
    bytes: Arc<Mutex<Vec<u8>>>,
    words: Receiver<()>,
}

impl Write for ByHand {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.words.recv().map_err(io::Error::other)?;
        self.bytes.lock().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn by_hand() -> (ByHand, Sender<()>, Arc<Mutex<Vec<u8>>>) {
    let (say, words) = channel();
    let bytes = Arc::new(Mutex::new(Vec::new()));
    (ByHand { bytes: bytes.clone(), words }, say, bytes)
}

/// Checkpoints are written while a backup is in progress.
#[test]
fn records_are_not_trimmed_during_a_backup() {
    let mut world = World::start(Config { history: RetentionPolicy::SinceCheckpoint, ..config() });
    world.claims_until_trimmed();
    let (out, say, bytes) = by_hand();
    let handle = world.handle();
    let making = std::thread::spawn(move || handle.backup(out));
    say.send(()).unwrap();
    eventually("it does not begin", || !bytes.lock().is_empty());
    let (oldest, end) = (world.oldest(), world.end());
    let checkpoint = world.handle().status().checkpoint_position;
    eventually("there are no more checkpoints", || {
        world.claims(20);
        world.handle().status().checkpoint_position > checkpoint + 200
    });
    assert_eq!(world.oldest(), oldest, "records were trimmed during a backup");
    let more = std::thread::spawn(move || while say.send(()).is_ok() {});
    let made = making.join().unwrap().unwrap();
    more.join().unwrap();
    assert_eq!(made.header.after.seq + 1, oldest);
    assert!(made.header.end.seq <= end, "the backup has later records");
    let (storage, _) = restored(&bytes.lock());
    assert_eq!(storage.open().tail().unwrap(), made.header.end);
    // Trimming continues after the backup.
    eventually("nothing is trimmed any more", || {
        world.claims(20);
        world.oldest() > oldest
    });
}

#[test]
fn failed_write_ends_a_backup_and_releases_its_records() {
    let mut world = World::start(Config { backups_max: 1, ..config() });
    world.claims(10);
    let (out, say, bytes) = by_hand();
    let handle = world.handle();
    let making = std::thread::spawn(move || handle.backup(out));
    say.send(()).unwrap();
    eventually("it does not begin", || !bytes.lock().is_empty());
    let refused = world.handle().backup(io::sink()).unwrap_err();
    assert!(matches!(refused, BackupError::Busy { backups_max: 1 }), "{refused}");
    drop(say);
    assert!(matches!(making.join().unwrap(), Err(BackupError::Writing(_))));
    backed_up(&world);
}

/// Repeated backups during commands, checkpoints and trims are all complete.
#[test]
fn every_backup_under_load_is_sound() {
    let mut world = World::start(Config { history: RetentionPolicy::SinceCheckpoint, ..config() });
    let (handle, enough) = (world.handle(), Arc::new(AtomicBool::new(false)));
    let seen = enough.clone();
    let making = std::thread::spawn(move || {
        let mut made = Vec::new();
        while !seen.load(Ordering::Relaxed) || made.is_empty() {
            let mut bytes = Vec::new();
            handle.backup(&mut bytes).unwrap();
            made.push(bytes);
            // A pause between backups, because nothing is trimmed during one.
            std::thread::sleep(Duration::from_millis(3));
        }
        made
    });
    world.claims_until_trimmed();
    world.claims(100);
    enough.store(true, Ordering::Relaxed);
    let made = making.join().unwrap();
    for bytes in made.iter().step_by(made.len() / 20 + 1).chain(made.last()) {
        let (storage, checkpoints) = restored(bytes);
        hash(&storage.open(), &checkpoints);
    }
    world.stop();
}

#[test]
fn server_continues_on_a_restored_journal() {
    let mut world = World::start(config());
    world.claims(5);
    let (storage, checkpoints) = restored(&backed_up(&world));
    world.storage = storage;
    world.checkpoints = checkpoints;
    world.stop();
    world.start_again(config());
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let reply = runtime.block_on(world.handle().submit(claim("next"))).unwrap();
    assert!(format!("{reply:?}").contains("first: 5"), "{reply:?}");
}
