//! The `with-defaults` parameter: whether to include leaves with their default value.
//!
//! The server does not distinguish a leaf that was set to its default from one that was never set. So `explicit` is what the
//! model reports, and `report-all` adds the missing defaults. `report-all-tagged` is not supported.

use super::{DataNode, LeafValue, NodeSink, Walk};
use crate::yang::{NodeId, NodeKind, Schema};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Defaults {
    /// As the model reports it.
    Explicit,
    ReportAll,
    Trim,
}

pub(super) struct DefaultsFilter<'a> {
    schema: &'a Schema,
    inner: &'a mut dyn NodeSink,
    defaults: Defaults,
    /// The open nodes, each with the children that came so far.
    open: Vec<(NodeId, Vec<NodeId>)>,
}

impl<'a> DefaultsFilter<'a> {
    pub(super) fn new(
        schema: &'a Schema,
        defaults: Defaults,
        inner: &'a mut dyn NodeSink,
    ) -> DefaultsFilter<'a> {
        DefaultsFilter { schema, inner, defaults, open: Vec::new() }
    }

    fn record(&mut self, node: NodeId) {
        if let Some((_, seen)) = self.open.last_mut()
            && seen.last() != Some(&node)
        {
            seen.push(node);
        }
    }
}

impl NodeSink for DefaultsFilter<'_> {
    fn open(&mut self, node: NodeId) -> Walk<bool> {
        self.record(node);
        let wanted = self.inner.open(node)?;
        if wanted {
            self.open.push((node, Vec::new()));
        }
        Ok(wanted)
    }

    fn leaf(&mut self, node: NodeId, value: &LeafValue) -> Walk {
        self.record(node);
        let known = self.schema.node(node);
        if self.defaults == Defaults::Trim
            && known.default.as_ref() == Some(value)
            && !self.schema.is_key(node)
        {
            return Ok(());
        }
        self.inner.leaf(node, value)
    }

    fn close(&mut self) -> Walk {
        if let (Some((node, seen)), Defaults::ReportAll) = (self.open.pop(), self.defaults) {
            for missing in missing_defaults(self.schema, node, &seen) {
                super::NodeSource::walk(&missing, self.inner)?;
            }
        }
        self.inner.close()
    }

    fn elided_container(&mut self, node: NodeId) -> Walk {
        self.record(node);
        self.inner.elided_container(node)
    }
}

/// The leaves with a default that are missing below a node, in their missing containers if needed.
pub(crate) fn missing_defaults(schema: &Schema, node: NodeId, present: &[NodeId]) -> Vec<DataNode> {
    let mut missing = Vec::new();
    for id in schema.node(node).children.iter().copied().filter(|id| !present.contains(id)) {
        let child = schema.node(id);
        // Within a choice, only the present case counts, or the default case if none is present.
        let counts = child.cases.iter().all(|within| {
            let chosen = present.iter().find_map(|one| {
                schema
                    .node(*one)
                    .cases
                    .iter()
                    .find(|other| other.choice == within.choice)
                    .map(|other| other.case)
            });
            chosen.or(schema.choice(within.choice).default) == Some(within.case)
        });
        if !counts {
            continue;
        }
        match (child.kind, &child.default) {
            (NodeKind::Leaf, Some(default)) => missing.push(DataNode::leaf(id, default.clone())),
            (NodeKind::Container { presence: false }, _) => {
                let below = missing_defaults(schema, id, &[]);
                if !below.is_empty() {
                    missing.push(DataNode::inner(id, below));
                }
            }
            _ => {}
        }
    }
    missing
}
