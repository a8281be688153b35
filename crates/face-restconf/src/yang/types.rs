//! Leaf types, and the parser of their values.
//!
//! A value has one canonical form: `0x10` and `16` are the same, as are `2001:DB8::` and `2001:db8::`. The types of
//! RFC 6991 that have a pattern are checked by code (`well_known`), all others by their patterns (`pattern`). A leafref has the type of its target
//! leaf; whether that leaf exists is not checked here.

use std::cell::RefCell;
use std::sync::Arc;

use super::pattern::Pattern;
use super::schema::{ModuleId, Schema};
use super::well_known::WellKnown;
use crate::tree::LeafValue;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeafType {
    /// The name in the module: a built-in type, or a typedef without its prefix.
    pub name: String,
    pub base: BaseType,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BaseType {
    Int {
        bits: u8,
        ranges: Vec<(i64, i64)>,
    },
    Uint {
        bits: u8,
        ranges: Vec<(u64, u64)>,
    },
    /// Ranges are in units of the last digit.
    Decimal {
        digits: u8,
        ranges: Vec<(i64, i64)>,
    },
    Text {
        lengths: Vec<(u64, u64)>,
        patterns: Vec<Arc<Pattern>>,
        known: Option<WellKnown>,
    },
    Boolean,
    Enumeration(Vec<String>),
    Bits(Vec<String>),
    Empty,
    Binary {
        lengths: Vec<(u64, u64)>,
    },
    Union(Vec<LeafType>),
    /// All identities derived from the base, as `module:name`, sorted.
    Identity(Vec<String>),
    InstanceIdentifier,
    Leafref {
        path: String,
        target: Box<LeafType>,
    },
}

/// Resolves the prefixes in values, which differ between JSON and XML.
pub trait PrefixResolver {
    /// The name of the module. `None` stands for a name without prefix.
    fn module<'a>(&'a self, prefix: Option<&'a str>) -> Option<&'a str>;
}

/// A JSON value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum JsonScalar<'a> {
    Text(&'a str),
    /// As written in JSON.
    Number(&'a str),
    Bool(bool),
    /// `[null]`.
    Empty,
}

impl LeafType {
    /// The type itself, or the final target of a leafref.
    pub fn resolved(&self) -> &LeafType {
        match &self.base {
            BaseType::Leafref { target, .. } => target.resolved(),
            _ => self,
        }
    }

    /// Parses a value from XML, a path or a default.
    pub fn read(&self, text: &str, names: &dyn PrefixResolver) -> Result<LeafValue, String> {
        match &self.base {
            BaseType::Int { ranges, .. } => self.integer(text, ranges),
            BaseType::Uint { ranges, .. } => self.integer(text, ranges),
            BaseType::Decimal { digits, ranges } => {
                let number = decimal(text.trim(), *digits);
                let number = number
                    .filter(|number| in_ranges(ranges, number))
                    .ok_or_else(|| self.invalid(text, ""))?;
                Ok(LeafValue::Text(decimal_text(number, *digits).into()))
            }
            BaseType::Text { lengths, patterns, known } => {
                if let Some(char) = text.chars().find(|char| !is_allowed(*char)) {
                    return Err(format!(
                        "a string cannot contain the character U+{:04X}",
                        u32::from(char)
                    ));
                }
                let length = text.chars().count() as u64;
                if !in_ranges(lengths, &length) {
                    return Err(format!(
                        "a string of {length} characters is outside the length {}",
                        spans(lengths)
                    ));
                }
                if !patterns.iter().all(|pattern| pattern.allows(text)) {
                    return Err(self.invalid(text, ""));
                }
                match known {
                    None => Ok(LeafValue::Text(text.into())),
                    Some(known) => match known.canonical(text) {
                        Some(text) => Ok(LeafValue::Text(text.into())),
                        None => Err(self.invalid(text, "")),
                    },
                }
            }
            BaseType::Boolean => match text.trim() {
                "true" => Ok(LeafValue::Bool(true)),
                "false" => Ok(LeafValue::Bool(false)),
                _ => Err(self.invalid(text, "")),
            },
            BaseType::Enumeration(names) => match names.iter().find(|name| *name == text) {
                Some(name) => Ok(LeafValue::Text(name.as_str().into())),
                None => Err(self.invalid(text, "")),
            },
            BaseType::Bits(names) => self.bits(text, names),
            BaseType::Empty => match text.trim() {
                "" => Ok(LeafValue::Empty),
                _ => Err(self.invalid(text, "")),
            },
            BaseType::Binary { lengths } => {
                let text: String = text.split_ascii_whitespace().collect();
                let length = base64_length(&text).ok_or_else(|| self.invalid(&text, ""))?;
                if in_ranges(lengths, &length) {
                    Ok(LeafValue::Text(text.into()))
                } else {
                    Err(format!("{length} bytes are outside the length {}", spans(lengths)))
                }
            }
            BaseType::Union(members) => members
                .iter()
                .find_map(|member| member.read(text, names).ok())
                .ok_or_else(|| self.invalid(text, "")),
            BaseType::Identity(known) => {
                let (prefix, name) = split_prefix(text.trim());
                let module = names.module(prefix).ok_or_else(|| self.invalid(text, ""))?;
                let full = format!("{module}:{name}");
                match known.binary_search(&full) {
                    Ok(_) => Ok(LeafValue::Text(full.into())),
                    Err(_) => Err(self.invalid(text, "")),
                }
            }
            BaseType::InstanceIdentifier => match with_modules(text.trim(), names) {
                Some(path) if path.chars().all(is_allowed) => Ok(LeafValue::Text(path.into())),
                _ => Err(self.invalid(text, "")),
            },
            BaseType::Leafref { target, .. } => target.read(text, names),
        }
    }

    /// Parses a JSON value. A number of any size may be quoted; other JSON types must match.
    pub fn read_scalar(
        &self,
        scalar: JsonScalar<'_>,
        names: &dyn PrefixResolver,
    ) -> Result<LeafValue, String> {
        match (&self.base, scalar) {
            // Parsed as in XML, so that a value is the same in both encodings.
            (BaseType::Union(_), JsonScalar::Text(text)) => self.read(text, names),
            (BaseType::Union(members), _) => members
                .iter()
                .find_map(|member| member.read_scalar(scalar, names).ok())
                .ok_or_else(|| self.invalid(scalar.spelled(), "")),
            (BaseType::Leafref { target, .. }, _) => target.read_scalar(scalar, names),
            (BaseType::Empty, JsonScalar::Empty) => Ok(LeafValue::Empty),
            (BaseType::Boolean, JsonScalar::Bool(value)) => Ok(LeafValue::Bool(value)),
            // Some clients quote every value.
            (BaseType::Empty | BaseType::Boolean, JsonScalar::Text(text)) => self.read(text, names),
            (BaseType::Empty | BaseType::Boolean, _) => Err(self.invalid(scalar.spelled(), "")),
            (BaseType::Int { .. } | BaseType::Uint { .. }, JsonScalar::Number(text))
            | (BaseType::Decimal { .. }, JsonScalar::Number(text))
            | (_, JsonScalar::Text(text)) => self.read(text, names),
            (_, JsonScalar::Number(_) | JsonScalar::Bool(_) | JsonScalar::Empty) => {
                Err(self.invalid(scalar.spelled(), ""))
            }
        }
    }

    fn integer<N>(&self, text: &str, ranges: &[(N, N)]) -> Result<LeafValue, String>
    where
        N: TryFrom<i128> + PartialOrd + std::fmt::Display + Into<LeafValue>,
    {
        let number = integer(text.trim()).and_then(|number| N::try_from(number).ok());
        let allowed = number.filter(|number| in_ranges(ranges, number));
        allowed.map(N::into).ok_or_else(|| self.invalid(text, &spans(ranges)))
    }

    fn bits(&self, text: &str, names: &[String]) -> Result<LeafValue, String> {
        let given: Vec<&str> = text.split_ascii_whitespace().collect();
        if given.iter().any(|bit| !names.iter().any(|name| name == bit)) {
            return Err(self.invalid(text, ""));
        }
        let set: Vec<&str> =
            names.iter().map(String::as_str).filter(|name| given.contains(name)).collect();
        Ok(LeafValue::Text(set.join(" ").into()))
    }

    fn invalid(&self, text: &str, allowed: &str) -> String {
        /// How much of an invalid value an error message repeats.
        const SHOWN_MAX: usize = 80;
        let shown: String = text.chars().take(SHOWN_MAX).collect();
        match allowed {
            "" => format!("'{shown}' is not a value of type {}", self.name),
            _ => format!("'{shown}' is not a value of type {} ({allowed})", self.name),
        }
    }
}

impl<'a> JsonScalar<'a> {
    fn spelled(self) -> &'a str {
        match self {
            JsonScalar::Text(text) | JsonScalar::Number(text) => text,
            JsonScalar::Bool(true) => "true",
            JsonScalar::Bool(false) => "false",
            JsonScalar::Empty => "[null]",
        }
    }
}

/// The characters of YANG strings: those of XML, without control characters and Unicode noncharacters.
fn is_allowed(char: char) -> bool {
    match char {
        '\t' | '\n' | '\r' => true,
        '\0'..' ' | '\u{fdd0}'..='\u{fdef}' => false,
        other => !matches!(u32::from(other) & 0xffff, 0xfffe | 0xffff),
    }
}

/// Splits `prefix:name`; the prefix is optional.
pub fn split_prefix(text: &str) -> (Option<&str>, &str) {
    match text.split_once(':') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, text),
    }
}

