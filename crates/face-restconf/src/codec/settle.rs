//! What both readers ask of siblings: nothing twice, entries of a list next to each other, keys there and first.

use hashbrown::HashSet;

use super::malformed;
use crate::fault::Fault;
use crate::tree::{Node, Value, group};
use crate::yang::{Kind, NodeId, Schema};

/// The children of a node as the tree has them. `of`: the node, if all of it was read; some children of one are just siblings.
pub(super) fn settle(
    schema: &Schema,
    of: Option<NodeId>,
    children: &mut [Node],
) -> Result<(), Fault> {
    let keys = of.map(|node| schema.node(node).keys.as_slice()).unwrap_or_default();
    for key in keys {
        if !children.iter().any(|child| child.schema == *key) {
            let name = &schema.node(*key).name;
            return Err(malformed(schema, of, &format!("key '{name}' is missing")));
        }
    }
    group(keys, children);
    for alike in
        children.chunk_by(|one, other| one.schema == other.schema).filter(|alike| alike.len() > 1)
    {
        unrepeated(schema, alike)?;
    }
    Ok(())
}

/// Siblings of one node of the schema, of which there are several.
fn unrepeated(schema: &Schema, alike: &[Node]) -> Result<(), Fault> {
    let Some(id) = alike.first().map(|node| node.schema) else { return Ok(()) };
    let node = schema.node(id);
    let twice = match node.kind {
        Kind::List if node.keys.is_empty() => false,
        Kind::LeafList if !node.config => false,
        Kind::List | Kind::LeafList => {
            let mut seen: HashSet<Vec<Value>> = HashSet::with_capacity(alike.len());
            !alike.iter().all(|entry| seen.insert(entry.keys(schema)))
        }
        _ => true,
    };
    if twice {
        return Err(malformed(schema, Some(id), &format!("'{}' is there twice", node.name)));
    }
    Ok(())
}
