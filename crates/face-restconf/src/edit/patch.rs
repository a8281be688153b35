//! YANG Patch (RFC 8072): an ordered list of edits in one request, and a status for each.
//!
//! Here patches are parsed, and applied edit by edit to a tree. The model combines the edits of a request.

mod json;
mod status;
mod xml;

pub use self::status::{PatchStatus, write_status};

use super::InsertAt;
use crate::codec::{Dialect, Encoding};
use crate::error::{ErrorTag, RestconfError, Result};
use crate::model::{Edit, EditOp, InstancePath};
use crate::path;
use crate::tree::DataNode;
use crate::yang::{NodeId, Schema};

const NAMESPACE: &str = "urn:ietf:params:xml:ns:yang:ietf-yang-patch";

/// The maximum number of edits in one patch, if no limit is configured.
pub const EDITS_MAX: u64 = 10_000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct YangPatch {
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
    /// The path from the datastore, also if the request's own path is deeper.
    pub target: InstancePath,
    pub data: Option<DataNode>,
    /// For `insert` and `move`.
    pub insert_at: Option<InsertAt>,
}

impl PatchEdit {
    /// The equivalent plain edit; `None` for a move, which depends on the existing data.
    pub fn edit(&self) -> Option<Edit> {
        let op = match self.op {
            PatchOp::Create | PatchOp::Insert => EditOp::Create,
            PatchOp::Delete => EditOp::Delete,
            PatchOp::Merge => EditOp::Merge,
            PatchOp::Replace => EditOp::Replace,
            PatchOp::Remove => EditOp::Remove,
            PatchOp::Move => return None,
        };
        Some(self.with_data(op, self.data.clone()))
    }

    /// The equivalent edit of a move: the existing node replaces itself at another position.
    pub fn moving(&self, moved: DataNode) -> Edit {
        self.with_data(EditOp::Replace, Some(moved))
    }

    fn with_data(&self, op: EditOp, data: Option<DataNode>) -> Edit {
        Edit { insert_at: self.insert_at.clone(), ..Edit::new(op, self.target.clone(), data) }
    }
}

/// Reads a patch of at most `edits_max` edits that was sent to the path `base`.
pub fn read(
    schema: &Schema,
    base: &InstancePath,
    encoding: Encoding,
    bytes: &[u8],
    edits_max: u64,
) -> Result<YangPatch> {
    match encoding {
        Encoding::Json => json::read(schema, base, bytes, edits_max),
        Encoding::Xml => xml::read(schema, base, bytes, edits_max),
    }
}

/// The error for a request with more edits than `edits_per_request_max`.
pub(crate) fn too_many_edits(max: u64) -> RestconfError {
    let message = format!(
        "the request has more than {max} edits; edits_per_request_max is {max}; send several requests"
    );
    RestconfError::protocol(ErrorTag::TooBig, message)
}

/// The text fields of an edit, in JSON or XML.
#[derive(Debug, Default, Clone)]
struct UnparsedEdit {
    id: Option<String>,
    operation: Option<String>,
    target: Option<String>,
    point: Option<String>,
    insert_at: Option<String>,
}

impl UnparsedEdit {
    /// Returns the edit without its value, and the parent of the value.
    fn resolve(self, schema: &Schema, base: &InstancePath) -> Result<(PatchEdit, Option<NodeId>)> {
        let id = self.id.ok_or_else(|| absent("edit-id"))?;
        let op = match self.operation.as_deref() {
            Some("create") => PatchOp::Create,
            Some("delete") => PatchOp::Delete,
            Some("insert") => PatchOp::Insert,
            Some("merge") => PatchOp::Merge,
            Some("move") => PatchOp::Move,
            Some("replace") => PatchOp::Replace,
            Some("remove") => PatchOp::Remove,
            Some(other) => return Err(wrong(format!("unknown operation '{other}'"))),
            None => return Err(absent("operation")),
        };
        let target = self.target.ok_or_else(|| absent("target"))?;
        let target = path::parse_below(schema, Dialect::Rfc8040, base, &target)?;
        let Some(step) = target.steps.last() else {
            return Err(wrong(format!("edit '{id}' has the whole datastore as its target")));
        };
        let placed = matches!(op, PatchOp::Insert | PatchOp::Move);
        if placed && !schema.node(step.node).user_ordered {
            return Err(wrong(format!(
                "the operation of edit '{id}' requires a list with ordered-by user"
            )));
        }
        let insert_at = match (placed, self.insert_at.as_deref(), self.point) {
            (false, None, None) => None,
            (false, _, _) => {
                return Err(wrong(format!(
                    "edit '{id}' has 'where' or 'point', which its operation does not take"
                )));
            }
            (true, None | Some("last"), None) => Some(InsertAt::Last),
            (true, Some("first"), None) => Some(InsertAt::First),
            (true, Some(insert_at @ ("before" | "after")), Some(point)) => {
                let point = path::parse_below(schema, Dialect::Rfc8040, base, &point)?;
                let beside = point.steps.last().filter(|other| other.node == step.node);
                let Some(keys) = beside.map(|other| other.keys.clone()).filter(|k| !k.is_empty())
                else {
                    return Err(wrong(format!(
                        "the point of edit '{id}' does not name an entry of the same list"
                    )));
                };
                let before = insert_at == "before";
                Some(if before { InsertAt::Before(keys) } else { InsertAt::After(keys) })
            }
            (true, _, _) => {
                return Err(wrong(format!("edit '{id}' has an invalid 'where' or 'point'")));
            }
        };
        let parent = schema.node(step.node).parent;
        Ok((PatchEdit { id, op, target, data: None, insert_at }, parent))
    }
}

impl PatchEdit {
    /// Adds the value, and checks whether the operation requires or forbids one.
    fn with_value(mut self, mut value: Option<Vec<DataNode>>) -> Result<PatchEdit> {
        let wants = matches!(
            self.op,
            PatchOp::Create | PatchOp::Insert | PatchOp::Merge | PatchOp::Replace
        );
        self.data = match (wants, value.as_mut().map(|nodes| (nodes.len(), nodes.pop()))) {
            (true, Some((1, Some(node)))) => Some(node),
            (true, Some(_)) => {
                let message = format!("the value of edit '{}' must be exactly one node", self.id);
                return Err(wrong(message));
            }
            (true, None) => return Err(absent("value")),
            (false, None) => None,
            (false, Some(_)) => {
                return Err(wrong(format!(
                    "edit '{}' has a value, which its operation does not take",
                    self.id
                )));
            }
        };
        Ok(self)
    }
}

fn ensure_unique(edits: &[PatchEdit]) -> Result<()> {
    let mut ids: Vec<&str> = edits.iter().map(|edit| edit.id.as_str()).collect();
    ids.sort_unstable();
    match ids.windows(2).find(|pair| pair[0] == pair[1]) {
        None => Ok(()),
        Some(pair) => Err(wrong(format!("edit '{}' occurs more than once", pair[0]))),
    }
}

fn absent(name: &str) -> RestconfError {
    wrong(format!("'{name}' is missing"))
}

fn wrong(message: String) -> RestconfError {
    RestconfError::protocol(ErrorTag::MalformedMessage, format!("Error parsing input: {message}"))
}
