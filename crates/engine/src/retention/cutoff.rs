//! Up to which record a journal may be trimmed, by age and by size.
//!
//! Both limits have a slack of a sixteenth, so that each run has a useful amount to archive and trim: records may stay a
//! sixteenth longer than the age limit, and trimming reduces the journal to a sixteenth below the size limit.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use allod_journal::contract::RECORD_BYTES;
use allod_journal::{Journal, JournalError};

use crate::backup::PIECE_BYTES;

pub(super) const SLACK: u64 = 16;

/// How much is read to find the first record with a time.
const FIRST_BYTES: usize = 64 << 10;

/// The last record that is older than `ms_max`; 0 while the oldest one is within the slack.
pub(super) fn older_than(
    journal: &dyn Journal,
    ms_max: u64,
    now_ms: u64,
) -> Result<u64, JournalError> {
    let wanted_from = now_ms.saturating_sub(ms_max);
    let (mut low, mut high) = (journal.oldest()?, journal.tail()?.seq.saturating_add(1));
    let at_ms = |seq| Ok::<_, JournalError>(journal.read(seq, 0)?.first().map(|frame| frame.at_ms));
    // The first records of a journal have time 0, because no command had been decided yet.
    let first = journal.read(low, FIRST_BYTES)?;
    match first.iter().map(|frame| frame.at_ms).find(|at_ms| *at_ms > 0) {
        Some(oldest_ms) if oldest_ms < wanted_from.saturating_sub(ms_max / SLACK) => {}
        _ => return Ok(0),
    }
    // Times never decrease in a journal, so a binary search works.
    while low < high {
        let middle = low + (high - low) / 2;
        match at_ms(middle)? {
            Some(at_ms) if at_ms < wanted_from => low = middle + 1,
            _ => high = middle,
        }
    }
    Ok(low - 1)
}

/// The size of the journal, in buckets of records. Measured by reading the journal once, and then what was added.
#[derive(Debug, Default)]
pub(super) struct JournalSizes {
    runs: VecDeque<SizeBucket>,
    /// The first record that is not yet counted.
    next: u64,
}

#[derive(Debug)]
struct SizeBucket {
    last: u64,
    bytes: u64,
}

impl JournalSizes {
    /// Counts the records since the last call.
    pub(super) fn measure(
        &mut self,
        journal: &dyn Journal,
        bytes_max: u64,
        stop: &AtomicBool,
    ) -> Result<(), JournalError> {
        let run_bytes = (bytes_max / (4 * SLACK)).max(1);
        self.next = self.next.max(journal.oldest()?);
        while !stop.load(Ordering::Relaxed) {
            let started = Instant::now();
            let frames = journal.read(self.next, PIECE_BYTES)?;
            let Some(last) = frames.last().map(|frame| frame.seq) else { break };
            for frame in &frames {
                let bytes = (RECORD_BYTES + frame.body.len()) as u64;
                match self.runs.back_mut().filter(|run| run.bytes < run_bytes) {
                    Some(run) => (run.last, run.bytes) = (frame.seq, run.bytes + bytes),
                    None => self.runs.push_back(SizeBucket { last: frame.seq, bytes }),
                }
            }
            self.next = last + 1;
            // Leaves the journal to appends for half of the time.
            std::thread::sleep(started.elapsed());
        }
        Ok(())
    }

    /// The last record to trim so that the rest is below `bytes_max`; 0 if nothing has to be trimmed.
    pub(super) fn beyond(&self, bytes_max: u64) -> u64 {
        let mut bytes: u64 = self.runs.iter().map(|run| run.bytes).sum();
        if bytes <= bytes_max {
            return 0;
        }
        let wanted = bytes_max - bytes_max / SLACK;
        let mut upto = 0;
        for run in &self.runs {
            if bytes <= wanted {
                break;
            }
            bytes -= run.bytes;
            upto = run.last;
        }
        upto
    }

    /// Records up to this one were trimmed.
    pub(super) fn forget(&mut self, upto: u64) {
        while self.runs.front().is_some_and(|run| run.last <= upto) {
            self.runs.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use allod_journal::memory::MemoryStorage;
    use allod_journal::suite::{committed, next_frame};
    use allod_journal::{RecordFrame, Tail};

    use super::*;

    /// A record each second, each of 1,000 bytes.
    fn journal(count: u64) -> MemoryStorage {
        let storage = MemoryStorage::new();
        let (journal, mut tail) = (storage.open(), Tail::default());
        for n in 1..=count {
            let body = vec![0; 1000 - RECORD_BYTES];
            let at_ms = if n == 1 { 0 } else { n * 1000 };
            let frame = RecordFrame { at_ms, ..next_frame(&tail, 1, &body) };
            tail = committed(journal.append(&tail, &frame));
        }
        storage
    }

    #[test]
    fn age_limit_retains_at_most_a_sixteenth_more() {
        let journal = journal(1000).open();
        for (now_ms, upto) in [(1_000_000, 839), (160_000, 0), (172_000, 0), (172_001, 12)] {
            let found = older_than(&journal, 160_000, now_ms);
            assert_eq!(found.expect("it can be read"), upto, "at {now_ms}");
        }
        assert_eq!(older_than(&journal, 160_000, u64::MAX).expect("it can be read"), 1000);
        let empty = MemoryStorage::new().open();
        assert_eq!(older_than(&empty, 1, u64::MAX).expect("it can be read"), 0);
    }

    #[test]
    fn size_limit_trims_to_a_sixteenth_less() {
        let storage = journal(160);
        let (mut sizes, stop) = (JournalSizes::default(), AtomicBool::new(false));
        let beyond = |sizes: &mut JournalSizes| {
            sizes.measure(&storage.open(), 160_000, &stop).expect("it can be read");
            sizes.beyond(160_000)
        };
        assert_eq!(beyond(&mut sizes), 0);
        let journal = storage.open();
        for _ in 0..10 {
            let tail = journal.tail().expect("tail");
            committed(journal.append(&tail, &next_frame(&tail, 1, &[0; 1000 - RECORD_BYTES])));
        }
        let upto = beyond(&mut sizes);
        assert!((20..=22).contains(&upto), "{upto} of 170 must go");
        journal.trim(upto).expect("trim");
        sizes.forget(upto);
        assert_eq!(beyond(&mut sizes), 0);
        // Measuring from the start gives the same result.
        let mut again = JournalSizes::default();
        assert_eq!(beyond(&mut again), 0);
        assert_eq!(again.beyond(100_000), sizes.beyond(100_000));
        assert!(sizes.beyond(100_000) > upto);
    }
}
