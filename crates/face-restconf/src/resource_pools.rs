//! NSO's resource-manager: resource pools, allocation requests as configuration, and their responses as state.
//!
//! It only translates; the core answers requests and decides which services to notify.
//!
//! - `kind`: the trait of a pool kind; `id_pool`, `ip_pool`: the two implementations
//! - `request`: the common part of requests; `error_texts`: NSO's texts for failed requests
//! - `read`, `oper`: find the data that a path names
//! - `plan`: turns edits into commands
//! - `site`: nodes of a site's own modules
//! - `outside`: pools whose requests are answered from outside
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
mod outside;
mod plan;
mod read;
mod refusals;
mod request;
mod site;

use std::sync::Arc;

use allod_core::event::Event;
use allod_core::refusal::{Refusal, Refused, RequestsRefusal};
use allod_core::view::requests as view;
use allod_core::view::{alarms, pool_count};
use allod_engine::Snapshot;

use self::alarms::AlarmNodes;
use self::call::CallNodes;
use self::id_pool::IdPool;
use self::ip_pool::IpPool;
use self::kind::PoolKind;
use self::notifications::NotificationNodes;
pub use self::site::check_modules;
use crate::error::{RestconfError, Result};
use crate::model::{
    CallPlan, Content, EditPlan, InstancePath, LastChange, OperationCall, RequestedEdits, YangModel,
};
use crate::tree::{DataNode, NodeSource};
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

const MODULE_NAMES: [&str; 6] = [
    "resource-allocator",
    "id-allocator",
    "ipaddress-allocator",
    "id-allocator-oper",
    "ipaddress-allocator-oper",
    "allod-resource-pools",
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
            top: schema.require("/resource-allocator:resource-pools")?,
            kinds,
            alarms: AlarmNodes::find(&schema, "/allod-resource-pools:alarms")?,
            calls: CallNodes::find(&schema, "/resource-allocator:")?,
            notification_nodes: NotificationNodes::find(&schema, "/allod-resource-pools:")?,
            schema,
        })
    }
}

impl YangModel for ResourcePools {
    fn modules(&self) -> &'static [&'static str] {
        &MODULE_NAMES
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

    fn exists(&self, snapshot: &Snapshot<'_>, target: &InstancePath) -> Result<bool> {
        match &target.steps[..] {
            [top] if top.node == self.top => Ok(view::names(snapshot.state).next().is_some()),
            _ => Ok(self.data_at(snapshot.state, target).is_some()),
        }
    }

    fn tree_size(&self, snapshot: &Snapshot<'_>) -> usize {
        pool_count(snapshot.state) + alarms(snapshot.state).len()
    }

    fn changed(&self, snapshot: &Snapshot<'_>, target: &InstancePath) -> Option<LastChange> {
        let position = view::changed(snapshot.state, target.name_at(1)?)?;
        Some(LastChange { position, at_ms: None })
    }

    fn plan(&self, snapshot: &Snapshot<'_>, edits: RequestedEdits<'_>) -> Result<EditPlan> {
        self.edit_plan(snapshot, edits)
    }

    fn is_answerable(&self, target: &InstancePath) -> bool {
        self.response_path(target).is_some()
    }

    fn takes_answer(&self, snapshot: &Snapshot<'_>, target: &InstancePath) -> bool {
        self.is_external(snapshot, target)
    }

    fn is_stale(&self, refused: &Refused) -> bool {
        matches!(refused.refusal, Refusal::Requests(RequestsRefusal::Changed { .. }))
    }

    fn call(&self, snapshot: &Snapshot<'_>, call: OperationCall<'_>) -> Result<CallPlan> {
        self.call_plan(snapshot.state, call)
    }

    fn error(&self, _operation: Option<NodeId>, refused: &Refused) -> RestconfError {
        self.refusal_error(&refused.refusal)
    }

    fn notifications(&self, events: &[Event]) -> Vec<DataNode> {
        notifications::of_entry(self, events)
    }
}
