//! Parses and formats times, durations, numbers and percentages.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Units of a duration, in seconds.
const UNITS: [(&str, u64); 5] = [("w", 604_800), ("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1)];

/// Parses a duration: `90`, `90s`, `1.5s`, `500ms`, `15m`, `2h`, `3d`, `1h30m`.
pub fn duration(text: &str) -> Result<Duration, String> {
    let invalid = || format!("'{text}' is not a duration such as 90s, 15m, 2h, 3d or 1h30m");
    let mut rest = text.trim();
    if rest.is_empty() {
        return Err(invalid());
    }
    let mut whole = Duration::ZERO;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let number: f64 = rest[..digits].parse().map_err(|_| invalid())?;
        rest = &rest[digits..];
        let letters = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
        let seconds = match &rest[..letters] {
            "" if letters == rest.len() && whole.is_zero() => 1.0,
            "ms" => 0.001,
            unit => UNITS.iter().find(|(name, _)| *name == unit).ok_or_else(invalid)?.1 as f64,
        };
        rest = &rest[letters..];
        let part = Duration::try_from_secs_f64(number * seconds).map_err(|_| invalid())?;
        whole = whole.checked_add(part).ok_or_else(invalid)?;
    }
    Ok(whole)
}

/// A duration as JSON: seconds, with a fraction only if needed.
pub fn seconds(duration: Duration) -> serde_json::Number {
    let ms = duration.as_millis();
    let whole = u64::try_from(ms / 1000).ok().filter(|_| ms.is_multiple_of(1000));
    whole
        .map(Into::into)
        .or_else(|| serde_json::Number::from_f64(ms as f64 / 1000.0))
        .unwrap_or_else(|| 0.into())
}

/// A duration with its two largest units, such as `2h 5m`.
pub fn short_duration(duration: Duration) -> String {
    let mut left = duration.as_secs();
    let mut parts = Vec::new();
    for (name, seconds) in UNITS {
        if left >= seconds {
            parts.push(format!("{}{name}", left / seconds));
            left %= seconds;
        } else if !parts.is_empty() {
            break;
        }
    }
    parts.truncate(2);
    if parts.is_empty() { "0s".into() } else { parts.join(" ") }
}

/// Parses a point in the history: a position, a time, a date, or a duration before now. Returns it as the interface takes it.
pub fn point_in_time(text: &str) -> Result<String, String> {
    let position = text.chars().all(|c| c.is_ascii_digit()) && !text.is_empty();
    if position || text.contains('T') {
        return Ok(text.to_owned());
    }
    let date = |text: &str| text.len() == 10 && text.split('-').map(str::len).eq([4, 2, 2]);
    if date(text) {
        return Ok(format!("{text}T00:00:00Z"));
    }
    let ago = duration(text.strip_suffix("ago").unwrap_or(text).trim()).map_err(|_| {
        format!("'{text}' is not a point in time such as 2h (ago), 2026-11-15, 2026-11-15T10:00:00Z, or a position such as 17")
    })?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let ms = now.saturating_sub(ago).as_millis();
    Ok(allod_edge::time::rfc3339(u64::try_from(ms).unwrap_or(u64::MAX)))
}

/// A time without fractions of a second.
pub fn time(text: &str) -> String {
    match text.split_once('.') {
        Some((whole, fraction)) if fraction.ends_with('Z') => format!("{whole}Z"),
        _ => text.to_owned(),
    }
}

pub fn time_or(text: Option<&str>, otherwise: &str) -> String {
    text.map_or_else(|| otherwise.to_owned(), time)
}

/// A count; very large ones are shortened.
pub fn number(count: u128) -> String {
    const READABLE: u128 = 10_000_000_000;
    if count < READABLE {
        count.to_string()
    } else if count.is_power_of_two() {
        format!("2^{}", count.ilog2())
    } else {
        format!("{:.2e}", count as f64)
    }
}

/// A count with its noun.
pub fn count(count: u64, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

/// A percentage. Only zero is 0%, and only the whole is 100%.
pub fn percent(part: u128, whole: u128) -> String {
    if whole == 0 {
        return "-".into();
    }
    let share = part as f64 / whole as f64 * 100.0;
    match share {
        _ if part == 0 => "0%".into(),
        _ if part >= whole => "100%".into(),
        share if share < 0.1 => "<0.1%".into(),
        share if share > 99.9 => ">99.9%".into(),
        share => format!("{share:.1}%"),
    }
}

/// A bar of `width` characters. Only zero is empty, and only the whole is full.
pub fn bar(part: u128, whole: u128, width: usize) -> String {
    let full = match part as f64 / (whole.max(1)) as f64 * width as f64 {
        _ if part == 0 => 0,
        _ if part >= whole => width,
        share => (share.round() as usize).clamp(1, width - 1),
    };
    format!("{}{}", "█".repeat(full), "░".repeat(width - full))
}

/// Bytes with a binary unit.
pub fn bytes(count: f64) -> String {
    let units = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut count = count;
    let mut unit = 0;
    while count >= 1024.0 && unit < units.len() - 1 {
        count /= 1024.0;
        unit += 1;
    }
    if unit == 0 { format!("{count:.0} B") } else { format!("{count:.1} {}", units[unit]) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_parsed() {
        for (text, ms) in [
            ("90", 90_000),
            ("90s", 90_000),
            ("1.5s", 1_500),
            ("500ms", 500),
            ("0", 0),
            ("15m", 900_000),
            ("1h30m", 5_400_000),
            ("3d", 259_200_000),
            ("1w", 604_800_000),
        ] {
            assert_eq!(duration(text).unwrap().as_millis(), ms, "{text}");
        }
        for text in ["", "h", "1x", "1h30", "-5s", "1..5s", "1e9", "99999999999999999999999d"] {
            let error = duration(text).unwrap_err();
            assert!(error.contains("is not a duration"), "{text}: {error}");
        }
        assert_eq!(seconds(Duration::from_secs(90)).to_string(), "90");
        assert_eq!(seconds(Duration::from_millis(1500)).to_string(), "1.5");
    }

    #[test]
    fn durations_are_formatted_with_two_units() {
        for (seconds, shown) in [
            (0, "0s"),
            (59, "59s"),
            (3_600, "1h"),
            (7_510, "2h 5m"),
            (90_061, "1d 1h"),
            (86_405, "1d"),
        ] {
            assert_eq!(short_duration(Duration::from_secs(seconds)), shown);
        }
    }

    #[test]
    fn points_in_time_are_positions_times_dates_and_durations() {
        for text in ["17", "2026-11-15T10:00:00Z", "2026-11-15T10:00:00.000+01:00"] {
            assert_eq!(point_in_time(text).unwrap(), text);
        }
        assert_eq!(point_in_time("2026-11-15").unwrap(), "2026-11-15T00:00:00Z");
        let hour_ago = point_in_time("1h").unwrap();
        assert!(hour_ago.ends_with('Z') && hour_ago.len() == 24, "{hour_ago}");
        assert!(point_in_time("2h ago").unwrap() < hour_ago);
        assert!(point_in_time("yesterday").unwrap_err().contains("is not a point in time"));
    }

    #[test]
    fn times_are_formatted_without_fractions() {
        assert_eq!(time("2026-11-15T10:00:00.123Z"), "2026-11-15T10:00:00Z");
        assert_eq!(time("2026-11-15T10:00:00Z"), "2026-11-15T10:00:00Z");
        assert_eq!(time_or(None, "never"), "never");
    }

    #[test]
    fn percentages_are_0_or_100_only_if_exact() {
        for (part, whole, shown, drawn) in [
            (0, 10, "0%", "░░░░"),
            (1, 100_000, "<0.1%", "█░░░"),
            (5, 10, "50.0%", "██░░"),
            (99_999, 100_000, ">99.9%", "███░"),
            (10, 10, "100%", "████"),
            (0, 0, "-", "░░░░"),
            (u128::MAX, u128::MAX, "100%", "████"),
        ] {
            assert_eq!(
                (percent(part, whole).as_str(), bar(part, whole, 4).as_str()),
                (shown, drawn)
            );
        }
    }

    #[test]
    fn large_counts_are_shortened() {
        assert_eq!(number(4_294_967_296), "4294967296");
        assert_eq!(number(1 << 64), "2^64");
        assert_eq!(number((1 << 64) - 1), "1.84e19");
        assert_eq!(bytes(0.0), "0 B");
        assert_eq!(bytes(1536.0), "1.5 KiB");
    }
}
