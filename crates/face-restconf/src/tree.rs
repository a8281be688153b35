//! Data nodes: as a tree in memory, and as a stream of nodes for data that is too large for a second copy.
//!
//! Not here: how nodes are encoded (`codec`) and edited (`edit`).

mod build;
mod content;
mod defaults;
mod depth;
mod fields;
mod group;
mod read;
mod read_filters;
mod select;

pub use self::build::TreeBuilder;
use self::content::ContentFilter;
pub use self::defaults::Defaults;
use self::defaults::DefaultsFilter;
use self::depth::DepthFilter;
use self::fields::FieldsFilter;
pub use self::fields::Selection;
pub(crate) use self::group::group;
pub use self::read::Siblings;
pub use self::read_filters::ReadFilters;
pub(crate) use self::select::{build, matches, select};

use std::sync::Arc;

use crate::yang::{NodeId, Schema};

/// The value of a leaf, checked against its type.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LeafValue {
    /// Any signed integer type.
    Int(i64),
    /// Any unsigned integer type.
    Uint(u64),
    Bool(bool),
    /// Strings, enumerations, bits, decimals, binary, identities (`module:name`), instance identifiers, addresses; each in
    /// its canonical form.
    Text(Arc<str>),
    Empty,
}

/// A data node with everything below it. The entries of a list, and the values of a leaf-list, are siblings with the same
/// schema node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataNode {
    pub schema: NodeId,
    pub body: NodeBody,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NodeBody {
    /// The children of a container, list entry, input, output or notification. The entries of one list are adjacent.
    Inner(Vec<DataNode>),
    Leaf(LeafValue),
}

/// Receives a tree node by node. The entries of one list are adjacent, and the keys of an entry come before its other
/// children.
pub trait NodeSink {
    /// A container or a list entry begins.
    ///
    /// Returns `false` if the sink does not want its content: the walk then skips it, without a call of [`NodeSink::close`].
    fn open(&mut self, node: NodeId) -> Walk<bool>;

    fn leaf(&mut self, node: NodeId, value: &LeafValue) -> Walk;

    fn close(&mut self) -> Walk;

    /// A container whose content was cut off (by `depth`). It is written although it looks empty.
    fn elided_container(&mut self, node: NodeId) -> Walk {
        if self.open(node)? { self.close() } else { Ok(()) }
    }
}

impl dyn NodeSink + '_ {
    /// Writes a leaf.
    pub fn value(&mut self, node: NodeId, value: impl Into<LeafValue>) -> Walk {
        self.leaf(node, &value.into())
    }
}

/// Writes a container or list entry, with the content that the function writes.
pub(crate) fn write_inner(
    sink: &mut dyn NodeSink,
    node: NodeId,
    content: impl FnOnce(&mut dyn NodeSink) -> Walk,
) -> Walk {
    if !sink.open(node)? {
        return Ok(());
    }
    content(sink)?;
    sink.close()
}

/// Like [`write_inner`]; without a container, writes the content only.
pub(crate) fn write_within(
    sink: &mut dyn NodeSink,
    container: Option<NodeId>,
    content: impl FnOnce(&mut dyn NodeSink) -> Walk,
) -> Walk {
    match container {
        Some(node) => write_inner(sink, node, content),
        None => content(sink),
    }
}

/// The receiver of the nodes is gone, or has enough: the walk must stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WalkStopped;

/// The result of a walk, or of one of its steps.
pub type Walk<T = ()> = Result<T, WalkStopped>;

/// Data that can be walked any number of times, without a lock.
pub trait NodeSource: Send {
    fn walk(&self, sink: &mut dyn NodeSink) -> Walk;

    /// The number of list entries that a walk looks at before it writes the first node. A source with many is not walked
    /// on a thread that serves connections.
    fn entry_count(&self) -> usize {
        0
    }
}

impl DataNode {
    pub fn inner(schema: NodeId, children: Vec<DataNode>) -> DataNode {
        DataNode { schema, body: NodeBody::Inner(children) }
    }

    pub fn leaf(schema: NodeId, value: impl Into<LeafValue>) -> DataNode {
        DataNode { schema, body: NodeBody::Leaf(value.into()) }
    }

