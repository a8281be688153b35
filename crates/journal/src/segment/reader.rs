//! Reads a segment from an untrusted source: every field is checked before it is used, and memory is bounded by the size of
//! one section.

use std::io::{self, Read};

use super::fields::FieldReader;
use super::section::{
    self, CHECKPOINT, CHECKPOINT_RUN, FRAMES, HEADER, MAGIC, Section, SectionError, TRAILER,
};
use super::{Link, SegmentError, SegmentHeader, SegmentKind, Trailer};
use crate::checkpoint::CheckpointMeta;
use crate::frame::{BrokenChain, Hash, RecordFrame, Tail};

/// The next part of a segment.
#[derive(Debug)]
pub enum SegmentPart {
    /// A checkpoint; `SegmentReader::contents` reads its bytes.
    Checkpoint(CheckpointMeta),
    /// Some records, each checked against its predecessor.
    Frames(Vec<RecordFrame>),
    /// The segment is complete and unchanged.
    End(Trailer),
}

/// A segment that is being read. A caller that acts on parts before `SegmentPart::End` must be able to undo that.
pub struct SegmentReader<R> {
    input: R,
    whole: blake3::Hasher,
    header: SegmentHeader,
    /// A section that was read ahead to detect the end of a checkpoint.
    ahead: Option<Section>,
    last: LastRecord,
    /// Whether a checkpoint section is still allowed.
    checkpoint_may_come: bool,
    in_checkpoint: bool,
    records: u64,
    checkpoint_bytes: u64,
    ended: Option<Trailer>,
}

/// The record that was read last. Before the first one, its epoch and position are unknown.
#[derive(Debug, Clone, Copy)]
enum LastRecord {
    Link(Link),
    Tail(Tail),
}

impl LastRecord {
    fn seq(&self) -> u64 {
        match self {
            Self::Link(link) => link.seq,
            Self::Tail(tail) => tail.seq,
        }
    }

    fn takes(&self, frame: &RecordFrame) -> Result<(), BrokenChain> {
        match self {
            Self::Tail(tail) => frame.follows(tail),
            // Epoch and position of the predecessor are unknown, so any value is accepted.
            Self::Link(Link { seq, hash }) => {
                let before = Tail { seq: *seq, hash: *hash, position: 0, epoch: 0 };
                frame.follows(&before)
            }
        }
    }
}

impl<R> std::fmt::Debug for SegmentReader<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SegmentReader").field("header", &self.header).finish_non_exhaustive()
    }
}

impl<R: Read> SegmentReader<R> {
    /// Reads the header.
    pub fn open(mut input: R) -> Result<Self, SegmentError> {
        let mut magic = Vec::new();
        input.by_ref().take(MAGIC.len() as u64).read_to_end(&mut magic)?;
        let (&version, name) = magic.split_last().ok_or(SegmentError::Foreign)?;
        if magic.len() < MAGIC.len() || !MAGIC.starts_with(name) {
            return Err(SegmentError::Foreign);
        }
        match version {
            b'1' => {}
            b'2'..=b'9' => return Err(SegmentError::TooNew { found: version - b'0' }),
            _ => return Err(SegmentError::Foreign),
        }
        let mut whole = blake3::Hasher::new();
        whole.update(MAGIC);
        let named = |fault| name_fault(fault, "file", 0);
        let Section { number, contents } = section::read(&mut input, &mut whole).map_err(named)?;
        let mut said = FieldReader(&contents);
        let header = said.header();
        let header = said
            .all(header)
            .filter(|header| number == HEADER && is_range(header))
            .ok_or(SegmentError::Altered { what: "file", record: 0, how: "it has no header" })?;
        Ok(Self {
            input,
            whole,
            last: LastRecord::Link(header.after),
            checkpoint_may_come: header.kind == SegmentKind::Backup,
            header,
            ahead: None,
            in_checkpoint: false,
            records: 0,
            checkpoint_bytes: 0,
            ended: None,
        })
    }

    pub fn header(&self) -> &SegmentHeader {
        &self.header
    }

    /// The number of records read so far.
    pub fn records(&self) -> u64 {
        self.records
    }

    fn altered(&self, how: &'static str) -> SegmentError {
        SegmentError::Altered { what: self.header.kind.name(), record: self.last.seq(), how }
    }

    fn section(&mut self) -> Result<Section, SegmentError> {
        if let Some(section) = self.ahead.take() {
            return Ok(section);
        }
        // The hash in the trailer does not cover the trailer.
        let (what, record) = (self.header.kind.name(), self.last.seq());
        let mut whole = self.whole.clone();
        let section = section::read(&mut self.input, &mut whole);
        let section = section.map_err(|fault| name_fault(fault, what, record))?;
        if section.number != TRAILER {
            self.whole = whole;
        }
        Ok(section)
    }

