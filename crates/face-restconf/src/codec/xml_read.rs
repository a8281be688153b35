//! Reads XML to a tree, without recursion. Unknown elements, document types and entity declarations are refused.

use quick_xml::NsReader;
use quick_xml::events::{BytesRef, Event};
use quick_xml::name::{Namespace, NamespaceResolver, Prefix, QName, ResolveResult};

use super::normalize::normalize;
use super::{DEPTH_MAX, RESTCONF_NAMESPACE, malformed, within_entry};
use crate::error::{RestconfError, Result};
use crate::tree::{DataNode, NodeBody};
use crate::yang::{ModuleId, NodeId, PrefixResolver, Schema};

/// Each element has a copy of its namespace, so a long namespace could use far more memory than the document.
const NAMESPACE_BYTES_MAX: usize = 1024;

pub(super) fn data(schema: &Schema, parent: Option<NodeId>, bytes: &[u8]) -> Result<Vec<DataNode>> {
    let mut reader = XmlReader::new(schema, bytes)?;
    let root = reader.root()?;
    let nodes = if parent.is_none() && root.is(RESTCONF_NAMESPACE, "data") {
        reader.children(None)?
    } else {
        let node = reader.known(parent, &root)?;
        vec![reader.node(node)?]
    };
    reader.end()?;
    Ok(nodes)
}

pub(super) fn input(schema: &Schema, input: NodeId, bytes: &[u8]) -> Result<Vec<DataNode>> {
    let mut reader = XmlReader::new(schema, bytes)?;
    let root = reader.root()?;
    if !root.is(&schema.module(schema.node(input).module).namespace, "input") {
        let name = &root.name;
        let expected = "'input' in the namespace of the operation is expected";
        return Err(reader.fail(None, &format!("unexpected '{name}'; {expected}")));
    }
    let nodes = reader.children(Some(input))?;
    reader.end()?;
    Ok(nodes)
}

/// A start tag.
#[derive(Debug)]
pub(crate) struct XmlElement {
    pub namespace: Option<String>,
    pub name: String,
}

impl XmlElement {
    pub fn is(&self, namespace: &str, name: &str) -> bool {
        self.name == name && self.namespace.as_deref() == Some(namespace)
    }
}

pub(crate) struct XmlReader<'a> {
    pub schema: &'a Schema,
    reader: NsReader<&'a [u8]>,
}

#[derive(Debug)]
pub(crate) enum XmlEvent {
    Start(XmlElement),
    Text(String),
    End,
    Eof,
}

/// A data node whose end tag has not been read.
struct PartialNode {
    /// `None`: the wrapper `data`.
    node: Option<NodeId>,
    children: Vec<DataNode>,
    text: String,
}

impl PartialNode {
    fn new(node: Option<NodeId>) -> PartialNode {
        PartialNode { node, children: Vec::new(), text: String::new() }
    }
}

