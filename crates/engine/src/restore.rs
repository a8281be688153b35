//! Restores a backup into an empty journal. Everything is verified and replayed on the way in, and read back at the end.
//!
//! A backup is untrusted input. If `restore` fails, the target is not usable; the caller (`Restoring`, for a data folder) or
//! the back end keeps servers from using it before `restore` has succeeded.

mod intake;

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufReader, Read};

use allod_core::invariant;
use allod_journal::checkpoint::{CheckpointMeta, CheckpointStore};
use allod_journal::segment::{SegmentHeader, SegmentKind, SegmentPart, SegmentReader};
use allod_journal::{Journal, JournalError, RecordFrame, SegmentError, Tail};

use self::intake::{Intake, IntakeSummary};
use crate::backup::BackupProgress;
use crate::checkpoint::{self, state_hash};
use crate::replay::{Halt, Replica};
use crate::retention::{Archive, ArchiveError, ArchiveSegment, open_segment};
use crate::verify::{Verification, verify};

/// Why a restore failed.
#[derive(Debug, thiserror::Error)]
pub enum RestoreError {
    #[error("{0}")]
    Segment(#[from] SegmentError),
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// The records cannot be replayed.
    #[error(transparent)]
    Contents(Halt),
    /// The target journal or checkpoint store failed.
    #[error(transparent)]
    Target(Halt),
    #[error(
        "this is an archive segment with records {first} to {last}; restore a backup, and name the archive's folder with --archive"
    )]
    NotABackup { first: u64, last: u64 },
    #[error(
        "the target is not empty: it ends at record {records} and has {checkpoints} checkpoints; restore into an empty one"
    )]
    NotEmpty { records: u64, checkpoints: usize },
    #[error(
        "the checkpoint of record {record} in the backup does not match the records before it: they belong to different journals"
    )]
    Differs { record: u64 },
    #[error("the restored state violates invariants:\n  {}", .0.join("\n  "))]
    Violations(Vec<String>),
    #[error("the restored journal reads back as a different state; the storage cannot be trusted")]
    ReadBack,
}

impl From<Halt> for RestoreError {
    fn from(halt: Halt) -> RestoreError {
        RestoreError::Target(halt)
    }
}

/// The result of a restore or of `verify_segment`.
#[derive(Debug)]
pub struct RestoreSummary {
    /// The header of the backup.
    pub header: SegmentHeader,
    /// The first record; 0 if there is none.
    pub first: u64,
    pub records: u64,
    pub tail: Tail,
    /// When the first and the last record were written.
    pub between_ms: Option<(u64, u64)>,
    pub verified: Verification,
}

/// The records to restore: those of the archive, then those of the backup.
struct IncomingRecords<'a, R> {
    archived: VecDeque<ArchiveSegment>,
    segment: Option<SegmentReader<BufReader<File>>>,
    backup: &'a mut SegmentReader<R>,
    /// Records of the backup that were read while looking for its checkpoint.
    ahead: Option<Vec<RecordFrame>>,
    /// The last record that the archive supplies.
    archived_upto: u64,
    next: u64,
}

impl<R: Read> IncomingRecords<'_, R> {
    /// The next records; empty at the end, when everything has been verified as complete.
    fn next(&mut self) -> Result<Vec<RecordFrame>, RestoreError> {
        loop {
            if let Some(frames) = self.next_archived()? {
                if !frames.is_empty() {
                    return Ok(frames);
                }
                continue;
            }
            if let Some(frames) = self.ahead.take() {
                return Ok(frames);
            }
            return match self.backup.next_part()? {
                SegmentPart::Frames(frames) => Ok(frames),
                SegmentPart::End(_) => Ok(Vec::new()),
                // Not reached: the reader allows a checkpoint only before the records, and `begin_any` has read it.
                SegmentPart::Checkpoint(meta) => Err(RestoreError::Differs { record: meta.seq }),
            };
        }
    }

    /// The next records of the archive, possibly empty; `None` at its end.
    fn next_archived(&mut self) -> Result<Option<Vec<RecordFrame>>, RestoreError> {
        if self.segment.is_none() {
            let Some(archived) = self.archived.pop_front() else { return Ok(None) };
            self.segment = Some(open_segment(&archived.path)?);
        }
        let Some(segment) = &mut self.segment else { return Ok(None) };
        let mut frames = match segment.next_part()? {
            SegmentPart::Frames(frames) => frames,
            SegmentPart::Checkpoint(_) => Vec::new(),
            SegmentPart::End(_) => {
                self.segment = None;
                Vec::new()
            }
        };
        // Segments may overlap each other and the backup.
        frames.retain(|frame| (self.next..=self.archived_upto).contains(&frame.seq));
        self.next = frames.last().map_or(self.next, |frame| frame.seq + 1);
        Ok(Some(frames))
    }
}

