//! Builds segments, from the memtable or by merging smaller ones.
//!
//! A file is written under a temporary name, synced, and only then renamed, so that a file with the final name is complete.

use std::fs::{self, File};
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use allod_journal::private;

use super::posting::{Posting, fingerprint_of, posting, record_of};
use super::segment::{IndexHeader, RecordMark, Segment};
use super::term::BlockSizes;

/// The average number of postings in a range of the directory.
const RANGE_POSTINGS: u64 = 64;
/// The postings of each segment that are in memory during a merge.
const READ_POSTINGS: u64 = 1 << 14;

pub(super) const SUFFIX: &str = "index";
pub(super) const UNFINISHED_SUFFIX: &str = "unfinished";

/// A segment is named after its first and last record.
pub(super) fn path_of(folder: &Path, first_seq: u64, last_seq: u64) -> PathBuf {
    folder.join(format!("{first_seq:020}-{last_seq:020}.{SUFFIX}"))
}

/// The size of the directory for this many postings, as a power of two.
pub(super) fn directory_bits(postings: u64) -> u32 {
    (postings / RANGE_POSTINGS).max(1).ilog2().min(32)
}

/// Writes a segment. `postings` returns all postings in order.
pub(super) fn write(
    folder: &Path,
    header: IndexHeader,
    marks: impl Iterator<Item = io::Result<RecordMark>>,
    postings: impl FnMut() -> io::Result<Option<Posting>>,
) -> io::Result<Segment> {
    let path = path_of(folder, header.first_seq, header.last_seq);
    let unfinished = path.with_extension(UNFINISHED_SUFFIX);
    let written = write_to(&unfinished, header, marks, postings).and_then(|file| {
        fs::rename(&unfinished, &path)?;
        File::open(folder)?.sync_all()?;
        Ok(file)
    });
    match written {
        Ok(file) => Ok(Segment::written(path, file, header)),
        Err(error) => {
            // Frees the space, because the disk may be full.
            drop(fs::remove_file(&unfinished));
            Err(error)
        }
    }
}

fn write_to(
    path: &Path,
    header: IndexHeader,
    marks: impl Iterator<Item = io::Result<RecordMark>>,
    mut postings: impl FnMut() -> io::Result<Option<Posting>>,
) -> io::Result<File> {
    let file = private::create_file(path)?;
    let mut out = IndexFileWriter {
        out: BufWriter::with_capacity(1 << 18, file),
        hash: blake3::Hasher::new(),
    };
    out.write_all(&header.to_bytes())?;
    for mark in marks {
        let RecordMark { seq, position, at_ms } = mark?;
        for number in [seq, position, at_ms] {
            out.write_all(&number.to_le_bytes())?;
        }
    }
    let mut directory: Vec<u32> = Vec::with_capacity(1 << header.directory_bits);
    let mut written = 0_u32;
    while let Some(posting) = postings()? {
        let range = header.range_of(fingerprint_of(posting)) as usize;
        directory.resize(directory.len().max(range + 1), written);
        out.write_all(&posting.to_le_bytes())?;
        written += 1;
    }
    directory.resize((1 << header.directory_bits) + 1, written);
    for start in directory {
        out.write_all(&start.to_le_bytes())?;
    }
    let hash = out.hash.finalize();
    out.out.write_all(hash.as_bytes())?;
    let mut file = out.out.into_inner().map_err(io::IntoInnerError::into_error)?;
    let len = file.seek(SeekFrom::End(0))?;
    if u64::from(written) != header.postings || len != header.bytes() {
        return Err(io::Error::other("the written segment does not match its header"));
    }
    file.sync_all()?;
    Ok(file)
}

/// Hashes what is written through it.
struct IndexFileWriter {
    out: BufWriter<File>,
    hash: blake3::Hasher,
}

impl Write for IndexFileWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_all(bytes).map(|()| bytes.len())
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.hash.update(bytes);
        self.out.write_all(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Whether adjacent segments can be merged: records and postings are counted with 32 bits.
pub(super) fn can_merge(parts: &[Arc<Segment>]) -> bool {
    let postings: u64 = parts.iter().map(|part| part.header.postings).sum();
    let records = match (parts.first(), parts.last()) {
        (Some(first), Some(last)) => last.header.last_seq - first.header.first_seq,
        _ => return false,
    };
    postings < u64::from(u32::MAX) && records < u64::from(u32::MAX)
}

/// Merges adjacent segments, which are in order.
pub(super) fn merge(folder: &Path, parts: &[Arc<Segment>]) -> io::Result<Segment> {
    let (Some(first), Some(last)) = (parts.first(), parts.last()) else {
        return Err(io::Error::other("nothing to merge"));
    };
    let sum = |of: fn(&IndexHeader) -> u64| parts.iter().map(|part| of(&part.header)).sum::<u64>();
    let postings = sum(|header| header.postings);
    let header = IndexHeader {
        seed: first.header.seed,
        first_seq: first.header.first_seq,
        last_seq: last.header.last_seq,
        last_hash: last.header.last_hash,
        sizes: BlockSizes(parts.iter().fold(0, |sizes, part| sizes | part.header.sizes.0)),
        marks: sum(|header| header.marks),
        postings,
        directory_bits: directory_bits(postings),
    };
    let marks = parts.iter().flat_map(|part| {
        let marks = part.marks(0, part.header.marks);
        let (marks, error) =
            marks.map_or_else(|error| (vec![], Some(error)), |marks| (marks, None));
        marks.into_iter().map(Ok).chain(error.map(Err))
    });
    let mut sources: Vec<MergeInput> = parts
        .iter()
        .map(|part| MergeInput {
            segment: part.clone(),
            moved: (part.header.first_seq - header.first_seq) as u32,
            read: 0,
            buffer: Vec::new().into_iter(),
            next: None,
        })
        .collect();
    for source in &mut sources {
        source.advance()?;
    }
    write(folder, header, marks, || {
        let least = sources.iter_mut().filter(|source| source.next.is_some());
        let Some(least) = least.min_by_key(|source| source.next) else { return Ok(None) };
        let posting = least.next;
        least.advance()?;
        Ok(posting)
    })
}

/// A segment that is being merged.
struct MergeInput {
    segment: Arc<Segment>,
    /// The offset of its record numbers in the merged segment.
    moved: u32,
    read: u64,
    buffer: std::vec::IntoIter<Posting>,
    next: Option<Posting>,
}

impl MergeInput {
    fn advance(&mut self) -> io::Result<()> {
        if self.buffer.as_slice().is_empty() {
            let upto = (self.read + READ_POSTINGS).min(self.segment.header.postings);
            self.buffer = self.segment.postings(self.read, upto)?.into_iter();
            self.read = upto;
        }
        let moved = |found| posting(fingerprint_of(found), record_of(found) + self.moved);
        self.next = self.buffer.next().map(moved);
        Ok(())
    }
}
