//! The order of siblings: those of one node of the schema next to each other.

use super::Node;
use crate::yang::NodeId;

/// Each kind of sibling goes where its first one stands, those that are named before all others.
pub(crate) fn group(first: &[NodeId], siblings: &mut [Node]) {
    // As many as the schema has children there, so that looking through them is no work.
    let mut kinds: Vec<NodeId> = first.to_vec();
    let mut last = 0;
    let mut in_order = true;
    for sibling in &*siblings {
        if kinds.get(last) == Some(&sibling.schema) {
            continue;
        }
        match kinds.iter().position(|kind| *kind == sibling.schema) {
            Some(at) => {
                in_order &= at > last;
                last = at;
            }
            None => {
                last = kinds.len();
                kinds.push(sibling.schema);
            }
        }
    }
    if !in_order {
        siblings.sort_by_key(|sibling| kinds.iter().position(|kind| *kind == sibling.schema));
    }
}
