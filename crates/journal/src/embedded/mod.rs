//! The journal in a local SQLite file, for one server on one machine.
//!
//! One connection, an exclusive lock, a write-ahead log, and one sync for each append. SQLite was chosen because it is
//! the best tested file format there is, and because an operator can open it. Not here: checkpoints of the state, which
//! are files of their own (`crate::checkpoint`).

mod errors;
mod lock;
mod open;
mod restoring;
mod rows;
mod wal;

use std::fmt;
use std::path::Path;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use rusqlite::Connection;
use rusqlite::config::DbConfig;

use self::errors::while_open;
use self::lock::FolderLock;
pub use self::lock::LOCK_FILE;
pub use self::open::JOURNAL_FILE;
pub use self::restoring::{RESTORING_FOLDER, Restoring};
use self::rows::Extent;
pub use self::wal::Torn;
use crate::contract::{
    Append, Guarantees, Journal, JournalError, RECORD_BYTES, Source, fills, must_be_empty,
};
use crate::frame::{Frame, Tail};

const BODY_BYTES_MAX: usize = 16 << 20;

/// How much is written to the log before it is copied into the database, which the append that comes last waits for.
/// Measured with records of 4 KiB: some 4 ms for one in 256; a quarter of it waits 1 ms four times as often, four times
/// as much waits 11 ms, and the throughput of all three is the same within the noise.
const CHECKPOINT_BYTES: usize = 4 << 20;

/// About what an append writes besides its body: the pages of the table that change.
const APPEND_BYTES: usize = 3 * 4096;

/// An open journal, and what was found at its end.
#[derive(Debug)]
pub struct Opened {
    pub journal: Embedded,
    /// A write that a crash cut off. It was never acknowledged, and is gone now.
    pub torn: Option<Torn>,
}

pub struct Embedded {
    inner: Mutex<Inner>,
    /// The last record's number, for those who watch, so that they do not hold up the connection.
    last: Mutex<u64>,
    grown: Condvar,
    /// Dropped after the connection, which stands in `inner` above.
    _lock: FolderLock,
}

impl fmt::Debug for Embedded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Embedded").field("last", &*self.last.lock()).finish_non_exhaustive()
    }
}

struct Inner {
    db: Connection,
    oldest: u64,
    tail: Tail,
    /// What is stored as the journal's extent.
    noted: Extent,
    /// Written to the log since it was last copied into the database, about.
    wal_bytes: usize,
    /// What ended it all.
    failed: Option<String>,
}

impl Embedded {
    /// Opens the journal in `folder`, and makes both if there are none.
    pub fn open(folder: &Path) -> Result<Opened, JournalError> {
        open::open(folder)
    }

    fn new(db: Connection, lock: FolderLock, noted: Extent, tail: Tail) -> Self {
        let inner = Inner { db, oldest: noted.oldest, tail, noted, wal_bytes: 0, failed: None };
        Self {
            inner: Mutex::new(inner),
            last: Mutex::new(tail.seq),
            grown: Condvar::new(),
            _lock: lock,
        }
    }
}

impl Inner {
    fn check(&self) -> Result<(), JournalError> {
        match &self.failed {
            None => Ok(()),
            Some(what) => Err(JournalError::Fatal { what: what.clone() }),
        }
    }

