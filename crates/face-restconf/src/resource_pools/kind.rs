//! The trait of a pool kind: its schema nodes, its configuration, its requests and its values.
//!
//! A kind consists of a YANG module that adds a list of pools, a YANG module for what is free, and one file that implements
//! [`PoolKind`]. See `docs/how-to/add-a-pool-kind.md`.

use std::fmt::Debug;
use std::sync::Arc;

use allod_core::config::ConfigRefusal;
use allod_core::requests::{AlarmSettings, RequestPool, Wanted};
use allod_core::span::Span;
use allod_core::view::requests::FrozenRequestPool;

use super::site::SiteSchema;
use crate::error::{RestconfError, Result};
use crate::model::{InstancePath, PathStep};
use crate::path;
use crate::tree::{DataNode, LeafValue, NodeSink, Siblings, Walk};
use crate::yang::{NodeId, Schema, node_set};

pub(crate) trait PoolKind: Debug + Send + Sync {
    /// The name of the kind in notifications and tools.
    fn label(&self) -> &'static str;

    /// The nodes that the lists of pools of all kinds have.
    fn nodes(&self) -> &PoolNodes;

    /// The nodes that a site's own modules have added.
    fn site(&self) -> &SiteSchema;

    /// The nodes of the operational data: free and allocated values.
    fn oper(&self) -> &OperNodes;

    /// Whether a pool has this kind.
    fn is(&self, config: &RequestPool) -> bool;

    /// Writes the configuration of a pool, without its name and requests.
    fn config_nodes(&self, config: &RequestPool) -> Vec<DataNode>;

    /// Reads the configuration of a validated pool. `before`: its present configuration.
    fn config(
        &self,
        location: &PoolLocation<'_>,
        pool: &DataNode,
        before: Option<&RequestPool>,
    ) -> Result<RequestPool>;

    /// NSO's error for a configuration that the core does not accept, at the part of the pool that causes it.
    fn config_error(
        &self,
        location: &PoolLocation<'_>,
        pool: &DataNode,
        refusal: &ConfigRefusal,
    ) -> RestconfError;

    /// Whether requests to a pool of this kind want this.
    fn wants(&self, want: &Wanted) -> bool;

    /// Writes the parameters of a request.
    fn request_nodes(&self, want: &Wanted) -> Vec<DataNode>;

    /// Reads the parameters of a request from its children.
    fn wanted(&self, request: &[DataNode]) -> Wanted;

    /// Writes the value that a request was granted.
    fn granted_nodes(&self, config: &RequestPool, value: Span) -> Vec<DataNode>;

    /// Reads the value from a response that an allocator writes. An error says what is wrong with it.
    fn granted_value(
        &self,
        config: &RequestPool,
        response: &[DataNode],
    ) -> Result<Option<Span>, String>;

    /// A value as text.
    fn value_text(&self, config: &RequestPool, value: Span) -> String;

    /// Writes the operational data of a pool without allocated values. `part`: a single child; `None`: all.
    fn show_free(
        &self,
        pool: &FrozenRequestPool,
        part: Option<NodeId>,
        sink: &mut dyn NodeSink,
    ) -> Walk;

    /// The value of an entry of allocated values, from its keys.
    fn value_of(&self, config: &RequestPool, keys: &[LeafValue]) -> Option<Span>;

    /// Writes an entry of allocated values.
    fn show_held(
        &self,
        config: &RequestPool,
        value: Span,
        holder: &ResourceHolder,
        sink: &mut dyn NodeSink,
    ) -> Walk;
}

/// The holder of a value.
pub(crate) struct ResourceHolder {
    pub key: Arc<str>,
    /// The services that requested it.
    pub owner: String,
    /// `None`: it was not requested through the resource-manager.
    pub user: Option<Arc<str>>,
}

node_set! {
    /// The nodes that the lists of pools of all kinds have.
    pub(crate) struct PoolNodes {
        list: "",
        name: "/name",
        allocation: "/allocation",
        id: "/allocation/id",
        username: "/allocation/username",
        service: "/allocation/allocating-service",
        sync_alloc: "/allocation/sync-alloc",
        redeploy: "/allocation/redeploy-type",
        request: "/allocation/request",
        response: "/allocation/response",
        error: "/allocation/response/error",
        allocator: "/allod-resource-pools:allocator",
        authority: "/allod-resource-pools:authority",
        version: "/allocation/allod-resource-pools:version",
        answered_version: "/allocation/response/allod-resource-pools:version",
    }
}

