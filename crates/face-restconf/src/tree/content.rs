//! The `content` parameter: configuration, state, or both. The keys of a list entry are always included, because they
//! identify it.

use super::{LeafValue, NodeSink, WalkStopped};
use crate::model::Content;
use crate::yang::{NodeId, Schema};

/// For `State`, a container or an entry is held back, with its keys, until a state node below it comes.
pub(super) struct ContentFilter<'a> {
    schema: &'a Schema,
    inner: &'a mut dyn NodeSink,
    content: Content,
    /// Nodes that are not yet passed to `inner`, with the keys that came since.
    pending: Vec<(NodeId, Vec<(NodeId, LeafValue)>)>,
    /// How many open nodes are below one that `inner` refused, itself included.
    refused: usize,
}

impl<'a> ContentFilter<'a> {
    pub(super) fn new(
        schema: &'a Schema,
        content: Content,
        inner: &'a mut dyn NodeSink,
    ) -> ContentFilter<'a> {
        ContentFilter { schema, inner, content, pending: Vec::new(), refused: 0 }
    }

    /// Passes the held-back nodes to `inner`. Returns `false` if `inner` refuses one.
    fn flush_pending(&mut self) -> Result<bool, WalkStopped> {
        let mut pending = self.pending.drain(..);
        while let Some((node, keys)) = pending.next() {
            if !self.inner.open(node)? {
                self.refused = 1 + pending.len();
                return Ok(false);
            }
            for (key, value) in keys {
                self.inner.leaf(key, &value)?;
            }
        }
        Ok(true)
    }
}

impl NodeSink for ContentFilter<'_> {
    fn open(&mut self, node: NodeId) -> Result<bool, WalkStopped> {
        if self.refused > 0 {
            return Ok(false);
        }
        let config = self.schema.node(node).config;
        match self.content {
            Content::All => self.inner.open(node),
            Content::Config => {
                if config {
                    self.inner.open(node)
                } else {
                    Ok(false)
                }
            }
            Content::State if config => {
                self.pending.push((node, Vec::new()));
                Ok(true)
            }
            Content::State => {
                if self.flush_pending()? {
                    self.inner.open(node)
                } else {
                    Ok(false)
                }
            }
        }
    }

    fn leaf(&mut self, node: NodeId, value: &LeafValue) -> Result<(), WalkStopped> {
        let config = self.schema.node(node).config;
        match self.content {
            Content::All => self.inner.leaf(node, value),
            Content::Config => {
                if config {
                    self.inner.leaf(node, value)
                } else {
                    Ok(())
                }
            }
            Content::State if !config => {
                if self.refused == 0 && self.flush_pending()? {
                    self.inner.leaf(node, value)
                } else {
                    Ok(())
                }
            }
            Content::State => match self.pending.last_mut() {
                Some((_, keys)) if self.schema.is_key(node) => {
                    keys.push((node, value.clone()));
                    Ok(())
                }
                _ => Ok(()),
            },
        }
    }

    fn close(&mut self) -> Result<(), WalkStopped> {
        if self.refused > 0 {
            self.refused -= 1;
            return Ok(());
        }
        match self.pending.pop() {
            Some(_) => Ok(()),
            None => self.inner.close(),
        }
    }
}
