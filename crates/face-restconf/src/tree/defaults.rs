//! The `with-defaults` parameter: whether leaves with their default value are told.
//!
//! What was set to the default and what was never set are one and the same here, so that `explicit` is what the model tells;
//! `report-all` adds what it left out. Tagging defaults is not supported.

use super::{Node, Sink, Stopped, Value};
use crate::yang::{Kind, NodeId, Schema};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Defaults {
    /// As the model tells it.
    Explicit,
    ReportAll,
    Trim,
}

pub struct DefaultsFilter<'a> {
    schema: &'a Schema,
    inner: &'a mut dyn Sink,
    defaults: Defaults,
    /// The open nodes, each with the children that came.
    open: Vec<(NodeId, Vec<NodeId>)>,
}

impl<'a> DefaultsFilter<'a> {
    pub fn new(
        schema: &'a Schema,
        defaults: Defaults,
        inner: &'a mut dyn Sink,
    ) -> DefaultsFilter<'a> {
        DefaultsFilter { schema, inner, defaults, open: Vec::new() }
    }

    fn saw(&mut self, node: NodeId) {
        if let Some((_, seen)) = self.open.last_mut()
            && seen.last() != Some(&node)
        {
            seen.push(node);
        }
    }
}

impl std::fmt::Debug for DefaultsFilter<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DefaultsFilter").field("defaults", &self.defaults).finish_non_exhaustive()
    }
}

impl Sink for DefaultsFilter<'_> {
    fn open(&mut self, node: NodeId) -> Result<bool, Stopped> {
        self.saw(node);
        let wanted = self.inner.open(node)?;
        if wanted {
            self.open.push((node, Vec::new()));
        }
        Ok(wanted)
    }

    fn leaf(&mut self, node: NodeId, value: &Value) -> Result<(), Stopped> {
        self.saw(node);
        let known = self.schema.node(node);
        if self.defaults == Defaults::Trim
            && known.default.as_ref() == Some(value)
            && !self.schema.is_key(node)
        {
            return Ok(());
        }
        self.inner.leaf(node, value)
    }

    fn close(&mut self) -> Result<(), Stopped> {
        if let (Some((node, seen)), Defaults::ReportAll) = (self.open.pop(), self.defaults) {
            for missing in missing_defaults(self.schema, node, &seen) {
                super::Source::walk(&missing, self.inner)?;
            }
        }
        self.inner.close()
    }

    fn hollow(&mut self, node: NodeId) -> Result<(), Stopped> {
        self.saw(node);
        self.inner.hollow(node)
    }
}

/// The leaves with a default that are not among the children of a node, within containers where those are missing too.
pub(crate) fn missing_defaults(schema: &Schema, node: NodeId, present: &[NodeId]) -> Vec<Node> {
    let mut missing = Vec::new();
    for id in schema.node(node).children.iter().copied().filter(|id| !present.contains(id)) {
        let child = schema.node(id);
        // In a choice only the case counts that is there, or the default one when none is.
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
            (Kind::Leaf, Some(default)) => missing.push(Node::leaf(id, default.clone())),
            (Kind::Container { presence: false }, _) => {
                let below = missing_defaults(schema, id, &[]);
                if !below.is_empty() {
                    missing.push(Node::inner(id, below));
                }
            }
            _ => {}
        }
    }
    missing
}
