//! The `content` parameter: configuration, state, or both. The keys of a list entry are always included, because they
//! identify it.

use super::{LeafValue, NodeSink, Walk};
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
    fn flush_pending(&mut self) -> Walk<bool> {
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
    fn open(&mut self, node: NodeId) -> Walk<bool> {
        if self.refused > 0 {
            return Ok(false);
        }
        let config = self.schema.node(node).config;
        match self.content {
            Content::Config if !config => Ok(false),
            Content::All | Content::Config => self.inner.open(node),
            Content::State if config => {
                self.pending.push((node, Vec::new()));
                Ok(true)
            }
            Content::State => Ok(self.flush_pending()? && self.inner.open(node)?),
        }
    }

    fn leaf(&mut self, node: NodeId, value: &LeafValue) -> Walk {
        let config = self.schema.node(node).config;
        match self.content {
            Content::Config if !config => Ok(()),
            Content::All | Content::Config => self.inner.leaf(node, value),
            Content::State if config => {
                if let Some((_, keys)) = self.pending.last_mut()
                    && self.schema.is_key(node)
                {
                    keys.push((node, value.clone()));
                }
                Ok(())
            }
            Content::State => match self.refused == 0 && self.flush_pending()? {
                true => self.inner.leaf(node, value),
                false => Ok(()),
            },
        }
    }

    fn close(&mut self) -> Walk {
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
