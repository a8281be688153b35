//! Texts with places for what a notice says: `{target}`, `{user}`, `{how}`, `{pools}`, `{number}`.
//!
//! What is put there comes from clients. It is written as the place needs it, so that it can be nothing but a value there.

use std::fmt::Write;

use allod_core::state::outbox::Notice;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Serialize;

/// What stands for itself in a URL.
pub(super) const PLAIN: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// How a value is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Escape {
    Url,
    Header,
    /// Between quotes, except pools, which are an array.
    Json,
    Xml,
    Text,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Field {
    Target,
    User,
    How,
    Pools,
    Number,
}

const FIELDS: [(&str, Field); 5] = [
    ("target", Field::Target),
    ("user", Field::User),
    ("how", Field::How),
    ("pools", Field::Pools),
    ("number", Field::Number),
];

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Text(String),
    Field(Field),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Template(Vec<Piece>);

impl Template {
    /// A brace that does not begin a name stands for itself, as those of JSON do.
    pub fn new(text: &str) -> Result<Template, String> {
        let mut pieces = Vec::new();
        let mut plain = String::new();
        let mut rest = text;
        while let Some(at) = rest.find('{') {
            plain.push_str(&rest[..at]);
            let after = &rest[at + 1..];
            let name = after.split_once('}').map(|(name, _)| name).filter(|name| is_name(name));
            let Some(name) = name else {
                plain.push('{');
                rest = after;
                continue;
            };
            let known = FIELDS.iter().find(|(known, _)| *known == name);
            let Some((_, field)) = known else {
                let names = FIELDS.map(|(name, _)| format!("{{{name}}}")).join(", ");
                return Err(format!("{{{name}}} is nothing that a notice says; there are {names}"));
            };
            pieces.push(Piece::Text(std::mem::take(&mut plain)));
            pieces.push(Piece::Field(*field));
            rest = &after[name.len() + 1..];
        }
        plain.push_str(rest);
        pieces.push(Piece::Text(plain));
        Ok(Template(pieces))
    }

    pub fn fill(&self, notice: &Notice, escape: Escape) -> String {
        let mut text = String::new();
        for piece in &self.0 {
            match piece {
                Piece::Text(plain) => text.push_str(plain),
                Piece::Field(Field::Pools) if escape == Escape::Json => {
                    text.push_str(&json(&about(notice)));
                }
                Piece::Field(field) => text.push_str(&written(&said(*field, notice), escape)),
            }
        }
        text
    }
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
}

fn said(field: Field, notice: &Notice) -> String {
    match field {
        Field::Target => notice.target.to_string(),
        Field::User => notice.user.to_string(),
        Field::How => notice.how.name().to_owned(),
        Field::Number => notice.name(),
        Field::Pools => {
            let mut pools: Vec<&str> = notice.about.iter().map(|(pool, _)| &**pool).collect();
            pools.dedup();
            pools.join(",")
        }
    }
}

fn written(text: &str, escape: Escape) -> String {
    match escape {
        Escape::Url => utf8_percent_encode(text, PLAIN).to_string(),
        Escape::Header => {
            let mut header = String::with_capacity(text.len());
            for byte in text.bytes() {
                match byte {
                    b' '..=b'~' if byte != b'%' => header.push(byte.into()),
                    // What no header can carry is written as in a URL.
                    _ => drop(write!(header, "%{byte:02X}")),
                }
            }
            header
        }
        Escape::Json => {
            let quoted = json(&text);
            quoted[1..quoted.len().max(2) - 1].to_owned()
        }
        Escape::Xml => {
            let mut xml = String::with_capacity(text.len());
            for c in text.chars() {
                match c {
                    '&' => xml.push_str("&amp;"),
                    '<' => xml.push_str("&lt;"),
                    '>' => xml.push_str("&gt;"),
                    '"' => xml.push_str("&quot;"),
                    '\'' => xml.push_str("&apos;"),
                    // XML has no way at all to say these.
                    c if c.is_control() => xml.push(' '),
                    c => xml.push(c),
                }
            }
            xml
        }
        Escape::Text => text.to_owned(),
    }
}

#[derive(Serialize)]
struct About<'a> {
    pool: &'a str,
    allocation: &'a str,
}

#[derive(Serialize)]
struct Whole<'a> {
    number: String,
    target: &'a str,
    user: &'a str,
    how: &'static str,
    pools: Vec<About<'a>>,
}

fn about(notice: &Notice) -> Vec<About<'_>> {
    let each = notice.about.iter();
    each.map(|(pool, key)| About { pool, allocation: key }).collect()
}

/// All that a notice says, as JSON.
pub(super) fn whole(notice: &Notice) -> String {
    json(&Whole {
        number: notice.name(),
        target: &notice.target,
        user: &notice.user,
        how: notice.how.name(),
        pools: about(notice),
    })
}

/// Texts and lists of them are always JSON.
fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_else(|_| "\"\"".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::webhook::sample;

    #[test]
    fn a_value_can_be_nothing_but_a_value_where_it_stands() {
        let template = Template::new("{user}").unwrap();
        let filled = |escape| {
            let hostile = "a\"b\\c\r\nX: y <&'>é/?#%".into();
            template.fill(&Notice { user: hostile, ..sample() }, escape)
        };
        assert_eq!(filled(Escape::Url), "a%22b%5Cc%0D%0AX%3A%20y%20%3C%26%27%3E%C3%A9%2F%3F%23%25");
        assert_eq!(filled(Escape::Header), "a\"b\\c%0D%0AX: y <&'>%C3%A9/?#%25");
        assert_eq!(filled(Escape::Json), r#"a\"b\\c\r\nX: y <&'>é/?#%"#);
        assert_eq!(filled(Escape::Xml), "a&quot;b\\c  X: y &lt;&amp;&apos;&gt;é/?#%");
    }

    #[test]
    fn braces_that_are_no_places_stay() {
        let filled = |text| Template::new(text).unwrap().fill(&sample(), Escape::Json);
        assert_eq!(filled("{{user}}"), "{admin}");
        assert_eq!(filled("{\"a\":{\"b\":\"{how}\"}} {"), "{\"a\":{\"b\":\"touch\"}} {");
        assert_eq!(filled("{} {A}"), "{} {A}");
    }
}
