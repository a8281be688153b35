//! When a notice that was not taken is told again.
//!
//! The waits have no chance in them: who looks at the outbox can work out when the next attempt is, and what a test sees is
//! what an operator sees. Targets do not crowd at one moment all the same: each has its own beginning, and one webhook has
//! only so many requests under way.

use crate::limits::Limits;

/// When to try again after a notice has failed once more than `attempts` times. `None`: not by itself.
pub(crate) fn again_ms(limits: &Limits, attempts: u32, now_ms: u64) -> Option<u64> {
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
    fn each_wait_is_twice_the_one_before_up_to_a_bound_and_then_it_is_over() {
        let limits = Limits {
            outbox_attempts_max: 6,
            outbox_backoff_first_ms: 100,
            outbox_backoff_max_ms: 500,
            ..Limits::default()
        };
        let waits: Vec<Option<u64>> =
            (0..7).map(|attempts| again_ms(&limits, attempts, 1000)).collect();
        let at = |ms: u64| Some(1000 + ms);
        assert_eq!(waits, [at(100), at(200), at(400), at(500), at(500), None, None]);
        let many = Limits { outbox_attempts_max: u64::MAX, ..limits };
        assert_eq!(again_ms(&many, u32::MAX, 0), Some(500));
        assert_eq!(again_ms(&Limits { outbox_attempts_max: 1, ..limits }, 0, 0), None);
    }
}