    /// Remembers an error after which nothing may be tried again.
    fn note(&mut self, error: JournalError) -> JournalError {
        if let JournalError::Fatal { what } = &error {
            self.failed = Some(what.clone());
            // Closing must not try once more what has just failed.
            if let Err(error) =
                self.db.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)
            {
                tracing::warn!(%error, "cannot keep the last checkpoint from being made");
            }
        }
        error
    }

    fn insert(&mut self, frame: &Frame) -> Result<Tail, JournalError> {
        let hash = frame.hash();
        if let Err(error) = rows::insert(&self.db, frame, &hash) {
            let error = while_open(&error, frame.seq);
            return Err(self.settle(error));
        }
        self.tail = frame.tail(hash);
        self.wal_bytes += frame.body.len() + APPEND_BYTES;
        self.checkpoint_if_due()?;
        Ok(self.tail)
    }

    /// Adds records in one transaction. The first may have any number when there is none yet.
    fn insert_many(&mut self, frames: &[Frame]) -> Result<(), JournalError> {
        self.check()?;
        let mut extent = self.extent();
        if let Some(first) = frames.first().filter(|_| self.tail == Tail::default()) {
            extent.oldest = first.seq;
        }
        let mut tail = self.tail;
        let mut hashes = Vec::with_capacity(frames.len());
        for frame in frames {
            fills(frame, &tail)?;
            let hash = frame.hash();
            hashes.push(hash);
            tail = frame.tail(hash);
            self.wal_bytes += frame.body.len() + RECORD_BYTES;
        }
        (extent.last, extent.hash) = (tail.seq, tail.hash);
        let inserted = rows::insert_many(&self.db, frames.iter().zip(&hashes), &extent);
        if let Err(error) = inserted {
            let error = while_open(&error, self.tail.seq + 1);
            return Err(self.settle(error));
        }
        (self.oldest, self.tail, self.noted) = (extent.oldest, tail, extent);
        self.checkpoint_if_due()
    }

    /// After an insert that failed: makes sure that it left nothing behind.
    fn settle(&mut self, error: JournalError) -> JournalError {
        let last = rows::bounds(&self.db).map(|bounds| bounds.map_or(0, |(_, last)| last));
        match last {
            Ok(last) if last == self.tail.seq && self.db.is_autocommit() => self.note(error),
            Ok(last) => {
                let kept = self.tail.seq;
                let what = format!("{error}; then the last record was {last} and not {kept}");
                self.note(JournalError::Fatal { what })
            }
            Err(then) => self.note(JournalError::Fatal { what: format!("{error}; then {then}") }),
        }
    }

    fn extent(&self) -> Extent {
        Extent { oldest: self.oldest, last: self.tail.seq, hash: self.tail.hash }
    }

    /// To be done before the log is copied into the database.
    fn note_extent(&mut self) -> rusqlite::Result<()> {
        let extent = self.extent();
        if extent != self.noted {
            rows::write_extent(&self.db, &extent)?;
            self.noted = extent;
        }
        Ok(())
    }

    /// Copies the log into the database when it has grown enough, so that it is written from its start again.
    fn checkpoint_if_due(&mut self) -> Result<(), JournalError> {
        if self.wal_bytes < CHECKPOINT_BYTES {
            return Ok(());
        }
        self.wal_bytes = 0;
        let outcome = self.note_extent().and_then(|()| {
            let mut statement = self.db.prepare_cached("PRAGMA wal_checkpoint(PASSIVE)")?;
            statement.query_row([], |_| Ok(()))
        });
        match outcome.map_err(|error| while_open(&error, self.tail.seq)) {
            Ok(()) => Ok(()),
            // What was appended is safe in the log, which goes on growing for as long as it can.
            Err(JournalError::Full { what }) => {
                tracing::warn!(what, "no room to copy the write-ahead log into the database");
                Ok(())
            }
            Err(error) => Err(self.note(error)),
        }
    }

    /// Deletes one slice of what is to be trimmed. False when nothing is left to do.
    fn trim_slice(&mut self, upto: u64) -> Result<bool, JournalError> {
        self.check()?;
        let upto = upto.min(self.tail.seq.saturating_sub(1));
        if upto < self.oldest {
            return Ok(false);
        }
        let deleted = rows::slice_end(&self.db, self.oldest, upto).and_then(|last| {
            let extent = Extent { oldest: last + 1, ..self.extent() };
            rows::delete_before(&self.db, &extent)?;
            Ok(extent)
        });
        match deleted.map_err(|error| while_open(&error, self.oldest)) {
            Ok(extent) => {
                self.oldest = extent.oldest;
                self.noted = extent;
            }
            Err(error) => return Err(self.note(error)),
        }
        self.wal_bytes += CHECKPOINT_BYTES / 4;
        self.checkpoint_if_due()?;
        Ok(true)
    }
}

impl Drop for Inner {
    /// SQLite copies the log into the database when it closes it.
    fn drop(&mut self) {
        if self.failed.is_none()
            && let Err(error) = self.note_extent()
        {
            tracing::warn!(%error, "cannot note the journal's extent");
        }
    }
}

impl Journal for Embedded {
    fn tail(&self) -> Result<Tail, JournalError> {
        let inner = self.inner.lock();
        inner.check()?;
        Ok(inner.tail)
    }

