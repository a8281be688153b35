//! A tree as JSON, in the dialect of RFC 7951 or in that of the draft before.

use super::{Chunks, Dialect};
use crate::tree::{Sink, Stopped, Value};
use crate::yang::{Base, Kind, NodeId, Schema, Type};

#[derive(Debug)]
pub struct JsonWriter<'a> {
    schema: &'a Schema,
    dialect: Dialect,
    out: Chunks<'a>,
    /// The open objects; the first is the document.
    frames: Vec<Frame>,
    /// How many of the last frames are not written yet: containers that stay away if nothing comes.
    unwritten: usize,
}

#[derive(Debug)]
struct Frame {
    node: Option<NodeId>,
    empty: bool,
    /// The list or leaf-list whose array is open.
    array: Option<NodeId>,
}

impl Frame {
    fn new(node: Option<NodeId>) -> Frame {
        Frame { node, empty: true, array: None }
    }
}

impl<'a> JsonWriter<'a> {
    pub fn new(schema: &'a Schema, dialect: Dialect, mut out: Chunks<'a>) -> JsonWriter<'a> {
        out.buffer.push(b'{');
        JsonWriter { schema, dialect, out, frames: vec![Frame::new(None)], unwritten: 0 }
    }

    pub fn finish(mut self) -> Result<Vec<u8>, Stopped> {
        while !self.frames.is_empty() {
            self.end_object();
        }
        self.out.finish()
    }

    pub(super) fn open_wrapper(&mut self, name: &str) -> Result<(), Stopped> {
        let name = match self.dialect {
            Dialect::Rfc8040 => format!("ietf-restconf:{name}"),
            Dialect::Draft02 => name.to_owned(),
        };
        self.member(&name);
        self.out.buffer.push(b'{');
        self.frames.push(Frame::new(None));
        Ok(())
    }

    pub(super) fn wrapper_leaf(&mut self, name: &str, text: &str) -> Result<(), Stopped> {
        self.member(name);
        write_text(&mut self.out.buffer, text);
        self.out.settle()
    }

    pub(super) fn close_wrapper(&mut self) -> Result<(), Stopped> {
        self.end_object();
        self.out.settle()
    }

    fn end_object(&mut self) {
        if let Some(frame) = self.frames.pop() {
            if frame.array.is_some() {
                self.out.buffer.push(b']');
            }
            self.out.buffer.push(b'}');
        }
    }

    /// The start of a member of the last frame.
    fn member(&mut self, name: &str) {
        if let Some(frame) = self.frames.last_mut() {
            if frame.array.take().is_some() {
                self.out.buffer.push(b']');
            }
            if !frame.empty {
                self.out.buffer.push(b',');
            }
            frame.empty = false;
        }
        write_text(&mut self.out.buffer, name);
        self.out.buffer.push(b':');
    }

    /// The start of a member, or of another element of the array that is open.
    fn begin(&mut self, node: NodeId) {
        self.write_pending();
        let repeated = matches!(self.schema.node(node).kind, Kind::List | Kind::LeafList);
        if repeated && self.frames.last().is_some_and(|frame| frame.array == Some(node)) {
            self.out.buffer.push(b',');
            return;
        }
        let name = self.name(node);
        self.member(name);
        if repeated {
            self.out.buffer.push(b'[');
            if let Some(frame) = self.frames.last_mut() {
                frame.array = Some(node);
            }
        }
    }

    /// Writes the containers that were opened and turn out not to be empty.
    fn write_pending(&mut self) {
        if self.unwritten == 0 {
            return;
        }
        let pending = self.frames.split_off(self.frames.len() - self.unwritten);
        self.unwritten = 0;
        for frame in pending {
            if let Some(node) = frame.node {
                let name = self.name(node);
                self.member(name);
                self.out.buffer.push(b'{');
            }
            self.frames.push(frame);
        }
    }

    fn name(&self, node: NodeId) -> &'a str {
        let at_top = self.frames.last().is_none_or(|frame| frame.node.is_none());
        let qualified = match self.dialect {
            Dialect::Rfc8040 => at_top || self.schema.qualified(node),
            Dialect::Draft02 => !at_top && self.schema.qualified(node),
        };
        if qualified { self.schema.full_name(node) } else { &self.schema.node(node).name }
    }
}

