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
    /// Bytes of the newest records that are kept in memory for those who listen.
    pub feed_bytes_max: usize,
    /// A checkpoint is written after this much journal.
    pub checkpoint_bytes: u64,
    /// How many checkpoints are kept.
    pub checkpoints_kept: usize,
    pub history: RetentionPolicy,
    /// The folder that records are archived in before they are trimmed.
    pub archive: Option<PathBuf>,
    /// A segment of the archive is begun anew after this much journal.
    pub archive_segment_bytes: u64,
    /// Backups that may be made at the same time.
    pub backups_max: usize,
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
pub enum RetentionPolicy {
    /// All of it.
    All,
    /// What the oldest checkpoint that is kept needs to go on from.
    SinceCheckpoint,
    /// At least what was written within this time, at most this much: whichever is less.
    Within { ms_max: Option<u64>, bytes_max: Option<u64> },
}

impl Default for Config {
    fn default() -> Config {
        Config {
            limits: Limits::default(),
            queue_commands_max: 16_384,
            batch_commands_max: 2048,
            batch_bytes_max: 8 << 20,
            feed_bytes_max: 4 << 20,
            checkpoint_bytes: 64 << 20,
            checkpoints_kept: 2,
            history: RetentionPolicy::All,
            archive: None,
            archive_segment_bytes: 64 << 20,
            backups_max: 2,
            index: None,
            index_postings_max: 1 << 17,
            history_records_max: 4096,
            history_wait_ms_max: 2000,
            writer: format!("pid-{}", std::process::id()),
        }
    }
}
