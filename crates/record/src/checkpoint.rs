//! A checkpoint: the whole state at one position, written and read as a stream.
//!
//! After the magic bytes come chunks: the header; each pool, followed by its claims in large chunks and by its requests;
//! idempotency keys, custom classes and traits, providers and consumers; and the end, with counts and a hash of all bytes
//! before it. A checkpoint without a valid end must not be used. Where checkpoints are stored is in the journal's
//! `CheckpointStore`.

use std::io::{self, BufReader, Read, Write};
use std::sync::Arc;

use allod_core::alarm::AlarmEvent;
use allod_core::authority::event::AuthorityEvent;
use allod_core::claim::Claim;
use allod_core::event::capacity::{CapacityEvent, ClassDefined, TraitDefined};
use allod_core::event::{Event, IdempotencyEvent, IdempotencyStored};
use allod_core::outbox::OutboxEvent;
use allod_core::requests::event::{RequestAnswered, RequestsEvent};
use allod_core::requests::{AnsweredRequest, Request};
use allod_core::state::capacity::image::{ConsumerImage, ProviderImage};
use allod_core::state::capacity::names::NameEntry;
use allod_core::state::restore::PoolImage;

use crate::chunk::{self, Chunk, Head};
use crate::error::{CheckpointError, DecodeError};
use crate::kinds::{self, check_level};
use crate::stored::capacity::CheckpointProviderV1;
use crate::stored::claim::ClaimV1;
use crate::stored::consumer::ConsumerV1;
use crate::stored::form::StoredForm;
use crate::stored::pool::{
    CheckpointPoolV1, CheckpointPoolV2, CheckpointPoolV3, CheckpointPoolV4, CheckpointPoolV5,
};
use crate::stored::{read_event, write_event};

const MAGIC: &[u8] = b"allod checkpoint\n";
/// The version of the grammar. Chunks have their own versions.
const FORMAT: u8 = 1;
/// The approximate size of a chunk of claims, and of one write.
const CHUNK_BYTES: usize = 64 * 1024;
/// The longest header of a chunk: two varints of 32 bits and one of 64.
const HEAD_BYTES_MAX: usize = 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// The feature level in force.
    pub level: u32,
    /// The journal position that the state reflects.
    pub position: u64,
    /// The time of the state.
    pub now_ms: u64,
}

/// A part of a checkpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CheckpointPart {
    Pool(Box<PoolImage>),
    /// A claim of the last pool.
    Claim(Claim),
    Idempotency(IdempotencyStored),
    Class(NameEntry),
    Trait(NameEntry),
    Provider(ProviderImage),
    Consumer(ConsumerImage),
    /// A request of the last pool.
    Request(AnsweredRequest),
    /// About a notification or an alarm.
    Event(Event),
    /// The checkpoint is complete, and its hash is right.
    End,
}

#[derive(Debug, serde::Serialize, serde::Deserialize)]
struct CheckpointBegunV1 {
    level: u32,
    position: u64,
    now_ms: u64,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
struct CountsV1 {
    pools: u64,
    claims: u64,
    requests: u64,
}

#[derive(Debug, serde::Serialize, serde::Deserialize)]
struct CheckpointEndedV1 {
    counts: CountsV1,
    hash: [u8; 32],
}

/// Counts that version 1 does not have.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
struct CapacityCountsV1 {
    names: u64,
    providers: u64,
    consumers: u64,
}

/// Written only if there are providers, consumers or custom names; other checkpoints keep version 1.
#[derive(Debug, serde::Serialize, serde::Deserialize)]
struct CheckpointEndedV2 {
    counts: CountsV1,
    capacity: CapacityCountsV1,
    hash: [u8; 32],
}

/// Written only if there are requests, notifications or alarms, which are stored as their events.
#[derive(Debug, serde::Serialize, serde::Deserialize)]
struct CheckpointEndedV3 {
    counts: CountsV1,
    capacity: CapacityCountsV1,
    resources: u64,
    hash: [u8; 32],
}

/// Chunks with many rows of one sort.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rows {
    Claims,
    Consumers,
}

impl Rows {
    fn kind(self) -> u32 {
        match self {
            Rows::Claims => kinds::CHECKPOINT_CLAIMS,
            Rows::Consumers => kinds::CHECKPOINT_CONSUMERS,
        }
    }
}

