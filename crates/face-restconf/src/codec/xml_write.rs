//! A tree as XML. A namespace is told where it changes; names of modules serve as prefixes in values that need them.

use std::borrow::Cow;

use super::{Chunks, RESTCONF_NAMESPACE};
use crate::tree::{Sink, Stopped, Value};
use crate::yang::{Base, Kind, ModuleId, NodeId, Schema, Type, prefixes, spelled};

#[derive(Debug)]
pub struct XmlWriter<'a> {
    schema: &'a Schema,
    out: Chunks<'a>,
    frames: Vec<Frame<'a>>,
    /// How many of the last frames are not written yet: containers that stay away if nothing comes.
    unwritten: usize,
}

#[derive(Debug)]
struct Frame<'a> {
    /// `None`: an element of the protocol.
    node: Option<NodeId>,
    name: Cow<'a, str>,
    /// Whether the start tag is still open: `<name` without `>`.
    unclosed: bool,
}

impl<'a> XmlWriter<'a> {
    pub fn new(schema: &'a Schema, out: Chunks<'a>) -> XmlWriter<'a> {
        XmlWriter { schema, out, frames: Vec::new(), unwritten: 0 }
    }

    pub fn finish(mut self) -> Result<Vec<u8>, Stopped> {
        while !self.frames.is_empty() {
            self.end_element();
        }
        self.out.finish()
    }

    pub(super) fn open_wrapper(&mut self, name: &str) -> Result<(), Stopped> {
        self.close_tag();
        self.put("<");
        self.put(name);
        self.put(" xmlns=\"");
        self.put(RESTCONF_NAMESPACE);
        self.put("\"");
        self.frames.push(Frame { node: None, name: Cow::Owned(name.to_owned()), unclosed: true });
        Ok(())
    }

    pub(super) fn wrapper_leaf(&mut self, name: &str, text: &str) -> Result<(), Stopped> {
        self.close_tag();
        self.put(&format!("<{name}>"));
        write_text(&mut self.out.buffer, text);
        self.put(&format!("</{name}>"));
        self.out.settle()
    }

    pub(super) fn close_wrapper(&mut self) -> Result<(), Stopped> {
        self.end_element();
        self.out.settle()
    }

    fn put(&mut self, text: &str) {
        self.out.buffer.extend_from_slice(text.as_bytes());
    }

    fn close_tag(&mut self) {
        if let Some(frame) = self.frames.last_mut()
            && std::mem::take(&mut frame.unclosed)
        {
            self.put(">");
        }
    }

    fn end_element(&mut self) {
        if let Some(frame) = self.frames.pop() {
            if frame.unclosed {
                self.put("/>");
            } else {
                self.put(&format!("</{}>", frame.name));
            }
        }
    }

    /// `<name`, with the namespace if it is another than that of the element around it.
    fn start(&mut self, node: NodeId) {
        self.close_tag();
        let known = self.schema.node(node);
        let around = self
            .frames
            .last()
            .and_then(|frame| frame.node)
            .map(|node| self.schema.node(node).module);
        self.out.buffer.push(b'<');
        self.out.buffer.extend_from_slice(known.name.as_bytes());
        if around != Some(known.module) {
            self.out.buffer.extend_from_slice(b" xmlns=\"");
            write_text(&mut self.out.buffer, &self.schema.module(known.module).namespace);
            self.out.buffer.push(b'"');
        }
    }

    fn write_pending(&mut self) {
        if self.unwritten == 0 {
            return;
        }
        let pending = self.frames.split_off(self.frames.len() - self.unwritten);
        self.unwritten = 0;
        for frame in pending {
            if let Some(node) = frame.node {
                self.start(node);
            }
            self.frames.push(frame);
        }
    }
}

impl Sink for XmlWriter<'_> {
    fn open(&mut self, node: NodeId) -> Result<bool, Stopped> {
        let schema = self.schema;
        let known = schema.node(node);
        let at_top = self.frames.last().is_none_or(|frame| frame.node.is_none());
        if known.kind == (Kind::Container { presence: false }) && !at_top {
            self.unwritten += 1;
        } else {
            self.write_pending();
            self.start(node);
        }
        self.frames.push(Frame {
            node: Some(node),
            name: Cow::Borrowed(&known.name),
            unclosed: true,
        });
        Ok(true)
    }

    fn leaf(&mut self, node: NodeId, value: &Value) -> Result<(), Stopped> {
        self.write_pending();
        self.start(node);
        let known = self.schema.node(node);
        if let (Value::Text(text), Some(ty)) = (value, &known.ty) {
            for module in named_modules(self.schema, ty, text) {
                let module = self.schema.module(module);
                self.put(&format!(" xmlns:{}=\"", module.name));
                write_text(&mut self.out.buffer, &module.namespace);
                self.put("\"");
            }
        }
        let text = spelled(value);
        if text.is_empty() {
            self.put("/>");
        } else {
            self.put(">");
            write_text(&mut self.out.buffer, &text);
            self.put(&format!("</{}>", known.name));
        }
        self.out.settle()
    }

    fn close(&mut self) -> Result<(), Stopped> {
        if self.unwritten > 0 {
            self.unwritten -= 1;
            self.frames.pop();
            return Ok(());
        }
        self.end_element();
        self.out.settle()
    }

    fn hollow(&mut self, node: NodeId) -> Result<(), Stopped> {
        self.write_pending();
        self.start(node);
        self.put("/>");
        self.out.settle()
    }
}

/// The modules that the text of a value names: an identity, or an instance identifier.
fn named_modules(schema: &Schema, ty: &Type, text: &str) -> Vec<ModuleId> {
    match &ty.resolved().base {
        Base::Identity(names) if names.iter().any(|name| name == text) => text
            .split_once(':')
            .and_then(|(module, _)| schema.module_named(module))
            .into_iter()
            .collect(),
        Base::InstanceIdentifier if text.starts_with('/') => {
            let mut modules: Vec<ModuleId> =
                prefixes(text).iter().filter_map(|prefix| schema.module_named(prefix)).collect();
            modules.sort();
            modules.dedup();
            modules
        }
        Base::Union(members) => members
            .iter()
            .map(|member| named_modules(schema, member, text))
            .find(|modules| !modules.is_empty())
            .unwrap_or_default(),
        _ => Vec::new(),
    }
}

/// Text of an element or an attribute. What XML cannot have at all becomes the replacement character.
pub fn write_text(buffer: &mut Vec<u8>, text: &str) {
    let mut plain_from = 0;
    for (at, char) in text.char_indices() {
        let written = match char {
            '<' => "&lt;",
            '>' => "&gt;",
            '&' => "&amp;",
            '"' => "&quot;",
            '\r' => "&#13;",
            '\t' | '\n' => continue,
            '\0'..' ' | '\u{fffe}' | '\u{ffff}' => "\u{fffd}",
            _ => continue,
        };
        buffer.extend_from_slice(&text.as_bytes()[plain_from..at]);
        buffer.extend_from_slice(written.as_bytes());
        plain_from = at + char.len_utf8();
    }
    buffer.extend_from_slice(&text.as_bytes()[plain_from..]);
}
