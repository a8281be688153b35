//! The body of a journal record: what a batch of commands did, in order.
//!
//! The record around it (sequence, epoch, hash) is `allod-journal`'s.

use std::sync::Arc;

use allod_core::command::Command;
use allod_core::event::Event;

use crate::chunk::{self, Chunk, Chunks};
use crate::error::DecodeError;
use crate::kinds::{self, check_level};
use crate::stored::number::CauseV1;
use crate::stored::{read_event, write_event, written_as};

/// One thing that a record says. Each takes one journal position, except `Epoch`, which takes none: it tells of the
/// writer and changes nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Item {
    Entry(Entry),
    /// A new writer has taken over. The first record of its epoch says so.
    Epoch {
        writer: Arc<str>,
    },
    /// From here on, what needs this feature level may be written.
    Level {
        level: u32,
    },
}

/// What one command did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub at_ms: u64,
    pub cause: Cause,
    pub events: Vec<Event>,
}

/// Which command did it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Cause {
    PutPool,
    DeletePool,
    Transact,
    Tick,
    /// About providers, inventories, traits, aggregates or classes.
    Capacity,
    /// Asked for by the id-manager.
    Ids,
    /// Asked for by the resource-manager.
    Resource,
}

impl Cause {
    pub fn of(command: &Command) -> Cause {
        match command {
            Command::PutPool(_) => Cause::PutPool,
            Command::DeletePool(_) => Cause::DeletePool,
            Command::Transact(_) => Cause::Transact,
            Command::Tick => Cause::Tick,
            Command::Capacity(_) => Cause::Capacity,
            Command::Ids(_) => Cause::Ids,
            Command::Resource(_) => Cause::Resource,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Cause::PutPool => "put_pool",
            Cause::DeletePool => "delete_pool",
            Cause::Transact => "transact",
            Cause::Tick => "tick",
            Cause::Capacity => "capacity",
            Cause::Ids => "ids",
            Cause::Resource => "resource",
        }
    }
}

impl Item {
    pub fn takes_position(&self) -> bool {
        match self {
            Item::Entry(_) | Item::Level { .. } => true,
            Item::Epoch { .. } => false,
        }
    }
}

#[derive(Debug, serde::Serialize, serde::Deserialize)]
struct EpochBegunV1<'a> {
    writer: &'a str,
}

#[derive(Debug, serde::Serialize, serde::Deserialize)]
struct LevelRaisedV1 {
    level: u32,
}

/// What stands in an entry before its events, which are chunks within its chunk.
#[derive(Debug, serde::Serialize, serde::Deserialize)]
struct EntryV1 {
    at_ms: u64,
    cause: CauseV1,
}

/// The feature level that a reader of this item needs.
pub fn level_needed(item: &Item) -> u32 {
    let of = |(kind, version)| kinds::find(kind, version).map_or(1, |info| info.level);
    match item {
        Item::Entry(entry) => {
            let events = entry.events.iter().map(|event| of(written_as(event)));
            let cause = match entry.cause {
                Cause::Ids => 4,
                Cause::Resource => 5,
                _ => 1,
            };
            events.fold(of((kinds::ENTRY, 1)).max(cause), u32::max)
        }
        Item::Epoch { .. } => of((kinds::EPOCH_BEGUN, 1)),
        // Nobody who does not know the level may go past this point.
        Item::Level { level } => of((kinds::LEVEL_RAISED, 1)).max(*level),
    }
}

/// A record's body as it grows.
#[derive(Debug, Clone, Default)]
pub struct BodyWriter {
    bytes: Vec<u8>,
    positions: u64,
    level: u32,
}

impl BodyWriter {
    pub fn new() -> BodyWriter {
        BodyWriter::default()
    }

    pub fn push(&mut self, item: &Item) {
        write_item(&mut self.bytes, item);
        self.note(item);
    }

