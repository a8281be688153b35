//! Two trees become one: what merge means.

use hashbrown::HashMap;

use crate::tree::{Body, Node, Value, group};
use crate::yang::{Kind, NodeId, Schema};

/// The older tree with everything of the newer one. Both are of the same node.
pub(super) fn merge(schema: &Schema, older: Node, newer: Node) -> Node {
    let id = older.schema;
    match (older.body, newer.body) {
        (Body::Inner(older), Body::Inner(newer)) => {
            Node::inner(id, merge_children(schema, older, newer))
        }
        (_, newer) => Node { schema: id, body: newer },
    }
}

fn merge_children(schema: &Schema, older: Vec<Node>, newer: Vec<Node>) -> Vec<Node> {
    let mut children: Vec<Option<Node>> = older.into_iter().map(Some).collect();
    let index = |(at, child): (usize, &Option<Node>)| {
        child.as_ref().map(|child| (sameness(schema, child), at))
    };
    let mut known: HashMap<(NodeId, Vec<Value>), usize> =
        children.iter().enumerate().filter_map(index).collect();
    for node in newer {
        let keyless = schema.is_list(node.schema) && schema.node(node.schema).keys.is_empty();
        let same = sameness(schema, &node);
        let older = known.get(&same).filter(|_| !keyless).and_then(|at| children.get_mut(*at));
        match older.map(|slot| (slot.take(), slot)) {
            Some((Some(older), slot)) => *slot = Some(merge(schema, older, node)),
            Some((None, _)) | None => {
                if !schema.node(node.schema).cases.is_empty() {
                    oust(schema, node.schema, &mut children);
                }
                known.insert(same, children.len());
                children.push(Some(node));
            }
        }
    }
    let mut children: Vec<Node> = children.into_iter().flatten().collect();
    group(&[], &mut children);
    children
}

fn oust(schema: &Schema, newer: NodeId, children: &mut [Option<Node>]) {
    for child in children {
        if child.as_ref().is_some_and(|child| ousts(schema, newer, child.schema)) {
            *child = None;
        }
    }
}

/// What makes two siblings the same: the node, and for entries the keys.
fn sameness(schema: &Schema, node: &Node) -> (NodeId, Vec<Value>) {
    (node.schema, node.keys(schema))
}

/// Whether a new sibling takes the place of another one: they are in different cases of one choice.
pub(super) fn ousts(schema: &Schema, newer: NodeId, older: NodeId) -> bool {
    let older = &schema.node(older).cases;
    !older.is_empty()
        && schema.node(newer).cases.iter().any(|one| {
            older.iter().any(|other| other.choice == one.choice && other.case != one.case)
        })
}

/// Whether a node is there even if nobody made it: a container that only groups.
pub(super) fn implicit(schema: &Schema, node: NodeId) -> bool {
    schema.node(node).kind == Kind::Container { presence: false }
}
