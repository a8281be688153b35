//! Why the indexer makes no progress, whether a retry may help, and the delay before it.

use std::io;
use std::time::Duration;

use allod_journal::JournalError;

use super::HistoryError;
use super::index::IndexError;
use crate::replay::Halt;

/// The delay after the first failure. It doubles with each further one, at most `DOUBLED_MAX` times.
const PAUSE: Duration = Duration::from_millis(20);
const DOUBLED_MAX: u32 = 6;
/// One in this many failures is logged, because the log may be on the same full disk.
const LOG_EVERY: u32 = 16;

#[derive(Debug, thiserror::Error)]
pub(super) enum IndexerError {
    #[error(transparent)]
    Index(#[from] IndexError),
    #[error(transparent)]
    Halt(#[from] Halt),
    #[error("the history index cannot be written: {0}")]
    Io(#[from] io::Error),
    #[error(transparent)]
    Unanswered(#[from] HistoryError),
}

impl From<JournalError> for IndexerError {
    fn from(error: JournalError) -> IndexerError {
        IndexerError::Halt(error.into())
    }
}

impl IndexerError {
    /// Whether a retry may help, for example after a full disk, a missing folder, or a database restart.
    pub(super) fn is_transient(&self) -> bool {
        // Trimmed during the read; a retry starts after the trimmed records.
        let journal = |error: &JournalError| {
            matches!(error, JournalError::Unavailable { .. } | JournalError::Trimmed { .. })
        };
        match self {
            IndexerError::Io(_) | IndexerError::Index(IndexError::Folder { .. }) => true,
            IndexerError::Index(IndexError::Journal(error))
            | IndexerError::Halt(Halt::Journal(error)) => journal(error),
            IndexerError::Halt(halt) => halt.is_transient(),
            IndexerError::Unanswered(unanswered) => {
                matches!(
                    unanswered,
                    HistoryError::Unavailable { .. } | HistoryError::Trimmed { .. }
                )
            }
        }
    }
}

/// The number of failures since the last success.
#[derive(Debug, Default)]
pub(super) struct RetryBackoff(u32);

impl RetryBackoff {
    /// Counts a failure. Returns whether to log it, and the delay before the retry.
    pub(super) fn add(&mut self) -> (bool, Duration) {
        let before = self.0;
        self.0 = before.saturating_add(1);
        (before.is_multiple_of(LOG_EVERY), PAUSE * (1 << before.min(DOUBLED_MAX)))
    }

    /// Resets it. Returns whether there was a failure.
    pub(super) fn end(&mut self) -> bool {
        std::mem::take(&mut self.0) > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_grow_up_to_a_bound_and_few_failures_are_logged() {
        let mut failures = RetryBackoff::default();
        assert!(!failures.end());
        let (logged, pauses): (Vec<_>, Vec<_>) = (0..100).map(|_| failures.add()).unzip();
        assert_eq!(pauses[..3], [20, 40, 80].map(Duration::from_millis));
        assert!(pauses.iter().all(|pause| *pause < Duration::from_secs(2)), "{pauses:?}");
        assert_eq!(logged.iter().filter(|logged| **logged).count(), 7);
        assert!(failures.end());
        assert_eq!(failures.add(), (true, PAUSE));
    }
}
