//! Verifies a whole journal: `allod journal verify`.

use allod_core::invariant;
use allod_core::state::State;
use allod_journal::checkpoint::CheckpointStore;
use allod_journal::{Hash, Journal, Tail};

use crate::checkpoint::{self, state_hash};
use crate::replay::{Halt, Replica};

/// The result of verifying a journal.
#[derive(Debug)]
pub struct Verification {
    pub records: u64,
    /// The first record that was read: record 1, or the one after a checkpoint if the journal has been trimmed.
    pub from: u64,
    pub tail: Tail,
    pub state_hash: Hash,
    /// Violated invariants of the resulting state; empty if the journal is sound.
    pub violations: Vec<String>,
    pub state: State,
}

/// Replays a journal from its beginning, checks every record against its predecessor, and checks the invariants of the
/// final state.
pub fn verify(
    journal: &dyn Journal,
    checkpoints: &dyn CheckpointStore,
    progress: &mut dyn FnMut(&Tail),
) -> Result<Verification, Halt> {
    let oldest = journal.oldest()?;
    let mut replayed = if oldest <= 1 {
        Replica::empty()
    } else {
        checkpoint::load(journal, checkpoints)?.ok_or(Halt::MissingCheckpoint { oldest })?
    };
    let from = replayed.tail.seq + 1;
    crate::replay::catch_up(journal, &mut replayed, progress)?;
    Ok(Verification {
        records: replayed.tail.seq + 1 - from,
        from,
        tail: replayed.tail,
        state_hash: state_hash(&replayed.state, replayed.level),
        violations: invariant::check(&replayed.state),
        state: replayed.state,
    })
}
