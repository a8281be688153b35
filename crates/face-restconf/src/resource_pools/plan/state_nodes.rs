//! State in the body of an edit. A client may repeat the present state of a request, because a reply contains it. Any other
//! state cannot be meant and refuses the edit.

use crate::error::{ErrorTag, RestconfError, Result};
use crate::model::PathStep;
use crate::resource_pools::kind::PoolLocation;
use crate::tree::{DataNode, NodeBody};
use crate::yang::Schema;

/// Whether the entry has state.
pub(super) fn has_state(schema: &Schema, entry: &DataNode) -> bool {
    entry.children().iter().any(|child| !schema.node(child.schema).config)
}

/// The entry of a request without its state, which must repeat the present state. `present`: the stored entry.
pub(super) fn without_state(
    location: &PoolLocation<'_>,
    key: &str,
    entry: DataNode,
    present: Option<&DataNode>,
) -> Result<DataNode> {
    let schema = location.schema;
    let NodeBody::Inner(children) = entry.body else { return Ok(entry) };
    let (state, config): (Vec<DataNode>, Vec<DataNode>) =
        children.into_iter().partition(|child| !schema.node(child.schema).config);
    let known = present.map(DataNode::children).unwrap_or_default();
    match state.iter().find(|node| !repeats(schema, node, known)) {
        None => Ok(DataNode::inner(entry.schema, config)),
        Some(other) => {
            let name = &schema.node(other.schema).name;
            let message = format!(
                "the body has a '{name}' of request '{key}' that is not the present one; it is state and cannot be changed here, leave it out"
            );
            let step = PathStep { node: other.schema, keys: Vec::new() };
            let path = location.below([location.request(&key.into()), step]);
            Err(RestconfError::protocol(ErrorTag::InvalidValue, message).at_path(path))
        }
    }
}

/// Whether one of the known nodes has everything of this node.
fn repeats(schema: &Schema, node: &DataNode, known: &[DataNode]) -> bool {
    let same =
        |other: &&DataNode| other.schema == node.schema && other.keys(schema) == node.keys(schema);
    match &node.body {
        NodeBody::Leaf(value) => {
            known.iter().filter(same).any(|other| other.value() == Some(value))
        }
        NodeBody::Inner(children) if children.is_empty() => true,
        NodeBody::Inner(children) => known.iter().find(same).is_some_and(|other| {
            children.iter().all(|child| repeats(schema, child, other.children()))
        }),
    }
}
