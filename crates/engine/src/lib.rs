//! The engine: stamps commands, decides them, makes them durable, applies and publishes them.
//!
//! It turns the wheel and nothing else: what a command means is `allod-core`'s, how bytes are kept is `allod-journal`'s.
//! This is the only place that reads a clock or rolls dice for the core.

mod backup;
mod checkpoint;
mod config;
mod counts;
mod driver;
mod feed;
mod handle;
pub mod history;
mod keep;
mod meter;
mod queue;
mod reader;
mod replay;
mod restore;
mod stamp;
mod verify;
mod writer;

pub use allod_journal::{Guarantees, Hash, Tail};
pub use allod_record::{Cause, Entry};
pub use backup::{BackedUp, BackupError, Progress, backup};
pub use checkpoint::{load as load_checkpoint, state_hash, write as write_checkpoint};
pub use config::{Config, History};
pub use counts::Counters;
pub use driver::Engine;
pub use feed::{Behind, Feed, Record};
pub use handle::{At, Failure, Handle, Reply, Shared, Snapshot, Status};
pub use keep::{Archive, ArchiveError, Archived};
pub use reader::Unread;
pub use replay::{Halt, Replayed, recover};
pub use restore::{RestoreError, Restored, restore, verify_segment};
pub use stamp::{Clock, SystemClock};
pub use verify::{Verified, verify};
pub use writer::{Pause, Writer};
