//! What every journal back end promises. `suite` holds each of them to it.
//!
//! Calls block; the engine makes them from a thread of its own. One writer appends at a time, any thread may read.

use std::time::Duration;

use crate::frame::{BrokenChain, Frame, Tail};

/// What one record counts in `read` besides its body, so that a run of empty records is not read all at once.
pub const RECORD_BYTES: usize = 160;

/// What an operator can do about damage.
pub const DAMAGE_ADVICE: &str = "stop, copy the data folder aside as it is, restore it from a backup, and look at the \
                                 copy with `allod journal verify`";

/// How an append ended.
#[derive(Debug)]
pub enum Append {
    /// Durable, and visible to every later `tail` and `read`.
    Committed(Tail),
    /// Not appended: the journal did not end at the expected tail but at this one.
    Conflict(Tail),
    /// It may or may not have been appended, now or later. The writer must find out, by reading back and looking for
    /// its batch id, before it does anything else. A record that may still be on its way is settled only once another
    /// one stands at its place. `JournalError::changed_nothing` names the errors that leave nothing to find out.
    Unknown(JournalError),
}

#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// It may work again later, without anybody restarting the server.
    #[error("the journal cannot be written: {what}")]
    Unavailable { what: String },
    /// An append was not tried, or was turned away. Nothing was changed; it may work again later.
    #[error("the journal cannot be written at present: {what}")]
    Untried { what: String },
    /// There is no room for more. Nothing was changed; it works again once there is.
    #[error("the journal has no room left: {what}")]
    Full { what: String },
    /// What is stored contradicts itself. Nothing can be trusted after this point.
    #[error("the journal is damaged at record {seq}: {what}")]
    Damaged { seq: u64, what: String },
    /// The records do not follow each other.
    #[error("the journal is damaged: {0}; {advice}", advice = DAMAGE_ADVICE)]
    Chain(BrokenChain),
    /// The record is larger than the back end takes. Nothing was changed.
    #[error("a record of {bytes} bytes is too large for this journal, which takes {bytes_max}")]
    TooLarge { bytes: usize, bytes_max: usize },
    /// Records up to here have been trimmed away.
    #[error("record {asked} is no longer kept; the oldest is {oldest}")]
    Trimmed { asked: u64, oldest: u64 },
    /// Written by a newer version of the program.
    #[error(
        "the journal has format {found}; this program knows formats up to {known}: start a newer one"
    )]
    TooNew { found: u32, known: u32 },
    /// Another process has it open.
    #[error(
        "{what} is in use by another process; stop that one first, or give this one a data folder of its own"
    )]
    InUse { what: String },
    /// It cannot be opened as it is: no such folder, no permission, not a journal of ours.
    #[error("the journal cannot be opened: {what}")]
    Unusable { what: String },
    /// The storage broke its promise (a failed fsync, an IO error). The process must stop: what is durable is unknown.
    #[error(
        "the storage failed: {what}; the server stops, because it can no longer tell what is on disk"
    )]
    Fatal { what: String },
}

impl From<BrokenChain> for JournalError {
    fn from(broken: BrokenChain) -> Self {
        Self::Chain(broken)
    }
}

impl JournalError {
    /// Whether an append that ended with this error certainly did not happen, and never will.
    pub fn changed_nothing(&self) -> bool {
        match self {
            Self::Untried { .. } | Self::Full { .. } | Self::TooLarge { .. } | Self::Chain(_) => {
                true
            }
            Self::Unavailable { .. }
            | Self::Damaged { .. }
            | Self::Trimmed { .. }
            | Self::TooNew { .. }
            | Self::InUse { .. }
            | Self::Unusable { .. }
            | Self::Fatal { .. } => false,
        }
    }
}

/// What the back end's own configuration gives and does not give.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Guarantees {
    pub name: &'static str,
    /// Survives the loss of power of one machine.
    pub durable: bool,
    /// Survives the loss of one machine.
    pub replicated: bool,
    /// Other servers may have it open and append, too.
    pub shared: bool,
    /// What there is to say besides, for whoever looks after it.
    pub note: Option<String>,
    /// The largest record body that it takes.
    pub body_bytes_max: usize,
}

