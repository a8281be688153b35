//! The kinds of value that a pool can have, and the text form of each.
//!
//! Only this module knows that 167772161 in a pool of IPv4 addresses is written `10.0.0.1`.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use crate::named::named;
use crate::span::{Span, low_ones};

named! {
    /// The kind of a pool's values.
    pub enum Kind {
        Id32 = "id32",
        Id64 = "id64",
        Address4 = "ipv4_address",
        Address6 = "ipv6_address",
        Prefix4 = "ipv4_prefix",
        Prefix6 = "ipv6_prefix",
    }
}

/// The version of IP addresses and prefixes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum IpVersion {
    #[default]
    V4,
    V6,
}

impl IpVersion {
    /// The version of an address, and its number.
    pub fn split(address: IpAddr) -> (IpVersion, u128) {
        match address {
            IpAddr::V4(address) => (IpVersion::V4, u32::from(address).into()),
            IpAddr::V6(address) => (IpVersion::V6, address.into()),
        }
    }

    /// The number of bits of an address.
    pub fn width(self) -> u32 {
        self.prefix_kind().width()
    }

    pub fn prefix_kind(self) -> Kind {
        match self {
            IpVersion::V4 => Kind::Prefix4,
            IpVersion::V6 => Kind::Prefix6,
        }
    }
}

/// A value of a pool as a client writes it. Only the pool's kind says what the text means, and only [`crate::decide`]
/// knows the kind that the pool has when the command is decided, so commands carry text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValueText(pub Arc<str>);

impl From<&str> for ValueText {
    fn from(text: &str) -> ValueText {
        ValueText(text.into())
    }
}

/// Why a text is not a value or a range of a kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotAValue {
    pub text: String,
    pub kind: Kind,
    pub why: String,
}

impl fmt::Display for NotAValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "'{}' is not {}: {}", self.text, self.kind.example(), self.why)
    }
}

impl std::error::Error for NotAValue {}