#[derive(Debug)]
pub struct CheckpointWriter<W: Write> {
    out: W,
    hasher: blake3::Hasher,
    /// Complete chunks that are not written yet.
    ready: Vec<u8>,
    /// The payload of the present chunk of rows.
    rows: Vec<u8>,
    rows_of: Rows,
    counts: CountsV1,
    capacity: CapacityCountsV1,
    /// The number of events about requests, notifications and alarms.
    resources: u64,
}

impl<W: Write> CheckpointWriter<W> {
    pub fn begin(out: W, header: &Header) -> io::Result<CheckpointWriter<W>> {
        let mut ready = MAGIC.to_vec();
        ready.push(FORMAT);
        let &Header { level, position, now_ms } = header;
        let begun = CheckpointBegunV1 { level, position, now_ms };
        chunk::write(&mut ready, kinds::CHECKPOINT_BEGUN, 1, &begun);
        Ok(CheckpointWriter {
            out,
            hasher: blake3::Hasher::new(),
            ready,
            rows: Vec::new(),
            rows_of: Rows::Claims,
            counts: CountsV1::default(),
            capacity: CapacityCountsV1::default(),
            resources: 0,
        })
    }

    pub fn pool(&mut self, image: &PoolImage) -> io::Result<()> {
        self.close_rows();
        self.counts.pools += 1;
        let (out, kind) = (&mut self.ready, kinds::CHECKPOINT_POOL);
        if let Some(stored) = CheckpointPoolV5::of(image) {
            chunk::write(out, kind, 5, &stored);
        } else if let Some(stored) = CheckpointPoolV4::of(image) {
            chunk::write(out, kind, 4, &stored);
        } else if let Some(stored) = CheckpointPoolV3::of(image) {
            chunk::write(out, kind, 3, &stored);
        } else if let Some(stored) = CheckpointPoolV2::of(image) {
            chunk::write(out, kind, 2, &stored);
        } else {
            chunk::write(out, kind, 1, &CheckpointPoolV1::store(image));
        }
        self.write_when_full()
    }

    /// A claim of the last pool.
    pub fn claim(&mut self, claim: &Claim) -> io::Result<()> {
        if self.counts.pools == 0 {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "a claim before any pool"));
        }
        self.counts.claims += 1;
        self.row(Rows::Claims, &ClaimV1::store(claim))
    }

    fn row(&mut self, of: Rows, row: &impl serde::Serialize) -> io::Result<()> {
        if self.rows_of != of {
            self.close_rows();
            self.rows_of = of;
        }
        chunk::put(&mut self.rows, row);
        if self.rows.len() < CHUNK_BYTES {
            return Ok(());
        }
        self.close_rows();
        self.write_when_full()
    }

    pub fn idempotency(&mut self, stored: &IdempotencyStored) -> io::Result<()> {
        self.counts.requests += 1;
        self.push(stored.clone())
    }

    /// A custom resource class.
    pub fn class(&mut self, named: &NameEntry) -> io::Result<()> {
        self.capacity.names += 1;
        let (class, at_ms) = (named.name.clone(), named.changed_ms);
        self.push(ClassDefined { class, was: None, at_ms })
    }

    /// A custom trait.
    pub fn trait_name(&mut self, named: &NameEntry) -> io::Result<()> {
        self.capacity.names += 1;
        let (name, at_ms) = (named.name.clone(), named.changed_ms);
        self.push(TraitDefined { name, at_ms })
    }

    pub fn provider(&mut self, image: &ProviderImage) -> io::Result<()> {
        self.close_rows();
        self.capacity.providers += 1;
        let stored = CheckpointProviderV1::store(image);
        chunk::write(&mut self.ready, kinds::CHECKPOINT_PROVIDER, 1, &stored);
        self.write_when_full()
    }

    pub fn consumer(&mut self, image: &ConsumerImage) -> io::Result<()> {
        self.capacity.consumers += 1;
        self.row(Rows::Consumers, &ConsumerV1::store(image))
    }

    /// A request of the last pool.
    pub fn request(&mut self, pool: &Arc<str>, request: &AnsweredRequest) -> io::Result<()> {
        self.resources += 1;
        let (pool, key) = (pool.clone(), request.key.clone());
        let AnsweredRequest { request, answer, version, .. } = request.clone();
        self.push(RequestAnswered { pool, key, request: Request::clone(&request), answer, version })
    }

    /// An event about a notification, an alarm or an authority.
    pub fn event(&mut self, event: &Event) -> io::Result<()> {
        self.resources += 1;
        self.write(event)
    }

    fn push(&mut self, event: impl Into<Event>) -> io::Result<()> {
        self.write(&event.into())
    }

    fn write(&mut self, event: &Event) -> io::Result<()> {
        self.close_rows();
        write_event(&mut self.ready, event);
        self.write_when_full()
    }

    /// Writes the end and returns the output, flushed but not synced.
    pub fn finish(mut self) -> io::Result<W> {
        self.close_rows();
        self.hasher.update(&self.ready);
        let (counts, capacity) = (self.counts, self.capacity);
        let hash = *self.hasher.finalize().as_bytes();
        if self.resources > 0 {
            let ended = CheckpointEndedV3 { counts, capacity, resources: self.resources, hash };
            chunk::write(&mut self.ready, kinds::CHECKPOINT_ENDED, 3, &ended);
        } else if capacity == CapacityCountsV1::default() {
            let ended = CheckpointEndedV1 { counts, hash };
            chunk::write(&mut self.ready, kinds::CHECKPOINT_ENDED, 1, &ended);
        } else {
            let ended = CheckpointEndedV2 { counts, capacity, hash };
            chunk::write(&mut self.ready, kinds::CHECKPOINT_ENDED, 2, &ended);
        }
        self.out.write_all(&self.ready)?;
        self.out.flush()?;
        Ok(self.out)
    }

    fn close_rows(&mut self) {
        if !self.rows.is_empty() {
            let rows = &self.rows;
            chunk::wrap(&mut self.ready, self.rows_of.kind(), 1, |out| out.extend_from_slice(rows));
            self.rows.clear();
        }
    }

    fn write_when_full(&mut self) -> io::Result<()> {
        if self.ready.len() >= CHUNK_BYTES {
            self.hasher.update(&self.ready);
            self.out.write_all(&self.ready)?;
            self.ready.clear();
        }
        Ok(())
    }
}