/// Where a journal is filled from: the next records, or none when that was all of them.
pub type Source<'a> = dyn FnMut() -> Result<Vec<Frame>, JournalError> + 'a;

pub trait Journal: Send + Sync {
    /// The current end; linearizable: it covers every append that was Committed before the call.
    fn tail(&self) -> Result<Tail, JournalError>;

    /// Appends `frame` if the journal ends at `expected`. A frame that does not follow `expected` is a mistake of the
    /// caller's: it ends as `Unknown` with `JournalError::Chain`, wherever the journal ends.
    fn append(&self, expected: &Tail, frame: &Frame) -> Append;

    /// Records from `from` on, in order, without a gap, each verified against its stored hash: at least one if there is
    /// one, then no more than fit in `bytes_max` (a record counts `RECORD_BYTES` and its body). Empty when `from` is
    /// past the end.
    fn read(&self, from: u64, bytes_max: usize) -> Result<Vec<Frame>, JournalError>;

    /// Single records, in the order asked for, each verified against its stored hash: the first, then no more than fit in
    /// `bytes_max` as in `read`. One that is past the end ends the answer.
    fn read_each(&self, seqs: &[u64], bytes_max: usize) -> Result<Vec<Frame>, JournalError> {
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

    /// The oldest record kept, or the next to come when there is none.
    fn oldest(&self) -> Result<u64, JournalError>;

    /// Forgets records up to and including `upto`; never the last one. Trimming again is no error.
    fn trim(&self, upto: u64) -> Result<(), JournalError>;

    /// Waits until there may be a record after `seq`, or the time is over. A hint: it may return early, and a record
    /// may be there although it did not.
    fn watch(&self, seq: u64, wait_max: Duration);

    /// As far as is known at present; asks nobody.
    fn guarantees(&self) -> Guarantees;

    /// The writer was told `Conflict`, and has nothing to append after all. A back end that keeps a place for one that was
    /// overtaken lets go of it.
    fn stand_back(&self) {}

    /// Fills a journal that has no record with those of another one, as they are, and returns where it ends then. The
    /// first may have any number: the journal then is as one that was trimmed up to it. When the source fails or the
    /// records do not follow each other, that is the error. A journal that others may have open takes all of them or
    /// none; one that is this process's alone may be left with the first of them, and whoever fills it removes it.
    ///
    /// This is one append for each, and can begin at record 1 only; a back end does better.
    fn fill(&self, next: &mut Source<'_>) -> Result<Tail, JournalError> {
        let mut tail = self.tail()?;
        must_be_empty(&tail)?;
        loop {
            let frames = next()?;
            if frames.is_empty() {
                return Ok(tail);
            }
            for frame in &frames {
                tail = match self.append(&tail, frame) {
                    Append::Committed(tail) => tail,
                    Append::Conflict(_) => {
                        let what = "the journal that is being filled".to_owned();
                        return Err(JournalError::InUse { what });
                    }
                    Append::Unknown(error) => return Err(error),
                };
            }
        }
    }

    /// The record that `position` is in: the first that ends at it or after it, or the next to come. Positions grow
    /// with the records, so this needs no index. When the answer is the oldest record kept, then the position may have
    /// been in one that was trimmed; the record's own entries tell.
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

/// Refuses to fill a journal that has records.
pub(crate) fn must_be_empty(tail: &Tail) -> Result<(), JournalError> {
    if *tail == Tail::default() {
        return Ok(());
    }
    let what = format!("it already has {} records, and only an empty one can be filled", tail.seq);
    Err(JournalError::Unusable { what })
}

/// Checks that `frame` may be the next one of a journal that is being filled and ends at `tail`.
pub(crate) fn fills(frame: &Frame, tail: &Tail) -> Result<(), BrokenChain> {
    if *tail == Tail::default() && frame.seq > 1 {
        // The one before it is not there to be compared with.
        return Ok(());
    }
    frame.follows(tail)
}
