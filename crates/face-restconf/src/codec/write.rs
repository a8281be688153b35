//! Writes a tree as JSON or XML.
//!
//! What the two encodings share is here: the stack of open nodes, and containers that are left out when they stay empty. The
//! syntax of each encoding is in `json_write` and `xml_write`.

use std::borrow::Cow;

use super::{ChunkBuffer, Dialect, Encoding};
use crate::tree::{LeafValue, NodeSink, Walk};
use crate::yang::{NodeId, NodeKind, Schema};

#[derive(Debug)]
pub struct DataWriter<'a> {
    pub(super) schema: &'a Schema,
    pub(super) encoding: Encoding,
    pub(super) dialect: Dialect,
    pub(super) out: ChunkBuffer<'a>,
    /// The open objects or elements. In JSON, the first is the document.
    pub(super) open: Vec<OpenNode<'a>>,
    /// How many of the last open nodes are not written yet: non-presence containers are left out if they stay empty.
    pending: usize,
}

#[derive(Debug)]
pub(super) struct OpenNode<'a> {
    /// `None`: the document, or a wrapper.
    pub node: Option<NodeId>,
    pub name: Cow<'a, str>,
    /// Nothing is written in it yet. In XML, its start tag is then `<name` without `>`.
    pub empty: bool,
    /// JSON: the list or leaf-list whose array is open.
    pub array: Option<NodeId>,
}

impl<'a> OpenNode<'a> {
    fn new(node: Option<NodeId>, name: Cow<'a, str>) -> OpenNode<'a> {
        OpenNode { node, name, empty: true, array: None }
    }
}

impl<'a> DataWriter<'a> {
    /// The dialect matters for JSON only.
    pub fn new(
        schema: &'a Schema,
        encoding: Encoding,
        dialect: Dialect,
        out: ChunkBuffer<'a>,
    ) -> DataWriter<'a> {
        let mut writer =
            DataWriter { schema, encoding, dialect, out, open: Vec::new(), pending: 0 };
        if encoding == Encoding::Json {
            writer.out.buffer.push(b'{');
            writer.open.push(OpenNode::new(None, Cow::Borrowed("")));
        }
        writer
    }

    /// Starts an element of the protocol around the data: `data`, `notification`.
    pub fn open_wrapper(&mut self, name: &str) -> Walk {
        match self.encoding {
            Encoding::Json => self.json_wrapper(name),
            Encoding::Xml => self.xml_wrapper(name),
        }
        self.open.push(OpenNode::new(None, Cow::Owned(name.to_owned())));
        Ok(())
    }

    /// Writes a leaf of the wrapper: `eventTime`.
    pub fn wrapper_leaf(&mut self, name: &str, text: &str) -> Walk {
        match self.encoding {
            Encoding::Json => self.json_wrapper_leaf(name, text),
            Encoding::Xml => self.xml_wrapper_leaf(name, text),
        }
        self.out.flush_if_full()
    }

    pub fn close_wrapper(&mut self) -> Walk {
        self.end_node();
        self.out.flush_if_full()
    }

    /// Ends the document. Passes the rest of the buffer to its callback, or returns it if there is no callback.
    pub fn finish(mut self) -> Walk<Vec<u8>> {
        while !self.open.is_empty() {
            self.end_node();
        }
        self.out.finish()
    }

    pub(super) fn put(&mut self, text: &str) {
        self.out.buffer.extend_from_slice(text.as_bytes());
    }

    /// Whether the next node is at the top of the document or of a wrapper.
    pub(super) fn at_top(&self) -> bool {
        self.open.last().is_none_or(|open| open.node.is_none())
    }

    fn begin_container(&mut self, node: NodeId) {
        match self.encoding {
            Encoding::Json => {
                self.json_begin(node);
                self.out.buffer.push(b'{');
            }
            Encoding::Xml => self.xml_begin(node),
        }
    }

    fn end_node(&mut self) {
        let Some(node) = self.open.pop() else { return };
        match self.encoding {
            Encoding::Json => self.put(if node.array.is_some() { "]}" } else { "}" }),
            Encoding::Xml if node.empty => self.put("/>"),
            Encoding::Xml => self.put(&format!("</{}>", node.name)),
        }
    }

    /// Writes the start of the containers that turn out not to be empty.
    fn write_pending(&mut self) {
        if self.pending == 0 {
            return;
        }
        let pending = self.open.split_off(self.open.len() - self.pending);
        self.pending = 0;
        for open in pending {
            if let Some(node) = open.node {
                self.begin_container(node);
            }
            self.open.push(open);
        }
    }
}

impl NodeSink for DataWriter<'_> {
    fn open(&mut self, node: NodeId) -> Walk<bool> {
        let schema = self.schema;
        let known = schema.node(node);
        if known.kind == (NodeKind::Container { presence: false }) && !self.at_top() {
            self.pending += 1;
        } else {
            self.write_pending();
            self.begin_container(node);
        }
        self.open.push(OpenNode::new(Some(node), Cow::Borrowed(&known.name)));
        Ok(true)
    }

    fn leaf(&mut self, node: NodeId, value: &LeafValue) -> Walk {
        self.write_pending();
        match self.encoding {
            Encoding::Json => self.json_leaf(node, value),
            Encoding::Xml => self.xml_leaf(node, value),
        }
        self.out.flush_if_full()
    }

    fn close(&mut self) -> Walk {
        if self.pending > 0 {
            self.pending -= 1;
            self.open.pop();
            return Ok(());
        }
        self.end_node();
        self.out.flush_if_full()
    }

    fn elided_container(&mut self, node: NodeId) -> Walk {
        self.write_pending();
        self.begin_container(node);
        self.put(match self.encoding {
            Encoding::Json => "}",
            Encoding::Xml => "/>",
        });
        self.out.flush_if_full()
    }
}
