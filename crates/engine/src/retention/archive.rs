//! The archive: a folder of segments with trimmed records. Each segment is named after its first and last record.
//!
//! A segment is written under a temporary name, synced, verified, and only then renamed, so that a file with the final name
//! is complete. Operators may move segments elsewhere, the oldest first.

use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use allod_journal::contract::RECORD_BYTES;
use allod_journal::segment::{
    Link, SegmentHeader, SegmentKind, SegmentPart, SegmentReader, SegmentWriter,
};
use allod_journal::{Journal, JournalError, SegmentError, Tail, private};
use tracing::info;

use crate::backup::{before, each};
use crate::replay::Halt;

const SUFFIX: &str = ".segment";
const SUFFIX_UNFINISHED: &str = ".tmp";

/// Why records cannot be archived, or read from the archive.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    #[error("{path}: {source}")]
    Io { path: String, source: io::Error },
    #[error("{path}: {source}")]
    Segment { path: String, source: SegmentError },
    #[error(transparent)]
    Source(#[from] Halt),
    #[error(
        "{path} does not belong to this journal: record {seq} follows a different one; give each journal its own archive"
    )]
    OtherJournal { path: String, seq: u64 },
    #[error("the archive in {folder} has no segment with record {needed}, which the backup needs")]
    Gap { folder: String, needed: u64 },
}

/// A segment of the archive, as its name describes it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ArchiveSegment {
    pub first: u64,
    pub last: u64,
    pub path: PathBuf,
}

/// The result of archiving.
#[derive(Debug)]
pub(super) struct ArchiveProgress {
    /// Everything up to this record is archived.
    pub upto: u64,
    /// The number of newly archived records.
    pub records: u64,
    pub error: Option<ArchiveError>,
}

#[derive(Debug)]
pub struct Archive {
    folder: PathBuf,
    segment_bytes: u64,
}

fn failed(path: &Path) -> impl FnOnce(io::Error) -> ArchiveError {
    let path = path.display().to_string();
    move |source| ArchiveError::Io { path, source }
}

fn unsound(path: &Path) -> impl FnOnce(SegmentError) -> ArchiveError {
    let path = path.display().to_string();
    move |source| ArchiveError::Segment { path, source }
}

impl Archive {
    /// The archive in `folder`, with segments of about `segment_bytes` bytes of records.
    pub fn new(folder: PathBuf, segment_bytes: u64) -> Archive {
        Archive { folder, segment_bytes }
    }

