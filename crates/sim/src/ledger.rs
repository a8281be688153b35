//! What the journal really holds, read behind the writers' backs, and what follows from it.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use allod_core::invariant;
use allod_core::state::State;
use allod_engine::state_hash;
use allod_journal::memory::MemoryStorage;
use allod_journal::{Hash, Journal, RecordFrame, Tail};
use allod_record::{Cause, Item};

use crate::chaos::Cut;

/// One record, and what the journal up to it adds up to.
#[derive(Debug)]
pub struct Record {
    pub frame: RecordFrame,
    pub tail: Tail,
    pub writer: Arc<str>,
    /// Its entries that a client asked for: all but ticks.
    pub asked: Vec<u64>,
    pub state_hash: Hash,
}

#[derive(Debug, Default)]
pub struct Ledger {
    pub records: Vec<Record>,
    pub state: State,
    pub level: u32,
    /// Every record that was ever lost.
    pub lost: HashSet<Hash>,
    /// Who writes in which epoch.
    writers: BTreeMap<u64, Arc<str>>,
}

impl Ledger {
    pub fn tail(&self) -> Tail {
        self.records.last().map(|record| record.tail).unwrap_or_default()
    }

    pub fn state_hash(&self) -> Hash {
        state_hash(&self.state, self.level)
    }

    /// The record with this number, if it has this hash.
    pub fn find(&self, tail: &Tail) -> Option<&Record> {
        let index = usize::try_from(tail.seq).ok()?.checked_sub(1)?;
        self.records.get(index).filter(|record| record.tail == *tail)
    }

    /// Takes in what is new. Returns from which record on.
    pub fn sync(&mut self, storage: &MemoryStorage) -> Result<usize, String> {
        let new = self.records.len();
        let frames = storage.open().read(new as u64 + 1, usize::MAX);
        for frame in frames.map_err(|error| error.to_string())? {
            self.take_in(frame)?;
        }
        Ok(new)
    }

    /// Forgets what the journal has lost.
    pub fn cut(&mut self, cut: &Cut) -> Result<(), String> {
        self.lost.extend(&cut.lost);
        let kept = usize::try_from(cut.kept.seq).unwrap_or(usize::MAX);
        let lost = std::mem::take(&mut self.lost);
        let records = std::mem::take(&mut self.records);
        *self = Ledger { lost, ..Ledger::default() };
        records.into_iter().take(kept).try_for_each(|record| self.take_in(record.frame))
    }

    fn take_in(&mut self, frame: RecordFrame) -> Result<(), String> {
        let seq = frame.seq;
        frame.follows(&self.tail()).map_err(|broken| broken.to_string())?;
        let items = allod_record::decode(&frame.body).map_err(|error| error.to_string())?;
        let mut asked = Vec::new();
        for item in &items {
            match item {
                Item::Entry(entry) => {
                    if entry.at_ms < self.state.now_ms {
                        return Err(format!("time goes back in record {seq}"));
                    }
                    self.state.apply_entry(entry.at_ms, &entry.events);
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
                    self.state.position += 1;
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
            return Err(format!("record {seq} is of epoch {}, which nobody began", frame.epoch));
        };
        let (tail, state_hash) = (frame.tail(frame.hash()), self.state_hash());
        // A writer that does not know what became of its record may append the very same again.
        self.lost.remove(&tail.hash);
        self.records.push(Record { frame, tail, writer, asked, state_hash });
        Ok(())
    }
}
