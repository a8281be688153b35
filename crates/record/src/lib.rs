//! The stored form of what happened: the bodies of journal records, and checkpoints.
//!
//! Everything stored is a sequence of *chunks*: a kind number, a version, a length, and that many bytes of payload, the
//! three numbers as varints. The payload is the postcard form of a struct that belongs to that kind and version alone and
//! never changes again; [`kinds`] lists them all. So the core's types stay free to change, and what an older program
//! wrote is read for ever.
//!
//! To change what is stored: a new field, a new variant of a stored enum or another layout is a new version of its kind,
//! with a new struct, a new row in [`kinds`] at the next feature level, and a new golden file. Old structs and old golden
//! files stay.
//!
//! Not here: record framing, hashes and the chain (`allod-journal`), and what the events do to the state (`allod-core`).

pub mod body;
pub mod checkpoint;
mod chunk;
pub mod error;
#[cfg(test)]
mod golden;
pub mod kinds;
mod stored;

pub use body::{BodyWriter, Cause, Entry, Item, decode, encode, level_needed, with_positions};
pub use checkpoint::{CheckpointReader, CheckpointWriter, Header, Part};
pub use error::{CheckpointError, DecodeError};
pub use kinds::{KindInfo, LEVEL, check_level, describe};
