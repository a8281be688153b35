//! Small documents of the protocol itself, such as errors: a tree that is written as JSON or XML.

use std::borrow::Cow;

use super::{Encoding, json_text, xml_text};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Element<'a> {
    Text(Cow<'a, str>),
    /// `[null]` in JSON.
    Empty,
    Inner(Vec<(&'static str, Element<'a>)>),
    /// The entries of a list: one array in JSON.
    List(Vec<Element<'a>>),
}

impl<'a> Element<'a> {
    pub fn text(text: impl Into<Cow<'a, str>>) -> Element<'a> {
        Element::Text(text.into())
    }

    /// Writes a document. `name`: of its top member in JSON; in XML without the module, and with the namespace.
    pub fn document(&self, encoding: Encoding, name: &str, namespace: &str) -> Vec<u8> {
        let mut out = Vec::new();
        match encoding {
            Encoding::Json => {
                out.push(b'{');
                self.json_member(name, &mut out);
                out.push(b'}');
            }
            Encoding::Xml => {
                let plain = name.split_once(':').map_or(name, |(_, plain)| plain);
                self.xml(plain, Some(namespace), &mut out);
            }
        }
        out
    }

    fn json_member(&self, name: &str, out: &mut Vec<u8>) {
        json_text(out, name);
        out.push(b':');
        self.json(out);
    }

    fn json(&self, out: &mut Vec<u8>) {
        match self {
            Element::Text(text) => json_text(out, text),
            Element::Empty => out.extend_from_slice(b"[null]"),
            Element::Inner(members) => {
                let write = |(name, member): &(&str, Element<'_>), out: &mut Vec<u8>| {
                    member.json_member(name, out);
                };
                separated(members, *b"{}", out, write);
            }
            Element::List(entries) => separated(entries, *b"[]", out, Element::json),
        }
    }

    fn xml(&self, name: &str, namespace: Option<&str>, out: &mut Vec<u8>) {
        if let Element::List(entries) = self {
            return entries.iter().for_each(|entry| entry.xml(name, namespace, out));
        }
        let declared = namespace.map(|namespace| format!(" xmlns=\"{namespace}\""));
        let start = format!("<{name}{}", declared.unwrap_or_default());
        out.extend_from_slice(start.as_bytes());
        match self {
            Element::Text(text) => {
                out.push(b'>');
                // XML cannot represent most control characters.
                let text: String = text.chars().filter(|c| !c.is_control()).collect();
                xml_text(out, &text);
            }
            Element::Inner(members) if !members.is_empty() => {
                out.push(b'>');
                members.iter().for_each(|(name, member)| member.xml(name, None, out));
            }
            _ => return out.extend_from_slice(b"/>"),
        }
        out.extend_from_slice(format!("</{name}>").as_bytes());
    }
}

/// Writes the items between brackets, with commas.
fn separated<T>(
    items: &[T],
    [open, close]: [u8; 2],
    out: &mut Vec<u8>,
    write: impl Fn(&T, &mut Vec<u8>),
) {
    out.push(open);
    for (at, item) in items.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        write(item, out);
    }
    out.push(close);
}
