//! OpenDaylight's id-manager: pools of ids in a tree of configuration, and RPCs that hand them out.
//!
//! It translates and nothing else: which id is next, what rests and what has expired is the core's. What each part knows:
//!
//! - `nodes`: the nodes of the modules, which are files in `yang/`
//! - `show`: how a pool looks in the tree; `read`: what a path names of it
//! - `call`: what an RPC asks of the core, and its answer
//! - `plan`: what edits of the tree ask of the core
//! - `faults`: refusals in the words of the original
//! - `notifications`: what has happened, for the event stream
//! - `settings`: where its releases differ
//!
//! A pool of ids that was made elsewhere, by the native interface, is shown and used like any other. There are no locks to be
//! seen in the lock-manager: nothing here needs one.

mod call;
mod faults;
mod nodes;
mod notifications;
mod plan;
mod read;
pub mod settings;
mod show;

use std::sync::Arc;

use allod_core::event::Event;
use allod_core::receipt::Receipt;
use allod_core::refusal::{BlocksRefusal, Refusal, Refused};
use allod_core::view::blocks as view;
use allod_engine::Snapshot;

use self::nodes::Nodes;
use self::read::Listed;
pub use self::settings::{Settings, UnknownKey};
use crate::fault::Fault;
use crate::model::{Called, Change, Content, Edit, Model, Output, Planned, Target};
use crate::tree::{Node, Source, Value};
use crate::yang::{NodeId, Schema};

/// The files of its modules, for [`Schema::compile`].
pub const MODULES: &[(&str, &str)] = &[
    ("id-manager.yang", include_str!("../yang/id-manager.yang")),
    ("lock-manager.yang", include_str!("../yang/lock-manager.yang")),
    ("allod-id-manager.yang", include_str!("../yang/allod-id-manager.yang")),
];

#[derive(Debug)]
pub struct IdManager {
    schema: Arc<Schema>,
    nodes: Arc<Nodes>,
    settings: Settings,
}

impl IdManager {
    /// The schema must have [`MODULES`] in it.
    pub fn new(schema: Arc<Schema>, settings: Settings) -> Result<IdManager, String> {
        let nodes = Arc::new(Nodes::of(&schema)?);
        Ok(IdManager { schema, nodes, settings })
    }

    /// The pool that the target is in, if it is in one that is there.
    fn pool_of(&self, snapshot: &Snapshot<'_>, target: &Target) -> Option<Arc<str>> {
        let Some(Value::Text(name)) = target.steps.get(1).and_then(|step| step.keys.first()) else {
            return None;
        };
        match read::listed(snapshot.state, &self.settings, name)? {
            Listed::Parent(pool) | Listed::Child(pool, _) => Some(pool),
        }
    }
}

impl Model for IdManager {
    fn modules(&self) -> &'static [&'static str] {
        &["id-manager", "lock-manager", "allod-id-manager"]
    }

    fn stream(&self) -> Option<&'static str> {
        Some(
            "pools of ids that are made, changed and deleted, and ids that are allocated and released",
        )
    }

    fn read(
        &self,
        snapshot: &Snapshot<'_>,
        target: &Target,
        content: Content,
    ) -> Result<Option<Box<dyn Source>>, Fault> {
        // All of it is configuration, as the original has it.
        if content == Content::State {
            return Ok(None);
        }
        Ok(read::read(&self.nodes, &self.settings, snapshot.state, target))
    }

    fn changed(&self, snapshot: &Snapshot<'_>, target: &Target) -> Option<Change> {
        let pool = self.pool_of(snapshot, target)?;
        let position = view::changed(snapshot.state, &pool)?;
        Some(Change { position, at_ms: None })
    }

    fn plan(
        &self,
        snapshot: &Snapshot<'_>,
        edits: &[Edit],
        unchanged: Option<&Target>,
    ) -> Result<Planned, Fault> {
        self.planned(snapshot, edits, unchanged)
    }

    fn stale(&self, refused: &Refused) -> bool {
        matches!(refused.refusal, Refusal::Blocks(BlocksRefusal::PoolChanged { .. }))
    }

    fn call(
        &self,
        snapshot: &Snapshot<'_>,
        operation: NodeId,
        _target: &Target,
        input: &[Node],
    ) -> Result<Called, Fault> {
        self.called(snapshot.state, operation, input)
    }

    fn output(&self, operation: NodeId, receipt: &Receipt) -> Output {
        self.answered(operation, receipt)
    }

    fn fault(&self, operation: Option<NodeId>, refused: &Refused) -> Fault {
        self.refused(operation, refused)
    }

    fn notifications(&self, event: &Event) -> Vec<Node> {
        notifications::told(&self.nodes, event).into_iter().collect()
    }
}
