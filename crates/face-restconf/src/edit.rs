//! Applies edits to a tree, and validates the result.
//!
//! An edit is applied to a subtree: the node at one step of its path, such as a list entry or a container. Not here: `must`
//! and `when`, which the model checks.

mod apply;
mod merge;
pub mod patch;
mod validate;

pub use self::apply::{apply, find};
pub use self::validate::{validate, validate_input};

use crate::error::{ErrorTag, RestconfError, Result, invalid_value};
use crate::model::{Edit, EditOp, InstancePath, PathStep};
use crate::path;
use crate::tree::{DataNode, LeafValue};
use crate::yang::Schema;

/// Where to insert an entry of a list with `ordered-by user`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InsertAt {
    First,
    Last,
    /// The keys of the other entry.
    Before(Vec<LeafValue>),
    After(Vec<LeafValue>),
}

/// Checks that the node in the body is the one that the path names, with the same keys.
pub fn ensure_matches(schema: &Schema, step: &PathStep, node: &DataNode) -> Result<()> {
    if step.node == node.schema && (step.keys.is_empty() || step.keys == node.keys(schema)) {
        return Ok(());
    }
    let name = &schema.node(step.node).name;
    let message = match step.node == node.schema {
        true => format!("the keys of '{name}' in the body differ from those in the path"),
        false => {
            format!("the body has '{}', but the path names '{name}'", schema.node(node.schema).name)
        }
    };
    Err(invalid_value(message).at_path(schema.path(step.node)))
}

/// The error of `Create` for an existing target. The text is OpenDaylight's.
pub(crate) fn data_exists(schema: &Schema, target: &InstancePath) -> RestconfError {
    RestconfError::protocol(ErrorTag::DataExists, "Data already exists")
        .at_path(path::instance(schema, target))
}

/// The error of `Delete` for a missing target. The text is OpenDaylight's.
pub(crate) fn data_missing(schema: &Schema, target: &InstancePath) -> RestconfError {
    RestconfError::protocol(ErrorTag::DataMissing, "Data specified for delete doesn't exist.")
        .at_path(path::instance(schema, target))
}

/// Refuses to create what exists, and to delete what does not.
pub(crate) fn ensure_possible(schema: &Schema, edit: &Edit, exists: bool) -> Result<()> {
    match edit.op {
        EditOp::Create if exists => Err(data_exists(schema, &edit.target)),
        EditOp::Delete if !exists => Err(data_missing(schema, &edit.target)),
        _ => Ok(()),
    }
}

/// Whether the target of the edit is missing in the node at step `at` of its path.
pub(crate) fn is_new(schema: &Schema, node: Option<&DataNode>, at: usize, edit: &Edit) -> bool {
    node.is_none_or(|node| find(schema, node, at, &edit.target).is_none())
}

fn missing(schema: &Schema, steps: &[PathStep]) -> RestconfError {
    let target = InstancePath { steps: steps.to_vec() };
    RestconfError::protocol(ErrorTag::DataMissing, "the parent of the target does not exist")
        .at_path(path::instance(schema, &target))
}
