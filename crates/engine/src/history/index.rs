//! The index: segments in files, oldest first and without gaps, and the memtable.
//!
//! Everything can be rebuilt from the journal. So a file that is damaged, of another version or of another journal is simply
//! removed.

use std::fs::{self, File, Metadata, TryLockError};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use allod_journal::{Hash, Journal, JournalError, private};
use tracing::{info, warn};

use super::build::{SUFFIX, UNFINISHED_SUFFIX, can_merge};
use super::memtable::Memtable;
use super::segment::Segment;
use crate::stamp::RandomSource;

/// How many segments of one size are merged into one of the next size.
const FAN: usize = 4;

#[derive(Debug)]
pub(super) struct HistoryIndex {
    pub folder: PathBuf,
    /// The seed of all fingerprints.
    pub seed: u64,
    pub segments: Vec<Arc<Segment>>,
    pub memtable: Memtable,
    /// The next record to add, and the hash of its predecessor if known.
    pub next_seq: u64,
    pub last_hash: Option<Hash>,
    /// The time of the last added record.
    pub last_ms: u64,
    /// Exclusive, because two processes in one folder would remove each other's files.
    lock: File,
}

#[derive(Debug, thiserror::Error)]
pub(super) enum IndexError {
    #[error("the folder {folder} of the index cannot be used: {error}")]
    Folder { folder: PathBuf, error: io::Error },
    #[error(transparent)]
    Journal(#[from] JournalError),
}

impl HistoryIndex {
    /// Opens the usable segments in the folder and removes the others.
    pub(super) fn open(folder: &Path, journal: &dyn Journal) -> Result<HistoryIndex, IndexError> {
        let unusable = |error| IndexError::Folder { folder: folder.to_path_buf(), error };
        let lock = lock(folder).map_err(unusable)?;
        let found = segments_in(folder).map_err(unusable)?;
        let oldest = journal.oldest()?;
        let mut segments: Vec<Arc<Segment>> = Vec::new();
        let (mut next_seq, mut last_hash, mut last_ms) = (oldest, None, 0);
        for segment in found {
            let header = segment.header;
            let last = journal.read(header.last_seq.max(oldest), 0)?;
            let last = last.first().map(|frame| (frame.hash(), frame.at_ms));
            let why = if header.last_seq < next_seq {
                "its records are no longer needed"
            } else if header.first_seq > next_seq
                || segments.first().is_some_and(|first| {
                    first.header.seed != header.seed || header.first_seq != next_seq
                })
            {
                "it does not continue the other files"
            } else if last.is_none_or(|(hash, _)| hash != header.last_hash) {
                "it belongs to another journal"
            } else {
                (next_seq, last_hash) = (header.last_seq + 1, Some(header.last_hash));
                last_ms = last.map_or(0, |(_, at_ms)| at_ms);
                segments.push(Arc::new(segment));
                continue;
            };
            remove(&segment.path, why);
        }
        let seed = segments.first().map(|first| first.header.seed);
        Ok(HistoryIndex {
            folder: folder.to_path_buf(),
            seed: seed.unwrap_or_else(|| RandomSource::new().next()),
            segments,
            memtable: Memtable::default(),
            next_seq,
            last_hash,
            last_ms,
            lock,
        })
    }

    /// Creates the folder again if it was removed. The old files stay readable, because they are open.
    pub(super) fn keep_folder(&mut self) -> io::Result<()> {
        let place = |file: Metadata| (file.dev(), file.ino());
        let ours = self.lock.metadata().map(place)?;
        match fs::metadata(lock_in(&self.folder)).map(place) {
            Ok(there) if there == ours => {}
            _ => self.lock = lock(&self.folder)?,
        }
        Ok(())
    }

    /// Adjacent segments that should be merged.
    pub(super) fn due(&self, base: usize) -> Option<Vec<Arc<Segment>>> {
        let tier = |segment: &Arc<Segment>| {
            let times = segment.header.postings / (base as u64).max(1);
            times.max(1).ilog(FAN as u64)
        };
        let highest = self.segments.iter().map(tier).max()?;
        (0..=highest).find_map(|of| {
            let small = self.segments.iter().rev().take_while(|segment| tier(segment) <= of);
            let from = self.segments.len() - small.clone().count();
            let alike = small.filter(|segment| tier(segment) == of).count();
            let many = self.segments.len() - from >= 2 * FAN;
            let parts = &self.segments[from..];
            ((alike >= FAN || many) && can_merge(parts)).then(|| parts.to_vec())
        })
    }

