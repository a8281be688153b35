//! The high-water mark: a small file with the last record that is known to be durable, apart from the journal itself.
//!
//! A write-ahead log that is cut short is still valid, so the journal alone cannot show that its last records are missing:
//! after a disk that lied about a sync, or an incomplete copy. The mark can. It is written in the background, at most once a
//! second and when the journal is closed, and always after its record was synced. So after a crash it is never ahead of an
//! intact journal, and at most about a second behind it.
//!
//! The file has two slots, which are written in turn, so that an interrupted write leaves the other one.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use crate::frame::{Hash, Tail};
use crate::private;

pub const HIGH_WATER_FILE: &str = "high-water";

/// The last byte is the format's version.
const MAGIC: &[u8; 8] = b"allodhw1";
const FIELD_BYTES: usize = 8 + 8 + 32 + 8 + 8;
const SLOT_BYTES: usize = FIELD_BYTES + 32;
/// In different blocks of a disk.
const SLOTS_AT: [u64; 2] = [0, 4096];
/// How long records accumulate before the mark is written.
const MARK_EVERY: Duration = Duration::from_secs(1);

fn encode(tail: &Tail) -> Vec<u8> {
    let mut slot = Vec::with_capacity(SLOT_BYTES);
    slot.extend_from_slice(MAGIC);
    slot.extend_from_slice(&tail.seq.to_le_bytes());
    slot.extend_from_slice(&tail.hash.0);
    slot.extend_from_slice(&tail.position.to_le_bytes());
    slot.extend_from_slice(&tail.epoch.to_le_bytes());
    let hash = blake3::hash(&slot);
    slot.extend_from_slice(hash.as_bytes());
    slot
}

fn decode(slot: &[u8]) -> Option<Tail> {
    let (fields, hash) = slot.get(..SLOT_BYTES)?.split_at(FIELD_BYTES);
    let rest = fields.strip_prefix(MAGIC)?;
    if blake3::hash(fields).as_bytes() != hash {
        return None;
    }
    let (seq, rest) = rest.split_first_chunk()?;
    let (hash, rest) = rest.split_first_chunk()?;
    let (position, rest) = rest.split_first_chunk()?;
    let (epoch, _) = rest.split_first_chunk()?;
    Some(Tail {
        seq: u64::from_le_bytes(*seq),
        hash: Hash(*hash),
        position: u64::from_le_bytes(*position),
        epoch: u64::from_le_bytes(*epoch),
    })
}

/// The mark in a data folder. `None` if there is none, or if it cannot be read: it is only a witness.
pub fn read(folder: &Path) -> Option<Tail> {
    let path = folder.join(HIGH_WATER_FILE);
    let bytes = match fs::read(&path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
        Err(error) => {
            tracing::warn!(path = %path.display(), %error, "cannot read the high-water mark of the journal");
            return None;
        }
    };
    let slots = SLOTS_AT.map(|at| bytes.get(at as usize..).and_then(decode));
    let newest = slots.into_iter().flatten().max_by_key(|tail| tail.seq);
    if newest.is_none() {
        tracing::warn!(path = %path.display(), "the high-water mark of the journal is damaged; it is replaced");
    }
    newest
}

/// Replaces the mark, also by a lower one.
pub fn replace(folder: &Path, tail: &Tail) -> io::Result<()> {
    let unfinished = folder.join(format!("{HIGH_WATER_FILE}.tmp"));
    let mut file = private::create_file(&unfinished)?;
    for at in SLOTS_AT {
        // The space of both slots is reserved now, so that a full disk does not matter later.
        file.write_all_at(&encode(tail), at)?;
    }
    file.flush()?;
    file.sync_all()?;
    fs::rename(&unfinished, folder.join(HIGH_WATER_FILE))?;
    File::open(folder)?.sync_all()
}

/// The last durable record, for everything that waits for one.
#[derive(Debug, Default)]
pub struct DurableTail {
    state: Mutex<DurableState>,
    grown: Condvar,
    stopping: Condvar,
}

#[derive(Debug, Default)]
struct DurableState {
    tail: Tail,
    stop: bool,
}

impl DurableTail {
    pub fn new(tail: Tail) -> Arc<DurableTail> {
        let state = Mutex::new(DurableState { tail, stop: false });
        Arc::new(DurableTail { state, ..DurableTail::default() })
    }

    pub fn seq(&self) -> u64 {
        self.state.lock().tail.seq
    }

    /// The journal is durable up to `tail`.
    pub fn advance(&self, tail: Tail) {
        let mut state = self.state.lock();
        if tail.seq > state.tail.seq {
            state.tail = tail;
        }
        drop(state);
        self.grown.notify_all();
    }

