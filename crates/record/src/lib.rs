//! The stored form of events: the bodies of journal records, and checkpoints.
//!
//! Everything stored is a sequence of *chunks*: a kind number, a version, a length, and that many bytes of payload, the
//! three numbers as varints. The payload is the postcard form of a struct that belongs to one kind and version and never
//! changes; [`kinds`] lists them all. So the types of the core can change, and records of older releases stay readable.
//!
//! To change what is stored: a new field, a new variant of a stored enum or another layout is a new version of its kind,
//! with a new struct, a new row in [`kinds`] at the next feature level, and a new golden file. Old structs and old golden
//! files stay.
//!
//! Not here: the framing and hash chain of records (`allod-journal`), and the effect of events (`allod-core`).

pub mod body;
pub mod checkpoint;
mod chunk;
pub mod error;
#[cfg(test)]
mod golden;
pub mod kinds;
mod stored;

pub use body::{BodyWriter, Cause, Entry, Item, decode, encode, level_needed, with_positions};
pub use checkpoint::{CheckpointPart, CheckpointReader, CheckpointWriter, Header};
pub use error::{CheckpointError, DecodeError};
pub use kinds::{KindInfo, LEVEL, check_level, describe};
