//! Limits how often a line is logged.

/// Logs at most one line in this time.
const EVERY_MS: u64 = 1000;

/// Counts what happens, and says when to log it.
#[derive(Debug, Default)]
pub(crate) struct LogLimit {
    logged_ms: Option<u64>,
    since: u64,
}

impl LogLimit {
    /// Counts one more. Returns how many there were since the last line, if a line is due.
    pub(crate) fn count(&mut self, now_ms: u64) -> Option<u64> {
        self.since += 1;
        // A clock that was set back does not silence the log.
        if self.logged_ms.is_some_and(|logged_ms| logged_ms.abs_diff(now_ms) < EVERY_MS) {
            return None;
        }
        self.logged_ms = Some(now_ms);
        Some(std::mem::take(&mut self.since))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_a_second_with_the_number_of_changes() {
        let mut limit = LogLimit::default();
        let lines: Vec<u64> = (0..3000).filter_map(|ms| limit.count(10_000 + ms)).collect();
        assert_eq!(lines, [1, 1000, 1000]);
        assert_eq!(limit.count(500), Some(1000), "the clock was set back");
    }
}