    /// Adds children to a container or list entry.
    pub fn with(mut self, more: impl IntoIterator<Item = DataNode>) -> DataNode {
        if let NodeBody::Inner(children) = &mut self.body {
            children.extend(more);
        }
        self
    }

    /// The children; empty for a leaf.
    pub fn children(&self) -> &[DataNode] {
        match &self.body {
            NodeBody::Inner(children) => children,
            NodeBody::Leaf(_) => &[],
        }
    }

    pub fn value(&self) -> Option<&LeafValue> {
        match &self.body {
            NodeBody::Inner(_) => None,
            NodeBody::Leaf(value) => Some(value),
        }
    }

    /// The keys of a list entry in schema order, or the value of a leaf-list entry. Empty for other nodes, and for an entry
    /// that lacks a key.
    pub fn keys(&self, schema: &Schema) -> Vec<LeafValue> {
        match &self.body {
            NodeBody::Leaf(value)
                if schema.node(self.schema).kind == crate::yang::NodeKind::LeafList =>
            {
                vec![value.clone()]
            }
            NodeBody::Leaf(_) => Vec::new(),
            NodeBody::Inner(children) => {
                let keys = &schema.node(self.schema).keys;
                let values = keys.iter().map(|key| children.value_of(*key).cloned());
                values.collect::<Option<_>>().unwrap_or_default()
            }
        }
    }
}

impl From<&Arc<str>> for LeafValue {
    fn from(text: &Arc<str>) -> LeafValue {
        LeafValue::Text(text.clone())
    }
}

macro_rules! leaf_values {
    ($($number:ty => $variant:ident,)*) => {
        $(impl From<$number> for LeafValue {
            fn from(value: $number) -> LeafValue {
                LeafValue::$variant(value.into())
            }
        })*
    };
}

leaf_values! {
    &str => Text,
    String => Text,
    u8 => Uint,
    u16 => Uint,
    u32 => Uint,
    u64 => Uint,
    i64 => Int,
    bool => Bool,
}

impl LeafValue {
    pub fn text(text: impl Into<Arc<str>>) -> LeafValue {
        LeafValue::Text(text.into())
    }

    pub fn as_text(&self) -> Option<&Arc<str>> {
        match self {
            LeafValue::Text(text) => Some(text),
            _ => None,
        }
    }
}

impl NodeSource for DataNode {
    fn walk(&self, sink: &mut dyn NodeSink) -> Walk {
        match &self.body {
            NodeBody::Leaf(value) => sink.leaf(self.schema, value),
            NodeBody::Inner(children) => write_inner(sink, self.schema, |sink| {
                children.iter().try_for_each(|child| child.walk(sink))
            }),
        }
    }
}

impl NodeSource for Vec<DataNode> {
    fn walk(&self, sink: &mut dyn NodeSink) -> Walk {
        self.iter().try_for_each(|node| node.walk(sink))
    }
}

/// A source whose nodes the function writes.
struct SourceFn<F> {
    entries: usize,
    write: F,
}

impl<F: Fn(&mut dyn NodeSink) -> Walk + Send> NodeSource for SourceFn<F> {
    fn walk(&self, sink: &mut dyn NodeSink) -> Walk {
        (self.write)(sink)
    }

    fn entry_count(&self) -> usize {
        self.entries
    }
}

/// Data that the function writes, at each walk again. For `entries` see [`NodeSource::entry_count`].
pub(crate) fn source(
    entries: usize,
    write: impl Fn(&mut dyn NodeSink) -> Walk + Send + 'static,
) -> Option<Box<dyn NodeSource>> {
    Some(Box::new(SourceFn { entries, write }))
}

/// Sources that are walked one after the other.
pub(crate) struct SourceList(pub Vec<Box<dyn NodeSource>>);

impl NodeSource for SourceList {
    fn walk(&self, sink: &mut dyn NodeSink) -> Walk {
        self.0.iter().try_for_each(|source| source.walk(sink))
    }

    fn entry_count(&self) -> usize {
        self.0.iter().map(|source| source.entry_count()).sum()
    }
}
