//! A sink that keeps what it is given.

use super::{Node, Sink, Stopped, Value};
use crate::yang::NodeId;

#[derive(Debug, Default)]
pub struct Builder {
    done: Vec<Node>,
    open: Vec<(NodeId, Vec<Node>)>,
}

impl Builder {
    pub fn new() -> Builder {
        Builder::default()
    }

    /// What came at the top. What was not closed is not part of it.
    pub fn finish(self) -> Vec<Node> {
        self.done
    }

    fn push(&mut self, node: Node) {
        match self.open.last_mut() {
            Some((_, children)) => children.push(node),
            None => self.done.push(node),
        }
    }
}

impl Sink for Builder {
    fn open(&mut self, node: NodeId) -> Result<bool, Stopped> {
        self.open.push((node, Vec::new()));
        Ok(true)
    }

    fn leaf(&mut self, node: NodeId, value: &Value) -> Result<(), Stopped> {
        self.push(Node::leaf(node, value.clone()));
        Ok(())
    }

    fn close(&mut self) -> Result<(), Stopped> {
        if let Some((node, children)) = self.open.pop() {
            self.push(Node::inner(node, children));
        }
        Ok(())
    }
}