impl<'a> XmlReader<'a> {
    pub fn new(schema: &'a Schema, bytes: &'a [u8]) -> Result<XmlReader<'a>> {
        let text = match std::str::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => return Err(malformed(schema, None, &error.to_string())),
        };
        let mut reader = NsReader::from_str(text);
        reader.config_mut().expand_empty_elements = true;
        Ok(XmlReader { schema, reader })
    }

    pub fn fail(&self, node: Option<NodeId>, message: &str) -> RestconfError {
        malformed(self.schema, node, message)
    }

    pub fn next(&mut self) -> Result<XmlEvent> {
        loop {
            let schema = self.schema;
            let event = self
                .reader
                .read_event()
                .map_err(|error| malformed(schema, None, &error.to_string()))?;
            return Ok(match event {
                Event::Start(start) => {
                    let (namespace, name) = self.reader.resolver().resolve_element(start.name());
                    let namespace = match namespace {
                        ResolveResult::Bound(Namespace(namespace))
                            if namespace.len() > NAMESPACE_BYTES_MAX =>
                        {
                            return Err(self.fail(None, "a namespace is too long"));
                        }
                        ResolveResult::Bound(Namespace(namespace)) => Some(namespace.to_owned()),
                        ResolveResult::Unbound => None,
                        ResolveResult::Unknown(prefix) => {
                            let message = format!("prefix '{prefix}' is not declared");
                            return Err(self.fail(None, &message));
                        }
                    };
                    XmlEvent::Start(XmlElement { namespace, name: name.into_inner().to_owned() })
                }
                Event::End(_) => XmlEvent::End,
                Event::Text(text) => XmlEvent::Text(text.xml10_content().into_owned()),
                Event::CData(text) => XmlEvent::Text(text.xml10_content().into_owned()),
                Event::GeneralRef(reference) => {
                    XmlEvent::Text(self.character(&reference)?.to_string())
                }
                Event::DocType(_) => return Err(self.fail(None, "a document type is not allowed")),
                Event::Comment(_) | Event::Decl(_) | Event::PI(_) | Event::Empty(_) => continue,
                Event::Eof => XmlEvent::Eof,
            });
        }
    }

    fn character(&self, reference: &BytesRef<'_>) -> Result<char> {
        let numeric = reference.resolve_char_ref();
        match (numeric, &**reference) {
            (Ok(Some(char)), _) => Ok(char),
            (_, "lt") => Ok('<'),
            (_, "gt") => Ok('>'),
            (_, "amp") => Ok('&'),
            (_, "quot") => Ok('"'),
            (_, "apos") => Ok('\''),
            (_, name) => Err(self.fail(None, &format!("entity '{name}' is not known"))),
        }
    }

    /// Reads the start tag of the document.
    pub fn root(&mut self) -> Result<XmlElement> {
        loop {
            match self.next()? {
                XmlEvent::Start(element) => return Ok(element),
                XmlEvent::Text(text) if is_whitespace(&text) => {}
                XmlEvent::Text(_) | XmlEvent::End => {
                    return Err(self.fail(None, "text before the root element"));
                }
                XmlEvent::Eof => return Err(self.fail(None, "no element")),
            }
        }
    }

    /// Checks that nothing follows the root element.
    pub fn end(&mut self) -> Result<()> {
        loop {
            match self.next()? {
                XmlEvent::Eof => return Ok(()),
                XmlEvent::Text(text) if is_whitespace(&text) => {}
                _ => return Err(self.fail(None, "unexpected content after the root element")),
            }
        }
    }

    /// Reads the text of an element without children, and its end tag.
    pub fn text(&mut self) -> Result<String> {
        let mut text = String::new();
        loop {
            match self.next()? {
                XmlEvent::Text(more) => text.push_str(&more),
                XmlEvent::End => return Ok(text),
                XmlEvent::Start(element) => {
                    let message = format!("unexpected '{}' within text", element.name);
                    return Err(self.fail(None, &message));
                }
                XmlEvent::Eof => return Err(self.fail(None, "the document ends within an element")),
            }
        }
    }

    /// Skips the rest of an element.
    pub fn skip(&mut self) -> Result<()> {
        let mut open = 1usize;
        while open > 0 {
            match self.next()? {
                XmlEvent::Start(_) if open >= DEPTH_MAX => {
                    return Err(self.fail(None, "elements are nested too deeply"));
                }
                XmlEvent::Start(_) => open += 1,
                XmlEvent::End => open -= 1,
                XmlEvent::Text(_) => {}
                XmlEvent::Eof => return Err(self.fail(None, "the document ends within an element")),
            }
        }
        Ok(())
    }

    /// The schema node of an element.
    pub fn known(&self, parent: Option<NodeId>, element: &XmlElement) -> Result<NodeId> {
        let Some(namespace) = &element.namespace else {
            return Err(self.fail(parent, &format!("'{}' has no namespace", element.name)));
        };
        let Some(module) = self.schema.module_of_namespace(namespace) else {
            return Err(self.fail(parent, &format!("namespace '{namespace}' is not known")));
        };
        match self.schema.child_of(parent, module, &element.name) {
            Some(node) => Ok(node),
            None => Err(self.fail(parent, &format!("'{}' is not known here", element.name))),
        }
    }

    /// Reads the rest of a node after its start tag.
    pub fn node(&mut self, node: NodeId) -> Result<DataNode> {
        let mut nodes = self.tree(Some(node))?;
        nodes.pop().ok_or_else(|| self.fail(Some(node), "it is missing"))
    }

    /// Reads the children of an element after its start tag.
    pub fn children(&mut self, parent: Option<NodeId>) -> Result<Vec<DataNode>> {
        let Some(parent) = parent else { return self.tree(None) };
        match self.node(parent)?.body {
            NodeBody::Inner(children) => Ok(children),
            NodeBody::Leaf(_) => Err(self.fail(Some(parent), "it has no children")),
        }
    }

    /// Reads up to the end of the first open node. Returns that node, or the children of a wrapper.
    fn tree(&mut self, first: Option<NodeId>) -> Result<Vec<DataNode>> {
        let mut frames = vec![PartialNode::new(first)];
        self.frames(&mut frames).map_err(|mut error| {
            for PartialNode { node, children, .. } in frames.into_iter().rev() {
                if let Some(node) = node {
                    within_entry(self.schema, &mut error, &DataNode::inner(node, children));
                }
            }
            error
        })
    }

    /// On an error, `frames` contains the nodes that are still open.
    fn frames(&mut self, frames: &mut Vec<PartialNode>) -> Result<Vec<DataNode>> {
        loop {
            let piece = self.next()?;
            let Some(frame) = frames.last_mut() else { return Ok(Vec::new()) };
            let is_leaf = frame.node.is_some_and(|node| self.schema.is_leaf(node));
            match piece {
                XmlEvent::Start(element) if is_leaf => {
                    let message = format!("unexpected '{}' in a leaf", element.name);
                    return Err(self.fail(frame.node, &message));
                }
                XmlEvent::Start(element) => {
                    let node = self.known(frame.node, &element)?;
                    if frames.len() >= DEPTH_MAX {
                        return Err(self.fail(Some(node), "elements are nested too deeply"));
                    }
                    frames.push(PartialNode::new(Some(node)));
                }
                XmlEvent::Text(text) if is_leaf => frame.text.push_str(&text),
                XmlEvent::Text(text) if is_whitespace(&text) => {}
                XmlEvent::Text(_) => return Err(self.fail(frame.node, "unexpected text")),
                XmlEvent::Eof => {
                    return Err(self.fail(frame.node, "the document ends within an element"));
                }
                XmlEvent::End => {
                    let Some(frame) = frames.pop() else { return Ok(Vec::new()) };
                    let Some(id) = frame.node else { return self.normalized(None, frame.children) };
                    let node = self.closed(id, frame)?;
                    match frames.last_mut() {
                        Some(above) => above.children.push(node),
                        None => return Ok(vec![node]),
                    }
                }
            }
        }
    }

    fn normalized(
        &self,
        parent: Option<NodeId>,
        mut children: Vec<DataNode>,
    ) -> Result<Vec<DataNode>> {
        normalize(self.schema, parent, &mut children)?;
        Ok(children)
    }

    fn closed(&self, id: NodeId, frame: PartialNode) -> Result<DataNode> {
        let known = self.schema.node(id);
        let Some(ty) = &known.ty else {
            return Ok(DataNode::inner(id, self.normalized(Some(id), frame.children)?));
        };
        let names = XmlPrefixes { schema: self.schema, resolver: self.reader.resolver() };
        match ty.read(&frame.text, &names) {
            Ok(value) => Ok(DataNode::leaf(id, value)),
            Err(message) => Err(self.fail(Some(id), &format!("{}: {message}", known.name))),
        }
    }
}

/// The meaning of prefixes at the present position of the reader.
struct XmlPrefixes<'s, 'r> {
    schema: &'s Schema,
    resolver: &'r NamespaceResolver,
}

impl PrefixResolver for XmlPrefixes<'_, '_> {
    fn module<'n>(&'n self, prefix: Option<&'n str>) -> Option<&'n str> {
        let name = prefix.map(|prefix| format!("{prefix}:x"));
        let prefix: Option<Prefix<'_>> = name.as_deref().and_then(|name| QName(name).prefix());
        let module: ModuleId = match self.resolver.resolve_prefix(prefix, true) {
            ResolveResult::Bound(Namespace(namespace)) => {
                self.schema.module_of_namespace(namespace)?
            }
            _ => return None,
        };
        Some(&self.schema.module(module).name)
    }
}

fn is_whitespace(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_whitespace())
}
