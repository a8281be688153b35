//! Why the index does not go on, whether that passes by itself, and how long to wait before trying again.

use std::io;
use std::time::Duration;

use allod_journal::JournalError;

use super::HistoryError;
use super::index::IndexError;
use crate::replay::Halt;

/// How long is waited after the first failure; each further one doubles it, up to so many times.
const PAUSE: Duration = Duration::from_millis(20);
const DOUBLED_MAX: u32 = 6;
/// One in so many failures is logged: a full disk must not be filled with that.
const TOLD_EVERY: u32 = 16;

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
    /// Whether trying again may help: a disk gets room again, a folder comes back, a database is started again.
    pub(super) fn is_transient(&self) -> bool {
        // What was trimmed while we looked is not missed when we look again.
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

/// How often it has failed since it last went on.
#[derive(Debug, Default)]
pub(super) struct RetryBackoff(u32);

impl RetryBackoff {
    /// One more. Says whether it is to be logged, and how long to wait now.
    pub(super) fn add(&mut self) -> (bool, Duration) {
        let before = self.0;
        self.0 = before.saturating_add(1);
        (before.is_multiple_of(TOLD_EVERY), PAUSE * (1 << before.min(DOUBLED_MAX)))
    }

    /// It has gone on. Says whether it had failed before.
    pub(super) fn end(&mut self) -> bool {
        std::mem::take(&mut self.0) > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_up_to_a_bound_and_few_failures_are_told() {
        let mut failures = RetryBackoff::default();
        assert!(!failures.end());
        let (told, pauses): (Vec<_>, Vec<_>) = (0..100).map(|_| failures.add()).unzip();
        assert_eq!(pauses[..3], [20, 40, 80].map(Duration::from_millis));
        assert!(pauses.iter().all(|pause| *pause < Duration::from_secs(2)), "{pauses:?}");
        assert_eq!(told.iter().filter(|told| **told).count(), 7);
        assert!(failures.end());
        assert_eq!(failures.add(), (true, PAUSE));
    }
}
