//! Times as headers have them, `Thu, 01 Jan 2026 08:00:00 GMT`, in milliseconds since 1970.
//!
//! Not here: the form of RFC 3339, which bodies have.

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// The header's text of a time in milliseconds since 1970.
pub fn show(ms: u64) -> String {
    let seconds = ms / 1000;
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    let weekday = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"][(days % 7) as usize];
    let (year, month, day) = civil(days);
    let month = MONTHS[month];
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{weekday}, {day:02} {month} {year:04} {hour:02}:{minute:02}:{second:02} GMT")
}

/// The time that a header names, in the form that is sent today; the two that are older are not read. Whether the day of the
/// week fits is not looked at.
pub fn read(text: &str) -> Option<u64> {
    let (_, rest) = text.trim().split_once(", ")?;
    let parts: Vec<&str> = rest.split(' ').collect();
    let [day, month, year, time, "GMT"] = parts[..] else { return None };
    let month = MONTHS.iter().position(|name| *name == month)?;
    let clock: Vec<&str> = time.split(':').collect();
    let [hour, minute, second] = clock[..] else { return None };
    let number = |text: &str, len: usize, max: u64| {
        let digits = text.len() == len && text.bytes().all(|byte| byte.is_ascii_digit());
        let number = if digits { text.parse().ok() } else { None };
        number.filter(|number: &u64| *number <= max)
    };
    let (day, year) = (number(day, 2, 31)?, number(year, 4, 9999)?);
    let (hour, minute) = (number(hour, 2, 23)?, number(minute, 2, 59)?);
    // A minute may have a second more.
    let second = number(second, 2, 60)?;
    let day = day.checked_sub(1).filter(|_| year >= 1970)?;
    let days = days(year, month, day);
    Some((days * 86_400 + hour * 3600 + minute * 60 + second) * 1000)
}

/// Days since 1970 of a year, a month from 0 and a day from 0.
fn days(year: u64, month: usize, day: u64) -> u64 {
    let (year, month) = if month >= 2 { (year, month - 2) } else { (year - 1, month + 10) };
    let leap_days = year / 4 - year / 100 + year / 400;
    365 * year + leap_days + (153 * month as u64 + 2) / 5 + day - 719_468
}

/// Year, month from 0 and day of a day since 1970, by years that begin in March so that the odd day is their last.
fn civil(days: u64) -> (u64, usize, u64) {
    let days = days + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 2 } else { month - 10 } as usize;
    (era * 400 + year + u64::from(month < 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_told_as_the_calendar_has_them() {
        for (ms, text) in [
            (0, "Thu, 01 Jan 1970 00:00:00 GMT"),
            (1_767_254_400_999, "Thu, 01 Jan 2026 08:00:00 GMT"),
            (951_782_399_000, "Mon, 28 Feb 2000 23:59:59 GMT"),
            (951_868_799_000, "Tue, 29 Feb 2000 23:59:59 GMT"),
            (4_107_542_400_000, "Mon, 01 Mar 2100 00:00:00 GMT"),
            (1_798_675_200_000, "Thu, 31 Dec 2026 00:00:00 GMT"),
        ] {
            assert_eq!(show(ms), text);
            assert_eq!(read(text), Some(ms / 1000 * 1000), "{text}");
        }
        for day in (0..60_000).map(|day| day * 86_400_000 + 3_723_000) {
            assert_eq!(read(&show(day)), Some(day));
        }
    }

    #[test]
    fn what_is_no_time_is_none() {
        for text in [
            "",
            "soon",
            "Thu, 01 Jan 1969 00:00:00 GMT",
            "Thu, 00 Jan 1970 00:00:00 GMT",
            "Thu, 1 Jan 2026 08:00:00 GMT",
            "Thu, 01 Foo 2026 08:00:00 GMT",
            "Thu, 01 Jan 2026 24:00:00 GMT",
            "Thu, 01 Jan 2026 08:00 GMT",
            "Thu, 01 Jan 2026 08:00:00 CET",
            "Thursday, 01-Jan-26 08:00:00 GMT",
            "Thu Jan  1 08:00:00 2026",
            "1767254400",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
