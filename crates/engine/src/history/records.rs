//! Reads the records of a query, and finds records by position and by time.

use allod_journal::{JournalError, RecordFrame};
use allod_record::Entry;

use super::lookup::{HistoryOrder, Lookup, TermGroup};
use super::segment::RecordMark;
use super::{HistoryError, HistoryReader, Moment};
use crate::feed::FeedRecord;
use crate::handle::CommitPoint;

/// The most records and bytes of one read, because an append may be waiting.
const READ_RECORDS_MAX: usize = 64;
const READ_BYTES_MAX: usize = 1 << 20;

/// A decoded record, with the position of each entry.
#[derive(Debug)]
pub(super) struct HistoryRecord {
    /// The position before the record.
    pub before: u64,
    pub at_ms: u64,
    pub entries: Vec<(u64, Entry)>,
}

impl HistoryRecord {
    fn of(frame: &RecordFrame) -> Result<HistoryRecord, HistoryError> {
        let FeedRecord { first_position, entries, .. } = FeedRecord::decode(frame)?;
        let entries = (first_position..).zip(entries).collect();
        Ok(HistoryRecord { before: first_position - 1, at_ms: frame.at_ms, entries })
    }
}

/// Iterates over the records of a lookup; reads a few at a time.
#[derive(Debug)]
pub(super) struct RecordWalk<'a> {
    reader: &'a HistoryReader,
    lookup: Lookup,
    ready: std::collections::VecDeque<HistoryRecord>,
    /// Records found but not yet read.
    seqs: Vec<u64>,
    at_once: usize,
    read: usize,
    /// Events are returned as stored, not completed.
    as_stored: bool,
}

impl HistoryReader {
    /// Iterates over the records between two positions that have a term of each group.
    pub(super) fn walk<'a>(
        &'a self,
        groups: &[TermGroup<'_>],
        (from, upto): (u64, u64),
        order: HistoryOrder,
    ) -> Result<RecordWalk<'a>, HistoryError> {
        let seqs = (self.journal.seq_of_position(from)?, self.journal.seq_of_position(upto)?);
        let index = self.index.read();
        let Some(index) = &*index else {
            return Err(HistoryError::Building { indexed: 0, end: seqs.1 });
        };
        let lookup = Lookup::new(index, groups, seqs, order)?;
        Ok(RecordWalk {
            reader: self,
            lookup,
            ready: std::collections::VecDeque::new(),
            seqs: Vec::new(),
            at_once: 4,
            read: 0,
            as_stored: false,
        })
    }

    pub(super) fn record(&self, seq: u64) -> Result<Option<HistoryRecord>, HistoryError> {
        self.journal.read(seq, 0)?.first().map(HistoryRecord::of).transpose()
    }

    /// The first available position; at least 1.
    pub(super) fn first_kept(&self) -> Result<u64, HistoryError> {
        let oldest = self.journal.oldest()?;
        let (known, position) = *self.oldest.lock();
        if known == oldest {
            return Ok(position);
        }
        let position = self.record(oldest)?.map_or(1, |record| record.before + 1);
        *self.oldest.lock() = (oldest, position);
        Ok(position)
    }

    /// The last position at or before a moment. Zero: there is none.
    pub(super) fn position_at(&self, moment: Moment, at: CommitPoint) -> Result<u64, HistoryError> {
        let position = match moment {
            Moment::Position(asked) if asked > at.position => {
                return Err(HistoryError::PositionUnknown { asked, end: at.position });
            }
            Moment::Position(position) => position,
            Moment::TimeMs(at_ms) => self.position_by(at_ms, at)?,
        };
        Ok(position.min(at.position))
    }

    /// The last position with this time or an earlier one.
    fn position_by(&self, at_ms: u64, at: CommitPoint) -> Result<u64, HistoryError> {
        let oldest = self.journal.oldest()?;
        let end = self.journal.seq_of_position(at.position)?;
        // Invariant: the first record after that time is above `low` and at most `high`.
        let (mut low, mut high) = (oldest.saturating_sub(1), end.saturating_add(1));
        if let Some(index) = &*self.index.read() {
            let until = |mark: &RecordMark| mark.at_ms <= at_ms;
            let memtable = &index.memtable.marks;
            let known = memtable.partition_point(until);
            low = low.max(known.checked_sub(1).map_or(0, |last| memtable[last].seq));
            high = high.min(memtable.get(known).map_or(u64::MAX, |mark| mark.seq));
            for segment in index.segments.iter().rev().filter(|_| known == 0) {
                let (last, next) = segment.marks_around(until)?;
                low = low.max(last.map_or(0, |mark| mark.seq));
                high = high.min(next.map_or(u64::MAX, |mark| mark.seq));
                if last.is_some() {
                    break;
                }
            }
        }
        // The record of a mark may have been trimmed since.
        high = high.max(oldest);
        while low + 1 < high {
            let middle = low + (high - low) / 2;
            match self.journal.read(middle, 0)?.first() {
                Some(frame) if frame.at_ms <= at_ms => low = middle,
                _ => high = middle,
            }
        }
        match self.record(high)?.filter(|_| high <= end) {
            // Entries of a record may be older than the record.
            Some(record) => {
                let within = record.entries.iter().filter(|(_, entry)| entry.at_ms <= at_ms);
                Ok(within.map(|(position, _)| *position).max().unwrap_or(record.before))
            }
            None => Ok(at.position),
        }
    }
}

impl RecordWalk<'_> {
    /// Returns events as stored, without completing them.
    pub(super) fn uncompleted(self) -> Self {
        RecordWalk { as_stored: true, ..self }
    }

    /// The next record. `TooWide` after `history_records_max` records.
    pub(super) fn next_record(&mut self) -> Result<Option<HistoryRecord>, HistoryError> {
        if self.ready.is_empty() {
            self.read_some()?;
        }
        if self.ready.is_empty() {
            return Ok(None);
        }
        self.read += 1;
        if self.read > self.reader.records_max {
            return Err(HistoryError::TooWide { history_records_max: self.reader.records_max });
        }
        Ok(self.ready.pop_front())
    }

    fn read_some(&mut self) -> Result<(), HistoryError> {
        while self.seqs.len() < self.at_once {
            let Some(seq) = self.lookup.next_seq()? else { break };
            self.seqs.push(seq);
        }
        self.at_once = (self.at_once * 2).min(READ_RECORDS_MAX);
        if self.seqs.is_empty() {
            return Ok(());
        }
        let frames = match self.reader.journal.read_each(&self.seqs, READ_BYTES_MAX) {
            // Trimmed during the query: these records are not part of the answer.
            Err(JournalError::Trimmed { oldest, .. }) => {
                self.seqs.retain(|seq| *seq >= oldest);
                return self.read_some();
            }
            frames => frames?,
        };
        self.seqs.drain(..frames.len());
        if frames.is_empty() {
            self.seqs.clear();
        }
        for frame in &frames {
            let mut record = HistoryRecord::of(frame)?;
            if !self.as_stored {
                self.reader.complete(record.before, &mut record.entries)?;
            }
            self.ready.push_back(record);
        }
        Ok(())
    }
}
