//! Retention: removes old checkpoints, and archives and trims old records.
//!
//! - `cutoff`: up to which record the retention policy allows trimming
//! - `archive`: the archive of trimmed records
//!
//! Records are never trimmed while the oldest retained checkpoint or a backup in progress needs them, or before they are
//! archived if there is an archive.

mod archive;
mod cutoff;

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use allod_journal::Journal;
use allod_journal::checkpoint::CheckpointStore;
use parking_lot::Mutex;
use tracing::{info, warn};

pub(crate) use archive::open as open_segment;
pub use archive::{Archive, ArchiveError, ArchiveSegment};

use self::cutoff::JournalSizes;
use crate::backup::{BackupError, BackupProgress, BackupSummary, backup};
use crate::config::{Config, RetentionPolicy};
use crate::metrics::metrics_struct;
use crate::replay::Halt;

/// The longest interval between two runs without a checkpoint.
const ENFORCE_MS_MAX: u64 = 60_000;

/// The retention of one journal.
pub(crate) struct Retention {
    journal: Arc<dyn Journal>,
    checkpoints: Arc<dyn CheckpointStore>,
    history: RetentionPolicy,
    checkpoints_kept: usize,
    backups_max: usize,
    archive: Option<Archive>,
    /// The oldest record that each backup in progress needs.
    pins: Mutex<Vec<u64>>,
    sizes: Mutex<JournalSizes>,
    /// Trimming waits for a newer checkpoint.
    wants_checkpoint: AtomicBool,
    /// Set when the engine stops: long work ends early.
    stop: Arc<AtomicBool>,
    metrics: RetentionMetrics,
}

metrics_struct!(RetentionMetrics {
    backups: counter("allod_backups_total", "Completed backups"),
    archived: counter("allod_archived_records_total", "Records written to archive segments"),
    archive_failures: counter(
        "allod_archive_failures_total",
        "Failed attempts to archive records; they were not trimmed"
    ),
    trimmed: counter("allod_trimmed_records_total", "Records removed from the journal"),
});

/// Keeps the records of a backup from being trimmed while it exists.
struct BackupPin<'a> {
    retention: &'a Retention,
    oldest: u64,
}

impl Drop for BackupPin<'_> {
    fn drop(&mut self) {
        let mut pins = self.retention.pins.lock();
        if let Some(at) = pins.iter().position(|pin| *pin == self.oldest) {
            pins.swap_remove(at);
        }
    }
}

impl Retention {
    pub(crate) fn new(
        journal: Arc<dyn Journal>,
        checkpoints: Arc<dyn CheckpointStore>,
        config: &Config,
        stop: Arc<AtomicBool>,
    ) -> Retention {
        let archive = config
            .archive
            .as_ref()
            .map(|folder| Archive::new(folder.clone(), config.archive_segment_bytes));
        archive.iter().for_each(Archive::tighten);
        Retention {
            journal,
            checkpoints,
            history: config.history,
            checkpoints_kept: config.checkpoints_kept.max(1),
            backups_max: config.backups_max,
            archive,
            pins: Mutex::default(),
            sizes: Mutex::default(),
            wants_checkpoint: AtomicBool::new(false),
            stop,
            metrics: RetentionMetrics::new(),
        }
    }

    /// Writes a backup of what is committed now. Blocks the caller; writes continue.
    pub(crate) fn backup<W: Write>(
        &self,
        created_ms: u64,
        out: W,
        progress: &mut BackupProgress<'_>,
    ) -> Result<(W, BackupSummary), BackupError> {
        let _pin = self.pin()?;
        let made = backup(&*self.journal, &*self.checkpoints, created_ms, out, progress)?;
        self.metrics.backups.increment(1);
        info!(
            records = made.1.trailer.records,
            position = made.1.header.end.position,
            "backup written"
        );
        Ok(made)
    }

