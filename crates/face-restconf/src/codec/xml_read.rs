//! XML becomes a tree. There is no recursion; what is not in the schema, a document type and entities of one's own end the
//! reading at once.

use quick_xml::NsReader;
use quick_xml::events::{BytesRef, Event};
use quick_xml::name::{Namespace, NamespaceResolver, Prefix, QName, ResolveResult};

use super::settle::settle;
use super::{DEPTH_MAX, RESTCONF_NAMESPACE, malformed, within_entry};
use crate::fault::Fault;
use crate::tree::Node;
use crate::yang::{ModuleId, Names, NodeId, Schema};

/// A namespace is taken along with every element, so that a long one could cost much more than its own length.
const NAMESPACE_BYTES_MAX: usize = 1024;

pub(super) fn data(
    schema: &Schema,
    parent: Option<NodeId>,
    bytes: &[u8],
) -> Result<Vec<Node>, Fault> {
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

pub(super) fn input(schema: &Schema, input: NodeId, bytes: &[u8]) -> Result<Vec<Node>, Fault> {
    let mut reader = XmlReader::new(schema, bytes)?;
    let root = reader.root()?;
    if !root.is(&schema.module(schema.node(input).module).namespace, "input") {
        return Err(reader.fail(None, &format!("'{}' is not expected, but 'input'", root.name)));
    }
    let nodes = reader.children(Some(input))?;
    reader.end()?;
    Ok(nodes)
}

/// A start tag.
#[derive(Debug)]
pub(crate) struct Element {
    pub namespace: Option<String>,
    pub name: String,
}

impl Element {
    pub fn is(&self, namespace: &str, name: &str) -> bool {
        self.name == name && self.namespace.as_deref() == Some(namespace)
    }
}

pub(crate) struct XmlReader<'a> {
    pub schema: &'a Schema,
    reader: NsReader<&'a [u8]>,
}

/// What comes next within an element.
#[derive(Debug)]
pub(crate) enum Piece {
    Start(Element),
    Text(String),
    End,
    Eof,
}

/// A node that is open.
struct Frame {
    node: Option<NodeId>,
    children: Vec<Node>,
    text: String,
}

