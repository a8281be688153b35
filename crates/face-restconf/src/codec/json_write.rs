//! The JSON syntax of [`DataWriter`], in the form of RFC 7951 or of draft-bierman-netconf-restconf-02.

use super::{DataWriter, Dialect};
use crate::tree::LeafValue;
use crate::yang::{BaseType, LeafType, NodeId, NodeKind, in_ranges};

impl<'a> DataWriter<'a> {
    pub(super) fn json_wrapper(&mut self, name: &str) {
        match self.dialect {
            Dialect::Rfc8040 => self.json_member(&format!("ietf-restconf:{name}")),
            Dialect::Draft02 => self.json_member(name),
        }
        self.out.buffer.push(b'{');
    }

    pub(super) fn json_wrapper_leaf(&mut self, name: &str, text: &str) {
        self.json_member(name);
        write_text(&mut self.out.buffer, text);
    }

    /// Starts a member of the innermost open object.
    fn json_member(&mut self, name: &str) {
        if let Some(object) = self.open.last_mut() {
            if object.array.take().is_some() {
                self.out.buffer.push(b']');
            }
            if !object.empty {
                self.out.buffer.push(b',');
            }
            object.empty = false;
        }
        write_text(&mut self.out.buffer, name);
        self.out.buffer.push(b':');
    }

    /// Starts a member, or the next element of the open array.
    pub(super) fn json_begin(&mut self, node: NodeId) {
        let repeated = matches!(self.schema.node(node).kind, NodeKind::List | NodeKind::LeafList);
        if repeated && self.open.last().is_some_and(|object| object.array == Some(node)) {
            self.out.buffer.push(b',');
            return;
        }
        let name = self.json_name(node);
        self.json_member(name);
        if repeated {
            self.out.buffer.push(b'[');
            if let Some(object) = self.open.last_mut() {
                object.array = Some(node);
            }
        }
    }

    pub(super) fn json_leaf(&mut self, node: NodeId, value: &LeafValue) {
        self.json_begin(node);
        match &self.schema.node(node).ty {
            Some(ty) => write_value(&mut self.out.buffer, self.dialect, ty, value),
            None => self.put("null"),
        }
    }

    fn json_name(&self, node: NodeId) -> &'a str {
        let at_top = self.at_top();
        let qualified = match self.dialect {
            Dialect::Rfc8040 => at_top || self.schema.qualified(node),
            Dialect::Draft02 => !at_top && self.schema.qualified(node),
        };
        if qualified { self.schema.full_name(node) } else { &self.schema.node(node).name }
    }
}

fn write_value(buffer: &mut Vec<u8>, dialect: Dialect, ty: &LeafType, value: &LeafValue) {
    let number = match value {
        LeafValue::Int(number) => number.to_string(),
        LeafValue::Uint(number) => number.to_string(),
        LeafValue::Text(text) if dialect == Dialect::Draft02 && is_decimal(ty) => text.to_string(),
        LeafValue::Text(text) => return write_text(buffer, text),
        LeafValue::Bool(true) => return buffer.extend_from_slice(b"true"),
        LeafValue::Bool(false) => return buffer.extend_from_slice(b"false"),
        LeafValue::Empty => return buffer.extend_from_slice(b"[null]"),
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

fn is_decimal(ty: &LeafType) -> bool {
    matches!(ty.resolved().base, BaseType::Decimal { .. })
}

/// Whether the value has a 64-bit integer type. In a union, the first member that has the value counts.
fn is_wide(ty: &LeafType, value: &LeafValue) -> bool {
    match (&ty.resolved().base, value) {
        (BaseType::Int { bits, .. }, LeafValue::Int(_))
        | (BaseType::Uint { bits, .. }, LeafValue::Uint(_)) => *bits == 64,
        (BaseType::Union(members), _) => {
            let has = |member: &&LeafType| match (&member.resolved().base, value) {
                (BaseType::Int { ranges, .. }, LeafValue::Int(number)) => in_ranges(ranges, number),
                (BaseType::Uint { ranges, .. }, LeafValue::Uint(number)) => {
                    in_ranges(ranges, number)
                }
                (BaseType::Union(_), _) => true,
                _ => false,
            };
            members.iter().find(has).is_some_and(|member| is_wide(member, value))
        }
        _ => false,
    }
}

/// Writes a JSON string.
pub fn write_text(buffer: &mut Vec<u8>, text: &str) {
    // Writing text to a buffer cannot fail.
    let _ = serde_json::to_writer(buffer, text);
}