impl Sink for JsonWriter<'_> {
    fn open(&mut self, node: NodeId) -> Result<bool, Stopped> {
        let optional = self.schema.node(node).kind == Kind::Container { presence: false };
        let at_top = self.frames.last().is_none_or(|frame| frame.node.is_none());
        if optional && !at_top {
            self.unwritten += 1;
        } else {
            self.begin(node);
            self.out.buffer.push(b'{');
        }
        self.frames.push(Frame::new(Some(node)));
        Ok(true)
    }

    fn leaf(&mut self, node: NodeId, value: &Value) -> Result<(), Stopped> {
        self.begin(node);
        match &self.schema.node(node).ty {
            Some(ty) => write_value(&mut self.out.buffer, self.dialect, ty, value),
            None => self.out.buffer.extend_from_slice(b"null"),
        }
        self.out.settle()
    }

    fn close(&mut self) -> Result<(), Stopped> {
        if self.unwritten > 0 {
            self.unwritten -= 1;
            self.frames.pop();
            return Ok(());
        }
        self.end_object();
        self.out.settle()
    }

    fn hollow(&mut self, node: NodeId) -> Result<(), Stopped> {
        self.begin(node);
        self.out.buffer.extend_from_slice(b"{}");
        self.out.settle()
    }
}

fn write_value(buffer: &mut Vec<u8>, dialect: Dialect, ty: &Type, value: &Value) {
    let number = match value {
        Value::Int(number) => number.to_string(),
        Value::Uint(number) => number.to_string(),
        Value::Text(text) if dialect == Dialect::Draft02 && is_decimal(ty) => text.to_string(),
        Value::Text(text) => return write_text(buffer, text),
        Value::Bool(true) => return buffer.extend_from_slice(b"true"),
        Value::Bool(false) => return buffer.extend_from_slice(b"false"),
        Value::Empty => return buffer.extend_from_slice(b"[null]"),
    };
    let quoted = dialect == Dialect::Rfc8040 && is_wide(ty, value);
    if quoted {
        buffer.push(b'"');
    }
    buffer.extend_from_slice(number.as_bytes());
    if quoted {
        buffer.push(b'"');
    }
}

fn is_decimal(ty: &Type) -> bool {
    matches!(ty.resolved().base, Base::Decimal { .. })
}

/// Whether the value is of an integer type of 64 bits; in a union the first member counts that has it.
fn is_wide(ty: &Type, value: &Value) -> bool {
    match (&ty.resolved().base, value) {
        (Base::Int { bits, .. }, Value::Int(_)) | (Base::Uint { bits, .. }, Value::Uint(_)) => {
            *bits == 64
        }
        (Base::Union(members), _) => {
            let has = |member: &&Type| match (&member.resolved().base, value) {
                (Base::Int { ranges, .. }, Value::Int(number)) => {
                    ranges.iter().any(|(min, max)| (min..=max).contains(&number))
                }
                (Base::Uint { ranges, .. }, Value::Uint(number)) => {
                    ranges.iter().any(|(min, max)| (min..=max).contains(&number))
                }
                (Base::Union(_), _) => true,
                _ => false,
            };
            members.iter().find(has).is_some_and(|member| is_wide(member, value))
        }
        _ => false,
    }
}

/// A JSON string.
pub fn write_text(buffer: &mut Vec<u8>, text: &str) {
    let needs_escape = |byte: u8| byte < b' ' || matches!(byte, b'"' | b'\\');
    let mut rest = text.as_bytes();
    buffer.push(b'"');
    while let Some(at) = rest.iter().position(|byte| needs_escape(*byte)) {
        let (plain, escaped) = rest.split_at(at);
        buffer.extend_from_slice(plain);
        match escaped[0] {
            b'"' => buffer.extend_from_slice(b"\\\""),
            b'\\' => buffer.extend_from_slice(b"\\\\"),
            b'\n' => buffer.extend_from_slice(b"\\n"),
            b'\r' => buffer.extend_from_slice(b"\\r"),
            b'\t' => buffer.extend_from_slice(b"\\t"),
            control => buffer.extend_from_slice(format!("\\u{control:04x}").as_bytes()),
        }
        rest = &escaped[1..];
    }
    buffer.extend_from_slice(rest);
    buffer.push(b'"');
}
