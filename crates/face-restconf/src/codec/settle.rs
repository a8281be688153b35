//! What both readers ask of siblings: nothing twice, entries of a list next to each other, keys there and first.

use hashbrown::{HashMap, HashSet};

use super::malformed;
use crate::fault::Fault;
use crate::tree::{Node, Value};
use crate::yang::{Kind, NodeId, Schema};

/// The children of a node as the tree has them. `of`: the node, if all of it was read; some children of one are just siblings.
pub(super) fn settle(
    schema: &Schema,
    of: Option<NodeId>,
    children: &mut [Node],
) -> Result<(), Fault> {
    // Where each kind of sibling comes first; the keys of an entry before all.
    let mut order: HashMap<NodeId, usize> = HashMap::new();
    if let Some(list) = of.filter(|node| schema.is_list(*node)) {
        for key in &schema.node(list).keys {
            if !children.iter().any(|child| child.schema == *key) {
                let name = &schema.node(*key).name;
                return Err(malformed(schema, of, &format!("key '{name}' is missing")));
            }
            let first = order.len();
            order.insert(*key, first);
        }
    }
    for child in &*children {
        let next = order.len();
        order.entry(child.schema).or_insert(next);
    }
    children.sort_by_key(|child| order.get(&child.schema).copied());
    unrepeated(schema, children)
}

fn unrepeated(schema: &Schema, children: &[Node]) -> Result<(), Fault> {
    let mut keys: HashSet<Vec<Value>> = HashSet::new();
    for (at, child) in children.iter().enumerate() {
        let first = at == 0 || children[at - 1].schema != child.schema;
        if first {
            keys.clear();
        }
        let node = schema.node(child.schema);
        let twice = match node.kind {
            Kind::LeafList => node.config && !keys.insert(child.keys(schema)),
            Kind::List => !node.keys.is_empty() && !keys.insert(child.keys(schema)),
            _ => !first,
        };
        if twice {
            return Err(malformed(
                schema,
                Some(child.schema),
                &format!("'{}' is there twice", node.name),
            ));
        }
    }
    Ok(())
}
