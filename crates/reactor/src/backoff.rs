//! The delay before a failed delivery is retried.
//!
//! Delays have no random jitter, so that operators and tests can predict them. Retries do not pile up at one moment: targets
//! fail at different times, and each webhook has a limit of parallel requests.

use crate::limits::ReactorLimits;

/// When to retry a notification that had failed `attempts` times and has now failed again. `None`: give up.
pub(crate) fn again_ms(limits: &ReactorLimits, attempts: u32, now_ms: u64) -> Option<u64> {
    let made = u64::from(attempts) + 1;
    if made >= limits.outbox_attempts_max {
        return None;
    }
    let first = limits.outbox_backoff_first_ms;
    let doubled = 1_u64.checked_shl(attempts).map_or(u64::MAX, |times| first.saturating_mul(times));
    Some(now_ms.saturating_add(doubled.min(limits.outbox_backoff_max_ms)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delay_doubles_up_to_a_maximum_until_attempts_are_used_up() {
        let limits = ReactorLimits {
            outbox_attempts_max: 6,
            outbox_backoff_first_ms: 100,
            outbox_backoff_max_ms: 500,
            ..ReactorLimits::default()
        };
        let waits: Vec<Option<u64>> =
            (0..7).map(|attempts| again_ms(&limits, attempts, 1000)).collect();
        let at = |ms: u64| Some(1000 + ms);
        assert_eq!(waits, [at(100), at(200), at(400), at(500), at(500), None, None]);
        let many = ReactorLimits { outbox_attempts_max: u64::MAX, ..limits };
        assert_eq!(again_ms(&many, u32::MAX, 0), Some(500));
        assert_eq!(again_ms(&ReactorLimits { outbox_attempts_max: 1, ..limits }, 0, 0), None);
    }
}
