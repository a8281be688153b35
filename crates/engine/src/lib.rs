//! The engine: stamps commands with time and a random seed, lets the core decide them, appends the events to the journal,
//! and publishes the new state.
//!
//! - `driver`, `queue`, `writer`: the write loop; `stamp`: the clock and random numbers, which the core may not use
//! - `handle`, `feed`, `reader`, `long_reads`: what faces use to submit, read and follow
//! - `replay`, `checkpoint`, `verify`, `witness`: from the journal to a state, and what proves that records are missing
//! - `backup`, `restore`, `retention`: copies of the journal, and what is removed from it
//! - `history`: history queries and their index
//!
//! What a command means is defined in `allod-core`; how bytes are stored, in `allod-journal`.

mod availability;
mod backup;
mod checkpoint;
mod config;
mod counters;
mod driver;
mod feed;
mod handle;
pub mod history;
mod log_limit;
mod long_reads;
mod metrics;
mod queue;
mod reader;
mod replay;
mod restore;
mod retention;
mod stamp;
mod verify;
mod witness;
mod writer;

pub use allod_journal::{Guarantees, Hash, Tail};
pub use allod_record::{Cause, Entry};
pub use backup::{BackupError, BackupProgress, BackupSummary, backup};
pub use checkpoint::{load as load_checkpoint, state_hash, write as write_checkpoint};
pub use config::{Config, RetentionPolicy};
pub use counters::EngineCounters;
pub use driver::Engine;
pub use feed::{Feed, FeedRecord, Lagged};
pub use handle::{
    CommandReply, CommitPoint, EngineError, EngineStatus, Handle, SharedState, Snapshot,
};
pub use long_reads::FrozenRead;
pub use reader::JournalReadError;
pub use replay::{Halt, Replica, apply_item, decode_record, recover};
pub use restore::{RestoreError, RestoreSummary, restore, verify_segment};
pub use retention::{Archive, ArchiveError, ArchiveSegment};
pub use stamp::{Clock, ClockStatus, SystemClock, TimeSource};
pub use verify::{Verification, verify};
pub use witness::{discard_witnesses, loss_witnesses};
pub use writer::{BatchWriter, Pause};
