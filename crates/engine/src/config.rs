//! What an operator can choose about the engine. Every limit has a name and a default.

use std::path::PathBuf;

use allod_core::limits::Limits;

#[derive(Debug, Clone)]
pub struct Config {
    pub limits: Limits,
    /// Commands that may wait to be decided; one more is refused.
    pub queue_commands_max: usize,
    /// Commands that become durable together.
    pub batch_commands_max: usize,
    /// Bytes of one journal record.
    pub batch_bytes_max: usize,
    /// A checkpoint is written after this much journal.
    pub checkpoint_bytes: u64,
    /// How many checkpoints are kept.
    pub checkpoints_kept: usize,
    pub history: History,
    /// Where the index of the history is kept. `None`: there is none, and questions about the past are not answered.
    pub index: Option<PathBuf>,
    /// How much of the index is in memory before it goes into a file: 8 bytes for each posting, about 3 for an event.
    pub index_postings_max: usize,
    /// Records that are read for one page of history, or for one answer about the past.
    pub history_records_max: usize,
    /// How long a question about the past waits for the index to come up with the journal.
    pub history_wait_ms_max: u64,
    /// How this process calls itself in the journal.
    pub writer: String,
}

/// How much of the journal is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum History {
    /// All of it.
    All,
    /// What the oldest checkpoint that is kept needs to go on from.
    SinceCheckpoint,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            limits: Limits::default(),
            queue_commands_max: 16_384,
            batch_commands_max: 2048,
            batch_bytes_max: 8 << 20,
            checkpoint_bytes: 64 << 20,
            checkpoints_kept: 2,
            history: History::All,
            index: None,
            index_postings_max: 1 << 18,
            history_records_max: 4096,
            history_wait_ms_max: 2000,
            writer: format!("pid-{}", std::process::id()),
        }
    }
}
