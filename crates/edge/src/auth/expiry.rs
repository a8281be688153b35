//! Times at which tokens end: read and shown in the form of RFC 3339, counted in milliseconds since 1970.

use std::time::{SystemTime, UNIX_EPOCH};

use toml::value::{Datetime, Offset};

const DAY_MS: i64 = 86_400_000;

pub(crate) fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// A date with a time and an offset from UTC, as in `2027-01-01T00:00:00Z`.
pub fn read(text: &str) -> Result<u64, String> {
    const EXAMPLE: &str = "a time such as 2027-01-01T00:00:00Z is expected";
    let wrong = || format!("'{text}' is not understood; {EXAMPLE}");
    let read: Datetime = text.trim().parse().map_err(|_| wrong())?;
    let (Some(date), Some(time), Some(offset)) = (read.date, read.time, read.offset) else {
        return Err(wrong());
    };
    let offset_min = match offset {
        Offset::Z => 0,
        Offset::Custom { minutes } => i64::from(minutes),
    };
    let day = day_number(i64::from(date.year), i64::from(date.month), i64::from(date.day));
    let minutes = i64::from(time.hour) * 60 + i64::from(time.minute) - offset_min;
    let seconds = minutes * 60 + i64::from(time.second.unwrap_or(0));
    let ms = i64::from(time.nanosecond.unwrap_or(0) / 1_000_000);
    u64::try_from(day * DAY_MS + seconds * 1000 + ms).map_err(|_| wrong())
}

/// In UTC, to the second.
pub fn show(ms: u64) -> String {
    let seconds = i64::try_from(ms / 1000).unwrap_or(i64::MAX);
    let (day, second) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = date_of(day);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// Days from 1 January 1970 to this date. Years are counted from March, so that the day that some of them have more is
/// their last.
fn day_number(year: i64, month: i64, day: i64) -> i64 {
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    365 * year + leap_days + (153 * month + 2) / 5 + day - 1 - 719_468
}

fn date_of(day_number_wanted: i64) -> (i64, i64, i64) {
    // A guess that is never too early, then back to the year and the month that the day is in.
    let mut year = 1970 + day_number_wanted / 365;
    while day_number(year, 1, 1) > day_number_wanted {
        year -= 1;
    }
    let mut month = 12;
    while day_number(year, month, 1) > day_number_wanted {
        month -= 1;
    }
    (year, month, day_number_wanted - day_number(year, month, 1) + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_they_are_shown() {
        for (text, ms, shown) in [
            ("1970-01-01T00:00:00Z", 0, "1970-01-01T00:00:00Z"),
            ("2000-02-29T12:34:56.789Z", 951_827_696_789, "2000-02-29T12:34:56Z"),
            ("2027-01-01T00:00:00Z", 1_798_761_600_000, "2027-01-01T00:00:00Z"),
            ("2027-01-01 01:30:00+01:30", 1_798_761_600_000, "2027-01-01T00:00:00Z"),
            ("2100-03-01T00:00:00Z", 4_107_542_400_000, "2100-03-01T00:00:00Z"),
        ] {
            assert_eq!(read(text), Ok(ms), "{text}");
            assert_eq!(show(ms), shown);
        }
        for day in 0..60_000 {
            let ms = day * 86_400_000;
            assert_eq!(read(&show(ms)), Ok(ms));
        }
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for text in
            ["", "soon", "2027-01-01", "12:00:00", "2027-01-01T00:00:00", "1969-12-31T23:59:59Z"]
        {
            assert!(read(text).unwrap_err().contains("2027-01-01T00:00:00Z is expected"), "{text}");
        }
    }
}
