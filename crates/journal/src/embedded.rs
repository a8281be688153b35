//! The journal in a local SQLite file, for one server on one machine.
//!
//! It uses one connection, an exclusive lock, a write-ahead log, and one sync for each append. SQLite was chosen because
//! its file format is very well tested and operators can inspect it. Checkpoints of the state are separate files
//! (`crate::checkpoint`); in this module, "checkpoint" means SQLite's: copying the log into the database.

mod errors;
mod high_water;
mod lock;
mod losses;
mod open;
mod restoring;
mod rows;
mod wal;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rusqlite::Connection;
use rusqlite::config::DbConfig;

use self::errors::while_open;
pub use self::high_water::HIGH_WATER_FILE;
use self::high_water::{DurableTail, MarkWriter};
pub use self::lock::{FolderLock, LOCK_FILE};
pub use self::losses::{LOSSES_FILE, add as add_accepted_loss, list as accepted_losses};
pub use self::open::JOURNAL_FILE;
pub use self::restoring::{RESTORING_FOLDER, Restoring};
use self::rows::Extent;
pub use self::wal::TornTail;
use crate::contract::{
    AppendOutcome, FillSource, Guarantees, Journal, JournalError, LostRecords, RECORD_BYTES,
    ensure_empty, ensure_fills,
};
use crate::frame::{RecordFrame, Tail};

const BODY_BYTES_MAX: usize = 16 << 20;

/// How large the log grows before it is copied into the database. The append that reaches this size waits for the copy.
/// Measured with records of 4 KiB: about 4 ms for one append in 256. With a quarter of this size, 1 ms four times as
/// often; with four times this size, 11 ms. The throughput is the same.
const CHECKPOINT_BYTES: usize = 4 << 20;

/// About what an append writes in addition to its body: the changed pages of the table.
const APPEND_BYTES: usize = 3 * 4096;

/// An open journal, and what opening found at its end.
#[derive(Debug)]
pub struct OpenedJournal {
    pub journal: Embedded,
    /// A write that a crash interrupted. It was never acknowledged and has been discarded.
    pub torn: Option<TornTail>,
}

pub struct Embedded {
    inner: Mutex<Database>,
    /// The last record, for `watch`, so that watchers do not block the connection.
    durable: Arc<DurableTail>,
    /// `None` while the loss of records is not accepted. Declared after `inner`, so that it is dropped after the connection.
    mark: Option<MarkWriter>,
    folder: PathBuf,
    /// Declared last, so that it is dropped last.
    _lock: FolderLock,
}

/// A journal that is open although records may be missing at its end.
#[derive(Debug)]
pub struct IncompleteJournal {
    pub journal: Embedded,
    /// What the high-water mark proves to be missing.
    pub lost: Option<LostRecords>,
}

impl fmt::Debug for Embedded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Embedded").field("last", &self.durable.seq()).finish_non_exhaustive()
    }
}

struct Database {
    db: Connection,
    oldest: u64,
    tail: Tail,
    /// The extent that is stored in the database.
    noted: Extent,
    /// About how much was written to the log since it was last copied into the database.
    wal_bytes: usize,
    /// The fatal error after which every call fails.
    failed: Option<String>,
    /// Nothing is written: records may be missing, and the files are evidence.
    left_alone: bool,
}

impl Embedded {
    /// Opens the journal in `folder`; both are created if missing.
    pub fn open(folder: &Path) -> Result<OpenedJournal, JournalError> {
        open::open(folder)
    }

    /// Opens an existing journal even if the high-water mark proves that it lost records, and changes nothing. It can only
    /// be read.
    pub fn open_incomplete(folder: &Path) -> Result<IncompleteJournal, JournalError> {
        open::open_incomplete(folder)
    }

    /// Makes the present end of the journal its high-water mark: the loss of what was after it is accepted. The caller
    /// removes other witnesses first, because this ends the refusal to start.
    pub fn accept_end(&self) -> Result<(), JournalError> {
        let tail = self.tail()?;
        high_water::replace(&self.folder, &tail).map_err(|error| JournalError::Unusable {
            what: format!("{}: {error}", self.folder.join(HIGH_WATER_FILE).display()),
        })
    }

    fn new(db: Connection, lock: FolderLock, noted: Extent, tail: Tail, folder: &Path) -> Self {
        let inner = Database {
            db,
            oldest: noted.oldest,
            tail,
            noted,
            wal_bytes: 0,
            failed: None,
            left_alone: true,
        };
        Self {
            inner: Mutex::new(inner),
            durable: DurableTail::new(tail),
            mark: None,
            folder: folder.to_owned(),
            _lock: lock,
        }
    }

    /// Writes the high-water mark from now on. `known` is the present one.
    fn keep_mark(&mut self, known: Option<Tail>) {
        self.mark = Some(MarkWriter::start(&self.folder, known, self.durable.clone()));
    }
}

impl Database {
    fn check(&self) -> Result<(), JournalError> {
        match &self.failed {
            None => Ok(()),
            Some(what) => Err(JournalError::Fatal { what: what.clone() }),
        }
    }

    fn ensure_writable(&self) -> Result<(), JournalError> {
        self.check()?;
        if self.left_alone {
            let what = "records may be missing, so it can only be read".to_owned();
            return Err(JournalError::Unusable { what });
        }
        Ok(())
    }

