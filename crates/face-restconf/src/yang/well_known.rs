//! The types of RFC 6991 whose patterns are checked by code, with their canonical forms.

use std::net::{Ipv4Addr, Ipv6Addr};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WellKnown {
    Ipv4Address {
        zone: bool,
    },
    Ipv6Address {
        zone: bool,
    },
    Ipv4Prefix,
    Ipv6Prefix,
    DateAndTime,
    Uuid,
    MacAddress,
    /// `yang-identifier`.
    Identifier,
    /// The `revision-identifier` of `ietf-yang-library`: a date.
    Date,
}

impl WellKnown {
    pub(super) fn of(module: &str, typedef: &str) -> Option<WellKnown> {
        let known = match (module, typedef) {
            ("ietf-inet-types", "ipv4-address") => WellKnown::Ipv4Address { zone: true },
            ("ietf-inet-types", "ipv4-address-no-zone") => WellKnown::Ipv4Address { zone: false },
            ("ietf-inet-types", "ipv6-address") => WellKnown::Ipv6Address { zone: true },
            ("ietf-inet-types", "ipv6-address-no-zone") => WellKnown::Ipv6Address { zone: false },
            ("ietf-inet-types", "ipv4-prefix") => WellKnown::Ipv4Prefix,
            ("ietf-inet-types", "ipv6-prefix") => WellKnown::Ipv6Prefix,
            ("ietf-yang-types", "date-and-time") => WellKnown::DateAndTime,
            ("ietf-yang-types", "uuid") => WellKnown::Uuid,
            ("ietf-yang-types", "mac-address") => WellKnown::MacAddress,
            ("ietf-yang-types", "yang-identifier") => WellKnown::Identifier,
            ("ietf-yang-library", "revision-identifier") => WellKnown::Date,
            _ => return None,
        };
        Some(known)
    }

    /// The canonical form of the value; `None` if it is invalid.
    pub fn canonical(self, text: &str) -> Option<String> {
        match self {
            WellKnown::Ipv4Address { zone } => {
                let (address, zone) = split_zone(text, zone)?;
                Some(format!("{}{zone}", address.parse::<Ipv4Addr>().ok()?))
            }
            WellKnown::Ipv6Address { zone } => {
                let (address, zone) = split_zone(text, zone)?;
                Some(format!("{}{zone}", address.parse::<Ipv6Addr>().ok()?))
            }
            WellKnown::Ipv4Prefix => {
                let (address, length) = split_length(text, 32)?;
                let bits = address.parse::<Ipv4Addr>().ok()?.to_bits();
                let mask = u32::MAX.checked_shl(32 - length).unwrap_or(0);
                Some(format!("{}/{length}", Ipv4Addr::from_bits(bits & mask)))
            }
            WellKnown::Ipv6Prefix => {
                let (address, length) = split_length(text, 128)?;
                let bits = address.parse::<Ipv6Addr>().ok()?.to_bits();
                let mask = u128::MAX.checked_shl(128 - length).unwrap_or(0);
                Some(format!("{}/{length}", Ipv6Addr::from_bits(bits & mask)))
            }
            WellKnown::DateAndTime => date_and_time(text).then(|| text.to_owned()),
            WellKnown::Date => date(text).then(|| text.to_owned()),
            WellKnown::Uuid => hexadecimal(text, "00000000-0000-0000-0000-000000000000"),
            WellKnown::MacAddress => hexadecimal(text, "00:00:00:00:00:00"),
            WellKnown::Identifier => {
                let starts =
                    text.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
                let goes_on = text
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'));
                (starts && goes_on).then(|| text.to_owned())
            }
        }
    }
}

/// Hexadecimal digits where the form has a zero, and separators like those of the form.
fn hexadecimal(text: &str, form: &str) -> Option<String> {
    let fits = |(byte, form): (u8, u8)| match form {
        b'0' => byte.is_ascii_hexdigit(),
        separator => byte == separator,
    };
    let good = text.len() == form.len() && text.bytes().zip(form.bytes()).all(fits);
    good.then(|| text.to_ascii_lowercase())
}

/// The address and its `%zone`, which may be empty.
fn split_zone(text: &str, allowed: bool) -> Option<(&str, &str)> {
    match text.find('%') {
        None => Some((text, "")),
        Some(at) if allowed && at + 1 < text.len() => Some(text.split_at(at)),
        Some(_) => None,
    }
}

