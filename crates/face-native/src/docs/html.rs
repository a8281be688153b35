//! Writes HTML; text is escaped.

use serde_json::Value;

#[derive(Debug, Default)]
pub(super) struct Html(String);

impl Html {
    /// Trusted markup.
    pub(super) fn raw(&mut self, markup: &str) -> &mut Html {
        self.0.push_str(markup);
        self
    }

    /// Text, escaped. Words in backquotes become code elements.
    pub(super) fn text(&mut self, text: &str) -> &mut Html {
        let mut code = false;
        for letter in text.chars() {
            match letter {
                '<' => self.0.push_str("&lt;"),
                '>' => self.0.push_str("&gt;"),
                '&' => self.0.push_str("&amp;"),
                '"' => self.0.push_str("&quot;"),
                '`' => {
                    self.0.push_str(if code { "</code>" } else { "<code>" });
                    code = !code;
                }
                other => self.0.push(other),
            }
        }
        if code {
            self.0.push_str("</code>");
        }
        self
    }

    /// An element whose content `inside` writes.
    pub(super) fn tag(
        &mut self,
        name: &str,
        attributes: &str,
        inside: impl FnOnce(&mut Html),
    ) -> &mut Html {
        self.raw("<").raw(name);
        if !attributes.is_empty() {
            self.raw(" ").raw(attributes);
        }
        self.raw(">");
        inside(self);
        self.raw("</").raw(name).raw(">")
    }

    /// An element that contains only text.
    pub(super) fn tagged(&mut self, name: &str, attributes: &str, text: &str) -> &mut Html {
        self.tag(name, attributes, |html| {
            html.text(text);
        })
    }

    pub(super) fn done(self) -> String {
        self.0
    }
}

/// The text of a string; empty for anything else.
pub(super) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// A string that is safe in an attribute: cut off at the first character that could end the attribute.
pub(super) fn word(value: &Value) -> &str {
    text(value).split(['"', '<', '>', '&']).next().unwrap_or_default()
}

pub(super) fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}