    /// Remembers a fatal error: after it nothing may be retried.
    fn note(&mut self, error: JournalError) -> JournalError {
        if let JournalError::Fatal { what } = &error {
            self.failed = Some(what.clone());
            // Closing must not write again after a failed write.
            if let Err(error) =
                self.db.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)
            {
                tracing::warn!(%error, "cannot disable SQLite's checkpoint on close");
            }
        }
        error
    }

    fn insert(&mut self, frame: &RecordFrame) -> Result<Tail, JournalError> {
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

    /// Adds records in one transaction. If the journal is empty, the first may have any number.
    fn insert_many(&mut self, frames: &[RecordFrame]) -> Result<(), JournalError> {
        self.ensure_writable()?;
        let mut extent = self.extent();
        if let Some(first) = frames.first().filter(|_| self.tail == Tail::default()) {
            extent.oldest = first.seq;
        }
        let mut tail = self.tail;
        let mut hashes = Vec::with_capacity(frames.len());
        for frame in frames {
            ensure_fills(frame, &tail)?;
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

    /// After a failed insert: makes sure that the transaction was rolled back. If it was not, the error is fatal.
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

    /// Stores the extent. Called before the log is copied into the database.
    fn note_extent(&mut self) -> rusqlite::Result<()> {
        let extent = self.extent();
        if extent != self.noted {
            rows::write_extent(&self.db, &extent)?;
            self.noted = extent;
        }
        Ok(())
    }

    /// Copies the log into the database once it is large enough; SQLite then reuses the log from its start.
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
            // Not an error: the records are durable in the log, which keeps growing.
            Err(JournalError::Full { what }) => {
                tracing::warn!(what, "no room to copy the write-ahead log into the database");
                Ok(())
            }
            Err(error) => Err(self.note(error)),
        }
    }

    /// Deletes one slice of the records to trim. False if there is nothing left to delete.
    fn trim_slice(&mut self, upto: u64) -> Result<bool, JournalError> {
        self.ensure_writable()?;
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

impl Drop for Database {
    /// SQLite copies the log into the database when it closes, so the extent must be stored first.
    fn drop(&mut self) {
        if self.failed.is_none()
            && !self.left_alone
            && let Err(error) = self.note_extent()
        {
            tracing::warn!(%error, "cannot store the extent of the journal");
        }
    }
}

impl Journal for Embedded {
    fn tail(&self) -> Result<Tail, JournalError> {
        let inner = self.inner.lock();
        inner.check()?;
        Ok(inner.tail)
    }

    fn append(&self, expected: &Tail, frame: &RecordFrame) -> AppendOutcome {
        if let Err(broken) = frame.follows(expected) {
            return AppendOutcome::Unknown(broken.into());
        }
        if frame.body.len() > BODY_BYTES_MAX {
            let bytes = frame.body.len();
            return AppendOutcome::Unknown(JournalError::TooLarge {
                bytes,
                bytes_max: BODY_BYTES_MAX,
            });
        }
        let mut inner = self.inner.lock();
        if let Err(error) = inner.ensure_writable() {
            return AppendOutcome::Unknown(error);
        }
        // Comparing in memory is enough: the file is locked, so no other process can have appended.
        if inner.tail != *expected {
            return AppendOutcome::Conflict(inner.tail);
        }
        let outcome = inner.insert(frame);
        drop(inner);
        match outcome {
            Ok(tail) => {
                self.durable.advance(tail);
                AppendOutcome::Committed(tail)
            }
            Err(error) => AppendOutcome::Unknown(error),
        }
    }

    fn read(&self, from: u64, bytes_max: usize) -> Result<Vec<RecordFrame>, JournalError> {
        let mut inner = self.inner.lock();
        inner.check()?;
        let (from, oldest, last) = (from.max(1), inner.oldest, inner.tail.seq);
        if from < oldest {
            return Err(JournalError::Trimmed { asked: from, oldest });
        }
        let mut frames: Vec<RecordFrame> = Vec::new();
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

    /// Holds the connection once for all records instead of waiting for it each time.
    fn read_each(&self, seqs: &[u64], bytes_max: usize) -> Result<Vec<RecordFrame>, JournalError> {
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
        // The lock is released between slices, so that appends do not wait for a long trim.
        while self.inner.lock().trim_slice(upto)? {}
        Ok(())
    }

    fn fill(&self, next: &mut FillSource<'_>) -> Result<Tail, JournalError> {
        ensure_empty(&self.tail()?)?;
        loop {
            let frames = next()?;
            let mut inner = self.inner.lock();
            if frames.is_empty() {
                self.durable.advance(inner.tail);
                return Ok(inner.tail);
            }
            let too_large = frames.iter().find(|frame| frame.body.len() > BODY_BYTES_MAX);
            if let Some(RecordFrame { body, .. }) = too_large {
                let (bytes, bytes_max) = (body.len(), BODY_BYTES_MAX);
                return Err(JournalError::TooLarge { bytes, bytes_max });
            }
            inner.insert_many(&frames)?;
        }
    }

    fn watch(&self, seq: u64, wait_max: Duration) {
        self.durable.wait(seq, wait_max);
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
