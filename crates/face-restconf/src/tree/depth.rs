//! The `depth` parameter: how many levels are told. The target itself is the first.
//!
//! At the last level a container is told as empty and a list entry by its keys, so that one sees that there is more.

use super::{Sink, Stopped, Value};
use crate::yang::{NodeId, Schema};

pub struct DepthFilter<'a> {
    schema: &'a Schema,
    inner: &'a mut dyn Sink,
    levels: u32,
    /// How many nodes are open.
    open: u32,
}

impl<'a> DepthFilter<'a> {
    pub fn new(schema: &'a Schema, levels: u32, inner: &'a mut dyn Sink) -> DepthFilter<'a> {
        DepthFilter { schema, inner, levels, open: 0 }
    }
}

impl std::fmt::Debug for DepthFilter<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DepthFilter")
            .field("levels", &self.levels)
            .field("open", &self.open)
            .finish_non_exhaustive()
    }
}

impl Sink for DepthFilter<'_> {
    fn open(&mut self, node: NodeId) -> Result<bool, Stopped> {
        if self.open >= self.levels {
            return Ok(false);
        }
        if self.open + 1 == self.levels && !self.schema.is_list(node) {
            self.inner.hollow(node)?;
            return Ok(false);
        }
        let wanted = self.inner.open(node)?;
        self.open += u32::from(wanted);
        Ok(wanted)
    }

    fn leaf(&mut self, node: NodeId, value: &Value) -> Result<(), Stopped> {
        if self.open < self.levels || self.schema.is_key(node) {
            self.inner.leaf(node, value)
        } else {
            Ok(())
        }
    }

    fn close(&mut self) -> Result<(), Stopped> {
        self.open = self.open.saturating_sub(1);
        self.inner.close()
    }
}
