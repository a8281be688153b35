//! Making backups of a journal that is being written.

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

use crate::keeping::world::{World, claim, config, eventually, frames, hash};

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
fn a_whole_journal_is_restored_record_by_record() {
    let mut world = World::start(config());
    world.claims(60);
    let bytes = backed_up(&world);
    let (storage, checkpoints) = restored(&bytes);
    assert_eq!(frames(&storage.open()), frames(&world.storage.open()));
    assert_eq!(hash(&storage.open(), &checkpoints), world.hash());
    let found = verify_segment(&bytes[..], &mut |_, _| {}).unwrap();
    assert_eq!((found.first, found.tail), (1, world.storage.open().tail().unwrap()));
    assert_eq!(found.verified.state_hash, world.hash());
    // A backup of what was restored is the same again, record for record.
    let mut again = Vec::new();
    backup(&storage.open(), &checkpoints, 1, &mut again, &mut |_, _| {}).unwrap();
    let (third, _) = restored(&again);
    assert_eq!(frames(&third.open()), frames(&storage.open()));
}

#[test]
fn an_empty_journal_can_be_backed_up_too() {
    let (storage, none) = (MemoryStorage::new(), MemoryCheckpoints::new());
    let (bytes, made) = backup(&storage.open(), &none, 1, Vec::new(), &mut |_, _| {}).unwrap();
    assert_eq!((made.trailer.records, made.checkpoint), (0, None));
    let (storage, _) = restored(&bytes);
    assert_eq!(storage.open().tail().unwrap().seq, 0);
}

#[test]
fn a_trimmed_journal_has_its_checkpoint_in_the_backup() {
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
fn without_its_checkpoint_a_trimmed_journal_cannot_be_backed_up() {
    let mut world = World::start(Config { history: RetentionPolicy::SinceCheckpoint, ..config() });
    world.claims_until_trimmed();
    world.stop();
    let mut out = Vec::new();
    let none = MemoryCheckpoints::new();
    let refused = backup(&world.storage.open(), &none, 1, &mut out, &mut |_, _| {});
    assert!(matches!(refused, Err(BackupError::Source(Halt::MissingCheckpoint { .. }))));
    assert_eq!(out, [], "nothing is written when nothing can be");
}

/// Writes on when it is told to.
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

/// Checkpoints, and trims if nothing keeps it from that, while a backup is under way.
#[test]
fn what_a_backup_reads_is_not_trimmed_under_it() {
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
    assert_eq!(world.oldest(), oldest, "it was trimmed while a backup was being made");
    let more = std::thread::spawn(move || while say.send(()).is_ok() {});
    let made = making.join().unwrap().unwrap();
    more.join().unwrap();
    assert_eq!(made.header.after.seq + 1, oldest);
    assert!(made.header.end.seq <= end, "what came later is not in it");
    let (storage, _) = restored(&bytes.lock());
    assert_eq!(storage.open().tail().unwrap(), made.header.end);
    // Once it is done, trimming goes on.
    eventually("nothing is trimmed any more", || {
        world.claims(20);
        world.oldest() > oldest
    });
}

#[test]
fn a_reader_that_goes_away_ends_its_backup_and_lets_go() {
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

/// Backups again and again while commands, checkpoints and trims go on: each is whole.
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
            // Nothing is trimmed while one is being made; so there must be times when none is.
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
fn a_server_goes_on_from_what_was_restored() {
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
