//! Reading siblings pleasantly: an input, the children of an entry.

use super::{Node, Value};
use crate::yang::NodeId;

/// Siblings are looked up by their node of the schema. What is not there, or has a value of another kind, is `None`.
pub trait Siblings {
    fn siblings(&self) -> &[Node];

    fn child(&self, id: NodeId) -> Option<&Node> {
        self.siblings().iter().find(|node| node.schema == id)
    }

    /// The entries of a list, or the values of a leaf-list.
    fn entries(&self, id: NodeId) -> impl Iterator<Item = &Node> {
        self.siblings().iter().filter(move |node| node.schema == id)
    }

    fn value_of(&self, id: NodeId) -> Option<&Value> {
        self.child(id).and_then(Node::value)
    }

    fn uint(&self, id: NodeId) -> Option<u64> {
        match self.value_of(id) {
            Some(Value::Uint(number)) => Some(*number),
            _ => None,
        }
    }

    fn int(&self, id: NodeId) -> Option<i64> {
        match self.value_of(id) {
            Some(Value::Int(number)) => Some(*number),
            _ => None,
        }
    }

    fn text(&self, id: NodeId) -> Option<&str> {
        match self.value_of(id) {
            Some(Value::Text(text)) => Some(text),
            _ => None,
        }
    }

    fn bool(&self, id: NodeId) -> Option<bool> {
        match self.value_of(id) {
            Some(Value::Bool(value)) => Some(*value),
            _ => None,
        }
    }
}

impl Siblings for [Node] {
    fn siblings(&self) -> &[Node] {
        self
    }
}

impl Siblings for Node {
    fn siblings(&self) -> &[Node] {
        self.children()
    }
}