    fn append(&self, expected: &Tail, frame: &Frame) -> Append {
        if let Err(broken) = frame.follows(expected) {
            return Append::Unknown(broken.into());
        }
        if frame.body.len() > BODY_BYTES_MAX {
            let bytes = frame.body.len();
            return Append::Unknown(JournalError::TooLarge { bytes, bytes_max: BODY_BYTES_MAX });
        }
        let mut inner = self.inner.lock();
        if let Err(error) = inner.check() {
            return Append::Unknown(error);
        }
        // Nobody else can have written: the file is locked for as long as it is open. So this is the comparison.
        if inner.tail != *expected {
            return Append::Conflict(inner.tail);
        }
        let outcome = inner.insert(frame);
        drop(inner);
        match outcome {
            Ok(tail) => {
                *self.last.lock() = tail.seq;
                self.grown.notify_all();
                Append::Committed(tail)
            }
            Err(error) => Append::Unknown(error),
        }
    }

    fn read(&self, from: u64, bytes_max: usize) -> Result<Vec<Frame>, JournalError> {
        let mut inner = self.inner.lock();
        inner.check()?;
        let (from, oldest, last) = (from.max(1), inner.oldest, inner.tail.seq);
        if from < oldest {
            return Err(JournalError::Trimmed { asked: from, oldest });
        }
        let mut frames: Vec<Frame> = Vec::new();
        if from > last {
            return Ok(frames);
        }
        let mut bytes = 0;
        let outcome = rows::each(&inner.db, from, last, |frame, _| {
            bytes += RECORD_BYTES + frame.body.len();
            let fits = bytes <= bytes_max || frames.is_empty();
            if fits {
                frames.push(frame);
            }
            fits && bytes < bytes_max
        });
        outcome.map_err(|error| inner.note(error))?;
        Ok(frames)
    }

    /// All of them while the connection is held once: each time, one might wait for an append.
    fn read_each(&self, seqs: &[u64], bytes_max: usize) -> Result<Vec<Frame>, JournalError> {
        let mut inner = self.inner.lock();
        inner.check()?;
        let (mut frames, mut bytes) = (Vec::new(), 0);
        for &seq in seqs.iter().take_while(|seq| **seq <= inner.tail.seq) {
            let (seq, oldest) = (seq.max(1), inner.oldest);
            if seq < oldest {
                return Err(JournalError::Trimmed { asked: seq, oldest });
            }
            let mut found = None;
            let outcome = rows::each(&inner.db, seq, seq, |frame, _| {
                found = Some(frame);
                true
            });
            if let Err(error) = outcome {
                return Err(inner.note(error));
            }
            let Some(frame) = found else { break };
            bytes += RECORD_BYTES + frame.body.len();
            if bytes > bytes_max && !frames.is_empty() {
                break;
            }
            frames.push(frame);
        }
        Ok(frames)
    }

    fn oldest(&self) -> Result<u64, JournalError> {
        let inner = self.inner.lock();
        inner.check()?;
        Ok(inner.oldest)
    }

    fn trim(&self, upto: u64) -> Result<(), JournalError> {
        // The lock is let go between slices: appends do not wait for a long trim.
        while self.inner.lock().trim_slice(upto)? {}
        Ok(())
    }

    fn fill(&self, next: &mut Source<'_>) -> Result<Tail, JournalError> {
        must_be_empty(&self.tail()?)?;
        loop {
            let frames = next()?;
            let mut inner = self.inner.lock();
            if frames.is_empty() {
                *self.last.lock() = inner.tail.seq;
                self.grown.notify_all();
                return Ok(inner.tail);
            }
            let too_large = frames.iter().find(|frame| frame.body.len() > BODY_BYTES_MAX);
            if let Some(Frame { body, .. }) = too_large {
                let (bytes, bytes_max) = (body.len(), BODY_BYTES_MAX);
                return Err(JournalError::TooLarge { bytes, bytes_max });
            }
            inner.insert_many(&frames)?;
        }
    }

    fn watch(&self, seq: u64, wait_max: Duration) {
        let mut last = self.last.lock();
        if *last <= seq {
            self.grown.wait_for(&mut last, wait_max);
        }
    }

    fn guarantees(&self) -> Guarantees {
        Guarantees {
            name: "embedded",
            durable: true,
            replicated: false,
            shared: false,
            note: None,
            body_bytes_max: BODY_BYTES_MAX,
        }
    }

    fn seq_of_position(&self, position: u64) -> Result<u64, JournalError> {
        let inner = self.inner.lock();
        inner.check()?;
        let (mut low, mut high) = (inner.oldest, inner.tail.seq + 1);
        while low < high {
            let middle = low + (high - low) / 2;
            match rows::position(&inner.db, middle)? {
                Some(end) if end < position => low = middle + 1,
                _ => high = middle,
            }
        }
        Ok(low)
    }
}

#[cfg(test)]
mod tests;