pub(crate) fn in_ranges<N: PartialOrd>(ranges: &[(N, N)], value: &N) -> bool {
    ranges.iter().any(|(min, max)| (min..=max).contains(&value))
}

fn spans<N: std::fmt::Display + PartialEq>(spans: &[(N, N)]) -> String {
    let one =
        |(min, max): &(N, N)| if min == max { min.to_string() } else { format!("{min}..{max}") };
    spans.iter().map(one).collect::<Vec<_>>().join(" | ")
}

/// Whether a number is negative, and its text without the sign.
fn split_sign(text: &str) -> (bool, &str) {
    match text.strip_prefix('-') {
        Some(plain) => (true, plain),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    }
}

/// Decimal, hexadecimal with `0x`, octal with a leading zero.
fn integer(text: &str) -> Option<i128> {
    let (negative, digits) = split_sign(text);
    let (digits, radix) = match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        Some(hex) => (hex, 16),
        None if digits.len() > 1 && digits.starts_with('0') => (&digits[1..], 8),
        None => (digits, 10),
    };
    // `from_str_radix` would accept a second sign.
    if !digits.starts_with(|first: char| first.is_ascii_hexdigit()) {
        return None;
    }
    let number = i128::from(u64::from_str_radix(digits, radix).ok()?);
    Some(if negative { -number } else { number })
}

