//! From journal to state: start-up, and catching up with another writer. The lower half of the picture, alone.

use std::time::{Duration, Instant};

use allod_core::state::State;
use allod_journal::{
    BrokenChain, CheckpointStore, CheckpointStoreError, DAMAGE_ADVICE, Journal, JournalError,
    RecordFrame, Tail,
};
use allod_record::{DecodeError, Item};
use tracing::{info, warn};

use crate::checkpoint;

/// How much is read at a time.
const READ_BYTES: usize = 4 << 20;

/// Why the engine cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum Halt {
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error(transparent)]
    Checkpoints(#[from] CheckpointStoreError),
    #[error("record {seq} cannot be read: {error}")]
    Undecodable { seq: u64, error: DecodeError },
    #[error(
        "record {seq} needs feature level {found}; this program knows levels up to {known}: start a newer one"
    )]
    TooNew { seq: u64, found: u32, known: u32 },
    #[error(
        "the journal has changed under this server: {0}; it was restored, or a fail-over lost what had been acknowledged: compare it with a backup before anything is written"
    )]
    Forked(BrokenChain),
    #[error(
        "the journal starts at record {oldest}, and no checkpoint reaches that far; restore a backup or the missing checkpoint"
    )]
    MissingCheckpoint { oldest: u64 },
    #[error(
        "the journal ends at record {end}, but there is a checkpoint of record {checkpoint}: records that were acknowledged are lost; restore the journal, or move the checkpoint away to go on without them"
    )]
    JournalTruncated { checkpoint: u64, end: u64 },
    #[error(
        "record {seq} of the journal is not the one that a checkpoint was taken at: one of them is from elsewhere; restore the journal, or move the checkpoint away"
    )]
    CheckpointMismatch { seq: u64 },
    #[error("the engine was told to stop")]
    Stopped,
}

impl Halt {
    /// Whether asking again may help, without anybody doing anything.
    pub(crate) fn is_transient(&self) -> bool {
        matches!(
            self,
            Halt::Journal(JournalError::Unavailable { .. })
                | Halt::Checkpoints(CheckpointStoreError::Unavailable { .. })
        )
    }
}

/// A state, and the end of the journal that it follows from.
#[derive(Debug)]
pub struct Replayed {
    pub state: State,
    pub tail: Tail,
    /// The feature level in force.
    pub level: u32,
    /// Journal bytes since the checkpoint that it started from.
    pub bytes: u64,
}

impl Replayed {
    pub fn empty() -> Replayed {
        Replayed { state: State::new(), tail: Tail::default(), level: 0, bytes: 0 }
    }

    /// Takes in one record, if it follows what is here.
    pub(crate) fn take_in(&mut self, frame: &RecordFrame) -> Result<(), Halt> {
        frame.follows(&self.tail).map_err(Halt::Forked)?;
        let items = decode(frame)?;
        for item in &items {
            match item {
                Item::Entry(entry) => self.state.apply_entry(entry.at_ms, &entry.events),
                Item::Level { level } => {
                    self.state.position += 1;
                    self.level = self.level.max(*level);
                }
                Item::Epoch { .. } => {}
            }
        }
        ensure_end_position(frame, &self.state)?;
        self.bytes += frame.body.len() as u64;
        self.tail = frame.tail(frame.hash());
        Ok(())
    }
}

/// Refuses a record whose entries do not end at the position that it names.
pub(crate) fn ensure_end_position(frame: &RecordFrame, state: &State) -> Result<(), Halt> {
    if state.position == frame.position {
        return Ok(());
    }
    let what = format!(
        "it says that it ends at position {}, its entries end at {}; {DAMAGE_ADVICE}",
        frame.position, state.position
    );
    Err(Halt::Journal(JournalError::Damaged { seq: frame.seq, what }))
}

pub(crate) fn decode(frame: &RecordFrame) -> Result<Vec<Item>, Halt> {
    let known = allod_record::LEVEL;
    if frame.level > known {
        return Err(Halt::TooNew { seq: frame.seq, found: frame.level, known });
    }
    let seq = frame.seq;
    allod_record::decode(&frame.body).map_err(|error| match error {
        DecodeError::Malformed { .. } => {
            JournalError::Damaged { seq, what: format!("{error}; {DAMAGE_ADVICE}") }.into()
        }
        DecodeError::Unknown { .. } | DecodeError::LevelTooNew { .. } => {
            Halt::Undecodable { seq, error }
        }
    })
}

/// Reads the newest checkpoint that can be trusted, then the journal from there to its end.
pub fn recover(journal: &dyn Journal, checkpoints: &dyn CheckpointStore) -> Result<Replayed, Halt> {
    let started = Instant::now();
    let mut replayed = checkpoint::load(journal, checkpoints)?.unwrap_or_else(Replayed::empty);
    let oldest = journal.oldest()?;
    if replayed.tail.seq + 1 < oldest {
        return Err(Halt::MissingCheckpoint { oldest });
    }
    let end = journal.tail()?;
    let from = replayed.tail.seq;
    let mut told = Instant::now();
    catch_up(journal, &mut replayed, &mut |now| {
        if told.elapsed() > Duration::from_secs(2) {
            told = Instant::now();
            info!(record = now.seq, of = end.seq, position = now.position, "replaying the journal");
        }
    })?;
    if replayed.tail.seq < end.seq {
        warn!(record = replayed.tail.seq, expected = end.seq, "the journal ended early");
    }
    info!(
        records = replayed.tail.seq - from,
        position = replayed.tail.position,
        seconds = started.elapsed().as_secs_f64(),
        "the journal has been replayed"
    );
    Ok(replayed)
}

/// Takes in all records that come after what is here.
pub(crate) fn catch_up(
    journal: &dyn Journal,
    replayed: &mut Replayed,
    progress: &mut dyn FnMut(&Tail),
) -> Result<(), Halt> {
    loop {
        let frames = journal.read(replayed.tail.seq + 1, READ_BYTES)?;
        if frames.is_empty() {
            return Ok(());
        }
        for frame in &frames {
            replayed.take_in(frame)?;
        }
        progress(&replayed.tail);
    }
}
