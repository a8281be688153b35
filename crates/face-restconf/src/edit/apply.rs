//! One edit on a tree.

use super::merge::{implicit, merge, ousts};
use super::{Place, agrees, missing};
use crate::fault::{Fault, Tag};
use crate::model::{Edit, Op, Step, Target};
use crate::path;
use crate::tree::{Body, Node, Value, group};
use crate::yang::{Kind, Schema};

/// What becomes of the tree that stands at step `at` of the target (`None`: nothing is there).
pub fn apply(
    schema: &Schema,
    before: Option<Node>,
    at: usize,
    edit: &Edit,
) -> Result<Option<Node>, Fault> {
    match (&edit.data, edit.target.steps.last(), edit.op) {
        (Some(data), Some(step), Op::Create | Op::Merge | Op::Replace) => {
            agrees(schema, step, data)?
        }
        (_, None, _) => return Err(Fault::protocol(Tag::InvalidValue, "no node is named")),
        (None, _, Op::Create | Op::Merge | Op::Replace) => {
            return Err(Fault::protocol(Tag::MissingElement, "the data is missing"));
        }
        (_, _, Op::Delete | Op::Remove) => {}
    }
    Change { schema, edit }.at(before, at)
}

/// The node that the target names within the tree that stands at its step `at`.
pub fn find<'n>(schema: &Schema, node: &'n Node, at: usize, target: &Target) -> Option<&'n Node> {
    let mut node = node;
    for step in target.steps.get(at + 1..).unwrap_or_default() {
        node = node.children().iter().find(|child| is(schema, child, step))?;
    }
    Some(node)
}

fn is(schema: &Schema, node: &Node, step: &Step) -> bool {
    node.schema == step.node && (step.keys.is_empty() || node.keys(schema) == step.keys)
}

struct Change<'a> {
    schema: &'a Schema,
    edit: &'a Edit,
}

impl Change<'_> {
    fn steps(&self) -> &[Step] {
        &self.edit.target.steps
    }

    /// As deep as the path is long.
    fn at(&self, before: Option<Node>, at: usize) -> Result<Option<Node>, Fault> {
        if at + 1 >= self.steps().len() {
            return self.at_target(before);
        }
        let creates = matches!(self.edit.op, Op::Create | Op::Merge | Op::Replace);
        let id = self.steps()[at].node;
        let mut children = match before {
            Some(Node { body: Body::Inner(children), .. }) => children,
            Some(leaf) => return Ok(Some(leaf)),
            None if implicit(self.schema, id) && creates => Vec::new(),
            None if self.edit.op == Op::Remove => return Ok(None),
            None if self.edit.op == Op::Delete => return Err(self.not_there()),
            None => return Err(missing(self.schema, &self.steps()[..=at])),
        };
        let step = &self.steps()[at + 1];
        let last = at + 2 == self.steps().len();
        if last && step.keys.is_empty() && self.is_repeated(step) {
            self.whole_list(&mut children, step)?;
            return Ok(Some(Node::inner(id, children)));
        }
        let found = children.iter().position(|child| is(self.schema, child, step));
        let before = found.map(|found| children.remove(found));
        match (self.at(before, at + 1)?, found) {
            (None, _) => {}
            (Some(child), found) => {
                children.retain(|other| !ousts(self.schema, child.schema, other.schema));
                let place = self.edit.place.as_ref().filter(|_| last);
                let position = self.position(&children, &child, found, place)?;
                children.insert(position, child);
            }
        }
        group(&[], &mut children);
        Ok(Some(Node::inner(id, children)))
    }

    fn is_repeated(&self, step: &Step) -> bool {
        matches!(self.schema.node(step.node).kind, Kind::List | Kind::LeafList)
    }

    /// All entries at once can only go.
    fn whole_list(&self, children: &mut Vec<Node>, step: &Step) -> Result<(), Fault> {
        let before = children.len();
        children.retain(|child| child.schema != step.node);
        match self.edit.op {
            Op::Delete if children.len() == before => Err(self.not_there()),
            Op::Delete | Op::Remove => Ok(()),
            Op::Create | Op::Merge | Op::Replace => {
                let name = &self.schema.node(step.node).name;
                Err(Fault::protocol(Tag::InvalidValue, format!("the keys of '{name}' are missing")))
            }
        }
    }

    fn at_target(&self, before: Option<Node>) -> Result<Option<Node>, Fault> {
        let data = self.edit.data.clone();
        match (self.edit.op, before) {
            (Op::Create, Some(_)) => Err(self.fault(Tag::DataExists, "Data already exists")),
            (Op::Merge, Some(before)) => Ok(data.map(|data| merge(self.schema, before, data))),
            (Op::Create, None) | (Op::Merge, None) | (Op::Replace, _) => Ok(data),
            (Op::Delete, None) => Err(self.not_there()),
            (Op::Delete, Some(_)) | (Op::Remove, _) => Ok(None),
        }
    }

    fn fault(&self, tag: Tag, message: &str) -> Fault {
        Fault::protocol(tag, message).at_path(path::instance(self.schema, &self.edit.target))
    }

    fn not_there(&self) -> Fault {
        self.fault(Tag::DataMissing, "Data specified for delete doesn't exist.")
    }

    /// Where the child goes among its siblings: where it was, or where it is asked to go, or behind those of its kind.
    fn position(
        &self,
        children: &[Node],
        child: &Node,
        found: Option<usize>,
        place: Option<&Place>,
    ) -> Result<usize, Fault> {
        let alike = |other: &Node| other.schema == child.schema;
        let first = children.iter().position(alike);
        let last = children.iter().rposition(alike);
        let by_keys = |keys: &[Value]| {
            let entry =
                children.iter().position(|other| alike(other) && other.keys(self.schema) == keys);
            entry.ok_or_else(|| {
                self.fault(Tag::BadAttribute, "the entry that is named as the place is not there")
            })
        };
        match place {
            None => Ok(found
                .unwrap_or_else(|| last.map_or(children.len(), |last| last + 1))
                .min(children.len())),
            Some(Place::First) => Ok(first.unwrap_or(children.len())),
            Some(Place::Last) => Ok(last.map_or(children.len(), |last| last + 1)),
            Some(Place::Before(keys)) => by_keys(keys),
            Some(Place::After(keys)) => Ok(by_keys(keys)? + 1),
        }
    }
}
