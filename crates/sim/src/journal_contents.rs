//! The actual contents of the journal, read independently of the writers, and the state that follows from it.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use allod_core::invariant;
use allod_core::state::State;
use allod_engine::{apply_item, decode_record, state_hash};
use allod_journal::memory::MemoryStorage;
use allod_journal::{Hash, Journal, RecordFrame, Tail};
use allod_record::{Cause, Item};

use crate::chaos::LostRecords;

/// A record and the state of the journal up to it.
#[derive(Debug)]
pub struct JournalRecord {
    pub frame: RecordFrame,
    pub tail: Tail,
    pub writer: Arc<str>,
    /// The positions of its entries that clients requested: all but ticks.
    pub asked: Vec<u64>,
    pub state_hash: Hash,
}

#[derive(Debug, Default)]
pub struct JournalContents {
    pub records: Vec<JournalRecord>,
    pub state: State,
    pub level: u32,
    /// The hashes of all lost records.
    pub lost: HashSet<Hash>,
    /// The writer of each epoch.
    writers: BTreeMap<u64, Arc<str>>,
}

impl JournalContents {
    pub fn tail(&self) -> Tail {
        self.records.last().map(|record| record.tail).unwrap_or_default()
    }

    pub fn state_hash(&self) -> Hash {
        state_hash(&self.state, self.level)
    }

    /// The record with this sequence number and hash.
    pub fn find(&self, tail: &Tail) -> Option<&JournalRecord> {
        let index = usize::try_from(tail.seq).ok()?.checked_sub(1)?;
        self.records.get(index).filter(|record| record.tail == *tail)
    }

    /// Reads new records. Returns the index of the first one.
    pub fn sync(&mut self, storage: &MemoryStorage) -> Result<usize, String> {
        let new = self.records.len();
        let frames = storage.open().read(new as u64 + 1, usize::MAX);
        for frame in frames.map_err(|error| error.to_string())? {
            self.take_in(frame)?;
        }
        Ok(new)
    }

    /// Removes the records that the journal has lost.
    pub fn drop_lost(&mut self, lost: &LostRecords) -> Result<(), String> {
        self.lost.extend(&lost.lost);
        let kept = usize::try_from(lost.kept.seq).unwrap_or(usize::MAX);
        let lost = std::mem::take(&mut self.lost);
        let records = std::mem::take(&mut self.records);
        *self = JournalContents { lost, ..JournalContents::default() };
        records.into_iter().take(kept).try_for_each(|record| self.take_in(record.frame))
    }

    fn take_in(&mut self, frame: RecordFrame) -> Result<(), String> {
        let seq = frame.seq;
        frame.follows(&self.tail()).map_err(|broken| broken.to_string())?;
        let items = decode_record(&frame).map_err(|error| error.to_string())?;
        let mut asked = Vec::new();
        for item in &items {
            match item {
                Item::Entry(entry) => {
                    if entry.at_ms < self.state.now_ms {
                        return Err(format!("time goes back in record {seq}"));
                    }
                    apply_item(&mut self.state, item);
                    let wrong = invariant::check(&self.state);
                    if !wrong.is_empty() {
                        return Err(format!("after {}: {wrong:?}", self.state.position));
                    }
                    if entry.cause != Cause::Tick {
                        asked.push(self.state.position);
                    }
                }
                Item::Level { level } => {
                    self.level = *level;
                    apply_item(&mut self.state, item);
                }
                Item::Epoch { writer } => {
                    if self.writers.insert(frame.epoch, writer.clone()).is_some() {
                        return Err(format!("epoch {} begins twice", frame.epoch));
                    }
                }
            }
        }
        if self.state.position != frame.position {
            return Err(format!("record {seq} does not end at position {}", frame.position));
        }
        let Some(writer) = self.writers.get(&frame.epoch).cloned() else {
            return Err(format!(
                "record {seq} is of epoch {}, which has no beginning",
                frame.epoch
            ));
        };
        let (tail, state_hash) = (frame.tail(frame.hash()), self.state_hash());
        // A writer that does not know the outcome of an append may repeat it.
        self.lost.remove(&tail.hash);
        self.records.push(JournalRecord { frame, tail, writer, asked, state_hash });
        Ok(())
    }
}
