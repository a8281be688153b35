//! OpenDaylight's id-manager: id pools as configuration data, and RPCs that allocate and release ids.
//!
//! It only translates; the core decides which id is next and what has expired.
//!
//! - `nodes`: the schema nodes of the modules
//! - `show`: writes a pool as data; `read`: finds the data that a path names
//! - `call`: turns RPCs into commands, and receipts into outputs
//! - `plan`: turns edits into commands
//! - `refusals`: refusals with OpenDaylight's error texts
//! - `notifications`: events as notifications
//! - `settings`: behaviour in which releases of OpenDaylight differ
//!
//! A pool that was created through another interface can be read and used like any other. The lock-manager module is served,
//! but has no data: no locks are needed.

mod call;
mod nodes;
mod notifications;
mod plan;
mod read;
mod refusals;
pub mod settings;
mod show;

use std::sync::Arc;

use allod_core::event::Event;
use allod_core::refusal::{BlocksRefusal, Refusal, Refused};
use allod_core::view::blocks as view;
use allod_core::view::pool_count;
use allod_engine::Snapshot;

use self::nodes::IdManagerNodes;
use self::read::PoolEntry;
pub use self::settings::{IdManagerSettings, UnknownKey};
use crate::error::{RestconfError, Result};
use crate::model::{
    CallPlan, Content, EditPlan, InstancePath, LastChange, OperationCall, RequestedEdits, YangModel,
};
use crate::tree::{DataNode, NodeSource};
use crate::yang::{NodeId, Schema};

/// The module files, for [`Schema::compile`].
pub const MODULES: &[(&str, &str)] = &[
    ("id-manager.yang", include_str!("../yang/id-manager.yang")),
    ("lock-manager.yang", include_str!("../yang/lock-manager.yang")),
    ("allod-id-manager.yang", include_str!("../yang/allod-id-manager.yang")),
];

#[derive(Debug)]
pub struct IdManager {
    schema: Arc<Schema>,
    nodes: Arc<IdManagerNodes>,
    settings: IdManagerSettings,
}

impl IdManager {
    /// The schema must contain [`MODULES`].
    pub fn new(schema: Arc<Schema>, settings: IdManagerSettings) -> Result<IdManager, String> {
        let nodes = Arc::new(IdManagerNodes::find(&schema, "")?);
        Ok(IdManager { schema, nodes, settings })
    }

    /// The existing pool that contains the target.
    fn pool_of(&self, snapshot: &Snapshot<'_>, target: &InstancePath) -> Option<Arc<str>> {
        match read::pool_entry(snapshot.state, &self.settings, target.name_at(1)?)? {
            PoolEntry::Parent(pool) | PoolEntry::Child(pool, _) => Some(pool),
        }
    }
}

impl YangModel for IdManager {
    fn modules(&self) -> &'static [&'static str] {
        &["id-manager", "lock-manager", "allod-id-manager"]
    }

    fn stream(&self) -> Option<&'static str> {
        Some(
            "id pools that are created, changed and deleted, and ids that are allocated and released",
        )
    }

    fn read(
        &self,
        snapshot: &Snapshot<'_>,
        target: &InstancePath,
        content: Content,
    ) -> Result<Option<Box<dyn NodeSource>>> {
        // In OpenDaylight, all of this data is configuration.
        if content == Content::State {
            return Ok(None);
        }
        Ok(read::read(&self.nodes, &self.settings, snapshot.state, target))
    }

    fn exists(&self, snapshot: &Snapshot<'_>, target: &InstancePath) -> Result<bool> {
        if target.steps.iter().all(|step| step.keys.is_empty()) {
            return Ok(view::names(snapshot.state).next().is_some());
        }
        Ok(self.read(snapshot, target, Content::All)?.is_some())
    }

    fn tree_size(&self, snapshot: &Snapshot<'_>) -> usize {
        pool_count(snapshot.state)
    }

    fn changed(&self, snapshot: &Snapshot<'_>, target: &InstancePath) -> Option<LastChange> {
        let pool = self.pool_of(snapshot, target)?;
        let position = view::changed(snapshot.state, &pool)?;
        Some(LastChange { position, at_ms: None })
    }

    fn plan(&self, snapshot: &Snapshot<'_>, edits: RequestedEdits<'_>) -> Result<EditPlan> {
        self.edit_plan(snapshot, edits)
    }

    fn is_stale(&self, refused: &Refused) -> bool {
        matches!(refused.refusal, Refusal::Blocks(BlocksRefusal::PoolChanged { .. }))
    }

    fn call(&self, snapshot: &Snapshot<'_>, call: OperationCall<'_>) -> Result<CallPlan> {
        self.rpc_plan(snapshot.state, call)
    }

    fn error(&self, operation: Option<NodeId>, refused: &Refused) -> RestconfError {
        self.refusal_error(operation, refused)
    }

    fn notifications(&self, events: &[Event]) -> Vec<DataNode> {
        events.iter().filter_map(|event| notifications::of_event(&self.nodes, event)).collect()
    }
}
