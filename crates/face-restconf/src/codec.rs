//! JSON and XML, both ways, in both dialects.
//!
//! Readers check everything against the schema while they read, so that what is not known is refused before it takes memory or
//! stack. Writers are sinks that hand over full chunks. What is in the data is the model's, headers are the protocol's.

mod chunks;
mod json_read;
mod json_write;
mod settle;
mod xml_read;
mod xml_write;

pub use self::chunks::Chunks;
pub use self::json_write::{JsonWriter, write_text as json_text};
pub use self::xml_write::{XmlWriter, write_text as xml_text};

pub(crate) use self::xml_read::{Element, Piece, XmlReader};

use crate::fault::{Fault, Tag};
use crate::path;
use crate::tree::{Node, Sink, Stopped, Value};
use crate::yang::{NodeId, Schema};

/// Nodes within nodes that are read. No schema is as deep; this is for what is deep before a schema is asked.
pub const DEPTH_MAX: usize = 64;

/// The namespace of the protocol's own elements.
pub const RESTCONF_NAMESPACE: &str = "urn:ietf:params:xml:ns:yang:ietf-restconf";

/// Which of the two ways to write JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// Names only have their module where it changes below the top; all integers are numbers.
    Draft02,
    /// RFC 7951: names have their module at the top and where it changes; integers of 64 bits are strings.
    Rfc8040,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Json,
    Xml,
}

/// The body of a request that has data: children of the parent, or of the datastore. There the body may be wrapped in `data`.
pub fn read(
    schema: &Schema,
    parent: Option<NodeId>,
    format: Format,
    bytes: &[u8],
) -> Result<Vec<Node>, Fault> {
    let nodes = match format {
        Format::Json => json_read::data(schema, parent, bytes)?,
        Format::Xml => xml_read::data(schema, parent, bytes)?,
    };
    match nodes.iter().find(|node| !is_data(schema, node.schema)) {
        None => Ok(nodes),
        Some(node) => Err(malformed(schema, Some(node.schema), "it is no data")),
    }
}

/// The input of an RPC or an action. No body is the same as an input with nothing in it.
pub fn read_input(
    schema: &Schema,
    operation: NodeId,
    format: Format,
    bytes: &[u8],
) -> Result<Vec<Node>, Fault> {
    let Some(input) = schema.input(operation) else { return Ok(Vec::new()) };
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Ok(Vec::new());
    }
    match format {
        Format::Json => json_read::input(schema, input, bytes),
        Format::Xml => xml_read::input(schema, input, bytes),
    }
}

fn is_data(schema: &Schema, node: NodeId) -> bool {
    use crate::yang::Kind;
    matches!(
        schema.node(node).kind,
        Kind::Container { .. } | Kind::List | Kind::Leaf | Kind::LeafList
    )
}

/// What does not parse, or is not what the schema allows.
pub(crate) fn malformed(schema: &Schema, node: Option<NodeId>, message: &str) -> Fault {
    let fault = Fault::protocol(Tag::MalformedMessage, format!("Error parsing input: {message}"));
    match node {
        Some(node) => fault.at_path(schema.path(node)),
        None => fault,
    }
}

/// Says of a fault within an entry of a list which entry that is, if its keys are known by then. Inner entries come first.
fn within_entry(schema: &Schema, fault: &mut Fault, entry: &Node) {
    let above = schema.path(entry.schema);
    let Some(path) = &mut fault.path else { return };
    if path
        .strip_prefix(&above)
        .is_some_and(|below| below.is_empty() || below.starts_with(['/', '[']))
    {
        path.insert_str(above.len(), &path::predicates(schema, entry.schema, &entry.keys(schema)));
    }
}

/// Either writer.
#[derive(Debug)]
pub enum Writer<'a> {
    Json(JsonWriter<'a>),
    Xml(XmlWriter<'a>),
}

impl<'a> Writer<'a> {
    pub fn new(
        schema: &'a Schema,
        format: Format,
        dialect: Dialect,
        out: Chunks<'a>,
    ) -> Writer<'a> {
        match format {
            Format::Json => Writer::Json(JsonWriter::new(schema, dialect, out)),
            Format::Xml => Writer::Xml(XmlWriter::new(schema, out)),
        }
    }

    /// An element of the protocol itself around what follows: `data`, `notification`.
    pub fn open_wrapper(&mut self, name: &str) -> Result<(), Stopped> {
        match self {
            Writer::Json(writer) => writer.open_wrapper(name),
            Writer::Xml(writer) => writer.open_wrapper(name),
        }
    }

    /// A leaf of the wrapper: `eventTime`.
    pub fn wrapper_leaf(&mut self, name: &str, text: &str) -> Result<(), Stopped> {
        match self {
            Writer::Json(writer) => writer.wrapper_leaf(name, text),
            Writer::Xml(writer) => writer.wrapper_leaf(name, text),
        }
    }

    pub fn close_wrapper(&mut self) -> Result<(), Stopped> {
        match self {
            Writer::Json(writer) => writer.close_wrapper(),
            Writer::Xml(writer) => writer.close_wrapper(),
        }
    }

    /// Ends the document. What was not handed over yet is handed over, or returned if nobody takes chunks.
    pub fn finish(self) -> Result<Vec<u8>, Stopped> {
        match self {
            Writer::Json(writer) => writer.finish(),
            Writer::Xml(writer) => writer.finish(),
        }
    }
}

impl Sink for Writer<'_> {
    fn open(&mut self, node: NodeId) -> Result<bool, Stopped> {
        match self {
            Writer::Json(writer) => writer.open(node),
            Writer::Xml(writer) => writer.open(node),
        }
    }

    fn leaf(&mut self, node: NodeId, value: &Value) -> Result<(), Stopped> {
        match self {
            Writer::Json(writer) => writer.leaf(node, value),
            Writer::Xml(writer) => writer.leaf(node, value),
        }
    }

    fn close(&mut self) -> Result<(), Stopped> {
        match self {
            Writer::Json(writer) => writer.close(),
            Writer::Xml(writer) => writer.close(),
        }
    }

    fn hollow(&mut self, node: NodeId) -> Result<(), Stopped> {
        match self {
            Writer::Json(writer) => writer.hollow(node),
            Writer::Xml(writer) => writer.hollow(node),
        }
    }
}
