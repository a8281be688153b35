//! Writes a backup: all records of the journal at one moment, as one stream, while writes continue.
//!
//! If the journal has been trimmed, the backup contains a checkpoint to start from. `retention` keeps records from being
//! trimmed meanwhile; `restore` reads backups.

use std::io::{self, Write};

use allod_journal::checkpoint::{CheckpointContents, CheckpointMeta, CheckpointStore};
use allod_journal::segment::{Link, SegmentHeader, SegmentKind, SegmentWriter, Trailer};
use allod_journal::{Journal, JournalError, RecordFrame, SegmentError, Tail};
use tracing::warn;

use crate::replay::Halt;

/// How many bytes are read at a time. Small, because appends to the embedded journal wait for a read.
pub(crate) const PIECE_BYTES: usize = 1 << 20;

/// Why a backup failed.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// The journal cannot be read.
    #[error(transparent)]
    Source(#[from] Halt),
    #[error("the backup cannot be written: {0}")]
    Writing(io::Error),
    #[error("{backups_max} backups are already in progress (backups_max); retry when one is done")]
    Busy { backups_max: usize },
    #[error("{what}")]
    NotReady { what: String },
}

impl From<SegmentError> for BackupError {
    fn from(error: SegmentError) -> BackupError {
        match error {
            SegmentError::Io(error) => BackupError::Writing(error),
            // The journal has changed during the backup.
            other => BackupError::Writing(io::Error::other(other)),
        }
    }
}

/// What a backup contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BackupSummary {
    pub header: SegmentHeader,
    pub trailer: Trailer,
    /// The record of the checkpoint in it.
    pub checkpoint: Option<u64>,
}

/// Reports progress: the number of the record reached, and of the last one.
pub type BackupProgress<'a> = dyn FnMut(u64, u64) + 'a;

/// Writes a backup of the journal as it is now. Nothing may be trimmed meanwhile.
pub fn backup<W: Write>(
    journal: &dyn Journal,
    checkpoints: &dyn CheckpointStore,
    created_ms: u64,
    out: W,
    progress: &mut BackupProgress<'_>,
) -> Result<(W, BackupSummary), BackupError> {
    let end = journal.tail().map_err(Halt::from)?;
    let oldest = journal.oldest().map_err(Halt::from)?;
    let first = journal.read(oldest, 0).map_err(Halt::from)?;
    let after = first.first().map_or_else(Link::default, before);
    let header = SegmentHeader { kind: SegmentKind::Backup, created_ms, after, end };
    // Opened before writing, so that a missing checkpoint leaves no partial output.
    let checkpoint = if after.seq == 0 {
        None
    } else {
        Some(beginning(checkpoints, oldest, &end)?.ok_or(Halt::MissingCheckpoint { oldest })?)
    };
    let mut writer = SegmentWriter::begin(out, &header).map_err(BackupError::Writing)?;
    let mut taken_at = None;
    if let Some((meta, mut contents)) = checkpoint {
        writer.checkpoint(&meta, &mut contents).map_err(BackupError::Writing)?;
        taken_at = Some(meta.seq);
    }
    each::<BackupError>(journal, oldest, &end, |frame| {
        writer.frame(frame)?;
        progress(frame.seq, end.seq);
        Ok(())
    })?;
    let (out, trailer) = writer.finish()?;
    Ok((out, BackupSummary { header, trailer, checkpoint: taken_at }))
}

/// The predecessor of this record.
pub(crate) fn before(frame: &RecordFrame) -> Link {
    Link { seq: frame.seq - 1, hash: frame.prev }
}

/// Calls `take` for each record from `from` to `end`.
pub(crate) fn each<E: From<Halt>>(
    journal: &dyn Journal,
    from: u64,
    end: &Tail,
    mut take: impl FnMut(&RecordFrame) -> Result<(), E>,
) -> Result<(), E> {
    let mut next = from;
    while next <= end.seq {
        let frames = journal.read(next, PIECE_BYTES).map_err(|error| E::from(error.into()))?;
        let Some(last) = frames.last().map(|frame| frame.seq) else {
            let what = "the record disappeared during the read".to_owned();
            return Err(E::from(JournalError::Damaged { seq: next, what }.into()));
        };
        for frame in frames.iter().filter(|frame| frame.seq <= end.seq) {
            take(frame)?;
        }
        next = last + 1;
    }
    Ok(())
}

/// The oldest checkpoint that fits the records from `oldest` on. With the oldest one, a restore replays and thereby checks
/// the most records.
fn beginning(
    checkpoints: &dyn CheckpointStore,
    oldest: u64,
    end: &Tail,
) -> Result<Option<(CheckpointMeta, CheckpointContents)>, Halt> {
    let metas = checkpoints.list()?;
    let fits = |meta: &&CheckpointMeta| (oldest..=end.seq + 1).contains(&(meta.seq + 1));
    for meta in metas.iter().rev().filter(fits) {
        match checkpoints.open(meta) {
            Ok(contents) => return Ok(Some((*meta, contents))),
            Err(error) => {
                warn!(record = meta.seq, %error, "skipping a checkpoint that cannot be read")
            }
        }
    }
    Ok(None)
}
