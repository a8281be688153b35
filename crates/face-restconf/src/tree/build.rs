//! A sink that collects the nodes in a tree.

use super::{DataNode, LeafValue, NodeSink, Walk};
use crate::yang::NodeId;

#[derive(Debug, Default)]
pub struct TreeBuilder {
    done: Vec<DataNode>,
    open: Vec<(NodeId, Vec<DataNode>)>,
}

impl TreeBuilder {
    pub fn new() -> TreeBuilder {
        TreeBuilder::default()
    }

    /// The top-level nodes. Nodes that were not closed are left out.
    pub fn finish(self) -> Vec<DataNode> {
        self.done
    }

    fn push(&mut self, node: DataNode) {
        match self.open.last_mut() {
            Some((_, children)) => children.push(node),
            None => self.done.push(node),
        }
    }
}

impl NodeSink for TreeBuilder {
    fn open(&mut self, node: NodeId) -> Walk<bool> {
        self.open.push((node, Vec::new()));
        Ok(true)
    }

    fn leaf(&mut self, node: NodeId, value: &LeafValue) -> Walk {
        self.push(DataNode::leaf(node, value.clone()));
        Ok(())
    }

    fn close(&mut self) -> Walk {
        if let Some((node, children)) = self.open.pop() {
            self.push(DataNode::inner(node, children));
        }
        Ok(())
    }
}
