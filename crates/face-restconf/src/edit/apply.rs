//! Applies one edit to a tree.

use super::merge::{excludes, is_implicit, merge};
use super::{InsertAt, data_exists, data_missing, ensure_matches, missing};
use crate::error::{ErrorTag, RestconfError, Result, invalid_value};
use crate::model::{Edit, EditOp, InstancePath, PathStep};
use crate::path;
use crate::tree::{DataNode, LeafValue, NodeBody, group};
use crate::yang::{NodeKind, Schema};

/// Applies the edit to the node at step `at` of its path (`None`: the node does not exist). Returns the new node.
pub fn apply(
    schema: &Schema,
    before: Option<DataNode>,
    at: usize,
    edit: &Edit,
) -> Result<Option<DataNode>> {
    match (&edit.data, edit.target.steps.last(), edit.op) {
        (Some(data), Some(step), EditOp::Create | EditOp::Merge | EditOp::Replace) => {
            ensure_matches(schema, step, data)?
        }
        (_, None, _) => {
            return Err(invalid_value("the path names no node"));
        }
        (None, _, EditOp::Create | EditOp::Merge | EditOp::Replace) => {
            return Err(RestconfError::protocol(ErrorTag::MissingElement, "the data is missing"));
        }
        (_, _, EditOp::Delete | EditOp::Remove) => {}
    }
    EditApplier { schema, edit }.at(before, at)
}

/// The node at the end of the path, within the node at its step `at`.
pub fn find<'n>(
    schema: &Schema,
    node: &'n DataNode,
    at: usize,
    target: &InstancePath,
) -> Option<&'n DataNode> {
    let mut node = node;
    for step in target.steps.get(at + 1..).unwrap_or_default() {
        node = node.children().iter().find(|child| is(schema, child, step))?;
    }
    Some(node)
}

fn is(schema: &Schema, node: &DataNode, step: &PathStep) -> bool {
    node.schema == step.node && (step.keys.is_empty() || node.keys(schema) == step.keys)
}

struct EditApplier<'a> {
    schema: &'a Schema,
    edit: &'a Edit,
}

impl EditApplier<'_> {
    fn steps(&self) -> &[PathStep] {
        &self.edit.target.steps
    }

    /// Recursion is as deep as the path is long.
    fn at(&self, before: Option<DataNode>, at: usize) -> Result<Option<DataNode>> {
        if at + 1 >= self.steps().len() {
            return self.at_target(before);
        }
        let creates = matches!(self.edit.op, EditOp::Create | EditOp::Merge | EditOp::Replace);
        let id = self.steps()[at].node;
        let mut children = match before {
            Some(DataNode { body: NodeBody::Inner(children), .. }) => children,
            Some(leaf) => return Ok(Some(leaf)),
            None if is_implicit(self.schema, id) && creates => Vec::new(),
            None if self.edit.op == EditOp::Remove => return Ok(None),
            None if self.edit.op == EditOp::Delete => {
                return Err(data_missing(self.schema, &self.edit.target));
            }
            None => return Err(missing(self.schema, &self.steps()[..=at])),
        };
        let step = &self.steps()[at + 1];
        let last = at + 2 == self.steps().len();
        if last && step.keys.is_empty() && self.is_repeated(step) {
            self.whole_list(&mut children, step)?;
            return Ok(Some(DataNode::inner(id, children)));
        }
        let found = children.iter().position(|child| is(self.schema, child, step));
        let before = found.map(|found| children.remove(found));
        match (self.at(before, at + 1)?, found) {
            (None, _) => {}
            (Some(child), found) => {
                children.retain(|other| !excludes(self.schema, child.schema, other.schema));
                let insert_at = self.edit.insert_at.as_ref().filter(|_| last);
                let position = self.position(&children, &child, found, insert_at)?;
                children.insert(position, child);
            }
        }
        group(&[], &mut children);
        Ok(Some(DataNode::inner(id, children)))
    }

    fn is_repeated(&self, step: &PathStep) -> bool {
        matches!(self.schema.node(step.node).kind, NodeKind::List | NodeKind::LeafList)
    }

    /// A whole list can only be deleted.
    fn whole_list(&self, children: &mut Vec<DataNode>, step: &PathStep) -> Result<()> {
        let before = children.len();
        children.retain(|child| child.schema != step.node);
        match self.edit.op {
            EditOp::Delete if children.len() == before => {
                Err(data_missing(self.schema, &self.edit.target))
            }
            EditOp::Delete | EditOp::Remove => Ok(()),
            EditOp::Create | EditOp::Merge | EditOp::Replace => {
                let name = &self.schema.node(step.node).name;
                Err(invalid_value(format!("the keys of '{name}' are missing")))
            }
        }
    }

    fn at_target(&self, before: Option<DataNode>) -> Result<Option<DataNode>> {
        let data = self.edit.data.clone();
        match (self.edit.op, before) {
            (EditOp::Create, Some(_)) => Err(data_exists(self.schema, &self.edit.target)),
            (EditOp::Merge, Some(before)) => Ok(data.map(|data| merge(self.schema, before, data))),
            (EditOp::Create, None) | (EditOp::Merge, None) | (EditOp::Replace, _) => Ok(data),
            (EditOp::Delete, None) => Err(data_missing(self.schema, &self.edit.target)),
            (EditOp::Delete, Some(_)) | (EditOp::Remove, _) => Ok(None),
        }
    }

    fn error(&self, tag: ErrorTag, message: &str) -> RestconfError {
        RestconfError::protocol(tag, message)
            .at_path(path::instance(self.schema, &self.edit.target))
    }

    /// The index of the child among its siblings: its old one, the requested one, or after those of its kind.
    fn position(
        &self,
        children: &[DataNode],
        child: &DataNode,
        found: Option<usize>,
        insert_at: Option<&InsertAt>,
    ) -> Result<usize> {
        let alike = |other: &DataNode| other.schema == child.schema;
        let first = children.iter().position(alike);
        let last = children.iter().rposition(alike);
        let by_keys = |keys: &[LeafValue]| {
            let entry =
                children.iter().position(|other| alike(other) && other.keys(self.schema) == keys);
            entry.ok_or_else(|| {
                self.error(ErrorTag::BadAttribute, "the entry that the point names does not exist")
            })
        };
        match insert_at {
            None => Ok(found
                .unwrap_or_else(|| last.map_or(children.len(), |last| last + 1))
                .min(children.len())),
            Some(InsertAt::First) => Ok(first.unwrap_or(children.len())),
            Some(InsertAt::Last) => Ok(last.map_or(children.len(), |last| last + 1)),
            Some(InsertAt::Before(keys)) => by_keys(keys),
            Some(InsertAt::After(keys)) => Ok(by_keys(keys)? + 1),
        }
    }
}
