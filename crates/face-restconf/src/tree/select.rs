//! Selects nodes of a tree by the steps of a path.

use super::{DataNode, NodeBody, NodeSink, NodeSource, TreeBuilder, Walk};
use crate::model::PathStep;

/// The nodes that the steps name below the given ones; `None` if there are none.
pub(crate) fn select(nodes: Vec<DataNode>, steps: &[PathStep]) -> Option<Box<dyn NodeSource>> {
    let mut found = nodes;
    for step in steps {
        found = found.into_iter().flat_map(children).filter(|node| matches(step, node)).collect();
    }
    (!found.is_empty()).then(|| Box::new(found) as Box<dyn NodeSource>)
}

/// Whether the step names this node. The keys of an entry are its first leaves.
pub(crate) fn matches(step: &PathStep, node: &DataNode) -> bool {
    if step.node != node.schema {
        return false;
    }
    match &node.body {
        NodeBody::Leaf(value) => step.keys.first().is_none_or(|wanted| wanted == value),
        NodeBody::Inner(children) => {
            let mut pairs = step.keys.iter().zip(children);
            pairs.all(|(wanted, child)| child.value() == Some(wanted))
        }
    }
}

fn children(node: DataNode) -> Vec<DataNode> {
    match node.body {
        NodeBody::Inner(children) => children,
        NodeBody::Leaf(_) => Vec::new(),
    }
}

/// Collects the nodes that a function writes to a sink.
pub(crate) fn build(write: impl FnOnce(&mut dyn NodeSink) -> Walk) -> Option<Vec<DataNode>> {
    let mut builder = TreeBuilder::new();
    write(&mut builder).ok()?;
    Some(builder.finish())
}
