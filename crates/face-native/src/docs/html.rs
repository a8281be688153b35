//! HTML as it is written: what is text cannot become markup.

use serde_json::Value;

#[derive(Debug, Default)]
pub(super) struct Html(String);

impl Html {
    /// Markup of our own.
    pub(super) fn raw(&mut self, markup: &str) -> &mut Html {
        self.0.push_str(markup);
        self
    }

    /// Text from anywhere. Words in backquotes are shown as code.
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

    /// An element with these attributes around what `inside` writes.
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

    /// An element with nothing but text in it.
    pub(super) fn tagged(&mut self, name: &str, attributes: &str, text: &str) -> &mut Html {
        self.tag(name, attributes, |html| {
            html.text(text);
        })
    }

    pub(super) fn done(self) -> String {
        self.0
    }
}

/// A member that is a text, as text.
pub(super) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// A member that is a word of the document and may stand in an attribute; anything that could end one is cut off.
pub(super) fn word(value: &Value) -> &str {
    text(value).split(['"', '<', '>', '&']).next().unwrap_or_default()
}

pub(super) fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}
