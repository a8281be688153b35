//! Values in JSON: IDs are numbers, addresses and prefixes strings. As text, all are strings.

use std::fmt;

use serde::de::{self, Deserializer, Visitor};
use serde::{Deserialize, Serialize, Serializer};

/// The longest value is an IPv6 prefix, with fewer than 50 characters.
const VALUE_BYTES_MAX: usize = 64;

/// A value as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct JsonValue(pub String);

impl<'de> Deserialize<'de> for JsonValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<JsonValue, D::Error> {
        struct AsText;
        impl Visitor<'_> for AsText {
            type Value = JsonValue;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number such as 7, or a string such as \"10.0.0.1\"")
            }

            fn visit_u64<E: de::Error>(self, number: u64) -> Result<JsonValue, E> {
                Ok(JsonValue(number.to_string()))
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<JsonValue, E> {
                check_value(text).map(|()| JsonValue(text.to_owned())).map_err(E::custom)
            }
        }
        deserializer.deserialize_any(AsText)
    }
}

impl Serialize for JsonValue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // A number with leading zeros is not the same text.
        match self.0.parse::<u64>() {
            Ok(number) if number.to_string() == self.0 => serializer.serialize_u64(number),
            _ => serializer.serialize_str(&self.0),
        }
    }
}

/// Whether a text can be a value at all. The core checks whether it is one of the pool's kind.
pub(super) fn check_value(text: &str) -> Result<(), String> {
    if text.is_empty() || text.len() > VALUE_BYTES_MAX {
        return Err(format!("a value has 1 to {VALUE_BYTES_MAX} characters, not {}", text.len()));
    }
    if !text.chars().all(|c| c.is_ascii_graphic()) {
        return Err("a value has no spaces and only ASCII characters".into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_numbers_and_addresses_are_strings() {
        for (text, json) in [
            ("42", "42"),
            ("10.0.0.1", "\"10.0.0.1\""),
            ("10.0.0.0/24", "\"10.0.0.0/24\""),
            ("007", "\"007\""),
            ("18446744073709551616", "\"18446744073709551616\""),
        ] {
            assert_eq!(serde_json::to_string(&JsonValue(text.into())).unwrap(), json);
            assert_eq!(serde_json::from_str::<JsonValue>(json).unwrap().0, text);
        }
        for json in ["1.5", "-1", "true", "null", "[1]", "\"\"", "\"a b\"", "\"é\""] {
            assert!(serde_json::from_str::<JsonValue>(json).is_err(), "{json}");
        }
        let long = format!("\"{}\"", "1".repeat(65));
        assert!(serde_json::from_str::<JsonValue>(&long).is_err());
    }
}
