//! The settings of the engine, with their defaults.

use std::path::PathBuf;

use allod_core::limits::Limits;

#[derive(Debug, Clone)]
pub struct Config {
    pub limits: Limits,
    /// The most commands in the queue; further ones are refused.
    pub queue_commands_max: usize,
    /// The most candidate searches and long lists that are computed at the same time.
    pub long_reads_max: usize,
    /// The most that wait for their turn; further ones are refused.
    pub long_reads_queue_max: usize,
    /// The most commands in one record.
    pub batch_commands_max: usize,
    /// The most bytes in one record.
    pub batch_bytes_max: usize,
    /// How many bytes of the newest records the feed keeps in memory.
    pub feed_bytes_max: usize,
    /// A checkpoint is written after this many bytes of journal.
    pub checkpoint_bytes: u64,
    /// How many checkpoints are retained.
    pub checkpoints_kept: usize,
    pub history: RetentionPolicy,
    /// The folder where records are archived before they are trimmed.
    pub archive: Option<PathBuf>,
    /// The size of an archive segment, in bytes of journal.
    pub archive_segment_bytes: u64,
    /// The most backups at the same time.
    pub backups_max: usize,
    /// The folder of the history index. `None`: there is no index, and history queries are refused.
    pub index: Option<PathBuf>,
    /// How many postings of the index are held in memory before they are written to a file. A posting takes 8 bytes; an
    /// event has about 3.
    pub index_postings_max: usize,
    /// The most records that are read for one history query.
    pub history_records_max: usize,
    /// How long a history query waits for the index to catch up with the journal.
    pub history_wait_ms_max: u64,
    /// The name of this process in the journal.
    pub writer: String,
}

/// How much of the journal is retained.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetentionPolicy {
    /// All of it.
    All,
    /// The records after the oldest retained checkpoint.
    SinceCheckpoint,
    /// The records within this time and this size, whichever is less.
    Within { ms_max: Option<u64>, bytes_max: Option<u64> },
}

impl Default for Config {
    fn default() -> Config {
        Config {
            limits: Limits::default(),
            queue_commands_max: 16_384,
            long_reads_max: 2,
            long_reads_queue_max: 256,
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
