//! Reads old records from the journal through a handle.
//!
//! The embedded journal has one connection, which appends need too. So only one reader reads at a time, and at most
//! `PIECE_BYTES_MAX`: an append waits for one such read at most, however many readers catch up.

use std::sync::Arc;

use allod_journal::{Journal, JournalError, RecordFrame};
use tokio::sync::Semaphore;

use crate::feed::{Feed, FeedRecord};
use crate::handle::{EngineError, Handle};
use crate::replay::Halt;

/// The most bytes of one read, unless a single record is larger.
const PIECE_BYTES_MAX: usize = 1 << 20;

/// Why old records cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JournalReadError {
    /// They were trimmed. Everything after `oldest_position` is available.
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

    /// Calls `ask` with the journal, one reader at a time, and then `make` on its result, while the next reader may read.
    /// Both run on a thread that may block.
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

/// The smallest position after which everything is available.
fn oldest_position(journal: &dyn Journal) -> Result<u64, Halt> {
    match journal.read(journal.oldest()?, 0)?.first() {
        Some(frame) => Ok(FeedRecord::decode(frame)?.first_position - 1),
        None => Ok(journal.tail()?.position),
    }
}

impl Handle {
    /// Listens to records committed after this call.
    pub fn feed(&self) -> Feed {
        Feed::new(self.shared.clone())
    }

    /// The number of the record that contains the first position after this one.
    pub async fn record_after(&self, position: u64) -> Result<u64, JournalReadError> {
        self.ready()?;
        let next = position.saturating_add(1);
        let find = move |journal: &dyn Journal| {
            let seq = journal.seq_of_position(next)?;
            let oldest = seq > 1 && seq == journal.oldest()?;
            let first = if oldest { journal.read(seq, 0)? } else { Vec::new() };
            Ok((seq, first))
        };
        // If the oldest record begins after the position, the position was in a trimmed one.
        let is_there = move |(seq, first): (u64, Vec<RecordFrame>)| match first
            .first()
            .map(FeedRecord::decode)
            .transpose()?
        {
            Some(first) if first.first_position > next => {
                Err(JournalError::Trimmed { asked: seq - 1, oldest: seq }.into())
            }
            _ => Ok(seq),
        };
        self.reader.ask(find, is_there).await
    }

    /// Records from this one on, as far as this server has applied them: the first, and further ones within `bytes_max`
    /// (at most `PIECE_BYTES_MAX`).
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
            frames.iter().take_while(|frame| frame.seq <= last).map(FeedRecord::decode).collect()
        };
        self.reader.ask(move |journal| journal.read(from, bytes_max), seen).await
    }
}
