//! The contract of a journal: an append-only chain of records that several servers may share.
//!
//! - **Append is compare-and-swap.** A record is appended only if the journal ends at the tail that the writer expects. Of
//!   two writers that append at one tail, at most one succeeds. Nothing else keeps servers from overwriting each other.
//! - **Committed means durable**, and visible to every later `tail` and `read` of every server.
//! - **Reads never return a wrong record.** Each one is verified against its stored hash and its predecessor.
//! - **Calls block.** The engine makes them from its own thread. One thread appends at a time; any thread may read.
//!
//! `crate::suite` tests every back end against this contract.

use std::fmt;
use std::time::Duration;

use crate::frame::{BrokenChain, RecordFrame, Tail};

/// What a record counts in `bytes_max` in addition to its body, so that a page of empty records is bounded too.
pub const RECORD_BYTES: usize = 160;

/// What an operator does about damage; part of error texts.
pub const DAMAGE_ADVICE: &str = "stop, copy the data folder aside as it is, restore it from a backup, and look at the \
                                 copy with `allod journal verify`";

#[derive(Debug)]
pub enum AppendOutcome {
    Committed(Tail),
    /// Not appended: the journal ends at this tail, not at the expected one.
    Conflict(Tail),
    /// The record may or may not have been appended, and may still be appended later.
    ///
    /// Before it does anything else, the writer must find out: it reads the record's number back and compares the batch
    /// ID. If there is no record yet, the writer appends another one there, after which the first can never be appended.
    /// Errors for which `JournalError::changed_nothing` holds need none of this.
    Unknown(JournalError),
}

#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// Retrying may help, without a restart of the server.
    #[error("the journal is unavailable: {what}")]
    Unavailable { what: String },
    /// The append was not sent, or was rejected. Nothing was changed; retrying may help.
    #[error("the journal cannot be written at present: {what}")]
    Untried { what: String },
    /// Nothing was changed. Appends work again once there is room.
    #[error("the journal has no room left: {what}")]
    Full { what: String },
    /// The stored data contradicts itself. Nothing from this record on can be trusted.
    #[error("the journal is damaged at record {seq}: {what}")]
    Damaged { seq: u64, what: String },
    #[error("the journal is damaged: {0}; {advice}", advice = DAMAGE_ADVICE)]
    Chain(BrokenChain),
    /// Acknowledged records are missing at its end. Its files have not been changed.
    #[error("{0}")]
    Shortened(LostRecords),
    /// Nothing was changed.
    #[error("a record of {bytes} bytes is too large for this journal; its limit is {bytes_max}")]
    TooLarge { bytes: usize, bytes_max: usize },
    #[error("record {asked} has been trimmed; the oldest record is {oldest}")]
    Trimmed { asked: u64, oldest: u64 },
    #[error(
        "the journal has format {found}; this program knows formats up to {known}: start a newer one"
    )]
    TooNew { found: u32, known: u32 },
    #[error(
        "{what} is in use by another process; stop that one first, or give this one a data folder of its own"
    )]
    InUse { what: String },
    /// An operator has to act: no such folder, no permission, not an allod journal.
    #[error("the journal cannot be opened: {what}")]
    Unusable { what: String },
    /// The storage failed (a failed fsync, an I/O error). The process must stop, because what is durable is unknown.
    #[error("the storage failed: {what}; the server stops, because what is on disk is unknown")]
    Fatal { what: String },
}

/// Acknowledged records that are missing at the end of a journal, and what proves that they existed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LostRecords {
    /// The last record that is there, and its position.
    pub end: (u64, u64),
    /// A record that was there, and its position, or that of an earlier lost record, if the witness knows one.
    pub known: (u64, Option<u64>),
    pub witness: String,
}

impl LostRecords {
    pub fn new(end: &Tail, known: (u64, Option<u64>), witness: String) -> LostRecords {
        LostRecords { end: (end.seq, end.position), known, witness }
    }

    /// What was there, in words.
    pub fn known_text(&self) -> String {
        match self.known {
            (seq, Some(position)) => format!("position {position} (record {seq})"),
            (seq, None) => format!("record {seq}"),
        }
    }
}

impl fmt::Display for LostRecords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let LostRecords { end: (end_seq, end), known: (known_seq, _), witness } = self;
        let ends = format!("the journal ends at position {end} (record {end_seq})");
        if known_seq > end_seq {
            write!(f, "{ends}, but {witness} proves that it had {}", self.known_text())?;
        } else {
            write!(f, "{ends}, and its record {known_seq} is not the one that {witness} knows")?;
        }
        write!(
            f,
            ": acknowledged writes are lost; copy the data folder as it is and restore the journal, or accept the loss with \
             `allod journal accept-loss --at {end}`"
        )
    }
}

impl From<BrokenChain> for JournalError {
    fn from(broken: BrokenChain) -> Self {
        Self::Chain(broken)
    }
}

impl JournalError {
    /// Whether an append that ended with this error did not happen, and never will.
    pub fn changed_nothing(&self) -> bool {
        match self {
            Self::Untried { .. } | Self::Full { .. } | Self::TooLarge { .. } | Self::Chain(_) => {
                true
            }
            Self::Unavailable { .. }
            | Self::Damaged { .. }
            | Self::Shortened(_)
            | Self::Trimmed { .. }
            | Self::TooNew { .. }
            | Self::InUse { .. }
            | Self::Unusable { .. }
            | Self::Fatal { .. } => false,
        }
    }
}