    /// Waits for a record after `seq`, at most `wait_max`.
    pub fn wait(&self, seq: u64, wait_max: Duration) {
        let mut state = self.state.lock();
        if state.tail.seq <= seq {
            self.grown.wait_for(&mut state, wait_max);
        }
    }

    /// Waits for a record after `seq`, and then lets more of them accumulate. True: the journal is being closed.
    fn wait_to_mark(&self, seq: u64) -> (Tail, bool) {
        let mut state = self.state.lock();
        while state.tail.seq <= seq && !state.stop {
            self.grown.wait(&mut state);
        }
        if !state.stop {
            self.stopping.wait_for(&mut state, MARK_EVERY);
        }
        (state.tail, state.stop)
    }

    fn stop(&self) {
        self.state.lock().stop = true;
        self.grown.notify_all();
        self.stopping.notify_all();
    }
}

/// Writes the mark in the background. Dropping it writes the last one.
#[derive(Debug)]
pub struct MarkWriter {
    durable: Arc<DurableTail>,
    thread: Option<JoinHandle<()>>,
}

impl MarkWriter {
    /// `known` is the mark in the folder, which must not be ahead of the journal. If it cannot be written, there is none.
    pub fn start(folder: &Path, known: Option<Tail>, durable: Arc<DurableTail>) -> MarkWriter {
        let path = folder.join(HIGH_WATER_FILE);
        let started = match known {
            Some(known) => Ok(known),
            None => {
                let tail = durable.state.lock().tail;
                replace(folder, &tail).map(|()| tail)
            }
        };
        let started = started.and_then(|known| {
            let file = private::open_file(&path)?;
            let durable = durable.clone();
            let thread = std::thread::Builder::new().name("allod-mark".into());
            thread.spawn(move || run(&durable, &file, known))
        });
        let thread = match started {
            Ok(thread) => Some(thread),
            Err(error) => {
                tracing::warn!(path = %path.display(), %error, "the journal has no high-water mark");
                None
            }
        };
        MarkWriter { durable, thread }
    }
}

impl Drop for MarkWriter {
    fn drop(&mut self) {
        self.durable.stop();
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::warn!("the thread of the high-water mark panicked");
        }
    }
}

fn run(durable: &DurableTail, file: &File, mut known: Tail) {
    let mut slots = SLOTS_AT.into_iter().cycle();
    let mut failed = false;
    loop {
        let (tail, stop) = durable.wait_to_mark(known.seq);
        if tail.seq > known.seq {
            let at = slots.next().unwrap_or_default();
            // Overwrites a block in place, so there is no metadata to sync and appends are not disturbed.
            match file.write_all_at(&encode(&tail), at).and_then(|()| file.sync_data()) {
                Ok(()) => (known, failed) = (tail, false),
                Err(error) if !failed => {
                    tracing::warn!(%error, "cannot write the high-water mark of the journal; retrying");
                    failed = true;
                }
                Err(_) => {}
            }
        }
        if stop {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tail(seq: u64) -> Tail {
        Tail { seq, hash: Hash([seq as u8; 32]), position: 10 * seq, epoch: 3 }
    }

    #[test]
    fn an_interrupted_write_leaves_the_other_slot() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(read(folder.path()), None);
        replace(folder.path(), &tail(4)).unwrap();
        let path = folder.path().join(HIGH_WATER_FILE);
        let file = private::open_file(&path).unwrap();
        file.write_all_at(&encode(&tail(9)), SLOTS_AT[1]).unwrap();
        assert_eq!(read(folder.path()), Some(tail(9)));
        for changed in 0..SLOT_BYTES {
            let at = SLOTS_AT[1] + changed as u64;
            file.write_all_at(&[encode(&tail(9))[changed] ^ 1], at).unwrap();
            assert_eq!(read(folder.path()), Some(tail(4)), "byte {changed}");
            file.write_all_at(&[encode(&tail(9))[changed]], at).unwrap();
        }
        file.set_len(50).unwrap();
        assert_eq!(read(folder.path()), None);
        replace(folder.path(), &tail(2)).unwrap();
        assert_eq!(read(folder.path()), Some(tail(2)));
    }

    #[test]
    fn the_mark_follows_the_journal_and_never_precedes_it() {
        let folder = tempfile::tempdir().unwrap();
        let durable = DurableTail::new(tail(1));
        let writer = MarkWriter::start(folder.path(), None, durable.clone());
        assert_eq!(read(folder.path()), Some(tail(1)));
        for seq in 2..50 {
            durable.advance(tail(seq));
            assert!(read(folder.path()).is_some_and(|known| known.seq <= seq));
        }
        drop(writer);
        assert_eq!(read(folder.path()), Some(tail(49)));
        let writer = MarkWriter::start(folder.path(), Some(tail(49)), durable.clone());
        durable.advance(tail(50));
        drop(writer);
        assert_eq!(read(folder.path()), Some(tail(50)));
    }
}
