//! NSO's resource-manager: resource pools, allocation requests as configuration, and their responses as state.
//!
//! It only translates; the core answers requests and decides which services to notify.
//!
//! - `kind`: the trait of a pool kind; `id_pool`, `ip_pool`: the two implementations
//! - `request`: the common part of requests; `error_texts`: NSO's texts for failed requests
//! - `read`, `oper`: find the data that a path names
//! - `plan`: turns edits into commands
//! - `call`: the actions of releases 4 and 5, and the allocator tools
//! - `alarms`, `notifications`, `refusals`: alarms as data, events as notifications, refusals as errors

mod alarms;
mod call;
mod error_texts;
mod id_pool;
mod ip_pool;
mod kind;
mod notifications;
mod oper;
mod plan;
mod read;
mod refusals;
mod request;

use std::sync::Arc;

use allod_core::event::Event;
use allod_core::receipt::Receipt;
use allod_core::refusal::{Refusal, Refused, RequestsRefusal};
use allod_core::view::requests as view;
use allod_engine::Snapshot;

use self::alarms::AlarmNodes;
use self::call::CallNodes;
use self::id_pool::IdPool;
use self::ip_pool::IpPool;
use self::kind::PoolKind;
use self::notifications::NotificationNodes;
use crate::error::{RestconfError, Result};
use crate::model::{
    CallPlan, Content, Edit, EditPlan, InstancePath, LastChange, OperationOutput, YangModel,
};
use crate::tree::{DataNode, LeafValue, NodeSource};
use crate::yang::{NodeId, Schema};

/// The module files, for [`Schema::compile`].
pub const MODULES: &[(&str, &str)] = &[
    ("resource-allocator.yang", include_str!("../yang/resource-allocator.yang")),
    ("id-allocator.yang", include_str!("../yang/id-allocator.yang")),
    ("ipaddress-allocator.yang", include_str!("../yang/ipaddress-allocator.yang")),
    ("id-allocator-oper.yang", include_str!("../yang/id-allocator-oper.yang")),
    ("ipaddress-allocator-oper.yang", include_str!("../yang/ipaddress-allocator-oper.yang")),
    ("allod-resource-pools.yang", include_str!("../yang/allod-resource-pools.yang")),
];

#[derive(Debug)]
pub struct ResourcePools {
    schema: Arc<Schema>,
    /// The container of all lists of pools.
    top: NodeId,
    /// All pool kinds, in output order.
    kinds: Vec<Arc<dyn PoolKind>>,
    alarms: AlarmNodes,
    calls: CallNodes,
    notification_nodes: NotificationNodes,
}

impl ResourcePools {
    /// The schema must contain [`MODULES`].
    pub fn new(schema: Arc<Schema>) -> Result<ResourcePools, String> {
        let kinds: Vec<Arc<dyn PoolKind>> =
            vec![Arc::new(IdPool::new(&schema)?), Arc::new(IpPool::new(&schema)?)];
        Ok(ResourcePools {
            top: at(&schema, "/resource-allocator:resource-pools")?,
            kinds,
            alarms: AlarmNodes::find(&schema, "/allod-resource-pools:alarms")?,
            calls: CallNodes::find(&schema, "/resource-allocator:")?,
            notification_nodes: NotificationNodes::find(&schema, "/allod-resource-pools:")?,
            schema,
        })
    }

    /// The pool that contains the target, in any of the trees.
    fn pool_of<'t>(&self, target: &'t InstancePath) -> Option<&'t Arc<str>> {
        match target.steps.get(1).and_then(|step| step.keys.first()) {
            Some(LeafValue::Text(name)) => Some(name),
            _ => None,
        }
    }
}

/// The schema node at a path.
fn at(schema: &Schema, path: &str) -> Result<NodeId, String> {
    schema.require(path)
}

impl YangModel for ResourcePools {
    fn modules(&self) -> &'static [&'static str] {
        &[
            "resource-allocator",
            "id-allocator",
            "ipaddress-allocator",
            "id-allocator-oper",
            "ipaddress-allocator-oper",
            "allod-resource-pools",
        ]
    }

    fn stream(&self) -> Option<&'static str> {
        Some(
            "resource pools that change, requests that are answered, services that must be re-deployed, and alarms",
        )
    }

    fn read(
        &self,
        snapshot: &Snapshot<'_>,
        target: &InstancePath,
        _content: Content,
    ) -> Result<Option<Box<dyn NodeSource>>> {
        Ok(self.data_at(snapshot.state, target))
    }

    fn changed(&self, snapshot: &Snapshot<'_>, target: &InstancePath) -> Option<LastChange> {
        let position = view::changed(snapshot.state, self.pool_of(target)?)?;
        Some(LastChange { position, at_ms: None })
    }

    fn plan(
        &self,
        snapshot: &Snapshot<'_>,
        edits: &[Edit],
        unchanged: Option<&InstancePath>,
    ) -> Result<EditPlan> {
        self.edit_plan(snapshot, edits, unchanged)
    }

    fn is_stale(&self, refused: &Refused) -> bool {
        matches!(refused.refusal, Refusal::Requests(RequestsRefusal::Changed { .. }))
    }

    fn call(
        &self,
        snapshot: &Snapshot<'_>,
        operation: NodeId,
        target: &InstancePath,
        input: &[DataNode],
    ) -> Result<CallPlan> {
        self.call_plan(snapshot.state, operation, target, input)
    }

    fn output(&self, _operation: NodeId, _receipt: &Receipt) -> OperationOutput {
        Vec::new()
    }

    fn error(&self, _operation: Option<NodeId>, refused: &Refused) -> RestconfError {
        self.refusal_error(&refused.refusal)
    }

    fn notifications(&self, _event: &Event) -> Vec<DataNode> {
        Vec::new()
    }

    fn entry_notifications(&self, events: &[Event]) -> Vec<DataNode> {
        notifications::of_entry(self, events)
    }
}
