//! From journal records to a state. `Replica::apply_record` and `apply_item` are the only code that does this: start-up,
//! followers, `verify`, `restore` and the simulation all use them.

use std::time::{Duration, Instant};

use allod_core::state::State;
use allod_journal::{
    BrokenChain, CheckpointStore, CheckpointStoreError, DAMAGE_ADVICE, Journal, JournalError,
    LostRecords, RecordFrame, Tail,
};
use allod_record::{DecodeError, Item};
use tracing::{info, warn};

use crate::checkpoint;

/// How many bytes of journal are read at a time.
pub(crate) const READ_BYTES: usize = 4 << 20;

/// Why the engine stops, or a journal cannot be replayed.
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
        "the journal has changed under this server: {0}; it was restored, or a fail-over lost acknowledged records: compare it with a backup before anything is written"
    )]
    Forked(BrokenChain),
    #[error(
        "the journal starts at record {oldest}, and there is no checkpoint to start from; restore a backup or the missing checkpoint"
    )]
    MissingCheckpoint { oldest: u64 },
    #[error("{0}")]
    JournalTruncated(LostRecords),
    #[error(
        "record {seq} of the journal is not the one that the checkpoint was made from: they belong to different journals; restore the journal, or accept the loss with `allod journal accept-loss`"
    )]
    CheckpointMismatch { seq: u64 },
    #[error("the file {file} of the history index: {error}")]
    Index { file: String, error: std::io::Error },
    #[error("the engine was stopped")]
    Stopped,
}

impl Halt {
    /// Whether retrying may help.
    pub(crate) fn is_transient(&self) -> bool {
        matches!(
            self,
            Halt::Journal(JournalError::Unavailable { .. })
                | Halt::Checkpoints(CheckpointStoreError::Unavailable { .. })
        )
    }
}

/// A copy of the state, and the tail of the journal that it reflects.
#[derive(Debug)]
pub struct Replica {
    pub state: State,
    pub tail: Tail,
    /// The current feature level.
    pub level: u32,
    /// Journal bytes since the last checkpoint.
    pub bytes: u64,
}

impl Replica {
    pub fn empty() -> Replica {
        Replica { state: State::new(), tail: Tail::default(), level: 0, bytes: 0 }
    }

    /// Applies one record and returns its items. An error if it does not follow the tail, cannot be decoded, or does not
    /// end at the position that it names.
    pub(crate) fn apply_record(&mut self, frame: &RecordFrame) -> Result<Vec<Item>, Halt> {
        frame.follows(&self.tail).map_err(Halt::Forked)?;
        let items = decode_record(frame)?;
        for item in &items {
            apply_item(&mut self.state, item);
            if let Item::Level { level } = item {
                self.level = self.level.max(*level);
            }
        }
        if self.state.position != frame.position {
            let what = format!(
                "its header names position {}, but its entries end at {}; {DAMAGE_ADVICE}",
                frame.position, self.state.position
            );
            return Err(JournalError::Damaged { seq: frame.seq, what }.into());
        }
        self.bytes += frame.body.len() as u64;
        self.tail = frame.tail(frame.hash());
        Ok(items)
    }
}

/// Applies one item of a record.
pub fn apply_item(state: &mut State, item: &Item) {
    match item {
        Item::Entry(entry) => state.apply_entry(entry.at_ms, &entry.events),
        // A raised level has a position and changes nothing else.
        Item::Level { .. } => state.position += 1,
        Item::Epoch { .. } => {}
    }
}

/// Decodes the items of a record.
pub fn decode_record(frame: &RecordFrame) -> Result<Vec<Item>, Halt> {
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

/// Loads the newest valid checkpoint, then replays the journal from there to its end.
pub fn recover(journal: &dyn Journal, checkpoints: &dyn CheckpointStore) -> Result<Replica, Halt> {
    let started = Instant::now();
    let mut replayed = checkpoint::load(journal, checkpoints)?.unwrap_or_else(Replica::empty);
    let oldest = journal.oldest()?;
    if replayed.tail.seq + 1 < oldest {
        return Err(Halt::MissingCheckpoint { oldest });
    }
    let end = journal.tail()?;
    let from = replayed.tail.seq;
    let mut logged = Instant::now();
    catch_up(journal, &mut replayed, &mut |now| {
        if logged.elapsed() > Duration::from_secs(2) {
            logged = Instant::now();
            info!(record = now.seq, of = end.seq, position = now.position, "replaying the journal");
        }
    })?;
    if replayed.tail.seq < end.seq {
        warn!(record = replayed.tail.seq, expected = end.seq, "the journal ends before its tail");
    }
    info!(
        records = replayed.tail.seq - from,
        position = replayed.tail.position,
        seconds = started.elapsed().as_secs_f64(),
        "journal replayed"
    );
    Ok(replayed)
}

/// Applies all records after the replica's tail.
pub(crate) fn catch_up(
    journal: &dyn Journal,
    replayed: &mut Replica,
    progress: &mut dyn FnMut(&Tail),
) -> Result<(), Halt> {
    loop {
        let frames = journal.read(replayed.tail.seq + 1, READ_BYTES)?;
        if frames.is_empty() {
            return Ok(());
        }
        for frame in &frames {
            replayed.apply_record(frame)?;
        }
        progress(&replayed.tail);
    }
}
