//! What proves that a journal has lost acknowledged records at its end, besides the journal itself: checkpoints, and the files
//! of the history index. Both are written only from durable records.

use std::path::Path;

use allod_journal::checkpoint::{CheckpointMeta, CheckpointStore};
use allod_journal::{Journal, LostRecords, Tail};

use crate::checkpoint::in_chain;
use crate::history::segments_beyond;
use crate::replay::Halt;

/// Fails if a file of the index proves that the journal was longer. Checkpoints are checked when they are loaded.
pub(crate) fn ensure_not_beyond(index: &Path, end: &Tail) -> Result<(), Halt> {
    match index_witnesses(index, end).into_iter().next() {
        Some(lost) => Err(Halt::JournalTruncated(lost)),
        None => Ok(()),
    }
}

/// Everything that proves a loss.
pub fn loss_witnesses(
    journal: &dyn Journal,
    checkpoints: &dyn CheckpointStore,
    index: Option<&Path>,
) -> Result<Vec<LostRecords>, Halt> {
    let (bad, end) = bad_checkpoints(journal, checkpoints)?;
    let mut all: Vec<_> = bad.iter().map(|meta| checkpoint_witness(meta, &end)).collect();
    all.extend(index.into_iter().flat_map(|index| index_witnesses(index, &end)));
    Ok(all)
}

/// Removes everything that proves a loss, because an operator has accepted it. Returns what was removed.
pub fn discard_witnesses(
    journal: &dyn Journal,
    checkpoints: &dyn CheckpointStore,
    index: Option<&Path>,
) -> Result<Vec<String>, Halt> {
    let (bad, end) = bad_checkpoints(journal, checkpoints)?;
    let mut removed = Vec::new();
    for meta in bad {
        checkpoints.remove(meta.seq)?;
        removed.push(checkpoint_witness(&meta, &end).witness);
    }
    for segment in index.into_iter().flat_map(|index| segments_beyond(index, end.seq)) {
        let file = segment.path.display().to_string();
        std::fs::remove_file(&segment.path)
            .map_err(|error| Halt::Index { file: file.clone(), error })?;
        removed.push(format!("{file} of the history index"));
    }
    Ok(removed)
}

pub(crate) fn checkpoint_witness(meta: &CheckpointMeta, end: &Tail) -> LostRecords {
    let name = format!("the checkpoint of record {}", meta.seq);
    LostRecords::new(end, (meta.seq, Some(meta.position)), name)
}

/// The checkpoints whose record is not in the journal, and the end of the journal.
fn bad_checkpoints(
    journal: &dyn Journal,
    checkpoints: &dyn CheckpointStore,
) -> Result<(Vec<CheckpointMeta>, Tail), Halt> {
    let metas = checkpoints.list()?;
    // Read after the checkpoints: another server may just have appended a record and written a checkpoint of it.
    let end = journal.tail()?;
    let mut bad = Vec::new();
    for meta in metas {
        match in_chain(journal, &meta, &end) {
            Ok(_) => {}
            Err(Halt::JournalTruncated(_) | Halt::CheckpointMismatch { .. }) => bad.push(meta),
            Err(halt) => return Err(halt),
        }
    }
    Ok((bad, end))
}

fn index_witnesses(index: &Path, end: &Tail) -> Vec<LostRecords> {
    let beyond = segments_beyond(index, end.seq).into_iter();
    let witness = beyond.map(|segment| {
        let known =
            (segment.last_seq, segment.position.filter(|&position| position > end.position));
        LostRecords::new(end, known, "the history index".to_owned())
    });
    witness.collect()
}
