//! Single values as JSON has them: a value of a pool, a duration, a time, a condition.

use std::borrow::Cow;
use std::fmt;

use allod_core::command::Expect;
use allod_core::span::Span;
use allod_core::value::Kind;
use serde::de::{self, Deserialize, Deserializer, Visitor};
use serde::{Serialize, Serializer};
use utoipa::openapi::schema::{ObjectBuilder, OneOfBuilder, SchemaType, Type};
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

/// A value or a range as a client writes it: an id as a number or a text, anything else as a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ValueText<'a>(pub Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for ValueText<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<ValueText<'a>, D::Error> {
        struct AsText;
        impl<'de> Visitor<'de> for AsText {
            type Value = ValueText<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(
                    "an id such as 7, or a text such as \"7\", \"10.0.0.1\" or \"10.0.0.0/24\"",
                )
            }

            fn visit_u64<E: de::Error>(self, number: u64) -> Result<ValueText<'de>, E> {
                Ok(ValueText(Cow::Owned(number.to_string())))
            }

            fn visit_borrowed_str<E: de::Error>(self, text: &'de str) -> Result<ValueText<'de>, E> {
                Ok(ValueText(Cow::Borrowed(text)))
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<ValueText<'de>, E> {
                Ok(ValueText(Cow::Owned(text.to_owned())))
            }
        }
        deserializer.deserialize_any(AsText)
    }
}

impl PartialSchema for ValueText<'_> {
    fn schema() -> RefOr<Schema> {
        number_or_text("An id as a number or text; an address, a prefix or a range as text.")
    }
}

impl ToSchema for ValueText<'_> {
    fn name() -> Cow<'static, str> {
        "ValueText".into()
    }
}

/// A value as it is shown: ids are numbers, addresses and prefixes texts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WireValue(pub Kind, pub Span);

impl Serialize for WireValue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let WireValue(kind, span) = *self;
        match u64::try_from(span.first) {
            Ok(id) if kind.is_id() => serializer.serialize_u64(id),
            _ => serializer.serialize_str(&kind.show(span)),
        }
    }
}

impl PartialSchema for WireValue {
    fn schema() -> RefOr<Schema> {
        number_or_text("An id is a number; an address or a prefix is a text.")
    }
}

impl ToSchema for WireValue {
    fn name() -> Cow<'static, str> {
        "Value".into()
    }
}

fn number_or_text(about: &str) -> RefOr<Schema> {
    let text = ObjectBuilder::new().schema_type(Type::String).min_length(Some(1));
    number_or(text, about)
}

fn number_or(text: ObjectBuilder, about: &str) -> RefOr<Schema> {
    let number = ObjectBuilder::new().schema_type(Type::Integer).minimum(Some(0));
    OneOfBuilder::new().item(number).item(text).description(Some(about)).into()
}

/// The schema of a text that is one of these words.
pub(crate) fn words(words: &[&str]) -> ObjectBuilder {
    let words = words.iter().map(|&word| serde_json::Value::from(word));
    ObjectBuilder::new().schema_type(Type::String).enum_values(Some(words))
}

/// The schema of the length of a lease: seconds, and not none.
pub(crate) fn lease_schema() -> Schema {
    ObjectBuilder::new()
        .schema_type(SchemaType::from_iter([Type::Number, Type::Null]))
        .minimum(Some(0.001))
        .description(Some("Seconds; fractions count to the millisecond."))
        .into()
}

/// Seconds, to the millisecond.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Seconds {
    pub ms: u64,
}

impl<'de> Deserialize<'de> for Seconds {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Seconds, D::Error> {
        struct AsSeconds;
        impl Visitor<'_> for AsSeconds {
            type Value = Seconds;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number of seconds, 0 or more, such as 90 or 0.5")
            }

            fn visit_u64<E: de::Error>(self, seconds: u64) -> Result<Seconds, E> {
                Ok(Seconds { ms: seconds.saturating_mul(1000) })
            }

            fn visit_f64<E: de::Error>(self, seconds: f64) -> Result<Seconds, E> {
                if seconds >= 0.0 {
                    // A cast from a float saturates, and the core refuses what is too long.
                    Ok(Seconds { ms: (seconds * 1000.0).round() as u64 })
                } else {
                    Err(E::invalid_value(de::Unexpected::Float(seconds), &self))
                }
            }
        }
        deserializer.deserialize_any(AsSeconds)
    }
}

impl Serialize for Seconds {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.ms.is_multiple_of(1000) {
            serializer.serialize_u64(self.ms / 1000)
        } else {
            serializer.serialize_f64(self.ms as f64 / 1000.0)
        }
    }
}