#[derive(Debug)]
pub struct CheckpointReader<R: Read> {
    input: BufReader<R>,
    header: Header,
    /// The hash of all bytes before the end.
    hasher: blake3::Hasher,
    /// The number of bytes read so far.
    offset: u64,
    /// The payload of the last chunk.
    payload: Vec<u8>,
    /// The rows of `payload` from here on have not been returned yet.
    rows_from: usize,
    rows_of: Rows,
    counts: CountsV1,
    capacity: CapacityCountsV1,
    resources: u64,
    ended: bool,
}

/// The chunk whose payload is in the buffer.
#[derive(Debug, Clone, Copy)]
struct ChunkInBuffer {
    kind: u32,
    version: u32,
    offset: u64,
    inside: u64,
}

impl<R: Read> CheckpointReader<R> {
    /// Reads up to and including the header.
    pub fn open(input: R) -> Result<CheckpointReader<R>, CheckpointError> {
        let mut reader = CheckpointReader {
            input: BufReader::with_capacity(CHUNK_BYTES, input),
            header: Header { level: 0, position: 0, now_ms: 0 },
            hasher: blake3::Hasher::new(),
            offset: 0,
            payload: Vec::new(),
            rows_from: 0,
            rows_of: Rows::Claims,
            counts: CountsV1::default(),
            capacity: CapacityCountsV1::default(),
            resources: 0,
            ended: false,
        };
        let mut start = [0; MAGIC.len() + 1];
        for byte in &mut start {
            *byte = reader.read_byte()?;
        }
        match start.split_last() {
            Some((&FORMAT, MAGIC)) => reader.hasher.update(&start),
            Some((&found, MAGIC)) if found > FORMAT => {
                return Err(CheckpointError::FormatTooNew { found, known: FORMAT });
            }
            _ => return Err(CheckpointError::NotACheckpoint),
        };

        let found = reader.read_chunk()?;
        if (found.kind, found.version) != (kinds::CHECKPOINT_BEGUN, 1) {
            return Err(reader.chunk(found).unexpected().into());
        }
        let CheckpointBegunV1 { level, position, now_ms } = reader.chunk(found).read()?;
        check_level(level)?;
        reader.header = Header { level, position, now_ms };
        Ok(reader)
    }

    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The next part. Returns the end again after the end.
    pub fn next_part(&mut self) -> Result<CheckpointPart, CheckpointError> {
        loop {
            if self.rows_from < self.payload.len() {
                return self.next_row();
            }
            if self.ended {
                return Ok(CheckpointPart::End);
            }
            let found = self.read_chunk()?;
            match (found.kind, found.version) {
                (kinds::CHECKPOINT_POOL, version @ 1..=5) => {
                    self.counts.pools += 1;
                    let chunk = self.chunk(found);
                    return Ok(CheckpointPart::Pool(Box::new(match version {
                        1 => chunk.read::<CheckpointPoolV1>()?.load(),
                        2 => chunk.read::<CheckpointPoolV2>()?.load(),
                        3 => chunk.read::<CheckpointPoolV3>()?.load(),
                        4 => chunk.read::<CheckpointPoolV4>()?.load(),
                        _ => chunk.read::<CheckpointPoolV5>()?.load(),
                    })));
                }
                (kinds::CHECKPOINT_CLAIMS, 1) if self.counts.pools > 0 => {
                    (self.rows_from, self.rows_of) = (0, Rows::Claims);
                }
                (kinds::CHECKPOINT_CONSUMERS, 1) => {
                    (self.rows_from, self.rows_of) = (0, Rows::Consumers);
                }
                (kinds::CHECKPOINT_PROVIDER, 1) => {
                    self.capacity.providers += 1;
                    let stored: CheckpointProviderV1 = self.chunk(found).read()?;
                    return Ok(CheckpointPart::Provider(stored.load()));
                }
                (
                    kinds::REQUEST_REMEMBERED
                    | kinds::CLASS_DEFINED
                    | kinds::TRAIT_DEFINED
                    | kinds::REQUEST_ANSWERED
                    | kinds::NOTICE_QUEUED
                    | kinds::NOTICE_TRIED
                    | kinds::ALARM_CHANGED
                    | kinds::RETRY_SCHEDULED
                    | kinds::IDENTITY_DRAWN
                    | kinds::AUTHORITY_DEFINED
                    | kinds::CLAIM_WANTED
                    | kinds::LOOKUP_CHANGED
                    | kinds::LOOKUPS_REFRESHED
                    | kinds::RECONCILIATION_WANTED
                    | kinds::RECONCILIATION_ENDED,
                    _,
                ) => {
                    return self.next_event(found);
                }
                (kinds::CHECKPOINT_ENDED, 1) => {
                    let CheckpointEndedV1 { counts, hash } = self.chunk(found).read()?;
                    self.check_end(found, counts, CapacityCountsV1::default(), 0, hash)?;
                }
                (kinds::CHECKPOINT_ENDED, 2) => {
                    let CheckpointEndedV2 { counts, capacity, hash } = self.chunk(found).read()?;
                    self.check_end(found, counts, capacity, 0, hash)?;
                }
                (kinds::CHECKPOINT_ENDED, 3) => {
                    let ended: CheckpointEndedV3 = self.chunk(found).read()?;
                    let CheckpointEndedV3 { counts, capacity, resources, hash } = ended;
                    self.check_end(found, counts, capacity, resources, hash)?;
                }
                _ => return Err(self.chunk(found).unexpected().into()),
            }
        }
    }

