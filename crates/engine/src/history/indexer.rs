//! The thread that keeps the index up to date with the journal.
//!
//! It does not delay commits: it reads the journal in small pieces, and merges files on another thread. If its folder or the
//! journal is unavailable it retries, and only history queries are affected. Its memory stays within its limit.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use allod_journal::{BrokenChain, JournalError, RecordFrame, Tail, private};
use tracing::{error, info, warn};

use super::build;
use super::complete::lacks;
use super::index::HistoryIndex;
use super::indexer_error::{IndexerError, RetryBackoff};
use super::segment::{RecordMark, Segment};
use super::{HistoryReader, IndexPosition};
use crate::feed::{Feed, FeedRecord, Lagged};
use crate::metrics::metrics_struct;
use crate::replay::Halt;

/// How many bytes of journal are read at a time.
const READ_BYTES: usize = 256 << 10;
/// How long it lets records accumulate unless a query waits, because waking up for each record costs too much.
const NAP: Duration = Duration::from_millis(5);
/// How long it sleeps when nothing happens.
const IDLE: Duration = Duration::from_millis(200);
/// How often it checks up to which record the journal was trimmed.
const TRIM_EVERY: Duration = Duration::from_secs(2);
/// How soon it notices a stop while it waits for a retry.
const STOP_WITHIN: Duration = Duration::from_millis(20);
/// The delay before a failed merge is retried. The unmerged files remain usable.
const MERGE_AGAIN: Duration = Duration::from_secs(10);

/// The running thread. Dropping it stops it.
#[derive(Debug)]
pub(crate) struct Indexer {
    thread: Option<JoinHandle<()>>,
    stop: Arc<AtomicBool>,
    reader: Arc<HistoryReader>,
}

/// Where the latest records came from.
enum RecordSource {
    Nothing,
    OfFeed,
    /// The indexer lags so far behind that the feed no longer has them.
    OfJournal,
}

/// The segments that are being merged, and the thread.
type RunningMerge = (Vec<Arc<Segment>>, JoinHandle<io::Result<Segment>>);

struct IndexerThread {
    reader: Arc<HistoryReader>,
    feed: Feed,
    folder: PathBuf,
    postings_max: usize,
    stop: Arc<AtomicBool>,
    merging: Option<RunningMerge>,
    /// When a merge last failed.
    unmerged: Option<Instant>,
    trimmed: Instant,
    /// When it started, until the index is up to date for the first time.
    began: Option<Instant>,
    metrics: IndexerMetrics,
}

metrics_struct!(IndexerMetrics {
    records: counter("allod_history_records_total", "Records added to the history index"),
    segments: gauge("allod_history_segments", "Files of the history index"),
    bytes: gauge("allod_history_bytes", "Size of the files of the history index"),
    behind: gauge(
        "allod_history_behind_positions",
        "Committed positions that are not yet in the history index"
    ),
});

impl Indexer {
    pub(crate) fn start(
        reader: Arc<HistoryReader>,
        folder: PathBuf,
        postings_max: usize,
    ) -> io::Result<Indexer> {
        // Before the thread, which a server that stops early may never start. All files of the folder belong to the index.
        private::tighten(&folder, |_| true);
        let stop = Arc::new(AtomicBool::new(false));
        let mut work = IndexerThread {
            feed: Feed::new(reader.shared.clone()),
            reader: reader.clone(),
            folder,
            postings_max,
            stop: stop.clone(),
            merging: None,
            unmerged: None,
            trimmed: Instant::now(),
            began: None,
            metrics: IndexerMetrics::new(),
        };
        let thread = std::thread::Builder::new().name("allod-history".into());
        let thread = thread.spawn(move || {
            if let Err(error) = work.run() {
                error!(%error, "the history index has failed; history queries are refused");
                *work.reader.failed.lock() = Some(error.to_string());
            }
            if let Some((_, thread)) = work.merging.take() {
                drop(thread.join());
            }
        })?;
        Ok(Indexer { thread: Some(thread), stop, reader })
    }
}

impl Drop for Indexer {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            error!("the thread of the history index panicked");
        }
        // Releases the lock of the folder, although handles may still exist.
        *self.reader.index.write() = None;
    }
}

impl IndexerThread {
    fn stopping(&self) -> bool {
        self.stop.load(Ordering::Acquire)
    }

