//! Checks and orders siblings after reading: no duplicates, list entries adjacent, keys present and first.

use hashbrown::HashSet;

use super::malformed;
use crate::error::Result;
use crate::tree::{DataNode, LeafValue, group};
use crate::yang::{NodeId, NodeKind, Schema};

/// `of`: the parent, if all its children were read; `None` if the siblings are only some of them.
pub(super) fn normalize(
    schema: &Schema,
    of: Option<NodeId>,
    children: &mut [DataNode],
) -> Result<()> {
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
        ensure_unique(schema, alike)?;
    }
    Ok(())
}

/// Checks several siblings with the same schema node.
fn ensure_unique(schema: &Schema, alike: &[DataNode]) -> Result<()> {
    let Some(id) = alike.first().map(|node| node.schema) else { return Ok(()) };
    let node = schema.node(id);
    let duplicate = match node.kind {
        NodeKind::List if node.keys.is_empty() => false,
        NodeKind::LeafList if !node.config => false,
        NodeKind::List | NodeKind::LeafList => {
            let mut seen: HashSet<Vec<LeafValue>> = HashSet::with_capacity(alike.len());
            !alike.iter().all(|entry| seen.insert(entry.keys(schema)))
        }
        _ => true,
    };
    if duplicate {
        return Err(malformed(schema, Some(id), &format!("'{}' occurs more than once", node.name)));
    }
    Ok(())
}
