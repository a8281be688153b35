//! Texts with placeholders: `{target}`, `{user}`, `{how}`, `{pools}`, `{number}`.
//!
//! The values come from clients, so they are escaped for the context in which they stand.

use std::fmt::Write;

use allod_core::outbox::Notification;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Serialize;

/// The characters that are not percent-encoded in a URL.
pub(super) const PLAIN: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// The context that a value is escaped for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Escape {
    Url,
    Header,
    /// Inside a string, except for `{pools}`, which is an array.
    Json,
    Xml,
    Text,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TemplateField {
    Target,
    User,
    How,
    Pools,
    Number,
}

const FIELDS: [(&str, TemplateField); 5] = [
    ("target", TemplateField::Target),
    ("user", TemplateField::User),
    ("how", TemplateField::How),
    ("pools", TemplateField::Pools),
    ("number", TemplateField::Number),
];

#[derive(Debug, Clone, PartialEq, Eq)]
enum TemplatePart {
    Text(String),
    Field(TemplateField),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Template(Vec<TemplatePart>);

impl Template {
    /// A brace that does not begin a placeholder is literal, as in JSON.
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
                return Err(format!("unknown placeholder {{{name}}}; known are {names}"));
            };
            pieces.push(TemplatePart::Text(std::mem::take(&mut plain)));
            pieces.push(TemplatePart::Field(*field));
            rest = &after[name.len() + 1..];
        }
        plain.push_str(rest);
        pieces.push(TemplatePart::Text(plain));
        Ok(Template(pieces))
    }

    pub fn fill(&self, notification: &Notification, escape: Escape) -> String {
        let mut text = String::new();
        for piece in &self.0 {
            match piece {
                TemplatePart::Text(plain) => text.push_str(plain),
                TemplatePart::Field(TemplateField::Pools) if escape == Escape::Json => {
                    text.push_str(&json(&about(notification)));
                }
                TemplatePart::Field(field) => {
                    text.push_str(&written(&said(*field, notification), escape))
                }
            }
        }
        text
    }
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
}

fn said(field: TemplateField, notification: &Notification) -> String {
    match field {
        TemplateField::Target => notification.target.to_string(),
        TemplateField::User => notification.user.to_string(),
        TemplateField::How => notification.payload.0.to_owned(),
        TemplateField::Number => notification.name(),
        TemplateField::Pools => {
            let mut pools: Vec<&str> = notification.about.iter().map(|(pool, _)| &**pool).collect();
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
                    // Bytes that are not allowed in a header are percent-encoded.
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
                    // XML cannot represent control characters.
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
struct NotificationSubject<'a> {
    pool: &'a str,
    allocation: &'a str,
}

#[derive(Serialize)]
struct NotificationBody<'a> {
    number: String,
    target: &'a str,
    user: &'a str,
    how: &'static str,
    pools: Vec<NotificationSubject<'a>>,
}

fn about(notification: &Notification) -> Vec<NotificationSubject<'_>> {
    let each = notification.about.iter();
    each.map(|(pool, key)| NotificationSubject { pool, allocation: key }).collect()
}

/// All fields of a notification, as JSON.
pub(super) fn whole(notification: &Notification) -> String {
    json(&NotificationBody {
        number: notification.name(),
        target: &notification.target,
        user: &notification.user,
        how: notification.payload.0,
        pools: about(notification),
    })
}

/// Serialising strings and lists of them cannot fail.
fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_else(|_| "\"\"".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::webhook::sample;

    #[test]
    fn values_are_escaped_for_their_context() {
        let template = Template::new("{user}").unwrap();
        let filled = |escape| {
            let hostile = "a\"b\\c\r\nX: y <&'>é/?#%".into();
            template.fill(&Notification { user: hostile, ..sample() }, escape)
        };
        assert_eq!(filled(Escape::Url), "a%22b%5Cc%0D%0AX%3A%20y%20%3C%26%27%3E%C3%A9%2F%3F%23%25");
        assert_eq!(filled(Escape::Header), "a\"b\\c%0D%0AX: y <&'>%C3%A9/?#%25");
        assert_eq!(filled(Escape::Json), r#"a\"b\\c\r\nX: y <&'>é/?#%"#);
        assert_eq!(filled(Escape::Xml), "a&quot;b\\c  X: y &lt;&amp;&apos;&gt;é/?#%");
    }

    #[test]
    fn braces_that_are_not_placeholders_are_literal() {
        let filled = |text| Template::new(text).unwrap().fill(&sample(), Escape::Json);
        assert_eq!(filled("{{user}}"), "{admin}");
        assert_eq!(filled("{\"a\":{\"b\":\"{how}\"}} {"), "{\"a\":{\"b\":\"touch\"}} {");
        assert_eq!(filled("{} {A}"), "{} {A}");
    }
}
