//! Postings: the pairs of fingerprint and record that make up the index, and runs of them.

use std::io;
use std::sync::Arc;

use super::segment::Segment;
use super::term::Fingerprint;

/// A fingerprint in the upper half and a record in the lower half, counted from the first record of the part. Sorting
/// groups the postings of a term in the order of their records.
pub(super) type Posting = u64;

pub(super) fn posting(fingerprint: Fingerprint, record: u32) -> Posting {
    Posting::from(fingerprint) << 32 | Posting::from(record)
}

pub(super) fn fingerprint_of(posting: Posting) -> Fingerprint {
    (posting >> 32) as Fingerprint
}

pub(super) fn record_of(posting: Posting) -> u32 {
    posting as u32
}

/// How many postings are read from a file at a time.
const CHUNK: u64 = 512;

/// The records of one term in one part of the index, in ascending order.
#[derive(Debug)]
pub(super) struct PostingRun {
    source: PostingStorage,
    len: u64,
    /// The records read last, and the index of the first one.
    chunk: Vec<u32>,
    chunk_at: u64,
}

#[derive(Debug)]
enum PostingStorage {
    /// The chunk has all records.
    Memory,
    File {
        segment: Arc<Segment>,
        start: u64,
    },
}

impl PostingRun {
    pub(super) fn in_memory(records: Vec<u32>) -> PostingRun {
        let len = records.len() as u64;
        PostingRun { source: PostingStorage::Memory, len, chunk: records, chunk_at: 0 }
    }

    pub(super) fn in_file(segment: Arc<Segment>, start: u64, len: u64) -> PostingRun {
        PostingRun {
            source: PostingStorage::File { segment, start },
            len,
            chunk: Vec::new(),
            chunk_at: 0,
        }
    }

    pub(super) fn len(&self) -> u64 {
        self.len
    }

    /// The first record at or above `bound`.
    pub(super) fn from(&mut self, bound: u32) -> io::Result<Option<u32>> {
        let at = self.count_below(bound)?;
        if at == self.len { Ok(None) } else { self.get(at).map(Some) }
    }

    /// The last record at or below `bound`.
    pub(super) fn upto(&mut self, bound: u32) -> io::Result<Option<u32>> {
        let upto = match bound.checked_add(1) {
            Some(above) => self.count_below(above)?,
            None => self.len,
        };
        if upto == 0 { Ok(None) } else { self.get(upto - 1).map(Some) }
    }

    /// The number of records below `bound`.
    fn count_below(&mut self, bound: u32) -> io::Result<u64> {
        let (mut low, mut high) = (0, self.len);
        // A walk usually finds the next record in the same chunk.
        if let (Some(&first), Some(&last)) = (self.chunk.first(), self.chunk.last()) {
            if first < bound && bound <= last {
                let within = self.chunk.partition_point(|record| *record < bound);
                return Ok(self.chunk_at + within as u64);
            }
            match last < bound {
                true => low = self.chunk_at + self.chunk.len() as u64,
                false => high = self.chunk_at,
            }
        }
        while low < high {
            let middle = low + (high - low) / 2;
            if self.get(middle)? < bound { low = middle + 1 } else { high = middle }
        }
        Ok(low)
    }

    fn get(&mut self, at: u64) -> io::Result<u32> {
        let end = self.chunk_at + self.chunk.len() as u64;
        if !(self.chunk_at..end).contains(&at)
            && let PostingStorage::File { segment, start } = &self.source
        {
            let from = at - at % CHUNK;
            let upto = (from + CHUNK).min(self.len);
            let postings = segment.postings(start + from, start + upto)?;
            self.chunk = postings.into_iter().map(record_of).collect();
            self.chunk_at = from;
        }
        let found = self.chunk.get((at - self.chunk_at) as usize).copied();
        found.ok_or_else(|| io::Error::from(io::ErrorKind::UnexpectedEof))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn run_finds_the_nearest_record_in_both_directions() {
        let mut run = PostingRun::in_memory(vec![2, 5, 9]);
        for (bound, from, upto) in [
            (0, Some(2), None),
            (2, Some(2), Some(2)),
            (3, Some(5), Some(2)),
            (9, Some(9), Some(9)),
            (10, None, Some(9)),
            (u32::MAX, None, Some(9)),
        ] {
            assert_eq!(run.from(bound).unwrap(), from, "{bound}");
            assert_eq!(run.upto(bound).unwrap(), upto, "{bound}");
        }
        let mut none = PostingRun::in_memory(vec![]);
        assert_eq!((none.from(0).unwrap(), none.upto(7).unwrap()), (None, None));
    }
}
