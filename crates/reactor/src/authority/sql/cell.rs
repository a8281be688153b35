//! Parameters that are sent as text, and columns that are read as text and as JSON.
//!
//! The driver receives columns in binary form only, so the types that can be a value, a reference or a version are decoded
//! here. Others need a cast in the statement.

use std::error::Error;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use bytes::BytesMut;
use serde_json::Value;
use tokio_postgres::types::{Format, FromSql, IsNull, Kind, ToSql, Type, to_sql_checked};

/// A parameter as text. The server converts it to the type that it has inferred.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TextParameter(pub Option<String>);

impl ToSql for TextParameter {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        Ok(match &self.0 {
            Some(text) => {
                out.extend_from_slice(text.as_bytes());
                IsNull::No
            }
            None => IsNull::Yes,
        })
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    fn encode_format(&self, _: &Type) -> Format {
        Format::Text
    }

    to_sql_checked!();
}

/// The contents of a column.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Cell {
    pub text: String,
    pub json: Value,
}

impl<'a> FromSql<'a> for Cell {
    fn from_sql(ty: &Type, raw: &'a [u8]) -> Result<Cell, Box<dyn Error + Sync + Send>> {
        decode(ty, raw)
            .ok_or_else(|| format!("type {} cannot be read; cast it to text", ty.name()).into())
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}

fn decode(ty: &Type, raw: &[u8]) -> Option<Cell> {
    let text = |text: String| Cell { json: Value::String(text.clone()), text };
    let number = |number: i64| Cell { text: number.to_string(), json: number.into() };
    if let Kind::Domain(inner) = ty.kind() {
        return decode(inner, raw);
    }
    if matches!(ty.kind(), Kind::Enum(_)) || ty.name() == "citext" {
        return Some(text(String::from_utf8(raw.to_vec()).ok()?));
    }
    Some(match *ty {
        Type::TEXT | Type::VARCHAR | Type::BPCHAR | Type::NAME | Type::UNKNOWN => {
            text(String::from_utf8(raw.to_vec()).ok()?)
        }
        Type::BOOL => {
            let is_true = *raw.first()? != 0;
            Cell { text: is_true.to_string(), json: is_true.into() }
        }
        Type::INT2 => number(i16::from_be_bytes(raw.try_into().ok()?).into()),
        Type::INT4 => number(i32::from_be_bytes(raw.try_into().ok()?).into()),
        Type::INT8 => number(i64::from_be_bytes(raw.try_into().ok()?)),
        Type::OID | Type::XID => number(u32::from_be_bytes(raw.try_into().ok()?).into()),
        Type::NUMERIC => {
            let digits = integer(raw)?;
            match digits.parse::<i64>() {
                Ok(small) => number(small),
                Err(_) => text(digits),
            }
        }
        Type::JSON => json(raw)?,
        // The first byte is the version of the format.
        Type::JSONB => json(raw.strip_prefix(&[1])?)?,
        Type::UUID => text(uuid(raw)?),
        Type::INET | Type::CIDR => text(address(raw)?),
        _ => return None,
    })
}

fn json(raw: &[u8]) -> Option<Cell> {
    let json: Value = serde_json::from_slice(raw).ok()?;
    let text = match &json {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    Some(Cell { text, json })
}

fn uuid(raw: &[u8]) -> Option<String> {
    let number = u128::from_be_bytes(raw.try_into().ok()?);
    let hex = format!("{number:032x}");
    let parts = [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]];
    Some(parts.join("-"))
}

/// An address; with its length if it is a network.
fn address(raw: &[u8]) -> Option<String> {
    let [_, bits, is_cidr, _, octets @ ..] = raw else { return None };
    let (ip, whole) = if let Ok(octets) = <[u8; 4]>::try_from(octets) {
        (IpAddr::from(Ipv4Addr::from(octets)), 32)
    } else {
        (IpAddr::from(Ipv6Addr::from(<[u8; 16]>::try_from(octets).ok()?)), 128)
    };
    let is_network = *is_cidr != 0 || *bits != whole;
    Some(if is_network { format!("{ip}/{bits}") } else { ip.to_string() })
}

/// A decimal number without a fraction. Its digits are numbers below 10,000.
fn integer(raw: &[u8]) -> Option<String> {
    let mut words = raw.chunks(2).map(|two| two.try_into().map(i16::from_be_bytes));
    let mut word = || words.next()?.ok();
    let (count, weight, sign, _scale) = (word()?, word()?, word()?, word()?);
    let digits: Vec<i16> = (0..count).map(|_| word()).collect::<Option<_>>()?;
    let whole = usize::try_from(i32::from(weight) + 1).ok()?;
    if digits.iter().skip(whole).any(|digit| *digit != 0) || !matches!(sign, 0 | 0x4000) {
        return None;
    }
    let mut text = String::new();
    for at in 0..whole {
        text.push_str(&format!("{:04}", digits.get(at).copied().unwrap_or(0)));
    }
    let text = text.trim_start_matches('0');
    let text = if text.is_empty() { "0" } else { text };
    Some(if sign == 0 { text.to_owned() } else { format!("-{text}") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn binary_columns_become_text() {
        let word = |words: &[i16]| words.iter().flat_map(|n| n.to_be_bytes()).collect::<Vec<u8>>();
        for (ty, raw, wanted) in [
            (Type::INT2, vec![0, 7], Some("7")),
            (Type::INT4, vec![255, 255, 255, 255], Some("-1")),
            (Type::NUMERIC, word(&[2, 1, 0, 0, 5, 42]), Some("50042")),
            (Type::NUMERIC, word(&[1, 1, 0, 0, 5]), Some("50000")),
            (Type::NUMERIC, word(&[0, 0, 0, 0]), Some("0")),
            (Type::NUMERIC, word(&[2, 0, 0, 1, 5, 42]), None),
            (Type::INET, vec![2, 32, 0, 4, 10, 0, 0, 1], Some("10.0.0.1")),
            (Type::INET, vec![2, 24, 0, 4, 10, 0, 0, 1], Some("10.0.0.1/24")),
            (Type::CIDR, vec![2, 32, 1, 4, 10, 0, 0, 1], Some("10.0.0.1/32")),
            (Type::JSONB, b"\x01\"a\"".to_vec(), Some("a")),
            (Type::UUID, vec![1; 16], Some("01010101-0101-0101-0101-010101010101")),
            (Type::TIMESTAMPTZ, vec![0; 8], None),
            (Type::INT8, vec![0; 4], None),
        ] {
            let decoded = decode(&ty, &raw).map(|cell| cell.text);
            assert_eq!(decoded.as_deref(), wanted, "{ty} {raw:?}");
        }
    }
}