    fn next_row(&mut self) -> Result<CheckpointPart, CheckpointError> {
        let rows = &self.payload[self.rows_from..];
        let unreadable = |what| DecodeError::malformed(self.offset - rows.len() as u64, what);
        let (part, left) = match self.rows_of {
            Rows::Claims => {
                let (stored, rest) = postcard::take_from_bytes::<ClaimV1>(rows).map_err(|_| {
                    unreadable("a claim of checkpoint_claims version 1 is not valid")
                })?;
                self.counts.claims += 1;
                (CheckpointPart::Claim(stored.load()), rest.len())
            }
            Rows::Consumers => {
                let (stored, rest) =
                    postcard::take_from_bytes::<ConsumerV1>(rows).map_err(|_| {
                        unreadable("a consumer of checkpoint_consumers version 1 is not valid")
                    })?;
                self.capacity.consumers += 1;
                (CheckpointPart::Consumer(stored.load()), rest.len())
            }
        };
        self.rows_from = self.payload.len() - left;
        Ok(part)
    }

    /// A part that is stored as an event.
    fn next_event(&mut self, found: ChunkInBuffer) -> Result<CheckpointPart, CheckpointError> {
        let named = |name, changed_ms| NameEntry { name, changed_ms };
        match read_event(&self.chunk(found))? {
            Event::Idempotency(IdempotencyEvent::Stored(request)) => {
                self.counts.requests += 1;
                Ok(CheckpointPart::Idempotency(request))
            }
            Event::Capacity(CapacityEvent::ClassDefined(event)) => {
                self.capacity.names += 1;
                Ok(CheckpointPart::Class(named(event.class, event.at_ms)))
            }
            Event::Capacity(CapacityEvent::TraitDefined(event)) => {
                self.capacity.names += 1;
                Ok(CheckpointPart::Trait(named(event.name, event.at_ms)))
            }
            Event::Requests(RequestsEvent::Answered(event)) => {
                self.resources += 1;
                let (key, request) = (event.key, Arc::new(event.request));
                let (answer, version) = (event.answer, event.version);
                Ok(CheckpointPart::Request(AnsweredRequest { key, request, answer, version }))
            }
            event @ (Event::Requests(RequestsEvent::RetryScheduled(_))
            | Event::Alarm(AlarmEvent::Changed(_))
            | Event::Outbox(OutboxEvent::Queued(_) | OutboxEvent::DeliveryFailed(_))
            | Event::Authority(
                AuthorityEvent::IdentityDrawn(_)
                | AuthorityEvent::Defined(_)
                | AuthorityEvent::Wanted(_)
                | AuthorityEvent::LookUpChanged(_)
                | AuthorityEvent::LookUpsRefreshed(_)
                | AuthorityEvent::ReconciliationWanted(_)
                | AuthorityEvent::ReconciliationEnded(_),
            )) => {
                self.resources += 1;
                Ok(CheckpointPart::Event(event))
            }
            _ => Err(self.chunk(found).unexpected().into()),
        }
    }

