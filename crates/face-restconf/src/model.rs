//! The interface between the protocol and a YANG model.
//!
//! A model knows what its nodes mean, and nothing about HTTP, JSON or XML. The protocol knows those, and no model.

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

/// One edit of a request. `data` is the target node itself, with the keys of its last step; `None` for a delete.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    pub op: EditOp,
    pub target: InstancePath,
    pub data: Option<DataNode>,
    /// Only for an entry of a list or leaf-list with `ordered-by user`. `None`: keep the position; a new entry goes last.
    pub insert_at: Option<InsertAt>,
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

    /// When the target or anything below it last changed. `None`: unknown; the newest position is used.
    fn changed(&self, _snapshot: &Snapshot<'_>, _target: &InstancePath) -> Option<LastChange> {
        None
    }

    /// Turns all edits of one request into one command. The command must contain everything that the model read from the
    /// snapshot, so that the core refuses it if that has changed ([`YangModel::is_stale`]). An error may name the edit that
    /// caused it.
    ///
    /// `unchanged`: the request requires (If-Match) that this target is exactly as in the snapshot. If it changes before the
    /// command is decided, the core must refuse the command, and the refusal must be stale.
    fn plan(
        &self,
        snapshot: &Snapshot<'_>,
        edits: &[Edit],
        unchanged: Option<&InstancePath>,
    ) -> Result<EditPlan>;

    /// Whether the refusal only means that the plan used an older state. The protocol then plans again.
    fn is_stale(&self, refused: &Refused) -> bool;

    /// The command for a call of an RPC or an action. `target` is the node that has the action; empty for an RPC.
    fn call(
        &self,
        snapshot: &Snapshot<'_>,
        operation: NodeId,
        target: &InstancePath,
        input: &[DataNode],
    ) -> Result<CallPlan>;

    /// The output for the receipt of the call's command.
    fn output(&self, operation: NodeId, receipt: &Receipt) -> OperationOutput;

    /// The RESTCONF error for a refusal. `operation`: the operation that was called; `None` for an edit.
    fn error(&self, operation: Option<NodeId>, refused: &Refused) -> RestconfError;

    /// The notifications for an event.
    fn notifications(&self, event: &Event) -> Vec<DataNode>;

    /// The notifications for all events of one journal entry. Overridden by a model that must see the events together.
    fn entry_notifications(&self, events: &[Event]) -> Vec<DataNode> {
        events.iter().flat_map(|event| self.notifications(event)).collect()
    }
}

/// How to answer a call.
pub enum CallPlan {
    Command(Command),
    /// The output depends on the receipt and on the input of the call.
    CommandThen(Command, OutputFn),
    /// Nothing to write: the output is already known.
    Answer(OperationOutput),
}

/// Makes the output of a call from the receipt of its command.
pub type OutputFn = Box<dyn FnOnce(&Receipt) -> OperationOutput + Send>;

impl std::fmt::Debug for CallPlan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            CallPlan::Command(command) | CallPlan::CommandThen(command, _) => {
                f.debug_tuple("Command").field(command).finish()
            }
            CallPlan::Answer(output) => f.debug_tuple("Answer").field(output).finish(),
        }
    }
}
