//! JSON forms of single values: a value of a pool, a duration, a time, a condition.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use allod_core::command::Expect;
use allod_core::span::Span;
use allod_core::value::Kind;
use allod_edge::time;
use serde::de::{self, Deserialize, Deserializer, Visitor};
use serde::{Serialize, Serializer};
use utoipa::openapi::schema::{ObjectBuilder, OneOfBuilder, SchemaType, Type};
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

/// A value or a range in a request: an id as a number or a string, anything else as a string.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ValueText(pub Arc<str>);

impl<'de> Deserialize<'de> for ValueText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<ValueText, D::Error> {
        struct AsText;
        impl Visitor<'_> for AsText {
            type Value = ValueText;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(
                    "an id such as 7, or a string such as \"7\", \"10.0.0.1\" or \"10.0.0.0/24\"",
                )
            }

            fn visit_u64<E: de::Error>(self, number: u64) -> Result<ValueText, E> {
                Ok(ValueText(number.to_string().into()))
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<ValueText, E> {
                Ok(ValueText(text.into()))
            }
        }
        deserializer.deserialize_any(AsText)
    }
}

impl PartialSchema for ValueText {
    fn schema() -> RefOr<Schema> {
        number_or_text(
            "An id as a number or a string; an address, a prefix or a range as a string.",
        )
    }
}

impl ToSchema for ValueText {}

/// A value in a reply: ids are numbers, addresses and prefixes strings.
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
        number_or_text("An id is a number; an address or a prefix is a string.")
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

/// The schema of a string that is one of these words.
pub(crate) fn words(words: &[&str]) -> ObjectBuilder {
    let words = words.iter().map(|&word| serde_json::Value::from(word));
    ObjectBuilder::new().schema_type(Type::String).enum_values(Some(words))
}

/// The schema of a lease: seconds greater than 0.
pub(crate) fn lease_schema() -> Schema {
    ObjectBuilder::new()
        .schema_type(SchemaType::from_iter([Type::Number, Type::Null]))
        .minimum(Some(0.001))
        .description(Some("Seconds, with a resolution of a millisecond."))
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
                    // The cast saturates, and the core refuses leases that are too long.
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
        let about = "Seconds, with a resolution of a millisecond.";
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

impl Serialize for Time {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let text = time::rfc3339_bytes(self.ms);
        serializer.serialize_str(std::str::from_utf8(&text).unwrap_or_default())
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

/// A precondition: `"any"`, `"absent"`, `"present"`, or a version.
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
