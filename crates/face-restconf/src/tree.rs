//! Instances of the schema: as trees, and as streams of nodes for what is too large to stand in memory twice.

use std::sync::Arc;

use crate::yang::NodeId;

/// The value of a leaf, checked against its type.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Value {
    /// Any signed integer type.
    Int(i64),
    /// Any unsigned integer type.
    Uint(u64),
    Bool(bool),
    /// Strings, enumerations, bits, identities with their module (`module:name`), instance identifiers, addresses.
    Text(Arc<str>),
    Empty,
}

/// A node with all that is below it. The entries of a list, and the values of a leaf-list, are siblings of one schema node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    pub schema: NodeId,
    pub body: Body,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Body {
    /// Container, list entry, input, output, notification: its children, siblings of one list next to each other.
    Inner(Vec<Node>),
    Leaf(Value),
}

/// Takes a tree node by node. Siblings of one list come next to each other, and the keys of an entry before the rest of it.
pub trait Sink {
    /// A container or a list entry begins. The keys of an entry are its first leaves.
    ///
    /// `false`: nothing below it is wanted; the walk goes on after the node, and neither leaves nor [`Sink::close`] follow.
    fn open(&mut self, node: NodeId) -> Result<bool, Stopped>;

    fn leaf(&mut self, node: NodeId, value: &Value) -> Result<(), Stopped>;

    fn close(&mut self) -> Result<(), Stopped>;
}

/// Whoever takes the nodes has gone away; stop walking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stopped;

/// Something that can be walked, without a lock and as often as one likes.
pub trait Source: Send {
    fn walk(&self, sink: &mut dyn Sink) -> Result<(), Stopped>;
}
