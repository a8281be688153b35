//! Applies the records of other writers.

use std::sync::atomic::Ordering;

use super::{BatchWriter, ensure_transient};
use crate::feed::FeedRecord;
use crate::handle::EngineError;
use crate::replay::{Halt, READ_BYTES, apply_item};
use allod_journal::{BrokenChain, Journal, JournalError, Tail};
use allod_record::Item;

impl BatchWriter {
    /// Brings the committed state up to everything that any writer had acknowledged before this call. The outer `Err` means
    /// that the engine must stop.
    pub fn confirm_tail(&mut self) -> Result<Result<(), EngineError>, Halt> {
        match self.ask(|journal| journal.tail()) {
            Ok(tail) if tail == self.replica.tail => Ok(Ok(())),
            Ok(tail) => self.follow(Some(tail)).map(Ok),
            Err(error) => {
                Ok(Err(EngineError::Unavailable { what: ensure_transient(error)?.to_string() }))
            }
        }
    }

    /// Applies the records of other writers while there is nothing to write.
    pub fn catch_up(&mut self) -> Result<(), Halt> {
        if let Err(failure) = self.confirm_tail()? {
            self.shared.availability.unreachable(failure.to_string());
        }
        Ok(())
    }

    /// Applies the records of other writers, at least up to `end` or the current tail. Our next record begins an epoch.
    pub(super) fn follow(&mut self, end: Option<Tail>) -> Result<(), Halt> {
        let mut end = match end {
            Some(end) => end,
            None => self.retry_while_unavailable(|journal| journal.tail())?,
        };
        loop {
            if end.seq < self.replica.tail.seq
                || (end.seq == self.replica.tail.seq && end.hash != self.replica.tail.hash)
            {
                return Err(Halt::Forked(BrokenChain::Fork { seq: end.seq.max(1) }));
            }
            if end.seq == self.replica.tail.seq {
                return Ok(());
            }
            let from = self.replica.tail.seq + 1;
            let frames = self.retry_while_unavailable(|journal| journal.read(from, READ_BYTES))?;
            if frames.is_empty() {
                // The journal has become shorter.
                end = self.retry_while_unavailable(|journal| journal.tail())?;
                continue;
            }
            self.leading = false;
            self.shared.leading.store(false, Ordering::Relaxed);
            for frame in &frames {
                let items = self.replica.apply_record(frame)?;
                let tail = self.replica.tail;
                let events = |item: &Item| match item {
                    Item::Entry(entry) => entry.events.len(),
                    Item::Level { .. } | Item::Epoch { .. } => 0,
                };
                self.shared.apply(&tail, &items, events, apply_item);
                let record = FeedRecord::of_items(tail, frame.at_ms, items);
                self.shared.note_authority_changes(&record.entries);
                self.shared.feed.push(&tail, record.entries);
                self.shared.epoch.store(tail.epoch, Ordering::Relaxed);
            }
            if self.replica.tail.seq >= end.seq {
                return Ok(());
            }
        }
    }

    /// Calls the journal until it is available.
    fn retry_while_unavailable<T>(
        &mut self,
        ask: impl Fn(&dyn Journal) -> Result<T, JournalError>,
    ) -> Result<T, Halt> {
        for attempt in 0.. {
            match self.ask(&ask) {
                Err(error @ JournalError::Unavailable { .. }) => {
                    self.shared.availability.failed(&error);
                    if !(self.pause)(attempt) {
                        break;
                    }
                }
                answer => {
                    if attempt > 0 {
                        self.shared.availability.restored();
                    }
                    return Ok(answer?);
                }
            }
        }
        Err(Halt::Stopped)
    }
}