impl PartialSchema for Seconds {
    fn schema() -> RefOr<Schema> {
        let about = "Seconds; fractions count to the millisecond.";
        ObjectBuilder::new()
            .schema_type(Type::Number)
            .minimum(Some(0))
            .description(Some(about))
            .into()
    }
}

impl ToSchema for Seconds {}

/// A time as RFC 3339 in UTC with milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Time {
    pub ms: u64,
}

impl Time {
    /// The text, always 24 bytes. Years beyond 9999, which no client can mean, are shown as the end of 9999.
    pub(crate) fn text(self) -> [u8; 24] {
        const LAST_MS: u64 = 253_402_300_799_999;
        let ms = self.ms.min(LAST_MS);
        let (days, in_day) = (ms / 86_400_000, ms % 86_400_000);
        let (year, month, day) = civil(days);
        let mut text = *b"0000-00-00T00:00:00.000Z";
        let seconds = in_day / 1000;
        for (at, len, number) in [
            (0, 4, year),
            (5, 2, month),
            (8, 2, day),
            (11, 2, seconds / 3600),
            (14, 2, seconds / 60 % 60),
            (17, 2, seconds % 60),
            (20, 3, in_day % 1000),
        ] {
            let mut rest = number;
            for digit in text[at..at + len].iter_mut().rev() {
                *digit = b'0' + (rest % 10) as u8;
                rest /= 10;
            }
        }
        text
    }
}

impl Time {
    /// Reads RFC 3339, to the millisecond; `None` when it is not, or is before 1970.
    pub(crate) fn parse(text: &str) -> Option<Time> {
        let (date, rest) = (text.get(..10)?, text.get(10..)?);
        let clock = rest.strip_prefix(['T', 't', ' '])?;
        let (hms, rest) = (clock.get(..8)?, clock.get(8..)?);
        let [year, month, day] = numbers(date, '-', [4, 2, 2])?;
        let [hour, minute, second] = numbers(hms, ':', [2, 2, 2])?;
        let (ms, zone) = match rest.strip_prefix('.') {
            Some(rest) => {
                let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
                let (digits, zone) = rest.split_at_checked(digits)?;
                let ms = digits.chars().chain("000".chars()).take(3).collect::<String>();
                (ms.parse::<u64>().ok().filter(|_| !digits.is_empty())?, zone)
            }
            None => (0, rest),
        };
        let offset_minutes = match zone {
            "Z" | "z" => 0,
            zone => {
                // A plus in a query is a blank, unless it was escaped; nothing else can have been meant.
                let (sign, rest) = match zone.split_at_checked(1)? {
                    ("+" | " ", rest) => (-1, rest),
                    ("-", rest) => (1, rest),
                    _ => return None,
                };
                let [hours, minutes] = numbers(rest, ':', [2, 2])?;
                let within = hours < 24 && minutes < 60;
                within.then_some(sign * (hours * 60 + minutes).cast_signed())?
            }
        };
        let in_range = hour < 24 && minute < 60 && second < 61 && year >= 1969;
        let days = in_range.then(|| days_of(year, month, day))??;
        let minutes = days * 24 * 60 + (hour * 60 + minute).cast_signed() + offset_minutes;
        let seconds = u64::try_from(minutes).ok()? * 60 + second;
        Some(Time { ms: seconds * 1000 + ms })
    }
}

/// Numbers of so many digits each, and this between them.
fn numbers<const N: usize>(text: &str, between: char, digits: [usize; N]) -> Option<[u64; N]> {
    let mut parts = text.split(between);
    let mut numbers = [0; N];
    for (number, digits) in numbers.iter_mut().zip(digits) {
        let part = parts.next().filter(|part| part.len() == digits)?;
        let plain = part.bytes().all(|byte| byte.is_ascii_digit());
        *number = part.parse().ok().filter(|_| plain)?;
    }
    parts.next().is_none().then_some(numbers)
}