    fn run(&mut self) -> Result<(), IndexerError> {
        // Waits for the replay of the journal; before that there are no queries.
        while !self.reader.shared.is_ready() {
            if self.stopping() {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        *self.reader.indexer.lock() = Some(std::thread::current());
        self.began = Some(Instant::now());
        let mut failures = RetryBackoff::default();
        while !self.stopping() {
            match self.turn() {
                Ok(goes_on) => {
                    if failures.end() {
                        info!("the history index has recovered");
                        *self.reader.failed.lock() = None;
                    }
                    if !goes_on {
                        break;
                    }
                }
                Err(error) if error.is_transient() => {
                    let (log, pause) = failures.add();
                    if log {
                        warn!(%error, "the history index cannot be updated; retrying");
                    }
                    *self.reader.failed.lock() = Some(error.to_string());
                    self.measure();
                    self.pause(pause);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Waits, unless the engine stops.
    fn pause(&self, pause: Duration) {
        let until = Instant::now() + pause;
        while !self.stopping() && Instant::now() < until {
            std::thread::sleep(STOP_WITHIN.min(pause));
        }
    }

    /// Adds new records, or waits for them. False if there will be no more.
    fn turn(&mut self) -> Result<bool, IndexerError> {
        if self.reader.index.read().is_none() {
            let index = HistoryIndex::open(&self.folder, &*self.reader.journal)?;
            let (segments, from) = (index.segments.len(), index.next_seq);
            info!(segments, from, "updating the history index");
            *self.reader.index.write() = Some(index);
        }
        // If the memtable could not be written, nothing may be added to it.
        self.write_out()?;
        match self.add_next()? {
            RecordSource::OfFeed => {
                self.nap();
                return Ok(true);
            }
            RecordSource::OfJournal => return Ok(true),
            RecordSource::Nothing => {}
        }
        if let Some(began) = self.began.take() {
            let reached = *self.reader.reached.borrow();
            let seconds = began.elapsed().as_secs_f64();
            info!(record = reached.seq, seconds, "the history index is up to date");
        }
        self.forget_trimmed()?;
        let seen = self.reader.reached.borrow().seq;
        Ok(self.feed.wait_blocking(seen, IDLE).is_ok())
    }

    fn nap(&self) {
        // A query that starts to wait after this check wakes the thread.
        if !self.reader.is_waited_for() {
            std::thread::park_timeout(NAP);
        }
    }

    /// Adds the next records.
    fn add_next(&mut self) -> Result<RecordSource, IndexerError> {
        let seen = match &*self.reader.index.read() {
            Some(index) => index.next_seq - 1,
            None => return Ok(RecordSource::Nothing),
        };
        let (records, taken) = match self.feed.after(seen) {
            Ok(records) => (records, RecordSource::OfFeed),
            Err(Lagged { .. }) => match self.read_journal(seen + 1)? {
                Some(records) => (records, RecordSource::OfJournal),
                None => return Ok(RecordSource::OfJournal),
            },
        };
        for record in &records {
            self.add_completed(record)?;
            self.metrics.records.increment(1);
        }
        self.measure();
        if records.is_empty() {
            return Ok(RecordSource::Nothing);
        }
        self.tend()?;
        Ok(taken)
    }

    /// Sets the gauge of the lag.
    fn measure(&self) {
        let reached = self.reader.reached.borrow().position;
        let behind = self.feed.tail().position.saturating_sub(reached);
        self.metrics.behind.set(behind as f64);
    }

    /// Reads records from the journal. `None`: the journal has been trimmed past `from`.
    fn read_journal(&mut self, from: u64) -> Result<Option<Vec<Arc<FeedRecord>>>, IndexerError> {
        let frames = match self.reader.journal.read(from, READ_BYTES) {
            Ok(frames) => frames,
            // Trimmed faster than we read.
            Err(JournalError::Trimmed { oldest, .. }) => {
                self.reset(oldest);
                return Ok(None);
            }
            Err(error) => return Err(error.into()),
        };
        let hash = self.reader.index.read().as_ref().and_then(|index| index.last_hash);
        if let (Some(hash), Some(first)) = (hash, frames.first())
            && hash != first.prev
        {
            return Err(Halt::Forked(BrokenChain::Fork { seq: first.seq }).into());
        }
        let record = |frame: &RecordFrame| Ok(Arc::new(FeedRecord::decode(frame)?));
        // Records that are not yet applied must not be found.
        let last = self.feed.tail().seq;
        let frames = frames.iter().take_while(|frame| frame.seq <= last);
        frames.map(record).collect::<Result<_, IndexerError>>().map(Some)
    }

    fn add_completed(&mut self, record: &FeedRecord) -> Result<(), IndexerError> {
        if record.entries.iter().flat_map(|entry| &entry.events).any(lacks) {
            let mut entries: Vec<_> =
                record.changes().map(|(at, entry)| (at, entry.clone())).collect();
            self.reader.complete(record.first_position - 1, &mut entries)?;
            let entries = entries.into_iter().map(|(_, entry)| entry).collect();
            self.add(&FeedRecord { entries, ..record.clone() });
        } else {
            self.add(record);
        }
        Ok(())
    }

    fn add(&mut self, record: &FeedRecord) {
        let Tail { seq, position, hash, .. } = record.tail;
        if let Some(index) = &mut *self.reader.index.write() {
            let at_ms = record.entries.last().map_or(0, |entry| entry.at_ms);
            index.last_ms = index.last_ms.max(at_ms);
            let mark = RecordMark { seq, position, at_ms: index.last_ms };
            let events = record.entries.iter().flat_map(|entry| &entry.events);
            index.memtable.add(index.seed, mark, hash, events);
            (index.next_seq, index.last_hash) = (seq + 1, Some(hash));
        }
        self.reader.reached.send_replace(IndexPosition { seq, position });
    }

    /// Empties the index, because the journal has been trimmed past its end.
    fn reset(&mut self, oldest: u64) {
        if let Some(index) = &mut *self.reader.index.write() {
            index.forget_before(oldest);
            index.segments.clear();
            index.memtable = Default::default();
            (index.next_seq, index.last_hash) = (oldest, None);
        }
    }

    /// Writes and merges files if due.
    fn tend(&mut self) -> Result<(), IndexerError> {
        self.write_out()?;
        if let Err(error) = self.merge() {
            warn!(%error, "cannot merge files of the history index; will retry");
            self.unmerged = Some(Instant::now());
        }
        if let Some(index) = &*self.reader.index.read() {
            self.metrics.segments.set(index.segments.len() as f64);
            let bytes: u64 = index.segments.iter().map(|segment| segment.header.bytes()).sum();
            self.metrics.bytes.set(bytes as f64);
        }
        Ok(())
    }

    /// Writes the memtable to a file once it is full.
    fn write_out(&self) -> io::Result<()> {
        let is_due = |index: &HistoryIndex| index.memtable.postings() >= self.postings_max;
        if !self.reader.index.read().as_ref().is_some_and(is_due) {
            return Ok(());
        }
        if let Some(index) = &mut *self.reader.index.write() {
            index.keep_folder()?;
        }
        let written = match &*self.reader.index.read() {
            Some(index) => index.memtable.write(&index.folder, index.seed)?,
            None => None,
        };
        if let (Some(segment), Some(index)) = (written, &mut *self.reader.index.write()) {
            index.segments.push(Arc::new(segment));
            index.memtable = Default::default();
        }
        Ok(())
    }

    /// Finishes a merge, and starts the next one.
    fn merge(&mut self) -> io::Result<()> {
        let mut index = self.reader.index.write();
        let Some(index) = &mut *index else { return Ok(()) };
        if self.merging.as_ref().is_some_and(|(_, thread)| thread.is_finished())
            && let Some((parts, thread)) = self.merging.take()
        {
            let panicked = |_| io::Error::other("merging the history index panicked");
            index.replace(&parts, thread.join().map_err(panicked)??);
        }
        if self.merging.is_none()
            && self.unmerged.is_none_or(|at| at.elapsed() >= MERGE_AGAIN)
            && let Some(parts) = index.due(self.postings_max)
        {
            let (folder, to_merge) = (index.folder.clone(), parts.clone());
            let thread = std::thread::Builder::new().name("allod-history-merge".into());
            let thread = thread.spawn(move || build::merge(&folder, &to_merge))?;
            self.merging = Some((parts, thread));
        }
        Ok(())
    }

    fn forget_trimmed(&mut self) -> Result<(), IndexerError> {
        if self.trimmed.elapsed() >= TRIM_EVERY {
            self.trimmed = Instant::now();
            let oldest = self.reader.journal.oldest()?;
            if let Some(index) = &mut *self.reader.index.write() {
                index.forget_before(oldest);
            }
            self.tend()?;
        }
        Ok(())
    }
}
