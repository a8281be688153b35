//! Merges two trees.

use hashbrown::HashMap;

use crate::tree::{DataNode, LeafValue, NodeBody, group};
use crate::yang::{NodeId, NodeKind, Schema};

/// The older tree with everything of the newer one. Both have the same schema node.
pub(super) fn merge(schema: &Schema, older: DataNode, newer: DataNode) -> DataNode {
    let id = older.schema;
    match (older.body, newer.body) {
        (NodeBody::Inner(older), NodeBody::Inner(newer)) => {
            DataNode::inner(id, merge_children(schema, older, newer))
        }
        (_, newer) => DataNode { schema: id, body: newer },
    }
}

fn merge_children(schema: &Schema, older: Vec<DataNode>, newer: Vec<DataNode>) -> Vec<DataNode> {
    let mut children: Vec<Option<DataNode>> = older.into_iter().map(Some).collect();
    let index = |(at, child): (usize, &Option<DataNode>)| {
        child.as_ref().map(|child| (identity(schema, child), at))
    };
    let mut known: HashMap<(NodeId, Vec<LeafValue>), usize> =
        children.iter().enumerate().filter_map(index).collect();
    for node in newer {
        let keyless = schema.is_list(node.schema) && schema.node(node.schema).keys.is_empty();
        let same = identity(schema, &node);
        let older = known.get(&same).filter(|_| !keyless).and_then(|at| children.get_mut(*at));
        match older.map(|slot| (slot.take(), slot)) {
            Some((Some(older), slot)) => *slot = Some(merge(schema, older, node)),
            Some((None, _)) | None => {
                if !schema.node(node.schema).cases.is_empty() {
                    remove_other_cases(schema, node.schema, &mut children);
                }
                known.insert(same, children.len());
                children.push(Some(node));
            }
        }
    }
    let mut children: Vec<DataNode> = children.into_iter().flatten().collect();
    group(&[], &mut children);
    children
}

fn remove_other_cases(schema: &Schema, newer: NodeId, children: &mut [Option<DataNode>]) {
    for child in children {
        if child.as_ref().is_some_and(|child| excludes(schema, newer, child.schema)) {
            *child = None;
        }
    }
}

/// What identifies a node among its siblings: its schema node and keys.
fn identity(schema: &Schema, node: &DataNode) -> (NodeId, Vec<LeafValue>) {
    (node.schema, node.keys(schema))
}

/// Whether the new sibling removes the older one, because they are in different cases of a choice.
pub(super) fn excludes(schema: &Schema, newer: NodeId, older: NodeId) -> bool {
    let older = &schema.node(older).cases;
    !older.is_empty()
        && schema.node(newer).cases.iter().any(|one| {
            older.iter().any(|other| other.choice == one.choice && other.case != one.case)
        })
}

/// Whether a node exists implicitly: a container without `presence`.
pub(super) fn is_implicit(schema: &Schema, node: NodeId) -> bool {
    schema.node(node).kind == NodeKind::Container { presence: false }
}