    /// The next part; at the end, `End` again.
    pub fn next_part(&mut self) -> Result<SegmentPart, SegmentError> {
        if let Some(trailer) = self.ended {
            return Ok(SegmentPart::End(trailer));
        }
        // The rest of a checkpoint that the caller did not read must be checked too.
        while self.in_checkpoint {
            self.next_run()?;
        }
        let Section { number, contents } = self.section()?;
        match number {
            CHECKPOINT if self.checkpoint_may_come => {
                self.checkpoint_may_come = false;
                self.in_checkpoint = true;
                let mut said = FieldReader(&contents);
                let meta = said.checkpoint();
                let fits = |meta: &CheckpointMeta| {
                    (self.header.after.seq..=self.header.end.seq).contains(&meta.seq)
                };
                let meta = said.all(meta).filter(fits);
                meta.map(SegmentPart::Checkpoint)
                    .ok_or_else(|| self.altered("a checkpoint section is malformed"))
            }
            FRAMES => {
                self.checkpoint_may_come = false;
                self.frames(&contents).map(SegmentPart::Frames)
            }
            TRAILER => self.trailer(&contents).map(SegmentPart::End),
            _ => Err(self.altered("a section is out of place")),
        }
    }

    fn frames(&mut self, contents: &[u8]) -> Result<Vec<RecordFrame>, SegmentError> {
        let mut fields = FieldReader(contents);
        let mut frames = Vec::new();
        while !fields.0.is_empty() {
            let frame = fields.frame().ok_or_else(|| self.altered("a record is truncated"))?;
            if self.last.seq() >= self.header.end.seq {
                return Err(self.altered("it has more records than its header says"));
            }
            let what = self.header.kind.name();
            self.last.takes(&frame).map_err(|broken| SegmentError::Chain { what, broken })?;
            self.last = LastRecord::Tail(frame.tail(frame.hash()));
            self.records += 1;
            frames.push(frame);
        }
        Ok(frames)
    }

    fn trailer(&mut self, contents: &[u8]) -> Result<Trailer, SegmentError> {
        let mut said = FieldReader(contents);
        let trailer = said.trailer();
        let trailer = said.all(trailer).ok_or_else(|| self.altered("its trailer is malformed"))?;
        let end = self.header.end;
        let reached = match self.last {
            LastRecord::Link(link) => link.seq == end.seq,
            LastRecord::Tail(tail) => tail == end,
        };
        let counted = trailer.records == self.records
            && trailer.checkpoint_bytes == self.checkpoint_bytes
            && trailer.end == end;
        if !reached || !counted {
            return Err(self.altered("its trailer does not match its records"));
        }
        if trailer.hash != Hash(*self.whole.finalize().as_bytes()) {
            return Err(self.altered("it does not match the hash in its trailer"));
        }
        if self.input.by_ref().take(1).read_to_end(&mut Vec::new())? > 0 {
            return Err(self.altered("something follows its end"));
        }
        self.ended = Some(trailer);
        Ok(trailer)
    }

    /// The next bytes of a checkpoint; `None` at its end.
    fn next_run(&mut self) -> Result<Option<Vec<u8>>, SegmentError> {
        if !self.in_checkpoint {
            return Ok(None);
        }
        let section = self.section()?;
        if section.number == CHECKPOINT_RUN {
            self.checkpoint_bytes += section.contents.len() as u64;
            return Ok(Some(section.contents));
        }
        self.in_checkpoint = false;
        self.ahead = Some(section);
        Ok(None)
    }

    /// The bytes of the checkpoint that `next_part` has just returned. Errors are a `SegmentError` inside an I/O error.
    pub fn contents(&mut self) -> impl Read + '_ {
        ContentsReader { reader: self, run: io::Cursor::default() }
    }
}

struct ContentsReader<'a, R> {
    reader: &'a mut SegmentReader<R>,
    run: io::Cursor<Vec<u8>>,
}

impl<R: Read> Read for ContentsReader<'_, R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        loop {
            let read = self.run.read(out)?;
            if read > 0 || out.is_empty() {
                return Ok(read);
            }
            match self.reader.next_run().map_err(io::Error::other)? {
                Some(run) => self.run = io::Cursor::new(run),
                None => return Ok(0),
            }
        }
    }
}

/// Also refuses `u64::MAX`, so that the next number can be computed.
fn is_range(header: &SegmentHeader) -> bool {
    header.after.seq <= header.end.seq && header.end.seq < u64::MAX
}

fn name_fault(fault: SectionError, what: &'static str, record: u64) -> SegmentError {
    match fault {
        SectionError::Io(error) => SegmentError::Io(error),
        SectionError::EndsEarly => SegmentError::EndsEarly { what, record },
        SectionError::Altered(how) => SegmentError::Altered { what, record, how },
    }
}
