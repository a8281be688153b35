//! A writer takes in what others have written.

use std::sync::atomic::Ordering;

use allod_journal::{BrokenChain, Journal, JournalError, Tail};
use allod_record::Item;

use super::{BatchWriter, ensure_transient};
use crate::feed::FeedRecord;
use crate::handle::EngineError;
use crate::replay::{Halt, decode, ensure_end_position};

impl BatchWriter {
    /// Makes sure that the committed copy has everything that any writer had acknowledged before this call. `Err` means
    /// that nothing more can be written.
    pub fn confirm_tail(&mut self) -> Result<Result<(), EngineError>, Halt> {
        match self.journal.tail() {
            Ok(tail) if tail == self.tail => Ok(Ok(())),
            Ok(tail) => self.follow(Some(tail)).map(Ok),
            Err(error) => {
                Ok(Err(EngineError::Unavailable { what: ensure_transient(error)?.to_string() }))
            }
        }
    }

    /// Takes in what others have written, when there is nothing of our own to write.
    pub fn catch_up(&mut self) -> Result<(), Halt> {
        if let Err(failure) = self.confirm_tail()? {
            self.shared.degrade(Some(failure.to_string()));
        }
        Ok(())
    }

    /// Takes in what other writers have appended, up to `end` at least, or to where the journal ends now. The next record
    /// of ours says that we are back.
    pub(super) fn follow(&mut self, end: Option<Tail>) -> Result<(), Halt> {
        const READ_BYTES: usize = 4 << 20;
        let mut end = match end {
            Some(end) => end,
            None => self.retry_while_unavailable(|journal| journal.tail())?,
        };
        loop {
            if end.seq < self.tail.seq || (end.seq == self.tail.seq && end.hash != self.tail.hash) {
                return Err(Halt::Forked(BrokenChain::Fork { seq: end.seq.max(1) }));
            }
            if end.seq == self.tail.seq {
                return Ok(());
            }
            let from = self.tail.seq + 1;
            let frames = self.retry_while_unavailable(|journal| journal.read(from, READ_BYTES))?;
            if frames.is_empty() {
                // It has become shorter since.
                end = self.retry_while_unavailable(|journal| journal.tail())?;
                continue;
            }
            self.leading = false;
            self.shared.leading.store(false, Ordering::Relaxed);
            for frame in &frames {
                frame.follows(&self.tail).map_err(Halt::Forked)?;
                let items = decode(frame)?;
                let tail = frame.tail(frame.hash());
                for item in &items {
                    match item {
                        Item::Entry(entry) => {
                            self.state.apply_entry(entry.at_ms, &entry.events);
                            self.shared
                                .apply(&tail, std::iter::once((entry.at_ms, &*entry.events)));
                        }
                        Item::Level { level } => {
                            self.level = self.level.max(*level);
                            self.state.position += 1;
                            self.shared.skip_to(&tail, self.state.position);
                        }
                        Item::Epoch { .. } => self.shared.skip_to(&tail, self.state.position),
                    }
                }
                ensure_end_position(frame, &self.state)?;
                self.shared
                    .feed
                    .push(&tail, FeedRecord::of_items(tail, frame.at_ms, items).entries);
                self.bytes += frame.body.len() as u64;
                self.tail = tail;
                self.shared.epoch.store(tail.epoch, Ordering::Relaxed);
            }
            if self.tail.seq >= end.seq {
                return Ok(());
            }
        }
    }

    /// Asks the journal until it answers.
    fn retry_while_unavailable<T>(
        &mut self,
        ask: impl Fn(&dyn Journal) -> Result<T, JournalError>,
    ) -> Result<T, Halt> {
        for attempt in 0.. {
            match ask(&*self.journal) {
                Err(error @ JournalError::Unavailable { .. }) => {
                    self.shared.degrade(Some(error.to_string()));
                    if !(self.pause)(attempt) {
                        break;
                    }
                }
                answer => {
                    if attempt > 0 {
                        self.shared.degrade(None);
                    }
                    return Ok(answer?);
                }
            }
        }
        Err(Halt::Stopped)
    }
}
