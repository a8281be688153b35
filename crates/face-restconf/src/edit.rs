//! What an edit does to a tree, and whether the outcome is whole.
//!
//! An edit is applied to the tree at one step of its target, which is as much as the model has at hand: an entry of a list, a
//! container. What `must` and `when` say is the model's to check.

mod apply;
mod merge;
pub mod patch;
mod validate;

pub use self::apply::{apply, find};
pub use self::validate::{validate, validate_input};

use crate::fault::{Fault, Tag};
use crate::model::{Step, Target};
use crate::path;
use crate::tree::{Node, Value};
use crate::yang::Schema;

/// Where among the entries of a list that the user orders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    First,
    Last,
    /// By the keys of the other entry.
    Before(Vec<Value>),
    After(Vec<Value>),
}

/// Whether the node is what the step names: keys in the body are those of the path.
pub fn agrees(schema: &Schema, step: &Step, node: &Node) -> Result<(), Fault> {
    if step.node == node.schema && (step.keys.is_empty() || step.keys == node.keys(schema)) {
        return Ok(());
    }
    let name = &schema.node(step.node).name;
    let message = match step.node == node.schema {
        true => format!("the keys of '{name}' in the body are not those of the path"),
        false => {
            format!("the body is '{}', the path names '{name}'", schema.node(node.schema).name)
        }
    };
    Err(Fault::protocol(Tag::InvalidValue, message).at_path(schema.path(step.node)))
}

fn missing(schema: &Schema, steps: &[Step]) -> Fault {
    let target = Target { steps: steps.to_vec() };
    Fault::protocol(Tag::DataMissing, "what contains the target does not exist")
        .at_path(path::instance(schema, &target))
}