impl<'a> XmlReader<'a> {
    pub fn new(schema: &'a Schema, bytes: &'a [u8]) -> Result<XmlReader<'a>, Fault> {
        let text = match std::str::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => return Err(malformed(schema, None, &error.to_string())),
        };
        let mut reader = NsReader::from_str(text);
        reader.config_mut().expand_empty_elements = true;
        Ok(XmlReader { schema, reader })
    }

    pub fn fail(&self, node: Option<NodeId>, message: &str) -> Fault {
        malformed(self.schema, node, message)
    }

    pub fn next(&mut self) -> Result<Piece, Fault> {
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
                            return Err(
                                self.fail(None, &format!("prefix '{prefix}' is not declared"))
                            );
                        }
                    };
                    Piece::Start(Element { namespace, name: name.into_inner().to_owned() })
                }
                Event::End(_) => Piece::End,
                Event::Text(text) => Piece::Text(text.xml10_content().into_owned()),
                Event::CData(text) => Piece::Text(text.xml10_content().into_owned()),
                Event::GeneralRef(reference) => {
                    Piece::Text(self.character(&reference)?.to_string())
                }
                Event::DocType(_) => return Err(self.fail(None, "a document type is not allowed")),
                Event::Comment(_) | Event::Decl(_) | Event::PI(_) | Event::Empty(_) => continue,
                Event::Eof => Piece::Eof,
            });
        }
    }

    fn character(&self, reference: &BytesRef<'_>) -> Result<char, Fault> {
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

    /// The start tag of the document.
    pub fn root(&mut self) -> Result<Element, Fault> {
        loop {
            match self.next()? {
                Piece::Start(element) => return Ok(element),
                Piece::Text(text) if blank(&text) => {}
                Piece::Text(_) | Piece::End => {
                    return Err(self.fail(None, "text before the first element"));
                }
                Piece::Eof => return Err(self.fail(None, "no element")),
            }
        }
    }

    /// Nothing may follow the root.
    pub fn end(&mut self) -> Result<(), Fault> {
        loop {
            match self.next()? {
                Piece::Eof => return Ok(()),
                Piece::Text(text) if blank(&text) => {}
                _ => return Err(self.fail(None, "something follows the first element")),
            }
        }
    }

    /// The text of an element without children, up to its end.
    pub fn text(&mut self) -> Result<String, Fault> {
        let mut text = String::new();
        loop {
            match self.next()? {
                Piece::Text(more) => text.push_str(&more),
                Piece::End => return Ok(text),
                Piece::Start(element) => {
                    return Err(self
                        .fail(None, &format!("'{}' is not expected within a text", element.name)));
                }
                Piece::Eof => return Err(self.fail(None, "the document ends within an element")),
            }
        }
    }

    /// Passes over the rest of an element.
    pub fn skip(&mut self) -> Result<(), Fault> {
        let mut open = 1usize;
        while open > 0 {
            match self.next()? {
                Piece::Start(_) if open >= DEPTH_MAX => {
                    return Err(self.fail(None, "elements are nested too deeply"));
                }
                Piece::Start(_) => open += 1,
                Piece::End => open -= 1,
                Piece::Text(_) => {}
                Piece::Eof => return Err(self.fail(None, "the document ends within an element")),
            }
        }
        Ok(())
    }

    /// The node of the schema that a start tag means.
    pub fn known(&self, parent: Option<NodeId>, element: &Element) -> Result<NodeId, Fault> {
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

    /// The rest of a node whose start tag was read.
    pub fn node(&mut self, node: NodeId) -> Result<Node, Fault> {
        let mut nodes =
            self.tree(Frame { node: Some(node), children: Vec::new(), text: String::new() })?;
        nodes.pop().ok_or_else(|| self.fail(Some(node), "it is not there"))
    }

    /// The children of an element whose start tag was read, which is the parent's.
    pub fn children(&mut self, parent: Option<NodeId>) -> Result<Vec<Node>, Fault> {
        match parent {
            None => self.tree(Frame { node: None, children: Vec::new(), text: String::new() }),
            Some(parent) => match self.node(parent)?.body {
                crate::tree::Body::Inner(children) => Ok(children),
                crate::tree::Body::Leaf(_) => Err(self.fail(Some(parent), "it has no children")),
            },
        }
    }

    /// Reads up to the end of the first frame. That is one node, or for a frame that is none its children.
    fn tree(&mut self, first: Frame) -> Result<Vec<Node>, Fault> {
        let mut frames = vec![first];
        self.frames(&mut frames).map_err(|mut fault| {
            for Frame { node, children, .. } in frames.into_iter().rev() {
                if let Some(node) = node {
                    within_entry(self.schema, &mut fault, &Node::inner(node, children));
                }
            }
            fault
        })
    }

    /// What is left in the frames was open when reading ended.
    fn frames(&mut self, frames: &mut Vec<Frame>) -> Result<Vec<Node>, Fault> {
        loop {
            let piece = self.next()?;
            let Some(frame) = frames.last_mut() else { return Ok(Vec::new()) };
            let is_leaf = frame.node.is_some_and(|node| self.schema.is_leaf(node));
            match piece {
                Piece::Start(element) if is_leaf => {
                    let message = format!("'{}' is not expected in a leaf", element.name);
                    return Err(self.fail(frame.node, &message));
                }
                Piece::Start(element) => {
                    let node = self.known(frame.node, &element)?;
                    if frames.len() >= DEPTH_MAX {
                        return Err(self.fail(Some(node), "elements are nested too deeply"));
                    }
                    frames.push(Frame {
                        node: Some(node),
                        children: Vec::new(),
                        text: String::new(),
                    });
                }
                Piece::Text(text) if is_leaf => frame.text.push_str(&text),
                Piece::Text(text) if blank(&text) => {}
                Piece::Text(_) => return Err(self.fail(frame.node, "a text is not expected")),
                Piece::Eof => {
                    return Err(self.fail(frame.node, "the document ends within an element"));
                }
                Piece::End => {
                    let Some(frame) = frames.pop() else { return Ok(Vec::new()) };
                    let Some(id) = frame.node else { return self.settled(None, frame.children) };
                    let node = self.closed(id, frame)?;
                    match frames.last_mut() {
                        Some(above) => above.children.push(node),
                        None => return Ok(vec![node]),
                    }
                }
            }
        }
    }

    fn settled(&self, parent: Option<NodeId>, mut children: Vec<Node>) -> Result<Vec<Node>, Fault> {
        settle(self.schema, parent, &mut children)?;
        Ok(children)
    }

    fn closed(&self, id: NodeId, frame: Frame) -> Result<Node, Fault> {
        let known = self.schema.node(id);
        let Some(ty) = &known.ty else {
            return Ok(Node::inner(id, self.settled(Some(id), frame.children)?));
        };
        let names = Prefixes { schema: self.schema, resolver: self.reader.resolver() };
        match ty.read(&frame.text, &names) {
            Ok(value) => Ok(Node::leaf(id, value)),
            Err(message) => Err(self.fail(Some(id), &format!("{}: {message}", known.name))),
        }
    }
}

/// What prefixes mean where the reader stands.
struct Prefixes<'s, 'r> {
    schema: &'s Schema,
    resolver: &'r NamespaceResolver,
}

impl Names for Prefixes<'_, '_> {
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

fn blank(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_whitespace())
}