    fn pin(&self) -> Result<BackupPin<'_>, BackupError> {
        // Trimming takes this lock too, so the oldest record cannot change before it is pinned.
        let mut pins = self.pins.lock();
        if pins.len() >= self.backups_max {
            return Err(BackupError::Busy { backups_max: self.backups_max });
        }
        let oldest = self.journal.oldest().map_err(Halt::from)?;
        pins.push(oldest);
        Ok(BackupPin { retention: self, oldest })
    }

    /// How often to run `enforce` without a new checkpoint. `None`: never.
    pub(crate) fn enforce_interval_ms(&self) -> Option<u64> {
        match self.history {
            RetentionPolicy::All => None,
            RetentionPolicy::SinceCheckpoint => Some(ENFORCE_MS_MAX),
            RetentionPolicy::Within { .. } => {
                Some(self.checkpoint_every_ms().clamp(100, ENFORCE_MS_MAX))
            }
        }
    }

    /// The shortest interval between two checkpoints that are written only to allow trimming.
    fn checkpoint_every_ms(&self) -> u64 {
        match self.history {
            RetentionPolicy::Within { ms_max: Some(ms_max), .. } => ms_max / cutoff::SLACK,
            _ => ENFORCE_MS_MAX,
        }
    }

    /// Whether to write a checkpoint so that more can be trimmed. `bytes` is the journal since the last one, `age_ms` its
    /// age.
    pub(crate) fn wants_checkpoint(&self, bytes: u64, age_ms: u64) -> bool {
        let full = match self.history {
            RetentionPolicy::Within { bytes_max: Some(bytes_max), .. } => {
                bytes >= bytes_max / cutoff::SLACK
            }
            _ => false,
        };
        full || (self.wants_checkpoint.load(Ordering::Relaxed)
            && age_ms >= self.checkpoint_every_ms())
    }

    /// Removes old checkpoints, and archives and trims old records.
    pub(crate) fn enforce(&self, now_ms: u64) -> Result<(), Halt> {
        {
            let pins = self.pins.lock();
            // A backup may be about to open an old checkpoint.
            if pins.is_empty() {
                self.checkpoints.keep_newest(self.checkpoints_kept)?;
            }
        }
        let checkpoint = self.checkpoints.list()?.last().map_or(0, |meta| meta.seq);
        let oldest = self.journal.oldest()?;
        let wanted = self.unwanted(now_ms)?;
        let short = wanted > checkpoint && self.history != RetentionPolicy::SinceCheckpoint;
        self.wants_checkpoint.store(short, Ordering::Relaxed);
        let last = self.journal.tail()?.seq;
        let upto = wanted.min(checkpoint).min(last.saturating_sub(1));
        if upto < oldest {
            return Ok(());
        }
        let upto = self.archived(oldest, upto, now_ms);
        let pins = self.pins.lock();
        let upto = pins.iter().fold(upto, |upto, pin| upto.min(pin.saturating_sub(1)));
        if upto >= oldest {
            self.journal.trim(upto)?;
            self.sizes.lock().forget(upto);
            self.metrics.trimmed.increment(upto + 1 - oldest);
            info!(records = upto + 1 - oldest, upto, "journal trimmed");
        }
        Ok(())
    }

    /// The last record that the policy allows to trim; 0 if none.
    fn unwanted(&self, now_ms: u64) -> Result<u64, Halt> {
        let RetentionPolicy::Within { ms_max, bytes_max } = self.history else {
            return Ok(if self.history == RetentionPolicy::All { 0 } else { u64::MAX });
        };
        let by_time = match ms_max {
            Some(ms_max) => cutoff::older_than(&*self.journal, ms_max, now_ms)?,
            None => 0,
        };
        let by_size = match bytes_max {
            Some(bytes_max) => {
                let mut sizes = self.sizes.lock();
                sizes.measure(&*self.journal, bytes_max, &self.stop)?;
                sizes.beyond(bytes_max)
            }
            None => 0,
        };
        Ok(by_time.max(by_size))
    }

    /// Archives the records `oldest..=upto`, if there is an archive. Returns the last archived one.
    fn archived(&self, oldest: u64, upto: u64, now_ms: u64) -> u64 {
        let Some(archive) = &self.archive else { return upto };
        let done = archive.store(&*self.journal, oldest, upto, (now_ms, &self.stop));
        self.metrics.archived.increment(done.records);
        if let Some(error) = done.error {
            self.metrics.archive_failures.increment(1);
            warn!(%error, archive = %archive.folder().display(), "cannot archive records; they are not trimmed");
        }
        done.upto.min(upto)
    }
}
