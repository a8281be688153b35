//! The engine: stamps commands, decides them, makes them durable, applies and publishes them.
//!
//! It turns the wheel and nothing else: what a command means is `allod-core`'s, how bytes are kept is `allod-journal`'s.
//! This is the only place that reads a clock or rolls dice for the core.

mod checkpoint;
mod config;
mod counts;
mod driver;
mod handle;
pub mod history;
mod meter;
mod queue;
mod replay;
mod stamp;
mod verify;
mod writer;

pub use allod_journal::{Guarantees, Hash};
pub use checkpoint::{load as load_checkpoint, state_hash, write as write_checkpoint};
pub use config::{Config, History};
pub use counts::Counters;
pub use driver::Engine;
pub use handle::{At, Failure, Handle, Reply, Shared, Snapshot, Status};
pub use replay::{Halt, Replayed, recover};
pub use stamp::{Clock, SystemClock};
pub use verify::{Verified, verify};
pub use writer::{Pause, Writer};