/// What the back end guarantees in its present configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Guarantees {
    pub name: &'static str,
    /// Committed records survive a power failure.
    pub durable: bool,
    /// Committed records survive the loss of one machine.
    pub replicated: bool,
    /// Other servers may append to the same journal.
    pub shared: bool,
    /// Details for the operator.
    pub note: Option<String>,
    /// The largest body that a record may have.
    pub body_bytes_max: usize,
}

/// Supplies the records for `fill` in order; an empty list ends them.
pub type FillSource<'a> = dyn FnMut() -> Result<Vec<RecordFrame>, JournalError> + 'a;

pub trait Journal: Send + Sync {
    /// The current end. Linearizable: it covers every append that was committed before the call.
    fn tail(&self) -> Result<Tail, JournalError>;

    /// Appends `frame` if the journal ends at `expected`.
    ///
    /// `frame` must follow `expected`. Otherwise the outcome is `Unknown(JournalError::Chain)`, wherever the journal ends.
    fn append(&self, expected: &Tail, frame: &RecordFrame) -> AppendOutcome;

    /// Records from number `from` on, in order and without a gap.
    ///
    /// The first one is returned whatever its size, further ones while the total is within `bytes_max` (`RECORD_BYTES` and
    /// the body count for each). Empty if `from` is past the end.
    fn read(&self, from: u64, bytes_max: usize) -> Result<Vec<RecordFrame>, JournalError>;

    /// The records with these numbers, in the order given; `bytes_max` as in `read`. Stops at a number past the end.
    fn read_each(&self, seqs: &[u64], bytes_max: usize) -> Result<Vec<RecordFrame>, JournalError> {
        let (mut frames, mut bytes) = (Vec::new(), 0);
        for &seq in seqs {
            let Some(frame) = self.read(seq, 0)?.into_iter().next() else { break };
            bytes += RECORD_BYTES + frame.body.len();
            if bytes > bytes_max && !frames.is_empty() {
                break;
            }
            frames.push(frame);
        }
        Ok(frames)
    }

    /// The number of the oldest record, or of the next one to be appended if there is none.
    fn oldest(&self) -> Result<u64, JournalError>;

    /// Removes the records up to and including `upto`, except the last record of the journal. Idempotent.
    fn trim(&self, upto: u64) -> Result<(), JournalError>;

    /// Waits until there may be a record after `seq`, at most `wait_max`. Only a hint: it may return early, and it may miss
    /// a record.
    fn watch(&self, seq: u64, wait_max: Duration);

    /// What is known at present; makes no request.
    fn guarantees(&self) -> Guarantees;

    /// The writer got `Conflict` and has nothing to append after all. A back end that reserves the next append for a
    /// writer that lost releases the reservation.
    fn yield_turn(&self) {}

    /// Fills an empty journal with the records of another one, unchanged, and returns the new tail.
    ///
    /// The first record may have any number; the journal is then like one that was trimmed up to it. If the source fails,
    /// or the records do not follow each other, that error is returned. A shared journal then stays empty. A journal of
    /// this process alone may be left partly filled; the caller removes it.
    ///
    /// This default appends one record at a time and accepts only a first record 1; back ends override it.
    fn fill(&self, next: &mut FillSource<'_>) -> Result<Tail, JournalError> {
        let mut tail = self.tail()?;
        ensure_empty(&tail)?;
        loop {
            let frames = next()?;
            if frames.is_empty() {
                return Ok(tail);
            }
            for frame in &frames {
                tail = match self.append(&tail, frame) {
                    AppendOutcome::Committed(tail) => tail,
                    AppendOutcome::Conflict(_) => {
                        let what = "the journal that is being filled".to_owned();
                        return Err(JournalError::InUse { what });
                    }
                    AppendOutcome::Unknown(error) => return Err(error),
                };
            }
        }
    }

    /// The record that contains `position`: the first one that ends at it or after it, or the next one to be appended.
    ///
    /// If the result is the oldest record, the position may have been in a trimmed one; the entries of the record show that.
    fn seq_of_position(&self, position: u64) -> Result<u64, JournalError> {
        let (mut low, mut high) = (self.oldest()?, self.tail()?.seq.saturating_add(1));
        while low < high {
            let middle = low + (high - low) / 2;
            match self.read(middle, 0)?.first() {
                Some(frame) if frame.position < position => low = middle + 1,
                _ => high = middle,
            }
        }
        Ok(low)
    }
}

pub(crate) fn ensure_empty(tail: &Tail) -> Result<(), JournalError> {
    if *tail == Tail::default() {
        return Ok(());
    }
    let what = format!("it already has {} records, and only an empty one can be filled", tail.seq);
    Err(JournalError::Unusable { what })
}

/// Checks that `frame` may come next in a journal that is being filled and ends at `tail`.
pub(crate) fn ensure_fills(frame: &RecordFrame, tail: &Tail) -> Result<(), BrokenChain> {
    if *tail == Tail::default() && frame.seq > 1 {
        // The predecessor is not part of the fill, so there is nothing to compare with.
        return Ok(());
    }
    frame.follows(tail)
}