/// Restores a backup, preceded by the records of `archive`, into an empty journal and an empty checkpoint store.
pub fn restore(
    input: impl Read,
    archive: Option<&Archive>,
    journal: &dyn Journal,
    checkpoints: &dyn CheckpointStore,
    progress: &mut BackupProgress<'_>,
) -> Result<RestoreSummary, RestoreError> {
    ensure_empty(journal, checkpoints)?;
    let mut backup = SegmentReader::open(input)?;
    let stored = |backup: &mut SegmentReader<_>, meta: &CheckpointMeta| {
        store(backup, meta, checkpoints)?;
        let contents = checkpoints.open(meta).map_err(Halt::from)?;
        checkpoint::read_at(contents, meta).map_err(RestoreError::Contents)
    };
    let (mut incoming, mut intake) = begin(&mut backup, archive, stored)?;
    let end = incoming.backup.header().end;
    let mut failed = None;
    let filled = journal.fill(&mut || {
        next(&mut incoming, &mut intake)
            .inspect(|frames| {
                if let Some(last) = frames.last() {
                    progress(last.seq, end.seq);
                }
            })
            .map_err(|error| {
                let what = error.to_string();
                failed = Some(error);
                JournalError::Unusable { what }
            })
    });
    let tail = match (filled, failed) {
        (_, Some(error)) => return Err(error),
        (filled, None) => filled.map_err(Halt::from)?,
    };
    let header = *backup.header();
    let IntakeSummary { replayed, first, between_ms } = intake.finish()?;
    let verified = verify(journal, checkpoints, &mut |_| {})?;
    let same = verified.tail == tail
        && verified.tail == replayed.tail
        && verified.state_hash == state_hash(&replayed.state, replayed.level);
    if !same {
        return Err(RestoreError::ReadBack);
    }
    if tail.seq > 0 {
        // So that the first start does not replay everything again.
        checkpoint::write(checkpoints, &replayed.state.freeze(), &tail, replayed.level)
            .map_err(Halt::from)?;
    }
    let records = if first == 0 { 0 } else { tail.seq + 1 - first };
    Ok(RestoreSummary { header, first, records, tail, between_ms, verified })
}

/// Verifies a backup or an archive segment without restoring it. An archive segment has no state to check, because that
/// depends on earlier records.
pub fn verify_segment(
    input: impl Read,
    progress: &mut BackupProgress<'_>,
) -> Result<RestoreSummary, RestoreError> {
    let mut reader = SegmentReader::open(input)?;
    let parsed = |backup: &mut SegmentReader<_>, meta: &CheckpointMeta| {
        let mut contents = backup.contents();
        let replayed = checkpoint::read_at(&mut contents, meta);
        // An error of the file has precedence over an error of the checkpoint, which may be its consequence.
        match io::copy(&mut contents, &mut io::sink()) {
            Err(error) => Err(SegmentError::from(error).into()),
            Ok(_) => replayed.map_err(RestoreError::Contents),
        }
    };
    let (mut incoming, mut intake) = begin_any(&mut reader, None, parsed)?;
    let end = incoming.backup.header().end;
    loop {
        let frames = next(&mut incoming, &mut intake)?;
        let Some(last) = frames.last() else { break };
        progress(last.seq, end.seq);
    }
    let header = *reader.header();
    let IntakeSummary { replayed, first, between_ms } = intake.finish()?;
    let records = if first == 0 { 0 } else { header.end.seq + 1 - first };
    let verified = Verification {
        records,
        from: header.after.seq + 1,
        tail: header.end,
        state_hash: state_hash(&replayed.state, replayed.level),
        violations: invariant::check(&replayed.state),
        state: replayed.state,
    };
    Ok(RestoreSummary { header, first, records, tail: header.end, between_ms, verified })
}