node_set! {
    /// The common nodes of the operational data.
    pub(crate) struct OperNodes {
        top: "",
        list: "/pool",
        name: "/pool/name",
        allocation: "/pool/allocation",
    }
}

node_set! {
    /// The alarm settings of a pool.
    pub(crate) struct AlarmSettingNodes {
        node: "",
        enabled: "/enabled",
        low: "/low-threshold-alarm",
    }
}

impl AlarmSettingNodes {
    /// Writes the settings; `more`: the thresholds that only this kind has.
    pub fn write(&self, set: &AlarmSettings, more: &[(NodeId, Option<u8>)]) -> Option<DataNode> {
        let enabled = set.enabled.then(|| DataNode::leaf(self.enabled, LeafValue::Empty));
        let thresholds = [(self.low, set.low)].into_iter().chain(more.iter().copied());
        let leaves = thresholds.filter_map(|(leaf, percent)| Some(DataNode::leaf(leaf, percent?)));
        let alarms: Vec<DataNode> = enabled.into_iter().chain(leaves).collect();
        (!alarms.is_empty()).then(|| DataNode::inner(self.node, alarms))
    }

    /// Reads the settings of a pool; `odd`, `even`: the thresholds that only this kind has.
    pub fn read(
        &self,
        pool: &DataNode,
        odd: Option<NodeId>,
        even: Option<NodeId>,
    ) -> AlarmSettings {
        let Some(alarms) = pool.child(self.node) else { return AlarmSettings::default() };
        AlarmSettings {
            enabled: alarms.child(self.enabled).is_some(),
            low: alarms.number(self.low),
            low_odd: odd.and_then(|leaf| alarms.number(leaf)),
            low_even: even.and_then(|leaf| alarms.number(leaf)),
        }
    }
}

/// NSO's text for a range of ids or addresses that ends before it starts.
pub(crate) const BACKWARDS: &str = "range end must be greater or equal to range start";

/// The location of a pool in the data, for error paths.
pub(crate) struct PoolLocation<'a> {
    pub schema: &'a Schema,
    /// The container of all lists of pools.
    pub top: NodeId,
    pub nodes: &'a PoolNodes,
    pub pool: &'a Arc<str>,
}

impl PoolLocation<'_> {
    fn target(&self) -> InstancePath {
        let keys = vec![LeafValue::Text(self.pool.clone())];
        let steps = vec![
            PathStep { node: self.top, keys: vec![] },
            PathStep { node: self.nodes.list, keys },
        ];
        InstancePath { steps }
    }

    /// The instance identifier of a node below the pool.
    pub fn below(&self, steps: impl IntoIterator<Item = PathStep>) -> String {
        let mut target = self.target();
        target.steps.extend(steps);
        path::instance(self.schema, &target)
    }

    /// An error about the pool, or about a node below it.
    pub fn wrong(
        &self,
        steps: impl IntoIterator<Item = PathStep>,
        message: impl Into<String>,
    ) -> RestconfError {
        RestconfError::wrong_value(message).at_path(self.below(steps))
    }

    /// The step to a request of the pool.
    pub fn request(&self, key: &Arc<str>) -> PathStep {
        PathStep { node: self.nodes.allocation, keys: vec![LeafValue::Text(key.clone())] }
    }

    /// An error about a list entry of the pool.
    pub fn wrong_entry(&self, entry: &DataNode, message: impl Into<String>) -> RestconfError {
        let step = PathStep { node: entry.schema, keys: entry.keys(self.schema) };
        self.wrong([step], message)
    }

    /// Adds the pool and the request to the path of a validation error.
    pub fn at_pool_path(&self, error: RestconfError, key: Option<&Arc<str>>) -> RestconfError {
        let node = match key {
            Some(_) => self.nodes.allocation,
            None => self.nodes.list,
        };
        let path = error.path.clone().unwrap_or_default();
        let rest = path.strip_prefix(&self.schema.path(node)).unwrap_or_default().to_owned();
        error.at_path(self.below(key.map(|key| self.request(key))) + &rest)
    }
}
