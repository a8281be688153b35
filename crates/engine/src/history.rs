//! History queries: what changed, and which claim held a value at a past moment.
//!
//! Answers come from journal records. An index beside the journal finds the records to read. The index is derived: it may be
//! deleted at any time, and is rebuilt from the journal if it is missing, damaged or of another journal. It may lag behind,
//! but it cannot cause wrong answers, because every record that it names is read and checked.
//!
//! - `term`, `posting`: the keys of the index
//! - `memtable`, `segment`, `build`, `index`: the parts of the index, in memory and in files
//! - `indexer`, `indexer_error`: the thread that keeps the index up to date
//! - `lookup`, `records`: from a query to records
//! - `changes`, `value`: the two queries
//! - `complete`: adds fields that events of feature level 1 do not have

mod build;
mod changes;
mod complete;
mod index;
mod indexer;
mod indexer_error;
mod lookup;
mod memtable;
mod posting;
mod records;
mod segment;
mod term;
mod value;

use std::sync::Arc;
use std::thread::Thread;
use std::time::Duration;

use allod_core::value::NotAValue;
use allod_journal::{Journal, JournalError};
use parking_lot::{Mutex, RwLock};
use tokio::sync::{Semaphore, watch};

use crate::config::Config;
use crate::handle::{CommitPoint, SharedState};
use crate::replay::Halt;

pub use changes::{ChangeQuery, HistoryEntry, HistoryPage};
pub(crate) use index::segments_beyond;
pub(crate) use indexer::Indexer;
pub use lookup::HistoryOrder;
pub use value::HistoricalValue;

use index::HistoryIndex;

/// The most concurrent queries; further ones wait. Each reads the journal, which appends need too.
const AT_ONCE: usize = 4;

/// A moment in the past, by position or by time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    Position(u64),
    TimeMs(u64),
}

/// Why a history query has no answer.
#[derive(Debug, thiserror::Error)]
pub enum HistoryError {
    /// Everything after `oldest_position` is available.
    #[error("the history up to position {oldest_position} has been trimmed")]
    Trimmed { oldest_position: u64 },
    #[error("position {asked} is in the future; the journal ends at {end}")]
    PositionUnknown { asked: u64, end: u64 },
    #[error("the requested time is in the future")]
    TimeUnknown,
    #[error("there was no pool '{pool}' at position {position}")]
    PoolUnknown { pool: Arc<str>, position: u64, at: CommitPoint },
    #[error("{error}")]
    NotAValue { error: NotAValue, at: CommitPoint },
    #[error(
        "the query is too wide: it would read more than {history_records_max} records (history_records_max); ask for a smaller value"
    )]
    TooWide { history_records_max: usize },
    /// Retrying helps.
    #[error("the history index has reached record {indexed} of {end}; retry in a moment")]
    Building { indexed: u64, end: u64 },
    #[error("{what}")]
    Unavailable { what: String },
}

impl From<std::io::Error> for HistoryError {
    fn from(error: std::io::Error) -> HistoryError {
        HistoryError::Unavailable { what: format!("the history index cannot be read: {error}") }
    }
}

impl From<JournalError> for HistoryError {
    fn from(error: JournalError) -> HistoryError {
        match error {
            // Trimmed during the query; `HistoryReader::ask` sets the position.
            JournalError::Trimmed { .. } => HistoryError::Trimmed { oldest_position: 0 },
            error => HistoryError::Unavailable { what: error.to_string() },
        }
    }
}

impl From<Halt> for HistoryError {
    fn from(halt: Halt) -> HistoryError {
        HistoryError::Unavailable { what: halt.to_string() }
    }
}

/// The end of the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct IndexPosition {
    pub seq: u64,
    pub position: u64,
}

/// Answers history queries of one engine.
pub struct HistoryReader {
    journal: Arc<dyn Journal>,
    shared: Arc<SharedState>,
    /// `None` until the indexer has opened it.
    index: RwLock<Option<HistoryIndex>>,
    /// Only waiting queries subscribe to this.
    reached: watch::Sender<IndexPosition>,
    /// The indexer's thread, to wake it.
    indexer: Mutex<Option<Thread>>,
    /// Why the indexer does not make progress.
    failed: Mutex<Option<String>>,
    /// The oldest record and its first position, cached.
    oldest: Mutex<(u64, u64)>,
    turns: Semaphore,
    records_max: usize,
    wait: Duration,
}