    /// Takes the item if the body then has at most `bytes_max`; says whether it did.
    #[must_use]
    pub fn push_within(&mut self, item: &Item, bytes_max: usize) -> bool {
        let before = self.bytes.len();
        write_item(&mut self.bytes, item);
        if self.bytes.len() > bytes_max {
            self.bytes.truncate(before);
            return false;
        }
        self.note(item);
        true
    }

    fn note(&mut self, item: &Item) {
        self.positions += u64::from(item.takes_position());
        self.level = self.level.max(level_needed(item));
    }

    /// The bytes so far.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// How many positions the items take together.
    pub fn positions(&self) -> u64 {
        self.positions
    }

    /// The feature level that a reader of all items needs.
    pub fn level(&self) -> u32 {
        self.level
    }

    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

pub fn encode(items: &[Item]) -> Vec<u8> {
    let mut body = BodyWriter::new();
    items.iter().for_each(|item| body.push(item));
    body.into_bytes()
}

/// Reads a whole body. Never panics, and never allocates more than a small multiple of `bytes`.
pub fn decode(bytes: &[u8]) -> Result<Vec<Item>, DecodeError> {
    let mut chunks = Chunks::new(bytes, 0);
    let mut items = Vec::with_capacity(chunks.count());
    while let Some(chunk) = chunks.next_chunk()? {
        items.push(read_item(&chunk)?);
    }
    Ok(items)
}

/// The items of a record that ends at position `last`, each with the position at which the journal stands after it.
/// `None` when there are more of them than positions, so that the body cannot belong to that record.
pub fn with_positions(
    items: &[Item],
    last: u64,
) -> Option<impl ExactSizeIterator<Item = (u64, &Item)>> {
    let taken = items.iter().filter(|item| item.takes_position()).count();
    let mut position = last.checked_sub(taken as u64)?;
    Some(items.iter().map(move |item| {
        position += u64::from(item.takes_position());
        (position, item)
    }))
}

fn write_item(out: &mut Vec<u8>, item: &Item) {
    match item {
        Item::Entry(entry) => chunk::wrap(out, kinds::ENTRY, 1, |out| {
            chunk::put(out, &EntryV1 { at_ms: entry.at_ms, cause: CauseV1(entry.cause) });
            entry.events.iter().for_each(|event| write_event(out, event));
        }),
        Item::Epoch { writer } => {
            chunk::write(out, kinds::EPOCH_BEGUN, 1, &EpochBegunV1 { writer })
        }
        &Item::Level { level } => {
            chunk::write(out, kinds::LEVEL_RAISED, 1, &LevelRaisedV1 { level })
        }
    }
}

fn read_item(chunk: &Chunk<'_>) -> Result<Item, DecodeError> {
    Ok(match (chunk.kind, chunk.version) {
        (kinds::ENTRY, 1) => Item::Entry(read_entry(chunk)?),
        (kinds::EPOCH_BEGUN, 1) => {
            Item::Epoch { writer: chunk.read::<EpochBegunV1>()?.writer.into() }
        }
        (kinds::LEVEL_RAISED, 1) => {
            let LevelRaisedV1 { level } = chunk.read()?;
            check_level(level)?;
            Item::Level { level }
        }
        _ => return Err(chunk.unexpected()),
    })
}

fn read_entry(chunk: &Chunk<'_>) -> Result<Entry, DecodeError> {
    let (EntryV1 { at_ms, cause }, rest) = chunk.read_first()?;
    let offset = chunk.inside + (chunk.payload.len() - rest.len()) as u64;
    let mut chunks = Chunks::new(rest, offset);
    // Nearly every entry has one event; room for four, which is what a Vec takes by itself, would be mostly waste.
    let mut events = Vec::with_capacity(chunks.count());
    while let Some(chunk) = chunks.next_chunk()? {
        events.push(read_event(&chunk)?);
    }
    Ok(Entry { at_ms, cause: cause.0, events })
}
