//! YANG Patch (RFC 8072): several edits in one request, in their order, and the status that tells how each went.
//!
//! What follows from the edits together is the model's; here they are read, and applied one by one to a tree.

mod json;
mod status;
mod xml;

pub use self::status::{Status, write_status};

use super::{Place, apply, find};
use crate::codec::{Dialect, Format};
use crate::fault::{Fault, Tag};
use crate::model::{Edit, Op, Target};
use crate::path;
use crate::tree::Node;
use crate::yang::{NodeId, Schema};

/// Edits in one patch; a request of the largest size could carry many more.
pub const EDITS_MAX: usize = 10_000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Patch {
    pub id: String,
    pub edits: Vec<PatchEdit>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PatchOp {
    Create,
    Delete,
    Insert,
    Merge,
    Move,
    Replace,
    Remove,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PatchEdit {
    pub id: String,
    pub op: PatchOp,
    /// From the datastore down, whatever the request was sent to.
    pub target: Target,
    pub data: Option<Node>,
    /// Of an insert or a move.
    pub place: Option<Place>,
}

impl PatchEdit {
    /// The same as an edit; a move is `None`, for it needs to know what is there.
    pub fn edit(&self) -> Option<Edit> {
        let op = match self.op {
            PatchOp::Create | PatchOp::Insert => Op::Create,
            PatchOp::Delete => Op::Delete,
            PatchOp::Merge => Op::Merge,
            PatchOp::Replace => Op::Replace,
            PatchOp::Remove => Op::Remove,
            PatchOp::Move => return None,
        };
        Some(Edit {
            op,
            target: self.target.clone(),
            data: self.data.clone(),
            place: self.place.clone(),
        })
    }

    /// A move as an edit, once one knows what is moved: it is put in its own place, elsewhere.
    pub fn moving(&self, moved: Node) -> Edit {
        Edit {
            op: Op::Replace,
            target: self.target.clone(),
            data: Some(moved),
            place: self.place.clone(),
        }
    }

    /// What becomes of the tree that stands at step `at` of the target.
    pub fn apply(
        &self,
        schema: &Schema,
        before: Option<Node>,
        at: usize,
    ) -> Result<Option<Node>, Fault> {
        if let Some(edit) = self.edit() {
            return apply(schema, before, at, &edit);
        }
        let moved = before.as_ref().and_then(|node| find(schema, node, at, &self.target)).cloned();
        let Some(moved) = moved else {
            let fault = Fault::protocol(Tag::DataMissing, "what is to be moved does not exist");
            return Err(fault.at_path(path::instance(schema, &self.target)));
        };
        apply(schema, before, at, &self.moving(moved))
    }
}

/// Reads the body of a patch that was sent to the base.
pub fn read(schema: &Schema, base: &Target, format: Format, bytes: &[u8]) -> Result<Patch, Fault> {
    match format {
        Format::Json => json::read(schema, base, bytes),
        Format::Xml => xml::read(schema, base, bytes),
    }
}

/// What both forms have of an edit, as text.
#[derive(Debug, Default, Clone)]
struct Draft {
    id: Option<String>,
    operation: Option<String>,
    target: Option<String>,
    point: Option<String>,
    place: Option<String>,
}

impl Draft {
    /// The edit without its value, and the parent that the value is a child of.
    fn understood(
        self,
        schema: &Schema,
        base: &Target,
    ) -> Result<(PatchEdit, Option<NodeId>), Fault> {
        let id = self.id.ok_or_else(|| absent("edit-id"))?;
        let op = match self.operation.as_deref() {
            Some("create") => PatchOp::Create,
            Some("delete") => PatchOp::Delete,
            Some("insert") => PatchOp::Insert,
            Some("merge") => PatchOp::Merge,
            Some("move") => PatchOp::Move,
            Some("replace") => PatchOp::Replace,
            Some("remove") => PatchOp::Remove,
            Some(other) => return Err(wrong(format!("'{other}' is no operation"))),
            None => return Err(absent("operation")),
        };
        let target = self.target.ok_or_else(|| absent("target"))?;
        let target = path::parse_below(schema, Dialect::Rfc8040, base, &target)?;
        let Some(step) = target.steps.last() else {
            return Err(wrong(format!("edit '{id}' is for the whole datastore")));
        };
        let placed = matches!(op, PatchOp::Insert | PatchOp::Move);
        if placed && !schema.node(step.node).user_ordered {
            return Err(wrong(format!("edit '{id}' is for lists that are ordered by the user")));
        }
        let place = match (placed, self.place.as_deref(), self.point) {
            (false, None, None) => None,
            (false, _, _) => {
                return Err(wrong(format!(
                    "edit '{id}' has a place that its operation has no use for"
                )));
            }
            (true, None | Some("last"), None) => Some(Place::Last),
            (true, Some("first"), None) => Some(Place::First),
            (true, Some(place @ ("before" | "after")), Some(point)) => {
                let point = path::parse_below(schema, Dialect::Rfc8040, base, &point)?;
                let keys = match point.steps.last() {
                    Some(other) if other.node == step.node && !other.keys.is_empty() => {
                        other.keys.clone()
                    }
                    _ => {
                        return Err(wrong(format!(
                            "the point of edit '{id}' is not in the same list"
                        )));
                    }
                };
                Some(if place == "before" { Place::Before(keys) } else { Place::After(keys) })
            }
            (true, _, _) => return Err(wrong(format!("edit '{id}' has no place that is one"))),
        };
        let parent = schema.node(step.node).parent;
        Ok((PatchEdit { id, op, target, data: None, place }, parent))
    }
}

impl PatchEdit {
    /// The edit with its value, which some operations must have and others cannot.
    fn with_value(mut self, mut value: Option<Vec<Node>>) -> Result<PatchEdit, Fault> {
        let wants = matches!(
            self.op,
            PatchOp::Create | PatchOp::Insert | PatchOp::Merge | PatchOp::Replace
        );
        self.data = match (wants, value.as_mut().map(|nodes| (nodes.len(), nodes.pop()))) {
            (true, Some((1, Some(node)))) => Some(node),
            (true, Some(_)) => {
                return Err(wrong(format!("the value of edit '{}' is not one node", self.id)));
            }
            (true, None) => return Err(absent("value")),
            (false, None) => None,
            (false, Some(_)) => {
                return Err(wrong(format!("edit '{}' has no use for a value", self.id)));
            }
        };
        Ok(self)
    }
}

fn unrepeated(edits: &[PatchEdit]) -> Result<(), Fault> {
    let mut ids: Vec<&str> = edits.iter().map(|edit| edit.id.as_str()).collect();
    ids.sort_unstable();
    match ids.windows(2).find(|pair| pair[0] == pair[1]) {
        None => Ok(()),
        Some(pair) => Err(wrong(format!("edit '{}' is there twice", pair[0]))),
    }
}

fn absent(name: &str) -> Fault {
    Fault::protocol(Tag::MalformedMessage, format!("Error parsing input: '{name}' is missing"))
}

fn wrong(message: String) -> Fault {
    Fault::protocol(Tag::MalformedMessage, format!("Error parsing input: {message}"))
}
