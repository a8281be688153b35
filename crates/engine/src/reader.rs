//! Old records out of the journal, for those who hold a handle.
//!
//! The embedded journal has one connection, which every append needs: so one reader has its turn at a time, and takes a
//! bounded piece. A hundred who catch up are slower; the writer waits for one piece at the most.

use std::sync::Arc;

use allod_journal::{Journal, JournalError, RecordFrame};
use tokio::sync::Semaphore;

use crate::feed::{Feed, FeedRecord};
use crate::handle::{EngineError, Handle};
use crate::replay::{Halt, decode};

/// The most that one turn takes, unless a single record is larger.
const PIECE_BYTES_MAX: usize = 1 << 20;

/// Why old records cannot be had.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JournalReadError {
    /// They are no longer kept. Everything after `oldest_position` is.
    Trimmed {
        oldest_position: u64,
    },
    Failed(EngineError),
}

impl From<EngineError> for JournalReadError {
    fn from(failure: EngineError) -> JournalReadError {
        JournalReadError::Failed(failure)
    }
}

pub(crate) struct JournalReader {
    journal: Arc<dyn Journal>,
    turn: Arc<Semaphore>,
}

impl JournalReader {
    pub fn new(journal: Arc<dyn Journal>) -> JournalReader {
        JournalReader { journal, turn: Arc::new(Semaphore::new(1)) }
    }

    /// Asks the journal when it is this reader's turn, and makes something of the answer when the turn is over; both on
    /// a thread that may block.
    async fn ask<A: 'static, T: Send + 'static>(
        &self,
        ask: impl FnOnce(&dyn Journal) -> Result<A, JournalError> + Send + 'static,
        make: impl FnOnce(A) -> Result<T, Halt> + Send + 'static,
    ) -> Result<T, JournalReadError> {
        let turn = self.turn.clone().acquire_owned().await.map_err(|_| EngineError::Stopping)?;
        let journal = self.journal.clone();
        let asked = tokio::task::spawn_blocking(move || {
            let answer = ask(&*journal);
            drop(turn);
            answer.map_err(Halt::from).and_then(make).map_err(|halt| unread(&*journal, &halt))
        });
        asked.await.map_err(|_| EngineError::Stopping)?
    }
}

fn unread(journal: &dyn Journal, halt: &Halt) -> JournalReadError {
    let failed = |halt: &Halt| EngineError::Unavailable { what: halt.to_string() }.into();
    match halt {
        Halt::Journal(JournalError::Trimmed { .. }) => match oldest_position(journal) {
            Ok(oldest_position) => JournalReadError::Trimmed { oldest_position },
            Err(halt) => failed(&halt),
        },
        halt => failed(halt),
    }
}

/// The smallest position after which everything is kept.
fn oldest_position(journal: &dyn Journal) -> Result<u64, Halt> {
    match journal.read(journal.oldest()?, 0)?.first() {
        Some(frame) => Ok(record(frame)?.first_position - 1),
        None => Ok(journal.tail()?.position),
    }
}

fn record(frame: &RecordFrame) -> Result<FeedRecord, Halt> {
    Ok(FeedRecord::of_items(frame.tail(frame.hash()), frame.at_ms, decode(frame)?))
}

impl Handle {
    /// Listens to what becomes durable from now on.
    pub fn feed(&self) -> Feed {
        Feed::new(self.shared.clone())
    }

    /// The number of the record from which on to read for everything after this position.
    pub async fn record_after(&self, position: u64) -> Result<u64, JournalReadError> {
        self.ready()?;
        let next = position.saturating_add(1);
        let find = move |journal: &dyn Journal| {
            let seq = journal.seq_of_position(next)?;
            let oldest = seq > 1 && seq == journal.oldest()?;
            let first = if oldest { journal.read(seq, 0)? } else { Vec::new() };
            Ok((seq, first))
        };
        // In the oldest record the position may be missing: then it was in one that is gone.
        let is_there = move |(seq, first): (u64, Vec<RecordFrame>)| match first
            .first()
            .map(record)
            .transpose()?
        {
            Some(first) if first.first_position > next => {
                Err(JournalError::Trimmed { asked: seq - 1, oldest: seq }.into())
            }
            _ => Ok(seq),
        };
        self.reader.ask(find, is_there).await
    }

    /// Records from this one on that reads on this server can already see: at least one if there is one, then no more
    /// than fit in `bytes_max`, and in any case no more than a piece that does not hold up the writer.
    pub async fn read_journal(
        &self,
        from: u64,
        bytes_max: usize,
    ) -> Result<Vec<FeedRecord>, JournalReadError> {
        self.ready()?;
        let last = self.shared.feed.tail().seq;
        if from > last {
            return Ok(Vec::new());
        }
        let bytes_max = bytes_max.min(PIECE_BYTES_MAX);
        let seen = move |frames: Vec<RecordFrame>| {
            frames.iter().take_while(|frame| frame.seq <= last).map(record).collect()
        };
        self.reader.ask(move |journal| journal.read(from, bytes_max), seen).await
    }
}