impl Kind {
    fn example(self) -> &'static str {
        match self {
            Kind::Id32 => "an id of 32 bits such as 4094",
            Kind::Id64 => "an id of 64 bits such as 4094",
            Kind::Address4 => "an IPv4 address such as 10.0.0.1",
            Kind::Address6 => "an IPv6 address such as 2001:db8::1",
            Kind::Prefix4 => "an IPv4 prefix such as 10.0.0.0/24",
            Kind::Prefix6 => "an IPv6 prefix such as 2001:db8::/64",
        }
    }

    /// The number of bits of a value.
    pub fn width(self) -> u32 {
        match self {
            Kind::Id32 | Kind::Address4 | Kind::Prefix4 => 32,
            Kind::Id64 => 64,
            Kind::Address6 | Kind::Prefix6 => 128,
        }
    }

    /// All values that the kind has.
    pub fn line(self) -> Span {
        Span { first: 0, last: low_ones(self.width()) }
    }

    pub fn is_id(self) -> bool {
        matches!(self, Kind::Id32 | Kind::Id64)
    }

    pub fn is_address(self) -> bool {
        matches!(self, Kind::Address4 | Kind::Address6)
    }

    pub fn is_prefix(self) -> bool {
        matches!(self, Kind::Prefix4 | Kind::Prefix6)
    }

    /// Formats one point of the number line: an id, or an address.
    pub fn point(self, value: u128) -> String {
        match self {
            Kind::Id32 | Kind::Id64 => value.to_string(),
            Kind::Address4 | Kind::Prefix4 => Ipv4Addr::from(value as u32).to_string(),
            Kind::Address6 | Kind::Prefix6 => Ipv6Addr::from(value).to_string(),
        }
    }

    /// Formats a value: a prefix with its length, any other value as its point.
    pub fn show(self, value: Span) -> String {
        match self.prefix_len(value) {
            Some(len) if self.is_prefix() => format!("{}/{len}", self.point(value.first)),
            _ if value.first == value.last => self.point(value.first),
            _ => self.show_range(value),
        }
    }

    /// Formats a span as `first-last`, or as one point.
    pub fn show_range(self, span: Span) -> String {
        if span.first == span.last {
            self.point(span.first)
        } else {
            format!("{}-{}", self.point(span.first), self.point(span.last))
        }
    }

    /// The prefix length of an aligned block; `None` when the span is not one.
    pub fn prefix_len(self, span: Span) -> Option<u8> {
        let size_less_one = span.last - span.first;
        let bits = 128 - size_less_one.leading_zeros();
        let aligned = size_less_one == low_ones(bits) && span.first & size_less_one == 0;
        let len = self.width().checked_sub(bits)?;
        aligned.then_some(len as u8)
    }

    /// The size, as log2, of a prefix of this length; `None` when the length is above the width.
    pub fn block_bits(self, prefix_len: u8) -> Option<u32> {
        self.width().checked_sub(prefix_len.into())
    }

    /// Formats a value for a command.
    pub fn text(self, value: Span) -> ValueText {
        ValueText(self.show(value).into())
    }

    /// Parses one value: an id, an address, or a prefix with its length.
    pub fn parse(self, text: &str) -> Result<Span, NotAValue> {
        if self.is_prefix() {
            let (span, exact) = self.parse_cidr(text)?;
            return if exact {
                Ok(span)
            } else {
                Err(self.error(text, "it has bits set beyond its length"))
            };
        }
        self.parse_point(text).map(Span::one)
    }

    /// Parses a range of a pool's configuration: a value, `first-last`, or for addresses and prefixes a subnet. Host
    /// bits of a subnet are cleared. Also returns the length of the subnet.
    pub fn parse_range(self, text: &str) -> Result<(Span, Option<u8>), NotAValue> {
        if !self.is_id() && text.contains('/') {
            let (span, _) = self.parse_cidr(text)?;
            return Ok((span, self.prefix_len(span)));
        }
        let (first, last) = match text.split_once('-') {
            Some((first, last)) => {
                (self.parse_point(first.trim())?, self.parse_point(last.trim())?)
            }
            None => (self.parse_point(text)?, self.parse_point(text)?),
        };
        match Span::new(first, last) {
            Some(span) => Ok((span, None)),
            None => Err(self.error(text, "its end is below its start")),
        }
    }

    fn parse_point(self, text: &str) -> Result<u128, NotAValue> {
        match self {
            Kind::Id32 | Kind::Id64 => {
                if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
                    return Err(self.error(text, "only digits are allowed"));
                }
                match text.parse::<u128>() {
                    Ok(value) if value <= self.line().last => Ok(value),
                    _ => Err(self.error(text, &format!("the largest is {}", self.line().last))),
                }
            }
            Kind::Address4 | Kind::Prefix4 => match text.parse::<Ipv4Addr>() {
                Ok(address) => Ok(u32::from(address).into()),
                Err(_) => Err(self.error(text, "four decimal numbers with dots are expected")),
            },
            Kind::Address6 | Kind::Prefix6 => match text.parse::<Ipv6Addr>() {
                Ok(address) => Ok(address.into()),
                Err(_) => {
                    Err(self.error(text, "groups of hexadecimal digits with colons are expected"))
                }
            },
        }
    }

    /// The span of `address/length`, and whether the address has no bit set beyond the length.
    fn parse_cidr(self, text: &str) -> Result<(Span, bool), NotAValue> {
        let Some((address, len)) = text.split_once('/') else {
            return Err(self.error(text, "a length is missing, as in /24"));
        };
        let base =
            self.parse_point(address).map_err(|error| NotAValue { text: text.into(), ..error })?;
        let bits = len.parse::<u8>().ok().filter(|_| len.bytes().all(|byte| byte.is_ascii_digit()));
        let Some(bits) = bits.and_then(|len| self.block_bits(len)) else {
            return Err(self.error(text, &format!("the length must be 0 to {}", self.width())));
        };
        let host = low_ones(bits);
        Ok((Span { first: base & !host, last: base | host }, base & host == 0))
    }

    fn error(self, text: &str, why: &str) -> NotAValue {
        let mut shown: String = text.chars().take(64).collect();
        if shown.len() < text.len() {
            shown.push('…');
        }
        NotAValue { text: shown, kind: self, why: why.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formatted_values_parse_to_the_same_value() {
        for (kind, text) in [
            (Kind::Id32, "0"),
            (Kind::Id32, "4294967295"),
            (Kind::Id64, "18446744073709551615"),
            (Kind::Address4, "255.255.255.255"),
            (Kind::Address6, "::"),
            (Kind::Address6, "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
            (Kind::Prefix4, "0.0.0.0/0"),
            (Kind::Prefix4, "10.0.0.1/32"),
            (Kind::Prefix6, "::/0"),
            (Kind::Prefix6, "2001:db8::fffe/127"),
        ] {
            assert_eq!(kind.show(kind.parse(text).unwrap()), text, "{kind:?}");
        }
    }

    #[test]
    fn parse_error_says_what_is_expected() {
        for (kind, text, why) in [
            (Kind::Id32, "4294967296", "the largest is 4294967295"),
            (Kind::Id32, "-1", "only digits"),
            (Kind::Id64, "18446744073709551616", "the largest is 18446744073709551615"),
            (Kind::Id64, "", "only digits"),
            (Kind::Address4, "10.0.0", "four decimal numbers"),
            (Kind::Address6, "10.0.0.1", "hexadecimal"),
            (Kind::Prefix4, "10.0.0.0", "a length is missing"),
            (Kind::Prefix4, "10.0.0.0/33", "the length must be 0 to 32"),
            (Kind::Prefix4, "10.0.0.1/24", "bits set beyond its length"),
            (Kind::Prefix6, "::/+5", "the length must be 0 to 128"),
        ] {
            let error = kind.parse(text).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
    }

    #[test]
    fn range_is_a_value_a_pair_or_a_subnet() {
        let read = |kind: Kind, text| {
            kind.parse_range(text).map(|(span, len)| (kind.show_range(span), len))
        };
        assert_eq!(read(Kind::Id32, "1-4094"), Ok(("1-4094".into(), None)));
        assert_eq!(read(Kind::Id32, "7"), Ok(("7".into(), None)));
        assert_eq!(
            read(Kind::Address4, "10.6.12.0/17"),
            Ok(("10.6.0.0-10.6.127.255".into(), Some(17)))
        );
        assert_eq!(read(Kind::Address6, "::1-::f"), Ok(("::1-::f".into(), None)));
        assert!(read(Kind::Id32, "9-3").unwrap_err().why.contains("end is below"));
        assert!(read(Kind::Id32, "1/2").is_err());
    }
}
