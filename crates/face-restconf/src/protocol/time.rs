//! Formats times as YANG `date-and-time`, from milliseconds since 1970.

use allod_edge::time;

/// `2026-01-01T08:00:00.500Z`; without a fraction for whole seconds.
pub(crate) fn show(ms: u64) -> String {
    match ms % 1000 {
        0 => time::rfc3339_s(ms),
        _ => time::rfc3339(ms),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_formatted_time_parses_to_the_same_time() {
        for (ms, text) in [
            (1_767_254_400_000, "2026-01-01T08:00:00Z"),
            (1_767_254_400_005, "2026-01-01T08:00:00.005Z"),
            (1_767_254_400_500, "2026-01-01T08:00:00.500Z"),
        ] {
            assert_eq!(show(ms), text);
            assert_eq!(time::read_rfc3339(text), Ok(ms));
        }
    }
}
