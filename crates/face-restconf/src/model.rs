//! What a model is to the protocol: something to read, to edit and to call.
//!
//! A model knows what its nodes mean and nothing of HTTP, JSON or XML; the protocol knows all of that and no model.

use allod_core::command::Command;
use allod_core::event::Event;
use allod_core::receipt::Receipt;
use allod_core::refusal::Refused;
use allod_engine::Snapshot;

use crate::edit::Place;
use crate::fault::Fault;
use crate::tree::{Node, Source, Value};
use crate::yang::NodeId;

/// What a path names: from the top of the data down. Empty: the whole datastore.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Target {
    pub steps: Vec<Step>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    pub node: NodeId,
    /// The keys of a list entry in the order of the schema, or the one value of a leaf-list entry. Empty: the step is a
    /// container or a leaf, or names the list as a whole.
    pub keys: Vec<Value>,
}

/// Which of the data is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content {
    All,
    Config,
    State,
}

/// What an edit does at its target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Op {
    /// Refused when it is there.
    Create,
    Merge,
    Replace,
    /// Refused when it is not there.
    Delete,
    /// Like delete, but nothing is wrong when it is not there.
    Remove,
}

/// One edit of a request. `data` is the target itself, with the keys of its last step, and absent for a delete.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    pub op: Op,
    pub target: Target,
    pub data: Option<Node>,
    /// Only for an entry of a list, or a value of a leaf-list, that is ordered by its user. `None`: where it is, or last.
    pub place: Option<Place>,
}

/// What the edits of a request come to.
#[derive(Debug)]
pub struct Planned {
    /// `None`: everything is as it should be already.
    pub command: Option<Command>,
    /// For each edit, whether its target was not there before: 201 rather than 204.
    pub created: Vec<bool>,
}

/// When something changed last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Change {
    /// The position of the journal.
    pub position: u64,
    /// In milliseconds since 1970, where that is known.
    pub at_ms: Option<u64>,
}

/// What a call was answered with: the children of its output, none for no output.
pub type Output = Vec<Node>;

pub trait Model: Send + Sync {
    /// The modules whose data, operations and notifications it answers for. The first gives its name to the event stream.
    fn modules(&self) -> &'static [&'static str];

    /// What its event stream tells, in a sentence. `None`: it has no notifications, and no stream.
    fn stream(&self) -> Option<&'static str> {
        None
    }

    /// What is at the target, taken at once and walked later: the walk yields the target node itself (for a list as a whole,
    /// each entry) and all that is below it. `None`: it is not there. The steps may lead anywhere in the model.
    fn read(
        &self,
        snapshot: &Snapshot<'_>,
        target: &Target,
        content: Content,
    ) -> Result<Option<Box<dyn Source>>, Fault>;

    /// When the target, or anything below it, changed last. `None`: it cannot tell, and the newest position counts.
    fn changed(&self, _snapshot: &Snapshot<'_>, _target: &Target) -> Option<Change> {
        None
    }

    /// All edits of one request as one command. It may look at the snapshot; what it saw must be part of the command, so
    /// that the core refuses when it is no longer so ([`Model::stale`]). A fault may say which edit it is about.
    ///
    /// `unchanged`: the request rests on this target being as the snapshot has it, down to the last leaf (If-Match). If it
    /// is no longer so when the command is decided, it must be refused, and the refusal must be stale.
    fn plan(
        &self,
        snapshot: &Snapshot<'_>,
        edits: &[Edit],
        unchanged: Option<&Target>,
    ) -> Result<Planned, Fault>;

    /// Whether a refusal only says that the plan was made on an older state: it is made again.
    fn stale(&self, refused: &Refused) -> bool;

    /// The command that a call of an RPC or an action means. `target` is where an action stands, empty for an RPC.
    fn call(
        &self,
        snapshot: &Snapshot<'_>,
        operation: NodeId,
        target: &Target,
        input: &[Node],
    ) -> Result<Called, Fault>;

    /// What the call is answered with.
    fn output(&self, operation: NodeId, receipt: &Receipt) -> Output;

    /// A refusal in the words of the model. `operation`: the call that was refused, `None` for an edit.
    fn fault(&self, operation: Option<NodeId>, refused: &Refused) -> Fault;

    /// The notifications that an event becomes, each the notification's own node.
    fn notifications(&self, event: &Event) -> Vec<Node>;

    /// The notifications that all events of one entry become, for a model that has to see them together.
    fn told(&self, events: &[Event]) -> Vec<Node> {
        events.iter().flat_map(|event| self.notifications(event)).collect()
    }
}

/// What a call comes to.
pub enum Called {
    Command(Command),
    /// What the receipt of the command means hangs on what was asked.
    CommandThen(Command, Answering),
    /// It only reads.
    Answer(Output),
}

/// What a call is answered with, once its command has been carried out.
pub type Answering = Box<dyn FnOnce(&Receipt) -> Output + Send>;

impl std::fmt::Debug for Called {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Called::Command(command) | Called::CommandThen(command, _) => {
                f.debug_tuple("Command").field(command).finish()
            }
            Called::Answer(output) => f.debug_tuple("Answer").field(output).finish(),
        }
    }
}
