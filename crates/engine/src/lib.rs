//! The engine: stamps commands, decides them, makes them durable, applies and publishes them.
//!
//! It turns the wheel and nothing else: what a command means is `allod-core`'s, how bytes are kept is `allod-journal`'s.
//! This is the only place that reads a clock or rolls dice for the core.

mod backup;
mod checkpoint;
mod config;
mod counters;
mod driver;
mod feed;
mod handle;
pub mod history;
mod metrics;
mod queue;
mod reader;
mod replay;
mod restore;
mod retention;
mod stamp;
mod verify;
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
pub use reader::JournalReadError;
pub use replay::{Halt, Replayed, recover};
pub use restore::{RestoreError, RestoreSummary, restore, verify_segment};
pub use retention::{Archive, ArchiveError, ArchiveSegment};
pub use stamp::{Clock, SystemClock};
pub use verify::{Verification, verify};
pub use writer::{BatchWriter, Pause};
