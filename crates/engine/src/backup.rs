//! A backup: everything that the journal holds at one moment, as one stream, while writes go on.
//!
//! Where the journal no longer begins at its first record, the checkpoint that it goes on from is in it, too. Not here:
//! keeping records from being trimmed meanwhile, which is `keep`'s, and reading a backup, which is `restore`'s.

use std::io::{self, Write};

use allod_journal::checkpoint::{CheckpointContents, CheckpointMeta, CheckpointStore};
use allod_journal::segment::{Link, SegmentHeader, SegmentKind, SegmentWriter, Trailer};
use allod_journal::{Journal, JournalError, RecordFrame, SegmentError, Tail};
use tracing::warn;

use crate::replay::Halt;

/// How much is read at a time: appends wait for it where reading and writing share a connection.
pub(crate) const PIECE_BYTES: usize = 1 << 20;

/// Why there is no backup.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// The journal cannot be read, or is not sound.
    #[error(transparent)]
    Source(#[from] Halt),
    #[error("the backup cannot be written: {0}")]
    Writing(io::Error),
    #[error(
        "{backups_max} backups are being made already (backups_max); try again when one is done"
    )]
    Busy { backups_max: usize },
    #[error("{what}")]
    NotReady { what: String },
}

impl From<SegmentError> for BackupError {
    fn from(error: SegmentError) -> BackupError {
        match error {
            SegmentError::Io(error) => BackupError::Writing(error),
            // What was read does not fit together: the journal has changed under us.
            other => BackupError::Writing(io::Error::other(other)),
        }
    }
}

/// What a backup has in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BackupSummary {
    pub header: SegmentHeader,
    pub trailer: Trailer,
    /// The record that the checkpoint in it was taken at, if there is one.
    pub checkpoint: Option<u64>,
}

/// Called as it goes, with the number of the record that was reached and that of the last.
pub type BackupProgress<'a> = dyn FnMut(u64, u64) + 'a;

/// Writes a backup of what the journal holds now. Nothing may be trimmed while it runs.
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
    // Opened first, so that nothing is written when there is none.
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

/// The record before this one.
pub(crate) fn before(frame: &RecordFrame) -> Link {
    Link { seq: frame.seq - 1, hash: frame.prev }
}

/// Hands out the records from `from` up to `end`, read in small pieces.
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
            let what = "it was there when reading began".to_owned();
            return Err(E::from(JournalError::Damaged { seq: next, what }.into()));
        };
        for frame in frames.iter().filter(|frame| frame.seq <= end.seq) {
            take(frame)?;
        }
        next = last + 1;
    }
    Ok(())
}

/// The oldest checkpoint that the records from `oldest` on go on from: then as many of them as possible are replayed, and
/// so checked, when the backup is restored.
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
            Err(error) => warn!(record = meta.seq, %error, "a checkpoint cannot be backed up"),
        }
    }
    Ok(None)
}