/// The days from 1970 to a date; `None` when there is no such day.
fn days_of(year: u64, month: u64, day: u64) -> Option<i64> {
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let lengths = [31, 28 + u64::from(leap), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let before = lengths.get(..usize::try_from(month.checked_sub(1)?).ok()?)?;
    let length = lengths.get(before.len())?;
    (1..=*length).contains(&day).then_some(())?;
    let years = year - 1;
    let leap_days = years / 4 - years / 100 + years / 400;
    // 719,162 days from the first of January of year 1 to that of 1970.
    let days = years * 365 + leap_days + before.iter().sum::<u64>() + day - 1;
    Some(days.cast_signed() - 719_162)
}

/// Year, month and day of a number of days since 1970. Counts years from March, so that the leap day is the last of one.
fn civil(days: u64) -> (u64, u64, u64) {
    // 719,468 days from 1 March of year 0 to 1 January 1970; 146,097 days in 400 years.
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let months_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * months_from_march + 2) / 5 + 1;
    let month = if months_from_march < 10 { months_from_march + 3 } else { months_from_march - 9 };
    (era * 400 + year_of_era + u64::from(month <= 2), month, day)
}

impl Serialize for Time {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(std::str::from_utf8(&self.text()).unwrap_or_default())
    }
}

impl PartialSchema for Time {
    fn schema() -> RefOr<Schema> {
        let format =
            utoipa::openapi::SchemaFormat::KnownFormat(utoipa::openapi::KnownFormat::DateTime);
        ObjectBuilder::new()
            .schema_type(Type::String)
            .format(Some(format))
            .description(Some("RFC 3339, in UTC, with milliseconds."))
            .into()
    }
}

impl ToSchema for Time {}

/// A condition on what is there beforehand: `"any"`, `"absent"`, `"present"`, or a version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ExpectText(pub Expect);

impl<'de> Deserialize<'de> for ExpectText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<ExpectText, D::Error> {
        struct AsCondition;
        impl Visitor<'_> for AsCondition {
            type Value = ExpectText;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("\"any\", \"absent\", \"present\", or a version such as 17")
            }

            fn visit_u64<E: de::Error>(self, version: u64) -> Result<ExpectText, E> {
                Ok(ExpectText(Expect::Is(version)))
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<ExpectText, E> {
                match text {
                    "any" => Ok(ExpectText(Expect::Any)),
                    "absent" => Ok(ExpectText(Expect::Absent)),
                    "present" => Ok(ExpectText(Expect::Present)),
                    _ => Err(E::invalid_value(de::Unexpected::Str(text), &self)),
                }
            }
        }
        deserializer.deserialize_any(AsCondition)
    }
}

impl PartialSchema for ExpectText {
    fn schema() -> RefOr<Schema> {
        let usual = words(&["any", "absent", "present"]);
        number_or(usual, "`any`, `absent`, `present`, or a version.")
    }
}

impl ToSchema for ExpectText {
    fn name() -> Cow<'static, str> {
        "Condition".into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_rfc_3339() {
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
            assert_eq!(serde_json::to_string(&Time { ms }).unwrap(), format!("\"{text}\""));
        }
    }

    #[test]
    fn times_are_read_as_they_are_written() {
        for days in (0..80_000).step_by(13) {
            let ms = days * 86_400_000 + (days * 7919) % 86_400_000;
            let text = Time { ms }.text();
            let text = std::str::from_utf8(&text).unwrap();
            assert_eq!(Time::parse(text), Some(Time { ms }), "{text}");
        }
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
            ("2026-02-29T00:00:00Z", None),
            ("2024-02-29T00:00:00Z", Some(1_709_164_800_000)),
            ("2026-13-01T00:00:00Z", None),
            ("2026-00-01T00:00:00Z", None),
            ("2026-01-01T24:00:00Z", None),
            ("2026-01-01T00:00:00", None),
            ("2026-01-01T00:00:00.Z", None),
            ("2026-01-01T00:00:00+0100", None),
            ("2026-1-1T00:00:00Z", None),
            ("2026-01-01", None),
            ("+026-01-01T00:00:00Z", None),
            ("now", None),
            ("", None),
            ("2026-01-01T00:00:00Zä", None),
            ("äääääääääääääääääää", None),
        ] {
            assert_eq!(Time::parse(text).map(|time| time.ms), ms, "{text}");
        }
    }

    #[test]
    fn seconds_have_milliseconds() {
        for (json, ms) in [("90", 90_000), ("0.5", 500), ("1e3", 1_000_000), ("0", 0)] {
            assert_eq!(serde_json::from_str::<Seconds>(json).unwrap().ms, ms, "{json}");
        }
        for json in ["-1", "-0.5", "\"5m\"", "true"] {
            let error = serde_json::from_str::<Seconds>(json).unwrap_err().to_string();
            assert!(error.contains("a number of seconds"), "{json}: {error}");
        }
        assert_eq!(serde_json::to_string(&Seconds { ms: 1500 }).unwrap(), "1.5");
    }
}
