//! Times on the wire, in milliseconds since 1970: RFC 3339 in bodies and files, IMF-fixdate in HTTP headers.
//!
//! The calendar is jiff's. Both parsers accept less than jiff does, so that clients do not rely on other forms.

use std::time::{SystemTime, UNIX_EPOCH};

use jiff::fmt::temporal::DateTimePrinter;
use jiff::fmt::{StdIoWrite, rfc2822};
use jiff::tz::Offset;
use jiff::{Timestamp, civil};

const TO_MILLISECONDS: DateTimePrinter = DateTimePrinter::new().precision(Some(3));
const TO_SECONDS: DateTimePrinter = DateTimePrinter::new().precision(Some(0));

pub(crate) fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// `None` after the end of the year 9999, which RFC 3339 cannot express.
fn timestamp(ms: u64) -> Option<Timestamp> {
    Timestamp::from_millisecond(i64::try_from(ms).ok()?).ok()
}

/// RFC 3339 in UTC with milliseconds, such as `2026-01-01T08:00:00.000Z`. Later times than can be expressed are the end of
/// the year 9999.
pub fn rfc3339_bytes(ms: u64) -> [u8; 24] {
    const LAST: [u8; 24] = *b"9999-12-31T23:59:59.999Z";
    let mut text = LAST;
    match timestamp(ms).map(|at| TO_MILLISECONDS.print_timestamp(&at, StdIoWrite(&mut text[..]))) {
        Some(Ok(())) => text,
        Some(Err(_)) | None => LAST,
    }
}

/// [`rfc3339_bytes`] as a string.
pub fn rfc3339(ms: u64) -> String {
    String::from_utf8_lossy(&rfc3339_bytes(ms)).into_owned()
}

/// RFC 3339 in UTC with seconds, such as `2026-01-01T08:00:00Z`.
pub fn rfc3339_s(ms: u64) -> String {
    match timestamp(ms) {
        Some(at) => TO_SECONDS.timestamp_to_string(&at),
        None => "9999-12-31T23:59:59Z".to_owned(),
    }
}

/// Reads RFC 3339, to the millisecond. `None` if it is anything else or before 1970.
pub fn parse_rfc3339(text: &str) -> Option<u64> {
    let has = |at: usize, byte: u8| text.as_bytes().get(at) == Some(&byte);
    let (zone_starts, zone) = match text.strip_suffix(['Z', 'z']) {
        Some(before) => (before.len(), "Z".to_owned()),
        None => {
            let at = text.len().checked_sub(6)?;
            // An unescaped plus in a query is decoded as a space.
            (at, text.get(at..)?.replacen(' ', "+", 1))
        }
    };
    let is_offset =
        zone == "Z" || (zone.as_bytes()[3] == b':' && zone.as_bytes()[1..3] < b"24"[..]);
    let is_rfc3339 = has(4, b'-') && has(7, b'-') && has(13, b':') && has(16, b':');
    if !is_rfc3339 || !is_offset || zone_starts < 19 {
        return None;
    }
    let at: Timestamp = format!("{}{zone}", text.get(..zone_starts)?).parse().ok()?;
    u64::try_from(at.as_millisecond()).ok()
}

/// Reads a time that an operator or a client has written; the error says what is expected.
pub fn read_rfc3339(text: &str) -> Result<u64, String> {
    parse_rfc3339(text.trim()).ok_or_else(|| {
        format!("'{text}' is not a time; expected RFC 3339 such as 2027-01-01T00:00:00Z")
    })
}

/// The text of a header such as Last-Modified: `Thu, 01 Jan 2026 08:00:00 GMT`.
pub fn http_date(ms: u64) -> String {
    let at = timestamp(ms).unwrap_or(Timestamp::MAX);
    rfc2822::DateTimePrinter::new().timestamp_to_rfc9110_string(&at).unwrap_or_default()
}

