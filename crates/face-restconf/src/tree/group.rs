//! Orders siblings so that those with the same schema node are adjacent.

use super::DataNode;
use crate::yang::NodeId;

/// Moves each node to the first sibling of its kind. The kinds in `first` come before all others.
pub(crate) fn group(first: &[NodeId], siblings: &mut [DataNode]) {
    // At most as many as the parent has children in the schema, so a linear search is fast.
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