    fn check_end(
        &mut self,
        found: ChunkInBuffer,
        counts: CountsV1,
        capacity: CapacityCountsV1,
        resources: u64,
        hash: [u8; 32],
    ) -> Result<(), CheckpointError> {
        if self.hasher.finalize() != hash {
            return Err(CheckpointError::Altered);
        }
        let there = (self.counts, self.capacity, self.resources);
        let written = (counts, capacity, resources);
        if written != there {
            let what = format!("{written:?} were written, {there:?} are there");
            return Err(DecodeError::malformed(found.offset, what).into());
        }
        if self.input.read(&mut [0]).map_err(CheckpointError::Io)? > 0 {
            return Err(DecodeError::malformed(self.offset, "bytes after the end").into());
        }
        self.ended = true;
        Ok(())
    }

    fn chunk(&self, found: ChunkInBuffer) -> Chunk<'_> {
        let ChunkInBuffer { kind, version, offset, inside } = found;
        Chunk { kind, version, offset, inside, payload: &self.payload }
    }

    /// Reads one chunk into the buffer. The buffer grows with the bytes that arrive, not with the length in the header.
    fn read_chunk(&mut self) -> Result<ChunkInBuffer, CheckpointError> {
        let offset = self.offset;
        let mut bytes = [0; HEAD_BYTES_MAX];
        let (mut len, mut numbers) = (0, 0);
        while numbers < 3 && len < HEAD_BYTES_MAX {
            bytes[len] = self.read_byte()?;
            // In the last byte of a varint the top bit is not set.
            numbers += u32::from(bytes[len] < 0x80);
            len += 1;
        }
        let head = postcard::from_bytes::<Head>(&bytes[..len]).map_err(|_| {
            DecodeError::malformed(offset, "kind, version and length are expected here")
        })?;
        let inside = self.offset;
        self.payload.clear();
        let read = self.input.by_ref().take(head.len).read_to_end(&mut self.payload);
        let read = read.map_err(CheckpointError::Io)? as u64;
        self.offset += read;
        self.rows_from = self.payload.len();
        if read < head.len {
            return Err(CheckpointError::Truncated { offset: self.offset });
        }
        if head.kind != kinds::CHECKPOINT_ENDED {
            self.hasher.update(&bytes[..len]);
            self.hasher.update(&self.payload);
        }
        Ok(ChunkInBuffer { kind: head.kind, version: head.version, offset, inside })
    }

    fn read_byte(&mut self) -> Result<u8, CheckpointError> {
        let mut byte = [0];
        match self.input.read_exact(&mut byte) {
            Ok(()) => {
                self.offset += 1;
                Ok(byte[0])
            }
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                Err(CheckpointError::Truncated { offset: self.offset })
            }
            Err(error) => Err(CheckpointError::Io(error)),
        }
    }
}
