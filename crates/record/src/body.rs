//! The body of a journal record: the entries of a batch of commands.
//!
//! The record around it (sequence, epoch, hash) is in `allod-journal`.

use std::sync::Arc;

use allod_core::command::Command;
use allod_core::event::Event;

use crate::chunk::{self, Chunk, Chunks};
use crate::error::DecodeError;
use crate::kinds::{self, check_level};
use crate::stored::number::CauseV1;
use crate::stored::{read_event, write_event, written_as};

/// An item of a record. Each takes one journal position, except `Epoch`, which does not change the state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Item {
    Entry(Entry),
    /// A new writer has taken over. This is in the first record of its epoch.
    Epoch {
        writer: Arc<str>,
    },
    /// Later records may need this feature level.
    Level {
        level: u32,
    },
}

/// The events of one command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub at_ms: u64,
    pub cause: Cause,
    pub events: Vec<Event>,
}

/// The sort of command that caused an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Cause {
    PutPool,
    DeletePool,
    Transact,
    Tick,
    /// About providers, inventories, traits, aggregates or classes.
    Capacity,
    /// About block pools.
    Blocks,
    /// About request pools, notifications or alarms.
    Requests,
    /// About authorities, and what they have answered.
    Authority,
}

impl Cause {
    pub fn of(command: &Command) -> Cause {
        match command {
            Command::PutPool(_) => Cause::PutPool,
            Command::DeletePool(_) => Cause::DeletePool,
            Command::Transact(_) => Cause::Transact,
            Command::Tick => Cause::Tick,
            Command::Capacity(_) => Cause::Capacity,
            Command::Blocks(_) => Cause::Blocks,
            Command::Requests(_) | Command::Outbox(_) | Command::Alarm(_) => Cause::Requests,
            Command::Authority(_) => Cause::Authority,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Cause::PutPool => "put_pool",
            Cause::DeletePool => "delete_pool",
            Cause::Transact => "transact",
            Cause::Tick => "tick",
            Cause::Capacity => "capacity",
            Cause::Blocks => "ids",
            Cause::Requests => "resource",
            Cause::Authority => "authority",
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

/// The header of an entry. Its events follow as chunks inside its chunk.
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
                Cause::Blocks => 4,
                Cause::Requests => 5,
                Cause::Authority => 7,
                _ => 1,
            };
            events.fold(of((kinds::ENTRY, 1)).max(cause), u32::max)
        }
        Item::Epoch { .. } => of((kinds::EPOCH_BEGUN, 1)),
        // A program that does not know the level must stop here.
        Item::Level { level } => of((kinds::LEVEL_RAISED, 1)).max(*level),
    }
}

/// Builds the body of a record.
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

    /// Adds the item unless the body would exceed `bytes_max`. Returns whether it was added.
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

    /// The number of bytes so far.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The number of positions that the items take.
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

/// The items of a record that ends at position `last`, each with the position of the journal after it. `None`: the body
/// has more items than the journal has positions, so it does not belong to that record.
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
    // Most entries have one event, and the default capacity of four would waste memory.
    let mut events = Vec::with_capacity(chunks.count());
    while let Some(chunk) = chunks.next_chunk()? {
        events.push(read_event(&chunk)?);
    }
    Ok(Entry { at_ms, cause: cause.0, events })
}