/// In units of the last digit.
pub(super) fn decimal(text: &str, digits: u8) -> Option<i64> {
    let (negative, plain) = split_sign(text);
    let (whole, fraction) = plain.split_once('.').unwrap_or((plain, "0"));
    let all_digits =
        |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let fraction_kept = fraction.trim_end_matches('0');
    if !all_digits(whole) || !all_digits(fraction) || fraction_kept.len() > usize::from(digits) {
        return None;
    }
    let padding = usize::from(digits) - fraction_kept.len();
    let units: i128 = format!("{whole}{fraction_kept}{}", "0".repeat(padding)).parse().ok()?;
    i64::try_from(if negative { -units } else { units }).ok()
}

/// The canonical form: no redundant zeros, at least one digit on either side of the point.
fn decimal_text(units: i64, digits: u8) -> String {
    let digits = usize::from(digits);
    let plain = format!("{:0>width$}", units.unsigned_abs(), width = digits + 1);
    let (whole, fraction) = plain.split_at(plain.len() - digits);
    let fraction = fraction.trim_end_matches('0');
    let sign = if units < 0 { "-" } else { "" };
    format!("{sign}{whole}.{}", if fraction.is_empty() { "0" } else { fraction })
}

/// The number of bytes that a base64 text encodes.
fn base64_length(text: &str) -> Option<u64> {
    let body = text.trim_end_matches('=');
    let padding = text.len() - body.len();
    let good = body.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/'));
    (good && padding <= 2 && text.len().is_multiple_of(4))
        .then(|| (text.len() / 4 * 3 - padding) as u64)
}

/// Replaces the prefixes of an instance identifier by module names. Names without a prefix stay so, as in JSON.
fn with_modules(path: &str, names: &dyn PrefixResolver) -> Option<String> {
    if !path.starts_with('/') {
        return None;
    }
    let mut written = String::with_capacity(path.len());
    let mut name = String::new();
    let mut quote: Option<char> = None;
    for char in path.chars() {
        match quote {
            Some(open) => {
                written.push(char);
                quote = (char != open).then_some(open);
            }
            None if char == ':' => {
                written.push_str(names.module(Some(&name))?);
                written.push(':');
                name.clear();
            }
            None if char.is_alphanumeric() || matches!(char, '-' | '_' | '.') => name.push(char),
            None => {
                written.push_str(&name);
                name.clear();
                written.push(char);
                quote = matches!(char, '\'' | '"').then_some(char);
            }
        }
    }
    written.push_str(&name);
    quote.is_none().then_some(written)
}

/// The prefixes in an instance identifier.
pub fn prefixes(path: &str) -> Vec<String> {
    struct PrefixCollector(RefCell<Vec<String>>);
    impl PrefixResolver for PrefixCollector {
        fn module<'a>(&'a self, prefix: Option<&'a str>) -> Option<&'a str> {
            self.0.borrow_mut().extend(prefix.map(str::to_owned));
            prefix
        }
    }
    let found = PrefixCollector(RefCell::new(Vec::new()));
    with_modules(path, &found);
    found.0.into_inner()
}

/// For JSON and paths, where prefixes are module names.
#[derive(Debug, Clone, Copy)]
pub struct ModuleNames<'a> {
    pub schema: &'a Schema,
    /// The module of names without a prefix.
    pub own: ModuleId,
}

impl PrefixResolver for ModuleNames<'_> {
    fn module<'a>(&'a self, prefix: Option<&'a str>) -> Option<&'a str> {
        let module = match prefix {
            None => self.own,
            Some(prefix) => self.schema.module_named(prefix)?,
        };
        Some(&self.schema.module(module).name)
    }
}

/// The text of a value in a path or in XML.
pub fn spelled(value: &LeafValue) -> Arc<str> {
    match value {
        LeafValue::Int(number) => number.to_string().into(),
        LeafValue::Uint(number) => number.to_string().into(),
        LeafValue::Bool(true) => "true".into(),
        LeafValue::Bool(false) => "false".into(),
        LeafValue::Text(text) => Arc::clone(text),
        LeafValue::Empty => "".into(),
    }
}
