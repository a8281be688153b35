//! The types of leaves, and the one reading of their values.
//!
//! A value is the same however it was written: `0x10` and `16`, `2001:DB8::` and `2001:db8::` are one value each. Patterns are
//! kept and not evaluated; the types of RFC 6991 that have one are checked by code (`well_known`). Whether the leaf that a
//! leafref points at exists is not known here, it has the type of that leaf.

use std::cell::RefCell;
use std::sync::Arc;

use super::schema::{ModuleId, Schema};
use super::well_known::WellKnown;
use crate::tree::Value;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Type {
    /// As the module spells it: a built-in type, or a typedef without its prefix.
    pub name: String,
    pub base: Base,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Base {
    Int {
        bits: u8,
        ranges: Vec<(i64, i64)>,
    },
    Uint {
        bits: u8,
        ranges: Vec<(u64, u64)>,
    },
    /// Ranges in units of the last digit.
    Decimal {
        digits: u8,
        ranges: Vec<(i64, i64)>,
    },
    Text {
        lengths: Vec<(u64, u64)>,
        patterns: Vec<String>,
        known: Option<WellKnown>,
    },
    Boolean,
    Enumeration(Vec<String>),
    Bits(Vec<String>),
    Empty,
    Binary {
        lengths: Vec<(u64, u64)>,
    },
    Union(Vec<Type>),
    /// All identities that are derived from the base, as `module:name`, sorted.
    Identity(Vec<String>),
    InstanceIdentifier,
    Leafref {
        path: String,
        target: Box<Type>,
    },
}

/// What a prefix in a value stands for, which differs between JSON and XML.
pub trait Names {
    /// The module's name; `None` as prefix asks for the module of a name without one.
    fn module<'a>(&'a self, prefix: Option<&'a str>) -> Option<&'a str>;
}

/// A value as JSON distinguishes it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Scalar<'a> {
    Text(&'a str),
    /// Spelled as JSON would.
    Number(&'a str),
    Bool(bool),
    /// `[null]`.
    Empty,
}

impl Type {
    /// The type itself, or what a leafref comes to in the end.
    pub fn resolved(&self) -> &Type {
        match &self.base {
            Base::Leafref { target, .. } => target.resolved(),
            _ => self,
        }
    }

    /// The value that a text means, as XML, a path or a default has it.
    pub fn read(&self, text: &str, names: &dyn Names) -> Result<Value, String> {
        match &self.base {
            Base::Int { ranges, .. } => {
                let number = integer(text.trim()).and_then(|number| i64::try_from(number).ok());
                let within =
                    |number: &i64| ranges.iter().any(|(min, max)| (min..=max).contains(&number));
                number
                    .filter(within)
                    .map(Value::Int)
                    .ok_or_else(|| self.unlike(text, &spans(ranges)))
            }
            Base::Uint { ranges, .. } => {
                let number = integer(text.trim()).and_then(|number| u64::try_from(number).ok());
                let within =
                    |number: &u64| ranges.iter().any(|(min, max)| (min..=max).contains(&number));
                number
                    .filter(within)
                    .map(Value::Uint)
                    .ok_or_else(|| self.unlike(text, &spans(ranges)))
            }
            Base::Decimal { digits, ranges } => {
                let number = decimal(text.trim(), *digits);
                let within =
                    |number: &i64| ranges.iter().any(|(min, max)| (min..=max).contains(&number));
                let number = number.filter(within).ok_or_else(|| self.unlike(text, ""))?;
                Ok(Value::Text(decimal_text(number, *digits).into()))
            }
            Base::Text { lengths, known, .. } => {
                if let Some(char) = text.chars().find(|char| !is_allowed(*char)) {
                    return Err(format!(
                        "a text cannot have the character U+{:04X}",
                        u32::from(char)
                    ));
                }
                let length = text.chars().count() as u64;
                if !lengths.iter().any(|(min, max)| (min..=max).contains(&&length)) {
                    return Err(format!(
                        "a text of {length} characters is not of length {}",
                        spans(lengths)
                    ));
                }
                match known {
                    None => Ok(Value::Text(text.into())),
                    Some(known) => match known.canonical(text) {
                        Some(text) => Ok(Value::Text(text.into())),
                        None => Err(self.unlike(text, "")),
                    },
                }
            }
            Base::Boolean => match text.trim() {
                "true" => Ok(Value::Bool(true)),
                "false" => Ok(Value::Bool(false)),
                _ => Err(self.unlike(text, "")),
            },
            Base::Enumeration(names) => match names.iter().find(|name| *name == text) {
                Some(name) => Ok(Value::Text(name.as_str().into())),
                None => Err(self.unlike(text, "")),
            },
            Base::Bits(names) => self.bits(text, names),
            Base::Empty => match text.trim() {
                "" => Ok(Value::Empty),
                _ => Err(self.unlike(text, "")),
            },
            Base::Binary { lengths } => {
                let text: String = text.split_ascii_whitespace().collect();
                let length = base64_length(&text).ok_or_else(|| self.unlike(&text, ""))?;
                if lengths.iter().any(|(min, max)| (min..=max).contains(&&length)) {
                    Ok(Value::Text(text.into()))
                } else {
                    Err(format!("{length} bytes are not of length {}", spans(lengths)))
                }
            }
            Base::Union(members) => members
                .iter()
                .find_map(|member| member.read(text, names).ok())
                .ok_or_else(|| self.unlike(text, "")),
            Base::Identity(known) => {
                let (prefix, name) = split_prefix(text.trim());
                let module = names.module(prefix).ok_or_else(|| self.unlike(text, ""))?;
                let full = format!("{module}:{name}");
                match known.binary_search(&full) {
                    Ok(_) => Ok(Value::Text(full.into())),
                    Err(_) => Err(self.unlike(text, "")),
                }
            }
            Base::InstanceIdentifier => match with_modules(text.trim(), names) {
                Some(path) if path.chars().all(is_allowed) => Ok(Value::Text(path.into())),
                _ => Err(self.unlike(text, "")),
            },
            Base::Leafref { target, .. } => target.read(text, names),
        }
    }

    /// The value that JSON means. Numbers may be quoted, whatever their size; nothing else may be what it is not.
    pub fn read_scalar(&self, scalar: Scalar<'_>, names: &dyn Names) -> Result<Value, String> {
        match (&self.base, scalar) {
            // As XML would have it, so that a value is the same in both.
            (Base::Union(_), Scalar::Text(text)) => self.read(text, names),
            (Base::Union(members), _) => members
                .iter()
                .find_map(|member| member.read_scalar(scalar, names).ok())
                .ok_or_else(|| self.unlike(scalar.spelled(), "")),
            (Base::Leafref { target, .. }, _) => target.read_scalar(scalar, names),
            (Base::Empty, Scalar::Empty) => Ok(Value::Empty),
            (Base::Boolean, Scalar::Bool(value)) => Ok(Value::Bool(value)),
            // Some write every value as a text.
            (Base::Empty | Base::Boolean, Scalar::Text(text)) => self.read(text, names),
            (Base::Empty | Base::Boolean, _) => Err(self.unlike(scalar.spelled(), "")),
            (Base::Int { .. } | Base::Uint { .. } | Base::Decimal { .. }, Scalar::Number(text)) => {
                self.read(text, names)
            }
            (_, Scalar::Text(text)) => self.read(text, names),
            (_, Scalar::Number(_) | Scalar::Bool(_) | Scalar::Empty) => {
                Err(self.unlike(scalar.spelled(), ""))
            }
        }
    }

    fn bits(&self, text: &str, names: &[String]) -> Result<Value, String> {
        let given: Vec<&str> = text.split_ascii_whitespace().collect();
        if given.iter().any(|bit| !names.iter().any(|name| name == bit)) {
            return Err(self.unlike(text, ""));
        }
        let set: Vec<&str> =
            names.iter().map(String::as_str).filter(|name| given.contains(name)).collect();
        Ok(Value::Text(set.join(" ").into()))
    }

    fn unlike(&self, text: &str, allowed: &str) -> String {
        /// What is repeated of a value that somebody sent.
        const SHOWN_MAX: usize = 80;
        let shown: String = text.chars().take(SHOWN_MAX).collect();
        match allowed {
            "" => format!("'{shown}' is not a value of type {}", self.name),
            _ => format!("'{shown}' is not a value of type {} ({allowed})", self.name),
        }
    }
}

impl<'a> Scalar<'a> {
    fn spelled(self) -> &'a str {
        match self {
            Scalar::Text(text) | Scalar::Number(text) => text,
            Scalar::Bool(true) => "true",
            Scalar::Bool(false) => "false",
            Scalar::Empty => "[null]",
        }
    }
}

/// The characters of YANG's strings, which are those that XML can have: neither controls nor what Unicode says is no character.
fn is_allowed(char: char) -> bool {
    match char {
        '\t' | '\n' | '\r' => true,
        '\0'..' ' | '\u{fdd0}'..='\u{fdef}' => false,
        other => !matches!(u32::from(other) & 0xffff, 0xfffe | 0xffff),
    }
}

/// `prefix:name`, or only a name.
pub fn split_prefix(text: &str) -> (Option<&str>, &str) {
    match text.split_once(':') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, text),
    }
}

