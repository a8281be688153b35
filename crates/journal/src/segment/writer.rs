//! Writes a segment record by record, in constant memory.

use std::io::{self, Read, Write};

use super::fields::{self, FRAME_BYTES};
use super::section::{
    self, CHECKPOINT, CHECKPOINT_RUN, FRAMES, HEADER, MAGIC, SECTION_BYTES_MAX, TRAILER,
};
use super::{Link, SegmentError, SegmentHeader, Trailer};
use crate::checkpoint::CheckpointMeta;
use crate::frame::{BrokenChain, Hash, RecordFrame};

/// A section is written once it has this size; a larger record gets its own section.
const RUN_BYTES: usize = 1 << 20;

/// A segment that is being written. Without `finish` it is incomplete, which readers detect.
pub struct SegmentWriter<W> {
    out: W,
    whole: blake3::Hasher,
    header: SegmentHeader,
    run: Vec<u8>,
    last: Link,
    records: u64,
    checkpoint_bytes: u64,
}

impl<W> std::fmt::Debug for SegmentWriter<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SegmentWriter").field("header", &self.header).finish_non_exhaustive()
    }
}

impl<W: Write> SegmentWriter<W> {
    pub fn begin(mut out: W, header: &SegmentHeader) -> io::Result<Self> {
        let mut whole = blake3::Hasher::new();
        whole.update(MAGIC);
        out.write_all(MAGIC)?;
        let mut contents = Vec::new();
        fields::put_header(&mut contents, header);
        section::write(&mut out, &mut whole, HEADER, &contents)?;
        let (header, run, last) = (*header, Vec::new(), header.after);
        Ok(Self { out, whole, header, run, last, records: 0, checkpoint_bytes: 0 })
    }

    /// Adds a checkpoint. Must come before the records.
    pub fn checkpoint(&mut self, meta: &CheckpointMeta, contents: &mut dyn Read) -> io::Result<()> {
        let mut said = Vec::new();
        fields::put_checkpoint(&mut said, meta);
        section::write(&mut self.out, &mut self.whole, CHECKPOINT, &said)?;
        loop {
            let mut run = Vec::new();
            let read = (&mut *contents).take(RUN_BYTES as u64).read_to_end(&mut run)?;
            if read == 0 {
                return Ok(());
            }
            self.checkpoint_bytes += read as u64;
            section::write(&mut self.out, &mut self.whole, CHECKPOINT_RUN, &run)?;
        }
    }

    /// Adds the next record. The journal that it was read from has verified it; only its place here is checked.
    pub fn frame(&mut self, frame: &RecordFrame) -> Result<(), SegmentError> {
        let what = self.header.kind.name();
        let seq = self.last.seq + 1;
        if frame.seq != seq {
            let broken = BrokenChain::Gap { expected: seq, found: frame.seq };
            return Err(SegmentError::Chain { what, broken });
        }
        if frame.prev != self.last.hash {
            return Err(SegmentError::Chain { what, broken: BrokenChain::Fork { seq } });
        }
        let bytes = frame.body.len();
        let body_bytes = match u32::try_from(bytes) {
            Ok(body_bytes) if bytes + FRAME_BYTES <= SECTION_BYTES_MAX => body_bytes,
            _ => return Err(SegmentError::TooLarge { seq, bytes }),
        };
        if self.run.len() + FRAME_BYTES + bytes > RUN_BYTES {
            self.write_run()?;
        }
        fields::put_frame(&mut self.run, frame, body_bytes);
        self.last = Link { seq, hash: frame.hash() };
        self.records += 1;
        Ok(())
    }

    fn write_run(&mut self) -> io::Result<()> {
        if !self.run.is_empty() {
            section::write(&mut self.out, &mut self.whole, FRAMES, &self.run)?;
            self.run.clear();
        }
        Ok(())
    }

    /// Writes the trailer. An error if the records do not reach the end that the header names.
    pub fn finish(mut self) -> Result<(W, Trailer), SegmentError> {
        let end = self.header.end;
        if self.last.seq != end.seq || (self.records > 0 && self.last.hash != end.hash) {
            let (what, record) = (self.header.kind.name(), self.last.seq);
            return Err(SegmentError::EndsEarly { what, record });
        }
        self.write_run()?;
        let trailer = Trailer {
            records: self.records,
            checkpoint_bytes: self.checkpoint_bytes,
            end,
            hash: Hash(*self.whole.finalize().as_bytes()),
        };
        let mut contents = Vec::new();
        fields::put_trailer(&mut contents, &trailer);
        section::write(&mut self.out, &mut self.whole, TRAILER, &contents)?;
        self.out.flush()?;
        Ok((self.out, trailer))
    }
}