/// Reads the current form of HTTP dates, not the two obsolete ones. The day of the week is not checked.
pub fn parse_http_date(text: &str) -> Option<u64> {
    let (_, rest) = text.trim().split_once(", ").filter(|(_, rest)| rest.len() == 24)?;
    let date_time = civil::DateTime::strptime("%d %b %Y %H:%M:%S GMT", rest).ok()?;
    let at = Offset::UTC.to_timestamp(date_time).ok()?;
    u64::try_from(at.as_millisecond()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_as_rfc_3339() {
        for (ms, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_399_999, "2000-02-28T23:59:59.999Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (951_868_800_000, "2000-03-01T00:00:00.000Z"),
            (1_735_689_599_001, "2024-12-31T23:59:59.001Z"),
            (1_772_323_200_000, "2026-03-01T00:00:00.000Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
            (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
            (u64::MAX, "9999-12-31T23:59:59.999Z"),
        ] {
            assert_eq!(rfc3339(ms), text);
            assert_eq!(rfc3339_s(ms), format!("{}Z", &text[..19]));
        }
    }

    #[test]
    fn written_times_are_read_back() {
        for days in (0..80_000).step_by(13) {
            let ms = days * 86_400_000 + (days * 7919) % 86_400_000;
            assert_eq!(parse_rfc3339(&rfc3339(ms)), Some(ms));
            let seconds = ms / 1000 * 1000;
            assert_eq!(read_rfc3339(&rfc3339_s(ms)), Ok(seconds));
            assert_eq!(parse_http_date(&http_date(ms)), Some(seconds));
        }
    }

    #[test]
    fn only_rfc_3339_since_1970_is_read() {
        for (text, ms) in [
            ("1970-01-01T00:00:00Z", Some(0)),
            ("2026-01-01T08:00:00z", Some(1_767_254_400_000)),
            ("2026-01-01 08:00:00.5Z", Some(1_767_254_400_500)),
            ("2026-01-01T08:00:00.123456Z", Some(1_767_254_400_123)),
            ("2026-01-01T09:30:00+01:30", Some(1_767_254_400_000)),
            ("2026-01-01T09:00:00 01:00", Some(1_767_254_400_000)),
            ("2026-01-01T03:00:00-05:00", Some(1_767_254_400_000)),
            ("1970-01-01T00:00:00+00:01", None),
            ("1969-12-31T23:00:00-01:00", Some(0)),
            ("1969-12-31T23:59:59Z", None),
            ("2026-02-29T00:00:00Z", None),
            ("2024-02-29T00:00:00Z", Some(1_709_164_800_000)),
            ("2026-13-01T00:00:00Z", None),
            ("2026-00-01T00:00:00Z", None),
            ("2026-01-01T24:00:00Z", None),
            ("2026-01-01T00:00:00", None),
            ("2026-01-01T00:00:00.Z", None),
            ("2026-01-01T00:00:00+0100", None),
            ("2026-01-01T00:00:00+25:00", None),
            ("2026-01-01T00:00:00Z[UTC]", None),
            ("20260101T000000Z", None),
            ("2026-1-1T00:00:00Z", None),
            ("2026-01-01", None),
            ("12:00:00", None),
            ("+026-01-01T00:00:00Z", None),
            ("now", None),
            ("", None),
            ("2026-01-01T00:00:00Zä", None),
            ("äääääääääääääääääää", None),
        ] {
            assert_eq!(parse_rfc3339(text), ms, "{text}");
        }
        assert_eq!(read_rfc3339(" 2026-01-01T08:00:00Z\n"), Ok(1_767_254_400_000));
        assert!(read_rfc3339("soon").unwrap_err().contains("such as 2027-01-01T00:00:00Z"));
    }

    #[test]
    fn http_dates_have_the_form_of_rfc_9110() {
        for (ms, text) in [
            (0, "Thu, 01 Jan 1970 00:00:00 GMT"),
            (1_767_254_400_999, "Thu, 01 Jan 2026 08:00:00 GMT"),
            (951_782_399_000, "Mon, 28 Feb 2000 23:59:59 GMT"),
            (951_868_799_000, "Tue, 29 Feb 2000 23:59:59 GMT"),
            (4_107_542_400_000, "Mon, 01 Mar 2100 00:00:00 GMT"),
            (1_798_675_200_000, "Thu, 31 Dec 2026 00:00:00 GMT"),
        ] {
            assert_eq!(http_date(ms), text);
            assert_eq!(parse_http_date(text), Some(ms / 1000 * 1000), "{text}");
        }
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
            assert_eq!(parse_http_date(text), None, "{text}");
        }
    }
}
