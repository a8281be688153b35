//! Reading a whole journal and checking all that can be checked: `allod journal verify`.

use allod_core::invariant;
use allod_core::state::State;
use allod_journal::checkpoint::CheckpointStore;
use allod_journal::{Hash, Journal, Tail};

use crate::checkpoint::{self, state_hash};
use crate::replay::{Halt, Replayed};

/// What a journal that is in order adds up to.
#[derive(Debug)]
pub struct Verification {
    pub records: u64,
    /// Where reading began: at the first record, or at a checkpoint when the first ones have been trimmed.
    pub from: u64,
    pub tail: Tail,
    pub state_hash: Hash,
    /// What is wrong with the state that it leads to; empty in a sound journal.
    pub violations: Vec<String>,
    pub state: State,
}

/// Replays a journal from its beginning, checking every record against the one before it and the state at the end
/// against its invariants.
pub fn verify(
    journal: &dyn Journal,
    checkpoints: &dyn CheckpointStore,
    progress: &mut dyn FnMut(&Tail),
) -> Result<Verification, Halt> {
    let oldest = journal.oldest()?;
    let mut replayed = if oldest <= 1 {
        Replayed::empty()
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
