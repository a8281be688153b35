//! Reading a segment from whoever sent it: nothing in it is believed before it is checked, and no more room is taken than
//! one section may have.

use std::io::{self, Read};

use super::fields::Fields;
use super::section::{
    self, CHECKPOINT, CHECKPOINT_RUN, FRAMES, Fault, HEADER, MAGIC, Section, TRAILER,
};
use super::{Kind, Link, SegmentError, SegmentHeader, Trailer};
use crate::checkpoint::CheckpointMeta;
use crate::frame::{BrokenChain, Frame, Hash, Tail};

/// What comes next in a segment.
#[derive(Debug)]
pub enum Part {
    /// A checkpoint; `SegmentReader::contents` reads what is in it.
    Checkpoint(CheckpointMeta),
    /// Some records, each checked against the one before it.
    Frames(Vec<Frame>),
    /// All of it was there, as it was written.
    End(Trailer),
}

/// A segment that is being read. Whoever acts on its parts before `Part::End` must be able to take that back.
pub struct SegmentReader<R> {
    input: R,
    whole: blake3::Hasher,
    header: SegmentHeader,
    /// A section that was read too early, because only it tells that a checkpoint has ended.
    ahead: Option<Section>,
    last: Last,
    /// Whether a section of this kind may still come.
    checkpoint_may_come: bool,
    in_checkpoint: bool,
    records: u64,
    checkpoint_bytes: u64,
    ended: Option<Trailer>,
}

/// The record that was read last, with its epoch and position once they are known.
#[derive(Debug, Clone, Copy)]
enum Last {
    Link(Link),
    Tail(Tail),
}

impl Last {
    fn seq(&self) -> u64 {
        match self {
            Self::Link(link) => link.seq,
            Self::Tail(tail) => tail.seq,
        }
    }

    fn takes(&self, frame: &Frame) -> Result<(), BrokenChain> {
        match self {
            Self::Tail(tail) => frame.follows(tail),
            // Whatever its epoch and its position are, they come after those of the one before it.
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
        let mut said = Fields(&contents);
        let header = said.header();
        let header = said
            .all(header)
            .filter(|header| number == HEADER && is_range(header))
            .ok_or(SegmentError::Altered { what: "file", record: 0, how: "it has no header" })?;
        Ok(Self {
            input,
            whole,
            last: Last::Link(header.after),
            checkpoint_may_come: header.kind == Kind::Backup,
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

    /// How many records have been read.
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
        // The trailer's own hash is over what comes before it.
        let (what, record) = (self.header.kind.name(), self.last.seq());
        let mut whole = self.whole.clone();
        let section = section::read(&mut self.input, &mut whole);
        let section = section.map_err(|fault| name_fault(fault, what, record))?;
        if section.number != TRAILER {
            self.whole = whole;
        }
        Ok(section)
    }

    /// The next part; after the end, the end again.
    pub fn next_part(&mut self) -> Result<Part, SegmentError> {
        if let Some(trailer) = self.ended {
            return Ok(Part::End(trailer));
        }
        // What nobody read of a checkpoint counts all the same.
        while self.in_checkpoint {
            self.next_run()?;
        }
        let Section { number, contents } = self.section()?;
        match number {
            CHECKPOINT if self.checkpoint_may_come => {
                self.checkpoint_may_come = false;
                self.in_checkpoint = true;
                let mut said = Fields(&contents);
                let meta = said.checkpoint();
                let fits = |meta: &CheckpointMeta| {
                    (self.header.after.seq..=self.header.end.seq).contains(&meta.seq)
                };
                let meta = said.all(meta).filter(fits);
                meta.map(Part::Checkpoint)
                    .ok_or_else(|| self.altered("a checkpoint is not as it should be"))
            }
            FRAMES => {
                self.checkpoint_may_come = false;
                self.frames(&contents).map(Part::Frames)
            }
            TRAILER => self.trailer(&contents).map(Part::End),
            _ => Err(self.altered("a section stands where it should not")),
        }
    }

    fn frames(&mut self, contents: &[u8]) -> Result<Vec<Frame>, SegmentError> {
        let mut fields = Fields(contents);
        let mut frames = Vec::new();
        while !fields.0.is_empty() {
            let frame = fields.frame().ok_or_else(|| self.altered("a record is cut off"))?;
            if self.last.seq() >= self.header.end.seq {
                return Err(self.altered("it has more records than its header says"));
            }
            let what = self.header.kind.name();
            self.last.takes(&frame).map_err(|broken| SegmentError::Chain { what, broken })?;
            self.last = Last::Tail(frame.tail(frame.hash()));
            self.records += 1;
            frames.push(frame);
        }
        Ok(frames)
    }

    fn trailer(&mut self, contents: &[u8]) -> Result<Trailer, SegmentError> {
        let mut said = Fields(contents);
        let trailer = said.trailer();
        let trailer = said.all(trailer).ok_or_else(|| self.altered("its trailer is cut off"))?;
        let end = self.header.end;
        let reached = match self.last {
            Last::Link(link) => link.seq == end.seq,
            Last::Tail(tail) => tail == end,
        };
        let counted = trailer.records == self.records
            && trailer.checkpoint_bytes == self.checkpoint_bytes
            && trailer.end == end;
        if !reached || !counted {
            return Err(self.altered("its trailer tells of other records"));
        }
        if trailer.hash != Hash(*self.whole.finalize().as_bytes()) {
            return Err(self.altered("it does not have the hash that it names"));
        }
        if self.input.by_ref().take(1).read_to_end(&mut Vec::new())? > 0 {
            return Err(self.altered("something follows its end"));
        }
        self.ended = Some(trailer);
        Ok(trailer)
    }

    /// The next bytes of a checkpoint; none when it has ended.
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

    /// What is in the checkpoint that `next_part` has just named. An error in it is a `SegmentError` in an IO error.
    pub fn contents(&mut self) -> impl Read + '_ {
        Contents { reader: self, run: io::Cursor::default() }
    }
}

struct Contents<'a, R> {
    reader: &'a mut SegmentReader<R>,
    run: io::Cursor<Vec<u8>>,
}

impl<R: Read> Read for Contents<'_, R> {
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

/// A number that has no next one is none that a record can have.
fn is_range(header: &SegmentHeader) -> bool {
    header.after.seq <= header.end.seq && header.end.seq < u64::MAX
}

fn name_fault(fault: Fault, what: &'static str, record: u64) -> SegmentError {
    match fault {
        Fault::Io(error) => SegmentError::Io(error),
        Fault::EndsEarly => SegmentError::EndsEarly { what, record },
        Fault::Altered(how) => SegmentError::Altered { what, record, how },
    }
}
