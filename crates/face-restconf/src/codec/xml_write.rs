//! The XML syntax of [`DataWriter`]. Namespaces are declared where they change; values that need prefixes use module names.

use super::{DataWriter, RESTCONF_NAMESPACE};
use crate::tree::LeafValue;
use crate::yang::{BaseType, LeafType, ModuleId, NodeId, Schema, prefixes, spelled};

impl DataWriter<'_> {
    pub(super) fn xml_wrapper(&mut self, name: &str) {
        self.close_start_tag();
        self.put(&format!("<{name} xmlns=\"{RESTCONF_NAMESPACE}\""));
    }

    pub(super) fn xml_wrapper_leaf(&mut self, name: &str, text: &str) {
        self.close_start_tag();
        self.put(&format!("<{name}>"));
        write_text(&mut self.out.buffer, text);
        self.put(&format!("</{name}>"));
    }

    fn close_start_tag(&mut self) {
        if let Some(element) = self.open.last_mut()
            && std::mem::take(&mut element.empty)
        {
            self.put(">");
        }
    }

    /// Writes `<name`, with the namespace if it differs from that of the enclosing element.
    pub(super) fn xml_begin(&mut self, node: NodeId) {
        self.close_start_tag();
        let known = self.schema.node(node);
        let enclosing =
            self.open.last().and_then(|element| element.node).map(|id| self.schema.node(id).module);
        self.out.buffer.push(b'<');
        self.put(&known.name);
        if enclosing != Some(known.module) {
            self.put(" xmlns=\"");
            write_text(&mut self.out.buffer, &self.schema.module(known.module).namespace);
            self.out.buffer.push(b'"');
        }
    }

    pub(super) fn xml_leaf(&mut self, node: NodeId, value: &LeafValue) {
        self.xml_begin(node);
        let known = self.schema.node(node);
        if let (LeafValue::Text(text), Some(ty)) = (value, &known.ty) {
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
    }
}

/// The modules that the value of an identityref or instance-identifier names.
fn named_modules(schema: &Schema, ty: &LeafType, text: &str) -> Vec<ModuleId> {
    match &ty.resolved().base {
        BaseType::Identity(names) if names.iter().any(|name| name == text) => text
            .split_once(':')
            .and_then(|(module, _)| schema.module_named(module))
            .into_iter()
            .collect(),
        BaseType::InstanceIdentifier if text.starts_with('/') => {
            let mut modules: Vec<ModuleId> =
                prefixes(text).iter().filter_map(|prefix| schema.module_named(prefix)).collect();
            modules.sort();
            modules.dedup();
            modules
        }
        BaseType::Union(members) => members
            .iter()
            .map(|member| named_modules(schema, member, text))
            .find(|modules| !modules.is_empty())
            .unwrap_or_default(),
        _ => Vec::new(),
    }
}

/// Writes the text of an element or attribute. Characters that XML does not allow become U+FFFD.
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
