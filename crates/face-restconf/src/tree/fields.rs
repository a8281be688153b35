//! The `fields` parameter: which nodes below the target are told, as `a;b/c;d(e;f/g)` names them.
//!
//! The keys of an entry are told with it. A field that names a container or a list means all of it.

use super::{Sink, Stopped, Value};
use crate::fault::{Fault, Tag};
use crate::yang::{NodeId, Schema, split_prefix};

/// Parentheses within each other.
const NESTING_MAX: usize = 64;

/// What is wanted of a node: all of it, or some of its children.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Selection {
    All,
    Some(Vec<(NodeId, Selection)>),
}

impl Selection {
    /// Reads the expression relative to the target, `None` for the datastore itself.
    pub fn parse(schema: &Schema, target: Option<NodeId>, text: &str) -> Result<Selection, Fault> {
        let mut parser = Parser { schema, rest: text };
        let selection = parser.fields(target, 0)?;
        match parser.rest {
            "" => Ok(selection),
            rest => Err(bad(format!("'{rest}' is not expected in fields"))),
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

    /// Both selections together.
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

fn bad(message: String) -> Fault {
    Fault::protocol(Tag::InvalidValue, message)
}

struct Parser<'a> {
    schema: &'a Schema,
    rest: &'a str,
}

impl Parser<'_> {
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
    fn fields(&mut self, parent: Option<NodeId>, depth: usize) -> Result<Selection, Fault> {
        if depth > NESTING_MAX {
            return Err(bad("fields are nested too deeply".to_owned()));
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
                    return Err(bad("')' is missing in fields".to_owned()));
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

    fn name(&mut self, parent: Option<NodeId>) -> Result<NodeId, Fault> {
        let end = self.rest.find(['/', ';', '(', ')']).unwrap_or(self.rest.len());
        let (text, rest) = self.rest.split_at(end);
        self.rest = rest;
        let (module, name) = split_prefix(text);
        self.schema
            .child(parent, module, name)
            .ok_or_else(|| bad(format!("'{text}' in fields is not known")))
    }
}

pub struct FieldsFilter<'a> {
    schema: &'a Schema,
    inner: &'a mut dyn Sink,
    /// What is wanted of each open node; the first is what is wanted of the target, and counts for what comes at the top.
    wanted: Vec<&'a Selection>,
    /// Whether the walk begins above the target: in the datastore, whose children are fields themselves.
    at_datastore: bool,
}

impl<'a> FieldsFilter<'a> {
    /// `at_datastore`: the walk yields the children of the datastore rather than the target.
    pub fn new(
        schema: &'a Schema,
        selection: &'a Selection,
        at_datastore: bool,
        inner: &'a mut dyn Sink,
    ) -> FieldsFilter<'a> {
        FieldsFilter { schema, inner, wanted: vec![selection], at_datastore }
    }

    fn wanted(&self, node: NodeId) -> Option<&'a Selection> {
        let last = *self.wanted.last()?;
        if self.wanted.len() == 1 && !self.at_datastore { Some(last) } else { last.of(node) }
    }
}

impl std::fmt::Debug for FieldsFilter<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FieldsFilter").field("wanted", &self.wanted).finish_non_exhaustive()
    }
}

impl Sink for FieldsFilter<'_> {
    fn open(&mut self, node: NodeId) -> Result<bool, Stopped> {
        let Some(selection) = self.wanted(node) else { return Ok(false) };
        let wanted = self.inner.open(node)?;
        if wanted {
            self.wanted.push(selection);
        }
        Ok(wanted)
    }

    fn leaf(&mut self, node: NodeId, value: &Value) -> Result<(), Stopped> {
        if self.wanted(node).is_some() || self.schema.is_key(node) {
            self.inner.leaf(node, value)
        } else {
            Ok(())
        }
    }

    fn close(&mut self) -> Result<(), Stopped> {
        self.wanted.pop();
        self.inner.close()
    }
}