fn split_length(text: &str, max: u32) -> Option<(&str, u32)> {
    let (address, length) = text.split_once('/')?;
    let plain = length.bytes().all(|byte| byte.is_ascii_digit())
        && (length == "0" || !length.starts_with('0'));
    let length = length.parse().ok().filter(|length| plain && *length <= max)?;
    Some((address, length))
}

/// Parses a number with exactly so many digits, within the range.
fn number(text: &str, digits: usize, min: u32, max: u32) -> Option<(u32, &str)> {
    let (head, rest) = text.split_at_checked(digits)?;
    let plain = head.bytes().all(|byte| byte.is_ascii_digit());
    let number = head.parse().ok().filter(|number| plain && (min..=max).contains(number))?;
    Some((number, rest))
}

fn take_date(text: &str) -> Option<&str> {
    let (year, rest) = number(text, 4, 0, 9999)?;
    let (month, rest) = number(rest.strip_prefix('-')?, 2, 1, 12)?;
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let days = match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    };
    let (_, rest) = number(rest.strip_prefix('-')?, 2, 1, days)?;
    Some(rest)
}

fn date(text: &str) -> bool {
    take_date(text) == Some("")
}

fn date_and_time(text: &str) -> bool {
    let time = || {
        let rest = take_date(text)?.strip_prefix('T')?;
        let (_, rest) = number(rest, 2, 0, 23)?;
        let (_, rest) = number(rest.strip_prefix(':')?, 2, 0, 59)?;
        let (_, rest) = number(rest.strip_prefix(':')?, 2, 0, 60)?;
        let rest = match rest.strip_prefix('.') {
            None => rest,
            Some(fraction) => {
                let rest = fraction.trim_start_matches(|char: char| char.is_ascii_digit());
                (rest.len() < fraction.len()).then_some(rest)?
            }
        };
        if rest == "Z" {
            return Some(());
        }
        let (_, rest) = number(rest.strip_prefix(['+', '-'])?, 2, 0, 23)?;
        let (_, rest) = number(rest.strip_prefix(':')?, 2, 0, 59)?;
        rest.is_empty().then_some(())
    };
    time().is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn canonical_forms() {
        let v6 = WellKnown::Ipv6Address { zone: true };
        let table = [
            (WellKnown::Ipv4Address { zone: true }, "10.0.0.1%eth0", Some("10.0.0.1%eth0")),
            (WellKnown::Ipv4Address { zone: false }, "10.0.0.1%eth0", None),
            (WellKnown::Ipv4Address { zone: true }, "10.0.0.256", None),
            (v6, "2001:DB8:0:0::1", Some("2001:db8::1")),
            (v6, "fe80::1%", None),
            (WellKnown::Ipv4Prefix, "10.1.2.3/16", Some("10.1.0.0/16")),
            (WellKnown::Ipv4Prefix, "10.1.2.3/0", Some("0.0.0.0/0")),
            (WellKnown::Ipv4Prefix, "10.1.2.3/33", None),
            (WellKnown::Ipv4Prefix, "10.1.2.3/08", None),
            (WellKnown::Ipv6Prefix, "2001:db8::ff/120", Some("2001:db8::/120")),
            (WellKnown::DateAndTime, "2026-02-28T23:59:60.5Z", Some("2026-02-28T23:59:60.5Z")),
            (WellKnown::DateAndTime, "2026-02-29T00:00:00Z", None),
            (
                WellKnown::DateAndTime,
                "2024-02-29T00:00:00+01:00",
                Some("2024-02-29T00:00:00+01:00"),
            ),
            (WellKnown::DateAndTime, "2024-02-29T00:00:00", None),
            (WellKnown::Date, "2019-01-04", Some("2019-01-04")),
            (WellKnown::MacAddress, "AA:bb:cc:dd:ee:ff", Some("aa:bb:cc:dd:ee:ff")),
            (WellKnown::MacAddress, "aa:bb:cc:dd:ee", None),
            (WellKnown::Identifier, "_a-b.c", Some("_a-b.c")),
            (WellKnown::Identifier, "1a", None),
        ];
        for (known, text, canonical) in table {
            assert_eq!(known.canonical(text).as_deref(), canonical, "{text}");
        }
    }
}
