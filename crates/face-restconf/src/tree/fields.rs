//! The `fields` parameter: selects nodes below the target, such as `a;b/c;d(e;f/g)`.
//!
//! The keys of a list entry are always included. A field that names a container or a list selects everything in it.

use super::{LeafValue, NodeSink, Walk};
use crate::error::{Result, invalid_value};
use crate::yang::{NodeId, Schema, split_prefix};

/// Nested parentheses.
const NESTING_MAX: usize = 64;

/// The selected part of a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Selection {
    All,
    Some(Vec<(NodeId, Selection)>),
}

impl Selection {
    /// Parses the expression relative to the target; `None` is the datastore.
    pub fn parse(schema: &Schema, target: Option<NodeId>, text: &str) -> Result<Selection> {
        let mut parser = FieldsParser { schema, rest: text };
        let selection = parser.fields(target, 0)?;
        match parser.rest {
            "" => Ok(selection),
            rest => Err(invalid_value(format!("unexpected '{rest}' in fields"))),
        }
    }

    fn of(&self, node: NodeId) -> Option<&Selection> {
        match self {
            Selection::All => Some(&Selection::All),
            Selection::Some(fields) => {
                fields.iter().find(|(id, _)| *id == node).map(|(_, below)| below)
            }
        }
    }

    /// Adds another selection for the same parent.
    fn join(&mut self, node: NodeId, below: Selection) {
        let Selection::Some(fields) = self else { return };
        match (fields.iter_mut().find(|(id, _)| *id == node), below) {
            (None, below) => fields.push((node, below)),
            (Some((_, known)), Selection::All) => *known = Selection::All,
            (Some((_, known)), Selection::Some(more)) => {
                more.into_iter().for_each(|(id, below)| known.join(id, below));
            }
        }
    }
}

struct FieldsParser<'a> {
    schema: &'a Schema,
    rest: &'a str,
}

impl FieldsParser<'_> {
    fn take(&mut self, char: char) -> bool {
        match self.rest.strip_prefix(char) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    /// `path ["(" fields ")"] *(";" …)`.
    fn fields(&mut self, parent: Option<NodeId>, depth: usize) -> Result<Selection> {
        if depth > NESTING_MAX {
            return Err(invalid_value("fields are nested too deeply"));
        }
        let mut selection = Selection::Some(Vec::new());
        loop {
            let mut path = Vec::new();
            let mut at = parent;
            loop {
                let node = self.name(at)?;
                path.push(node);
                at = Some(node);
                if !self.take('/') {
                    break;
                }
            }
            let mut below = Selection::All;
            if self.take('(') {
                below = self.fields(at, depth + 1)?;
                if !self.take(')') {
                    return Err(invalid_value("')' is missing in fields"));
                }
            }
            let first = path.remove(0);
            for node in path.into_iter().rev() {
                below = Selection::Some(vec![(node, below)]);
            }
            selection.join(first, below);
            if !self.take(';') {
                return Ok(selection);
            }
        }
    }

    fn name(&mut self, parent: Option<NodeId>) -> Result<NodeId> {
        let end = self.rest.find(['/', ';', '(', ')']).unwrap_or(self.rest.len());
        let (text, rest) = self.rest.split_at(end);
        self.rest = rest;
        let (module, name) = split_prefix(text);
        self.schema
            .child(parent, module, name)
            .ok_or_else(|| invalid_value(format!("unknown node '{text}' in fields")))
    }
}

pub(super) struct FieldsFilter<'a> {
    schema: &'a Schema,
    inner: &'a mut dyn NodeSink,
    /// The selection of each open node. The first one is that of the target, and applies to the top-level nodes of the walk.
    wanted: Vec<&'a Selection>,
    /// The target is the datastore, so the top-level nodes of the walk are fields themselves.
    at_datastore: bool,
}

impl<'a> FieldsFilter<'a> {
    /// `at_datastore`: the walk yields the children of the datastore instead of the target.
    pub(super) fn new(
        schema: &'a Schema,
        selection: &'a Selection,
        at_datastore: bool,
        inner: &'a mut dyn NodeSink,
    ) -> FieldsFilter<'a> {
        FieldsFilter { schema, inner, wanted: vec![selection], at_datastore }
    }

    fn wanted(&self, node: NodeId) -> Option<&'a Selection> {
        let last = *self.wanted.last()?;
        if self.wanted.len() == 1 && !self.at_datastore { Some(last) } else { last.of(node) }
    }
}

impl NodeSink for FieldsFilter<'_> {
    fn open(&mut self, node: NodeId) -> Walk<bool> {
        let Some(selection) = self.wanted(node) else { return Ok(false) };
        let wanted = self.inner.open(node)?;
        if wanted {
            self.wanted.push(selection);
        }
        Ok(wanted)
    }

    fn leaf(&mut self, node: NodeId, value: &LeafValue) -> Walk {
        if self.wanted(node).is_some() || self.schema.is_key(node) {
            self.inner.leaf(node, value)
        } else {
            Ok(())
        }
    }

    fn close(&mut self) -> Walk {
        self.wanted.pop();
        self.inner.close()
    }
}
