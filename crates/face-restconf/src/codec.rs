//! Reads and writes JSON and XML, in both dialects.
//!
//! The readers check everything against the schema while they read, so that unknown nodes are refused before they use memory
//! or stack. The writer is a sink that passes on full chunks.

mod chunks;
mod element;
mod json_read;
mod json_write;
mod normalize;
mod write;
mod xml_read;
mod xml_write;

pub use self::chunks::ChunkBuffer;
pub use self::element::Element;
pub use self::write::DataWriter;

pub(crate) use self::json_write::write_text as json_text;
pub(crate) use self::xml_read::{XmlElement, XmlEvent, XmlReader};
use self::xml_write::write_text as xml_text;

use crate::error::{ErrorTag, RestconfError, Result};
use crate::path;
use crate::tree::DataNode;
use crate::yang::{NodeId, Schema};

/// The maximum nesting of elements; deeper than any schema.
pub const DEPTH_MAX: usize = 64;

/// The namespace of the protocol's own elements.
pub const RESTCONF_NAMESPACE: &str = "urn:ietf:params:xml:ns:yang:ietf-restconf";

/// The two JSON encodings of YANG data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// draft-bierman-netconf-restconf-02: a name has its module only where it changes below the top; all integers are
    /// numbers.
    Draft02,
    /// RFC 7951: a name has its module at the top and where it changes; 64-bit integers are strings.
    Rfc8040,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    Json,
    Xml,
}

/// Reads a request body: children of the parent, or of the datastore, where they may be wrapped in `data`.
pub fn read(
    schema: &Schema,
    parent: Option<NodeId>,
    encoding: Encoding,
    bytes: &[u8],
) -> Result<Vec<DataNode>> {
    let nodes = match encoding {
        Encoding::Json => json_read::data(schema, parent, bytes)?,
        Encoding::Xml => xml_read::data(schema, parent, bytes)?,
    };
    match nodes.iter().find(|node| !is_data(schema, node.schema)) {
        None => Ok(nodes),
        Some(node) => Err(malformed(schema, Some(node.schema), "it is not a data node")),
    }
}

/// Reads the input of an RPC or an action. An empty body is an empty input.
pub fn read_input(
    schema: &Schema,
    operation: NodeId,
    encoding: Encoding,
    bytes: &[u8],
) -> Result<Vec<DataNode>> {
    let Some(input) = schema.input(operation) else { return Ok(Vec::new()) };
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Ok(Vec::new());
    }
    match encoding {
        Encoding::Json => json_read::input(schema, input, bytes),
        Encoding::Xml => xml_read::input(schema, input, bytes),
    }
}

fn is_data(schema: &Schema, node: NodeId) -> bool {
    use crate::yang::NodeKind;
    matches!(
        schema.node(node).kind,
        NodeKind::Container { .. } | NodeKind::List | NodeKind::Leaf | NodeKind::LeafList
    )
}

/// An error about data that does not parse, or that the schema does not allow.
pub(crate) fn malformed(schema: &Schema, node: Option<NodeId>, message: &str) -> RestconfError {
    let error = RestconfError::protocol(
        ErrorTag::MalformedMessage,
        format!("Error parsing input: {message}"),
    );
    match node {
        Some(node) => error.at_path(schema.path(node)),
        None => error,
    }
}

/// Adds the keys of a list entry to the path of an error within it, if they are known. Called for inner entries first.
fn within_entry(schema: &Schema, error: &mut RestconfError, entry: &DataNode) {
    let above = schema.path(entry.schema);
    let Some(path) = &mut error.path else { return };
    if path
        .strip_prefix(&above)
        .is_some_and(|below| below.is_empty() || below.starts_with(['/', '[']))
    {
        path.insert_str(above.len(), &path::predicates(schema, entry.schema, &entry.keys(schema)));
    }
}
