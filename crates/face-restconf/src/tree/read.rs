//! Access to siblings by their schema node: the input of an operation, the children of an entry.

use std::sync::Arc;

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

    /// An unsigned integer that fits the type.
    fn number<T: TryFrom<u64>>(&self, id: NodeId) -> Option<T> {
        self.uint(id).and_then(|number| T::try_from(number).ok())
    }

    fn int(&self, id: NodeId) -> Option<i64> {
        match self.value_of(id) {
            Some(LeafValue::Int(number)) => Some(*number),
            _ => None,
        }
    }

    fn text(&self, id: NodeId) -> Option<&str> {
        self.shared_text(id).map(|text| &**text)
    }

    fn shared_text(&self, id: NodeId) -> Option<&Arc<str>> {
        self.value_of(id).and_then(LeafValue::as_text)
    }

    /// The values of a leaf-list of text.
    fn texts(&self, id: NodeId) -> impl Iterator<Item = &Arc<str>> {
        self.entries(id).filter_map(|node| node.value()?.as_text())
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
