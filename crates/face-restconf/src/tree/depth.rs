//! The `depth` parameter: the number of levels; the target is the first.
//!
//! At the last level, a container is empty and a list entry has its keys only, so that the client sees that they exist.

use super::{LeafValue, NodeSink, Walk};
use crate::yang::{NodeId, Schema};

pub(super) struct DepthFilter<'a> {
    schema: &'a Schema,
    inner: &'a mut dyn NodeSink,
    levels: u32,
    /// The number of open nodes.
    open: u32,
}

impl<'a> DepthFilter<'a> {
    pub(super) fn new(
        schema: &'a Schema,
        levels: u32,
        inner: &'a mut dyn NodeSink,
    ) -> DepthFilter<'a> {
        DepthFilter { schema, inner, levels, open: 0 }
    }
}

impl NodeSink for DepthFilter<'_> {
    fn open(&mut self, node: NodeId) -> Walk<bool> {
        if self.open >= self.levels {
            return Ok(false);
        }
        if self.open + 1 == self.levels && !self.schema.is_list(node) {
            self.inner.elided_container(node)?;
            return Ok(false);
        }
        let wanted = self.inner.open(node)?;
        self.open += u32::from(wanted);
        Ok(wanted)
    }

    fn leaf(&mut self, node: NodeId, value: &LeafValue) -> Walk {
        if self.open < self.levels || self.schema.is_key(node) {
            self.inner.leaf(node, value)
        } else {
            Ok(())
        }
    }

    fn close(&mut self) -> Walk {
        self.open = self.open.saturating_sub(1);
        self.inner.close()
    }
}
