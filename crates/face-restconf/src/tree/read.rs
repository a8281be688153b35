//! Access to siblings by their schema node: the input of an operation, the children of an entry.

use super::{DataNode, LeafValue};
use crate::yang::NodeId;

/// Each method returns `None` if the node is missing or its value has another type.
pub trait Siblings {
    fn siblings(&self) -> &[DataNode];

    fn child(&self, id: NodeId) -> Option<&DataNode> {
        self.siblings().iter().find(|node| node.schema == id)
    }

    /// The entries of a list, or the values of a leaf-list.
    fn entries(&self, id: NodeId) -> impl Iterator<Item = &DataNode> {
        self.siblings().iter().filter(move |node| node.schema == id)
    }

    fn value_of(&self, id: NodeId) -> Option<&LeafValue> {
        self.child(id).and_then(DataNode::value)
    }

    fn uint(&self, id: NodeId) -> Option<u64> {
        match self.value_of(id) {
            Some(LeafValue::Uint(number)) => Some(*number),
            _ => None,
        }
    }

    fn int(&self, id: NodeId) -> Option<i64> {
        match self.value_of(id) {
            Some(LeafValue::Int(number)) => Some(*number),
            _ => None,
        }
    }

    fn text(&self, id: NodeId) -> Option<&str> {
        match self.value_of(id) {
            Some(LeafValue::Text(text)) => Some(text),
            _ => None,
        }
    }

    fn bool(&self, id: NodeId) -> Option<bool> {
        match self.value_of(id) {
            Some(LeafValue::Bool(value)) => Some(*value),
            _ => None,
        }
    }
}

impl Siblings for [DataNode] {
    fn siblings(&self) -> &[DataNode] {
        self
    }
}

impl Siblings for DataNode {
    fn siblings(&self) -> &[DataNode] {
        self.children()
    }
}
