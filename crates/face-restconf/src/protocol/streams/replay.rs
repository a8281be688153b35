//! Finds the records of a time in the journal.

use allod_engine::{Handle, JournalReadError};

/// The record from which to read in order to get all events since this time. It may begin with older events, which the
/// caller must skip. A time before the oldest retained record yields that record.
pub(super) async fn record_at(
    handle: &Handle,
    last: u64,
    start_ms: u64,
) -> Result<u64, JournalReadError> {
    let oldest = oldest(handle).await?;
    let (mut low, mut high) = (oldest, last + 1);
    while low < high {
        let middle = low + (high - low) / 2;
        match first_time(handle, middle, high).await? {
            Some(ms) if ms < start_ms => low = middle + 1,
            _ => high = middle,
        }
    }
    // The record before starts earlier, but may contain later entries.
    Ok(low.saturating_sub(1).max(oldest))
}

/// The time of the oldest retained event.
pub(super) async fn oldest_time(
    handle: &Handle,
    last: u64,
) -> Result<Option<u64>, JournalReadError> {
    first_time(handle, oldest(handle).await?, last + 1).await
}

/// The oldest retained record.
async fn oldest(handle: &Handle) -> Result<u64, JournalReadError> {
    match handle.record_after(0).await {
        Err(JournalReadError::Trimmed { oldest_position }) => {
            handle.record_after(oldest_position).await
        }
        found => found,
    }
}

/// The time of the first event in the records from `from` to `end`. Few records have none.
async fn first_time(
    handle: &Handle,
    mut from: u64,
    end: u64,
) -> Result<Option<u64>, JournalReadError> {
    while from < end {
        let records = handle.read_journal(from, 0).await?;
        let Some(last) = records.last() else { break };
        let mut entries = records.iter().flat_map(|record| &record.entries);
        if let Some(entry) = entries.find(|entry| !entry.events.is_empty()) {
            return Ok(Some(entry.at_ms));
        }
        from = last.tail.seq + 1;
    }
    Ok(None)
}
