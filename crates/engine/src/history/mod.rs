//! What happened, and who had what when: questions about the past, answered from the journal alone.
//!
//! The answers come from journal records. Which records to read is found in an index beside the journal, which holds nothing
//! that the journal does not: it may be deleted at any time, and is made again from the journal when it is missing, damaged
//! or of another journal. So it can be late or slow, but it cannot be wrong: every record that it points at is read and
//! looked at again.
//!
//! - `term`, `parties`, `posting`: what a record is found by
//! - `recent`, `segment`, `build`, `shelf`: the parts of the index, in memory and in files
//! - `indexer`, `stuck`: the thread that keeps up with the journal, and what may keep it from that
//! - `lookup`, `records`: from a question to records
//! - `changes`, `value`: the two questions
//! - `complete`: what events of feature level 1 do not say

mod build;
mod changes;
mod complete;
mod indexer;
mod lookup;
mod parties;
mod posting;
mod recent;
mod records;
mod segment;
mod shelf;
mod stuck;
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
use crate::handle::{At, Shared};
use crate::replay::Halt;

pub use changes::{Ask, Change, Changes};
pub(crate) use indexer::Indexer;
pub use lookup::Order;
pub use parties::Parties;
pub use value::ValueThen;

use shelf::Shelf;

/// How many questions are worked on at once; more wait. Each reads the journal, which appends need, too.
const AT_ONCE: usize = 4;

/// A moment of the journal, as people name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    Position(u64),
    TimeMs(u64),
}

/// Why a question about the past has no answer.
#[derive(Debug, thiserror::Error)]
pub enum Unanswered {
    /// Everything after `oldest_position` is kept.
    #[error("what happened up to position {oldest_position} is no longer kept")]
    Trimmed { oldest_position: u64 },
    #[error("position {asked} is in the future; the journal ends at {end}")]
    PositionUnknown { asked: u64, end: u64 },
    #[error("the time asked for is in the future")]
    TimeUnknown,
    #[error("there was no pool '{pool}' at position {position}")]
    PoolUnknown { pool: Arc<str>, position: u64, at: At },
    #[error("{error}")]
    NotAValue { error: NotAValue, at: At },
    #[error(
        "the question is too wide: more than {history_records_max} records would have to be read (history_records_max); ask for a smaller value"
    )]
    TooWide { history_records_max: usize },
    /// It will be answered later.
    #[error("the history index has come to record {indexed} of {end}; try again in a moment")]
    Building { indexed: u64, end: u64 },
    #[error("{what}")]
    Unavailable { what: String },
}

impl From<std::io::Error> for Unanswered {
    fn from(error: std::io::Error) -> Unanswered {
        Unanswered::Unavailable { what: format!("the history index cannot be read: {error}") }
    }
}

impl From<JournalError> for Unanswered {
    fn from(error: JournalError) -> Unanswered {
        match error {
            // It was trimmed while we looked; `Past::ask` says what is left.
            JournalError::Trimmed { .. } => Unanswered::Trimmed { oldest_position: 0 },
            error => Unanswered::Unavailable { what: error.to_string() },
        }
    }
}

impl From<Halt> for Unanswered {
    fn from(halt: Halt) -> Unanswered {
        Unanswered::Unavailable { what: halt.to_string() }
    }
}

/// How far the index has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Reached {
    pub seq: u64,
    pub position: u64,
}

/// The past of one engine.
pub struct Past {
    journal: Arc<dyn Journal>,
    shared: Arc<Shared>,
    /// `None` until what is in the folder has been looked at.
    shelf: RwLock<Option<Shelf>>,
    /// Only those who wait for the index to come further listen to this.
    reached: watch::Sender<Reached>,
    /// Its thread, which may be napping.
    indexer: Mutex<Option<Thread>>,
    /// Why the index does not go on at present, or never will.
    failed: Mutex<Option<String>>,
    /// The oldest record, and the first position that it has.
    oldest: Mutex<(u64, u64)>,
    turns: Semaphore,
    records_max: usize,
    wait: Duration,
}

impl std::fmt::Debug for Past {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Past").field("reached", &*self.reached.borrow()).finish_non_exhaustive()
    }
}

impl Past {
    pub(crate) fn new(journal: Arc<dyn Journal>, shared: Arc<Shared>, config: &Config) -> Past {
        Past {
            journal,
            shared,
            shelf: RwLock::new(None),
            reached: watch::Sender::new(Reached::default()),
            indexer: Mutex::new(None),
            failed: Mutex::new(None),
            oldest: Mutex::new((0, 0)),
            turns: Semaphore::new(AT_ONCE),
            records_max: config.history_records_max,
            wait: Duration::from_millis(config.history_wait_ms_max),
        }
    }

    /// Changes that fit a question, a page of them.
    pub async fn changes(self: &Arc<Past>, ask: Ask) -> Result<Changes, Unanswered> {
        self.ask(move |past, at| past.find_changes(&ask, at)).await
    }

    /// What could be said of a value at a moment. `text` is the value as people of that time wrote it.
    pub async fn value(
        self: &Arc<Past>,
        pool: Arc<str>,
        text: String,
        moment: Moment,
    ) -> Result<ValueThen, Unanswered> {
        self.ask(move |past, at| past.find_value(&pool, &text, moment, at)).await
    }

    /// Answers once the index covers everything that is committed now.
    async fn ask<T: Send + 'static>(
        self: &Arc<Past>,
        answer: impl FnOnce(&Past, At) -> Result<T, Unanswered> + Send + 'static,
    ) -> Result<T, Unanswered> {
        let at = self.shared.look(|snapshot| snapshot.at);
        let turn = async {
            self.covers(at.position).await.map_err(|_| self.late(at))?;
            self.turns.acquire().await.map_err(|_| self.late(at))
        };
        let _turn = match tokio::time::timeout(self.wait, turn).await {
            Ok(turn) => turn?,
            Err(_) => return Err(self.late(at)),
        };
        let past = self.clone();
        let answered = tokio::task::spawn_blocking(move || match answer(&past, at) {
            Err(Unanswered::Trimmed { .. }) => {
                let oldest_position = past.first_kept()? - 1;
                Err(Unanswered::Trimmed { oldest_position })
            }
            answer => answer,
        })
        .await;
        answered.unwrap_or_else(|error| {
            Err(Unanswered::Unavailable {
                what: format!("the question could not be answered: {error}"),
            })
        })
    }

    async fn covers(&self, position: u64) -> Result<(), watch::error::RecvError> {
        let mut reached = self.wait_for_index(position);
        reached.wait_for(|reached| reached.position >= position).await.map(drop)
    }

    /// For as long as the answer lives, the index hurries.
    fn wait_for_index(&self, position: u64) -> watch::Receiver<Reached> {
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

    /// Why the index does not cover this yet.
    fn late(&self, at: At) -> Unanswered {
        if let Some(what) = self.failed.lock().clone() {
            return Unanswered::Unavailable { what };
        }
        let reached = *self.reached.borrow();
        match self.journal.tail() {
            Ok(tail) if reached.position < at.position => {
                Unanswered::Building { indexed: reached.seq, end: tail.seq }
            }
            Ok(_) => Unanswered::Unavailable {
                what: "too many questions about the past are being answered; try again in a moment"
                    .into(),
            },
            Err(error) => error.into(),
        }
    }
}