fn ensure_empty(
    journal: &dyn Journal,
    checkpoints: &dyn CheckpointStore,
) -> Result<(), RestoreError> {
    let records = journal.tail().map_err(Halt::from)?.seq;
    let checkpoints = checkpoints.list().map_err(Halt::from)?.len();
    if records == 0 && checkpoints == 0 {
        return Ok(());
    }
    Err(RestoreError::NotEmpty { records, checkpoints })
}

/// Reads and checks the next records; at the end, checks the resulting state.
fn next<R: Read>(
    incoming: &mut IncomingRecords<'_, R>,
    intake: &mut Intake,
) -> Result<Vec<RecordFrame>, RestoreError> {
    let frames = incoming.next()?;
    for frame in &frames {
        intake.add(frame)?;
    }
    if frames.is_empty() {
        intake.check()?;
    }
    Ok(frames)
}

fn begin<'a, R: Read>(
    backup: &'a mut SegmentReader<R>,
    archive: Option<&Archive>,
    load: impl FnOnce(&mut SegmentReader<R>, &CheckpointMeta) -> Result<Replica, RestoreError>,
) -> Result<(IncomingRecords<'a, R>, Intake), RestoreError> {
    let SegmentHeader { kind, after, end, .. } = *backup.header();
    if kind != SegmentKind::Backup {
        return Err(RestoreError::NotABackup { first: after.seq + 1, last: end.seq });
    }
    begin_any(backup, archive, load)
}

/// Finds the archive segments, the checkpoint, and the record to begin with.
fn begin_any<'a, R: Read>(
    backup: &'a mut SegmentReader<R>,
    archive: Option<&Archive>,
    load: impl FnOnce(&mut SegmentReader<R>, &CheckpointMeta) -> Result<Replica, RestoreError>,
) -> Result<(IncomingRecords<'a, R>, Intake), RestoreError> {
    let SegmentHeader { kind, after, .. } = *backup.header();
    let archived = match archive {
        Some(archive) if after.seq > 0 => archive.leading_to(after.seq)?,
        _ => Vec::new(),
    };
    let (mut checkpoint, mut ahead) = (None, None);
    match backup.next_part()? {
        SegmentPart::Checkpoint(meta) => checkpoint = Some(load(backup, &meta)?),
        SegmentPart::Frames(frames) => ahead = Some(frames),
        SegmentPart::End(_) => {}
    }
    let begins_at = archived.first().map_or(after.seq + 1, |one| one.first);
    if begins_at > 1 && checkpoint.is_none() && kind == SegmentKind::Backup {
        return Err(RestoreError::Contents(Halt::MissingCheckpoint { oldest: begins_at }));
    }
    let before = if archived.is_empty() { Some(after) } else { None };
    let intake = Intake::new(begins_at, before, checkpoint, kind == SegmentKind::Archive);
    let incoming = IncomingRecords {
        archived: archived.into(),
        segment: None,
        backup,
        ahead,
        archived_upto: after.seq,
        next: begins_at,
    };
    Ok((incoming, intake))
}

/// Copies the checkpoint that the reader is at into the store.
fn store<R: Read>(
    backup: &mut SegmentReader<R>,
    meta: &CheckpointMeta,
    checkpoints: &dyn CheckpointStore,
) -> Result<(), RestoreError> {
    let mut broken = None;
    let put = checkpoints.put(meta, &mut |out| {
        let mut contents = backup.contents();
        let mut piece = vec![0; 1 << 16];
        loop {
            let read = contents.read(&mut piece).map_err(|error| {
                let (kind, what) = (error.kind(), error.to_string());
                broken = Some(SegmentError::from(error));
                io::Error::new(kind, what)
            })?;
            if read == 0 {
                return Ok(());
            }
            out.write_all(&piece[..read])?;
        }
    });
    match (put, broken) {
        (_, Some(error)) => Err(error.into()),
        (put, None) => Ok(put.map_err(Halt::from)?),
    }
}
