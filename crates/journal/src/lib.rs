//! The journal: a chain of records that is only ever appended to, compared with the expected tail.
//!
//! A journal sees bytes. What the bytes mean is `allod-record`'s business; what to do with them is the engine's.

pub mod checkpoint;
pub mod contract;
#[cfg(feature = "embedded")]
pub mod embedded;
pub mod frame;
pub mod memory;
#[cfg(feature = "postgres")]
pub mod postgres;
pub mod segment;
#[cfg(any(test, feature = "suite"))]
pub mod suite;

pub use checkpoint::{CheckpointError, CheckpointMeta, CheckpointStore};
pub use contract::{Append, DAMAGE_ADVICE, Guarantees, Journal, JournalError, Source};
pub use frame::{BrokenChain, Frame, Hash, Tail};
pub use segment::{SegmentError, SegmentReader, SegmentWriter};
