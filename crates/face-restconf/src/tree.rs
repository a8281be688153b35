//! Instances of the schema: as trees, and as streams of nodes for what is too large to stand in memory twice.
//!
//! How they are written is the codec's; what may be changed of them is `edit`'s.

mod build;
mod content;
mod defaults;
mod depth;
mod fields;
mod group;
mod read;
mod view;

pub use self::build::Builder;
pub use self::content::ContentFilter;
pub use self::defaults::{Defaults, DefaultsFilter};
pub use self::depth::DepthFilter;
pub use self::fields::{FieldsFilter, Selection};
pub(crate) use self::group::group;
pub use self::read::Siblings;
pub use self::view::View;

use std::sync::Arc;

use crate::yang::{NodeId, Schema};

/// The value of a leaf, checked against its type.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Value {
    /// Any signed integer type.
    Int(i64),
    /// Any unsigned integer type.
    Uint(u64),
    Bool(bool),
    /// Strings, enumerations, bits, decimals, binary, identities with their module (`module:name`), instance identifiers,
    /// addresses: each in its canonical form.
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

    /// A container that is there, with something in it that is not told. An empty one would go without saying.
    fn hollow(&mut self, node: NodeId) -> Result<(), Stopped> {
        if self.open(node)? { self.close() } else { Ok(()) }
    }
}

/// Whoever takes the nodes has gone away; stop walking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stopped;

/// Something that can be walked, without a lock and as often as one likes.
pub trait Source: Send {
    fn walk(&self, sink: &mut dyn Sink) -> Result<(), Stopped>;
}

impl Node {
    pub fn inner(schema: NodeId, children: Vec<Node>) -> Node {
        Node { schema, body: Body::Inner(children) }
    }

    pub fn leaf(schema: NodeId, value: Value) -> Node {
        Node { schema, body: Body::Leaf(value) }
    }

    /// What is in it; nothing in a leaf.
    pub fn children(&self) -> &[Node] {
        match &self.body {
            Body::Inner(children) => children,
            Body::Leaf(_) => &[],
        }
    }

    pub fn value(&self) -> Option<&Value> {
        match &self.body {
            Body::Inner(_) => None,
            Body::Leaf(value) => Some(value),
        }
    }

    /// The keys of a list entry in the order of the schema, the value of a leaf-list entry; nothing for others, and for an
    /// entry that lacks a key.
    pub fn keys(&self, schema: &Schema) -> Vec<Value> {
        match &self.body {
            Body::Leaf(value) if schema.node(self.schema).kind == crate::yang::Kind::LeafList => {
                vec![value.clone()]
            }
            Body::Leaf(_) => Vec::new(),
            Body::Inner(children) => {
                let keys = &schema.node(self.schema).keys;
                let values = keys.iter().map(|key| children.value_of(*key).cloned());
                values.collect::<Option<_>>().unwrap_or_default()
            }
        }
    }
}

impl Value {
    pub fn text(text: impl Into<Arc<str>>) -> Value {
        Value::Text(text.into())
    }
}

impl Source for Node {
    fn walk(&self, sink: &mut dyn Sink) -> Result<(), Stopped> {
        match &self.body {
            Body::Leaf(value) => sink.leaf(self.schema, value),
            Body::Inner(children) => {
                if !sink.open(self.schema)? {
                    return Ok(());
                }
                children.iter().try_for_each(|child| child.walk(sink))?;
                sink.close()
            }
        }
    }
}

impl Source for Vec<Node> {
    fn walk(&self, sink: &mut dyn Sink) -> Result<(), Stopped> {
        self.iter().try_for_each(|node| node.walk(sink))
    }
}
