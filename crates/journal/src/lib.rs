//! The journal: an append-only chain of records, with checkpoints and backups beside it.
//!
//! - `contract`: the trait that every back end implements; read this first
//! - `suite`: the tests that every back end passes
//! - `frame`: a record and its place in the hash chain
//! - `memory`, `embedded` (SQLite), `postgres`: the back ends
//! - `checkpoint`: stored states; `segment`: the file format of backups and archives; `private`: file permissions
//!
//! A journal stores bytes. `allod-record` defines what they mean, and the engine decides what to do with them.

pub mod checkpoint;
pub mod contract;
#[cfg(feature = "embedded")]
pub mod embedded;
pub mod frame;
pub mod memory;
#[cfg(feature = "postgres")]
pub mod postgres;
pub mod private;
pub mod segment;
#[cfg(any(test, feature = "suite"))]
pub mod suite;

pub use checkpoint::{CheckpointMeta, CheckpointStore, CheckpointStoreError};
pub use contract::{
    AppendOutcome, DAMAGE_ADVICE, FillSource, Guarantees, Journal, JournalError, LostRecords,
};
pub use frame::{BrokenChain, Hash, RecordFrame, Tail};
pub use segment::{SegmentError, SegmentReader, SegmentWriter};