    /// Replaces segments by their merged one. If they are no longer part of the index, the merged one is removed.
    pub(super) fn replace(&mut self, parts: &[Arc<Segment>], whole: Segment) {
        let at = self.segments.windows(parts.len().max(1)).position(|window| {
            window.iter().zip(parts).all(|(here, part)| Arc::ptr_eq(here, part))
        });
        let Some(at) = at else {
            return remove(&whole.path, "its records are no longer needed");
        };
        let before = self.segments.splice(at..at + parts.len(), [Arc::new(whole)]);
        for part in before {
            remove_file(&part.path);
        }
    }

    /// Removes segments that contain only records before `oldest`.
    pub(super) fn forget_before(&mut self, oldest: u64) {
        let gone = self.segments.partition_point(|segment| segment.header.last_seq < oldest);
        for segment in self.segments.drain(..gone) {
            info!(file = %segment.path.display(), oldest, "removing a history segment whose records were trimmed");
            remove_file(&segment.path);
        }
    }
}

/// A segment that contains records after the end of the journal.
#[derive(Debug)]
pub(crate) struct SegmentBeyond {
    pub path: PathBuf,
    pub last_seq: u64,
    /// The position of one of its last records. A short segment has none.
    pub position: Option<u64>,
}

/// The valid segments in a folder that end after record `seq`, longest first. Others are neither read as a whole nor removed.
pub(crate) fn segments_beyond(folder: &Path, seq: u64) -> Vec<SegmentBeyond> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path()).filter(|path| {
        path.extension().is_some_and(|suffix| suffix == SUFFIX)
            && Segment::header_of(path).is_ok_and(|header| header.last_seq > seq)
    });
    let mut beyond: Vec<SegmentBeyond> = paths
        .filter_map(|path| {
            // The header has no checksum of its own.
            let segment = Segment::open(&path).ok()?;
            let marks = segment.header.marks;
            let near = segment.marks(marks.saturating_sub(1), marks).ok()?;
            let position = near.last().map(|mark| mark.position);
            Some(SegmentBeyond { path, last_seq: segment.header.last_seq, position })
        })
        .collect();
    beyond.sort_by_key(|segment| std::cmp::Reverse(segment.last_seq));
    beyond
}

fn lock_in(folder: &Path) -> PathBuf {
    folder.join("lock")
}

fn lock(folder: &Path) -> io::Result<File> {
    // The data folder, if the journal has not created it.
    let data = folder.parent().filter(|data| !data.as_os_str().is_empty());
    data.map_or(Ok(()), private::create_folder)?;
    private::create_folder(folder)?;
    let file = private::create_file(&lock_in(folder))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(io::Error::other("another server is using it")),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// All valid segments, in order.
fn segments_in(folder: &Path) -> io::Result<Vec<Segment>> {
    let mut segments = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        match path.extension().and_then(|suffix| suffix.to_str()) {
            Some(UNFINISHED_SUFFIX) => remove_file(&path),
            Some(SUFFIX) => match Segment::open(&path) {
                Ok(segment) => segments.push(segment),
                Err(error) => remove(&path, &error.to_string()),
            },
            _ => {}
        }
    }
    // Of two that begin with the same record, the longer one was merged from the other.
    segments.sort_by_key(|segment| (segment.header.first_seq, u64::MAX - segment.header.last_seq));
    Ok(segments)
}

fn remove(path: &Path, why: &str) {
    info!(file = %path.display(), why, "removing a file of the history index; its part is rebuilt");
    remove_file(path);
}

fn remove_file(path: &Path) {
    if let Err(error) = fs::remove_file(path)
        && error.kind() != io::ErrorKind::NotFound
    {
        warn!(file = %path.display(), %error, "cannot remove a file of the history index");
    }
}