    /// Removes the access of other users to the segments.
    pub(super) fn tighten(&self) {
        if self.folder.is_dir() {
            private::tighten(&self.folder, |name| {
                // A killed server leaves an unfinished segment behind.
                name.strip_suffix(SUFFIX_UNFINISHED).unwrap_or(name).ends_with(SUFFIX)
            });
        }
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// All segments, oldest first.
    pub fn list(&self) -> Result<Vec<ArchiveSegment>, ArchiveError> {
        let entries = fs::read_dir(&self.folder).map_err(failed(&self.folder))?;
        let mut found = Vec::new();
        for entry in entries {
            let path = entry.map_err(failed(&self.folder))?.path();
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            let range = name.strip_suffix(SUFFIX).and_then(|range| range.split_once('-'));
            if let Some((Ok(first), Ok(last))) =
                range.map(|(first, last)| (first.parse(), last.parse()))
            {
                found.push(ArchiveSegment { first, last, path });
            }
        }
        found.sort_unstable();
        Ok(found)
    }

    /// The contiguous segments that end with record `upto`, oldest first.
    pub fn leading_to(&self, upto: u64) -> Result<Vec<ArchiveSegment>, ArchiveError> {
        let all = self.list()?;
        let mut needed = upto;
        let mut chosen = Vec::new();
        while needed > 0 {
            let reaches = |one: &&ArchiveSegment| (one.first..=one.last).contains(&needed);
            let Some(one) = all.iter().find(reaches) else { break };
            needed = one.first.saturating_sub(1);
            chosen.push(one.clone());
        }
        if chosen.is_empty() && upto > 0 {
            let folder = self.folder.display().to_string();
            return Err(ArchiveError::Gap { folder, needed: upto });
        }
        chosen.reverse();
        Ok(chosen)
    }

    /// Archives the records `oldest..=upto` that are not yet archived.
    pub(super) fn store(
        &self,
        journal: &dyn Journal,
        oldest: u64,
        upto: u64,
        (created_ms, stop): (u64, &AtomicBool),
    ) -> ArchiveProgress {
        let mut done = ArchiveProgress { upto: oldest.saturating_sub(1), records: 0, error: None };
        match self.begin(journal, oldest) {
            Ok(kept) => done.upto = kept,
            Err(error) => return ArchiveProgress { error: Some(error), ..done },
        }
        while done.upto < upto && !stop.load(Ordering::Relaxed) {
            match self.segment(journal, done.upto + 1, upto, created_ms) {
                Ok(last) => {
                    done.records += last - done.upto;
                    done.upto = last;
                }
                Err(error) => return ArchiveProgress { error: Some(error), ..done },
            }
        }
        done
    }

    /// Creates the folder if missing, removes unfinished segments, and returns the last archived record.
    fn begin(&self, journal: &dyn Journal, oldest: u64) -> Result<u64, ArchiveError> {
        private::create_folder(&self.folder).map_err(failed(&self.folder))?;
        let entries = fs::read_dir(&self.folder).map_err(failed(&self.folder))?;
        for entry in entries {
            let path = entry.map_err(failed(&self.folder))?.path();
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            if name.ends_with(&format!("{SUFFIX}{SUFFIX_UNFINISHED}")) {
                fs::remove_file(&path).map_err(failed(&path))?;
            }
        }
        let Some(newest) = self.list()?.into_iter().max_by_key(|one| one.last) else {
            return Ok(oldest.saturating_sub(1));
        };
        if newest.last + 1 < oldest {
            return Ok(oldest.saturating_sub(1));
        }
        let next = journal.read(newest.last + 1, 0).map_err(Halt::from)?;
        let end = header(&newest.path)?.end;
        match next.first() {
            Some(frame) if frame.prev == end.hash => Ok(newest.last),
            _ => {
                let (path, seq) = (newest.path.display().to_string(), newest.last + 1);
                Err(ArchiveError::OtherJournal { path, seq })
            }
        }
    }

    /// Writes one segment that begins with record `first`, and returns its last record.
    fn segment(
        &self,
        journal: &dyn Journal,
        first: u64,
        upto: u64,
        created_ms: u64,
    ) -> Result<u64, ArchiveError> {
        let (after, end) = self.plan(journal, first, upto)?;
        let header = SegmentHeader { kind: SegmentKind::Archive, created_ms, after, end };
        let last = header.end.seq;
        let path = self.folder.join(format!("{first:020}-{last:020}{SUFFIX}"));
        let unfinished = PathBuf::from(format!("{}{SUFFIX_UNFINISHED}", path.display()));
        let written = write(journal, &header, &unfinished)
            .and_then(|()| verify(&unfinished))
            .and_then(|()| fs::rename(&unfinished, &path).map_err(failed(&path)));
        if let Err(error) = written {
            // Ignored: the next run removes it, and the first error is the one to report.
            let _ = fs::remove_file(&unfinished);
            return Err(error);
        }
        File::open(&self.folder)
            .and_then(|folder| folder.sync_all())
            .map_err(failed(&self.folder))?;
        info!(first, last, path = %path.display(), "records archived");
        Ok(last)
    }

    /// Determines the end of a segment that begins with record `first`.
    fn plan(
        &self,
        journal: &dyn Journal,
        first: u64,
        upto: u64,
    ) -> Result<(Link, Tail), ArchiveError> {
        let mut after = None;
        let mut end = Tail::default();
        let mut bytes = 0;
        while end.seq < upto {
            let frames = journal.read(first.max(end.seq + 1), 1 << 20).map_err(Halt::from)?;
            if frames.is_empty() {
                break;
            }
            for frame in frames.iter().take_while(|frame| frame.seq <= upto) {
                bytes += (RECORD_BYTES + frame.body.len()) as u64;
                if bytes > self.segment_bytes && end.seq > 0 {
                    break;
                }
                after.get_or_insert_with(|| before(frame));
                end = frame.tail(frame.hash());
            }
            if bytes > self.segment_bytes {
                break;
            }
        }
        let missing = || JournalError::Trimmed { asked: first, oldest: first + 1 };
        Ok((after.ok_or_else(missing).map_err(Halt::from)?, end))
    }
}

fn write(journal: &dyn Journal, header: &SegmentHeader, path: &Path) -> Result<(), ArchiveError> {
    let file = private::create_file(path).map_err(failed(path))?;
    let out = BufWriter::with_capacity(1 << 18, file);
    let mut writer = SegmentWriter::begin(out, header).map_err(failed(path))?;
    each::<ArchiveError>(journal, header.after.seq + 1, &header.end, |frame| {
        writer.frame(frame).map_err(unsound(path))
    })?;
    let (mut out, _) = writer.finish().map_err(unsound(path))?;
    out.flush().and_then(|()| out.get_ref().sync_all()).map_err(failed(path))
}

/// Opens a segment.
pub(crate) fn open(path: &Path) -> Result<SegmentReader<BufReader<File>>, ArchiveError> {
    let file = File::open(path).map_err(failed(path))?;
    SegmentReader::open(BufReader::with_capacity(1 << 18, file)).map_err(unsound(path))
}

fn header(path: &Path) -> Result<SegmentHeader, ArchiveError> {
    open(path).map(|reader| *reader.header())
}

fn verify(path: &Path) -> Result<(), ArchiveError> {
    let mut reader = open(path)?;
    while !matches!(reader.next_part().map_err(unsound(path))?, SegmentPart::End(_)) {}
    Ok(())
}
