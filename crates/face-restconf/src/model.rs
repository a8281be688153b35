//! The interface between the protocol and a YANG model.
//!
//! A model knows what its nodes mean, and nothing about HTTP, JSON or XML. The protocol knows those, and no model.

use std::sync::Arc;

use allod_core::command::Command;
use allod_core::event::Event;
use allod_core::receipt::Receipt;
use allod_core::refusal::Refused;
use allod_engine::Snapshot;

use crate::edit::InsertAt;
use crate::error::{RestconfError, Result};
use crate::tree::{DataNode, LeafValue, NodeSource};
use crate::yang::NodeId;

/// The path of a data node, from the top of the datastore down. Empty: the whole datastore.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct InstancePath {
    pub steps: Vec<PathStep>,
}

impl InstancePath {
    /// The first key of a step, if it is text.
    pub(crate) fn name_at(&self, step: usize) -> Option<&Arc<str>> {
        self.steps.get(step)?.keys.first()?.as_text()
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathStep {
    pub node: NodeId,
    /// The keys of a list entry in schema order, or the value of a leaf-list entry. Empty for a container, a leaf, or a list
    /// as a whole.
    pub keys: Vec<LeafValue>,
}

/// The `content` parameter: which data nodes to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content {
    All,
    Config,
    State,
}

/// The operation of an edit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EditOp {
    /// Fails if the target exists.
    Create,
    Merge,
    Replace,
    /// Fails if the target does not exist.
    Delete,
    /// Like `Delete`, but succeeds if the target does not exist.
    Remove,
}

impl EditOp {
    /// Whether the operation removes its target.
    pub fn is_deletion(self) -> bool {
        matches!(self, EditOp::Delete | EditOp::Remove)
    }

    /// The operation for the entries of a list that is edited as a whole.
    pub(crate) fn of_entries(self) -> EditOp {
        if self == EditOp::Merge { EditOp::Merge } else { EditOp::Replace }
    }
}

/// One edit of a request. `data` is the target node itself, with the keys of its last step; `None` for a delete.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    pub op: EditOp,
    pub target: InstancePath,
    pub data: Option<DataNode>,
    /// Only for an entry of a list or leaf-list with `ordered-by user`. `None`: keep the position; a new entry goes last.
    pub insert_at: Option<InsertAt>,
}

impl Edit {
    pub fn new(op: EditOp, target: InstancePath, data: Option<DataNode>) -> Edit {
        Edit { op, target, data, insert_at: None }
    }
}

/// The edits of one request.
#[derive(Debug, Clone, Copy)]
pub struct RequestedEdits<'a> {
    pub edits: &'a [Edit],
    /// The request requires (If-Match) that this target is exactly as in the snapshot. If it changes before the command is
    /// decided, the core must refuse the command, and the refusal must be stale.
    pub unchanged: Option<&'a InstancePath>,
}

impl RequestedEdits<'_> {
    /// Applies the edits in order. Returns for each whether it creates its target.
    pub fn apply_each(&self, mut apply: impl FnMut(&Edit) -> Result<bool>) -> Result<Vec<bool>> {
        let numbered = self.edits.iter().enumerate();
        numbered.map(|(n, edit)| apply(edit).map_err(|error| error.of_edit(n))).collect()
    }
}

/// The call of an RPC or an action.
#[derive(Debug, Clone, Copy)]
pub struct OperationCall<'a> {
    pub operation: NodeId,
    /// The node that has the action; empty for an RPC.
    pub target: &'a InstancePath,
    pub input: &'a [DataNode],
}

/// The command for the edits of a request.
#[derive(Debug)]
pub struct EditPlan {
    /// `None`: the data is already as requested.
    pub command: Option<Command>,
    /// For each edit, whether it creates its target (201 instead of 204).
    pub created: Vec<bool>,
}

/// When a resource last changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LastChange {
    /// The journal position.
    pub position: u64,
    /// Milliseconds since 1970, if known.
    pub at_ms: Option<u64>,
}

/// The children of an operation's `output` node. Empty: no output.
pub type OperationOutput = Vec<DataNode>;

pub trait YangModel: Send + Sync {
    /// The modules that this model implements. The first one names its event stream.
    fn modules(&self) -> &'static [&'static str];

    /// One sentence that describes the event stream. `None`: the model has no notifications and no stream.
    fn stream(&self) -> Option<&'static str> {
        None
    }

    /// Captures the target from the snapshot, for a later walk. The walk yields the target node (for a whole list, each
    /// entry) and everything below it. `None`: the target does not exist. The path may lead to any node of the model.
    fn read(
        &self,
        snapshot: &Snapshot<'_>,
        target: &InstancePath,
        content: Content,
    ) -> Result<Option<Box<dyn NodeSource>>>;

    /// Whether the target exists.
    fn exists(&self, snapshot: &Snapshot<'_>, target: &InstancePath) -> Result<bool> {
        Ok(self.read(snapshot, target, Content::All)?.is_some())
    }

    /// The number of pools and alarms that a read or a replacement of a target without list keys looks at.
    fn tree_size(&self, _snapshot: &Snapshot<'_>) -> usize {
        0
    }

    /// When the target or anything below it last changed. `None`: unknown; the newest position is used.
    fn changed(&self, _snapshot: &Snapshot<'_>, _target: &InstancePath) -> Option<LastChange> {
        None
    }

    /// Turns all edits of one request into one command. The command must contain everything that the model read from the
    /// snapshot, so that the core refuses it if that has changed ([`YangModel::is_stale`]). An error may name the edit that
    /// caused it.
    fn plan(&self, snapshot: &Snapshot<'_>, edits: RequestedEdits<'_>) -> Result<EditPlan>;

    /// Whether the target is state that a client with the role allocator can write, depending on the data.
    fn is_answerable(&self, _target: &InstancePath) -> bool {
        false
    }

    /// Whether the target is state that such a client can write now.
    fn takes_answer(&self, _snapshot: &Snapshot<'_>, _target: &InstancePath) -> bool {
        false
    }

    /// Whether the refusal only means that the plan used an older state. The protocol then plans again.
    fn is_stale(&self, refused: &Refused) -> bool;

    /// The command for a call of an RPC or an action.
    fn call(&self, snapshot: &Snapshot<'_>, call: OperationCall<'_>) -> Result<CallPlan>;

    /// The RESTCONF error for a refusal. `operation`: the operation that was called; `None` for an edit.
    fn error(&self, operation: Option<NodeId>, refused: &Refused) -> RestconfError;

    /// The notifications for the events of one journal entry.
    fn notifications(&self, _events: &[Event]) -> Vec<DataNode> {
        Vec::new()
    }
}

/// How to answer a call.
pub enum CallPlan {
    Command(Box<Command>, OutputFn),
    /// Nothing to write: the output is already known.
    Answer(OperationOutput),
}

/// Makes the output of a call from the receipt of its command.
pub type OutputFn = Box<dyn FnOnce(&Receipt) -> OperationOutput + Send>;

impl std::fmt::Debug for CallPlan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            CallPlan::Command(command, _) => f.debug_tuple("Command").field(command).finish(),
            CallPlan::Answer(output) => f.debug_tuple("Answer").field(output).finish(),
        }
    }
}