impl std::fmt::Debug for HistoryReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HistoryReader")
            .field("reached", &*self.reached.borrow())
            .finish_non_exhaustive()
    }
}

impl HistoryReader {
    pub(crate) fn new(
        journal: Arc<dyn Journal>,
        shared: Arc<SharedState>,
        config: &Config,
    ) -> HistoryReader {
        HistoryReader {
            journal,
            shared,
            index: RwLock::new(None),
            reached: watch::Sender::new(IndexPosition::default()),
            indexer: Mutex::new(None),
            failed: Mutex::new(None),
            oldest: Mutex::new((0, 0)),
            turns: Semaphore::new(AT_ONCE),
            records_max: config.history_records_max,
            wait: Duration::from_millis(config.history_wait_ms_max),
        }
    }

    /// A page of changes that match a query.
    pub async fn changes(
        self: &Arc<HistoryReader>,
        ask: ChangeQuery,
    ) -> Result<HistoryPage, HistoryError> {
        self.ask(move |reader, at| reader.find_changes(&ask, at)).await
    }

    /// The state of a value at a moment. `text` is parsed by the kind that the pool had then.
    pub async fn value(
        self: &Arc<HistoryReader>,
        pool: Arc<str>,
        text: String,
        moment: Moment,
    ) -> Result<HistoricalValue, HistoryError> {
        self.ask(move |reader, at| reader.find_value(&pool, &text, moment, at)).await
    }

    /// Runs a query once the index covers everything that is committed now.
    async fn ask<T: Send + 'static>(
        self: &Arc<HistoryReader>,
        answer: impl FnOnce(&HistoryReader, CommitPoint) -> Result<T, HistoryError> + Send + 'static,
    ) -> Result<T, HistoryError> {
        let at = self.shared.read(|snapshot| snapshot.at);
        let turn = async {
            self.covers(at.position).await.map_err(|_| self.late(at))?;
            self.turns.acquire().await.map_err(|_| self.late(at))
        };
        let _turn = match tokio::time::timeout(self.wait, turn).await {
            Ok(turn) => turn?,
            Err(_) => return Err(self.late(at)),
        };
        let reader = self.clone();
        let answered = tokio::task::spawn_blocking(move || match answer(&reader, at) {
            Err(HistoryError::Trimmed { .. }) => {
                let oldest_position = reader.first_kept()? - 1;
                Err(HistoryError::Trimmed { oldest_position })
            }
            answer => answer,
        })
        .await;
        answered.unwrap_or_else(|error| {
            Err(HistoryError::Unavailable { what: format!("the history query failed: {error}") })
        })
    }

    async fn covers(&self, position: u64) -> Result<(), watch::error::RecvError> {
        let mut reached = self.wait_for_index(position);
        reached.wait_for(|reached| reached.position >= position).await.map(drop)
    }

    /// While the returned receiver exists, the indexer does not pause.
    fn wait_for_index(&self, position: u64) -> watch::Receiver<IndexPosition> {
        let reached = self.reached.subscribe();
        if reached.borrow().position < position
            && let Some(thread) = &*self.indexer.lock()
        {
            thread.unpark();
        }
        reached
    }

    fn is_waited_for(&self) -> bool {
        self.reached.receiver_count() > 0
    }

    /// The error if the index does not cover `at` in time.
    fn late(&self, at: CommitPoint) -> HistoryError {
        if let Some(what) = self.failed.lock().clone() {
            return HistoryError::Unavailable { what };
        }
        let reached = *self.reached.borrow();
        match self.journal.tail() {
            Ok(tail) if reached.position < at.position => {
                HistoryError::Building { indexed: reached.seq, end: tail.seq }
            }
            Ok(_) => HistoryError::Unavailable {
                what: "too many history queries at once; retry in a moment".into(),
            },
            Err(error) => error.into(),
        }
    }
}