fn spans<N: std::fmt::Display + PartialEq>(spans: &[(N, N)]) -> String {
    let one =
        |(min, max): &(N, N)| if min == max { min.to_string() } else { format!("{min}..{max}") };
    spans.iter().map(one).collect::<Vec<_>>().join(" | ")
}

/// Decimal, hexadecimal with `0x`, octal with a leading zero.
fn integer(text: &str) -> Option<i128> {
    let (negative, digits) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let (digits, radix) = match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        Some(hex) => (hex, 16),
        None if digits.len() > 1 && digits.starts_with('0') => (&digits[1..], 8),
        None => (digits, 10),
    };
    // A second sign would be taken by the parser of numbers.
    if !digits.starts_with(|first: char| first.is_ascii_hexdigit()) {
        return None;
    }
    let number = i128::from(u64::from_str_radix(digits, radix).ok()?);
    Some(if negative { -number } else { number })
}

/// In units of the last digit.
pub(super) fn decimal(text: &str, digits: u8) -> Option<i64> {
    let (negative, plain) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
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

/// Canonical: no zeros that say nothing, at least one digit on either side of the point.
fn decimal_text(units: i64, digits: u8) -> String {
    let digits = usize::from(digits);
    let plain = format!("{:0>width$}", units.unsigned_abs(), width = digits + 1);
    let (whole, fraction) = plain.split_at(plain.len() - digits);
    let fraction = fraction.trim_end_matches('0');
    let sign = if units < 0 { "-" } else { "" };
    format!("{sign}{whole}.{}", if fraction.is_empty() { "0" } else { fraction })
}

/// How many bytes a base64 text stands for.
fn base64_length(text: &str) -> Option<u64> {
    let body = text.trim_end_matches('=');
    let padding = text.len() - body.len();
    let good = body.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/'));
    (good && padding <= 2 && text.len().is_multiple_of(4))
        .then(|| (text.len() / 4 * 3 - padding) as u64)
}

/// An instance identifier with modules' names for prefixes. Names without one inherit, as JSON has it.
fn with_modules(path: &str, names: &dyn Names) -> Option<String> {
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

/// The prefixes that an instance identifier has.
pub fn prefixes(path: &str) -> Vec<String> {
    struct Found(RefCell<Vec<String>>);
    impl Names for Found {
        fn module<'a>(&'a self, prefix: Option<&'a str>) -> Option<&'a str> {
            self.0.borrow_mut().extend(prefix.map(str::to_owned));
            prefix
        }
    }
    let found = Found(RefCell::new(Vec::new()));
    with_modules(path, &found);
    found.0.into_inner()
}

/// Prefixes that are names of modules already: JSON and paths.
#[derive(Debug, Clone, Copy)]
pub struct ModuleNames<'a> {
    pub schema: &'a Schema,
    /// The module of names without a prefix.
    pub own: ModuleId,
}

impl Names for ModuleNames<'_> {
    fn module<'a>(&'a self, prefix: Option<&'a str>) -> Option<&'a str> {
        let module = match prefix {
            None => self.own,
            Some(prefix) => self.schema.module_named(prefix)?,
        };
        Some(&self.schema.module(module).name)
    }
}

/// The text of a value as a path and XML have it.
pub fn spelled(value: &Value) -> Arc<str> {
    match value {
        Value::Int(number) => number.to_string().into(),
        Value::Uint(number) => number.to_string().into(),
        Value::Bool(true) => "true".into(),
        Value::Bool(false) => "false".into(),
        Value::Text(text) => Arc::clone(text),
        Value::Empty => "".into(),
    }
}
