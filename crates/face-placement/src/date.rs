//! Times as headers have them: `Thu, 01 Jan 2026 08:00:00 GMT`.

/// The header's text of a time in milliseconds since 1970.
pub(crate) fn show(ms: u64) -> String {
    let seconds = ms / 1000;
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    let weekday = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"][(days % 7) as usize];
    let (year, month, day) = civil(days);
    let month =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"][month];
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{weekday}, {day:02} {month} {year:04} {hour:02}:{minute:02}:{second:02} GMT")
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
        }
    }
}
