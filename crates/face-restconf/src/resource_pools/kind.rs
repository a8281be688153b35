//! The trait of a pool kind: its schema nodes, its configuration, its requests and its values.
//!
//! A kind consists of a YANG module that adds a list of pools, a YANG module for what is free, and one file that implements
//! [`PoolKind`]. See `docs/how-to/add-a-pool-kind.md`.

use std::fmt::Debug;
use std::sync::Arc;

use allod_core::requests::{RequestPool, Wanted};
use allod_core::span::Span;
use allod_core::view::requests::FrozenRequestPool;

use super::at;
use crate::error::{ErrorTag, RestconfError, Result};
use crate::model::{InstancePath, PathStep};
use crate::path;
use crate::tree::{DataNode, LeafValue, NodeSink, WalkStopped};
use crate::yang::{NodeId, Schema, node_set};

pub(crate) trait PoolKind: Debug + Send + Sync {
    /// The nodes that the lists of pools of all kinds have.
    fn nodes(&self) -> &PoolNodes;

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

    /// Writes the parameters of a request.
    fn request_nodes(&self, want: &Wanted) -> Vec<DataNode>;

    /// Reads the parameters of a request from its children.
    fn wanted(&self, request: &[DataNode]) -> Result<Wanted>;

    /// Writes the value that a request was granted.
    fn granted_nodes(&self, config: &RequestPool, value: Span) -> Vec<DataNode>;

    /// A value as text.
    fn value_text(&self, config: &RequestPool, value: Span) -> String;

    /// Writes the operational data of a pool without allocated values. `part`: a single child; `None`: all.
    fn show_free(
        &self,
        pool: &FrozenRequestPool,
        part: Option<NodeId>,
        sink: &mut dyn NodeSink,
    ) -> Result<(), WalkStopped>;

    /// The value of an entry of allocated values, from its keys.
    fn value_of(&self, config: &RequestPool, keys: &[LeafValue]) -> Option<Span>;

    /// Writes an entry of allocated values.
    fn show_held(
        &self,
        config: &RequestPool,
        value: Span,
        holder: &ResourceHolder,
        sink: &mut dyn NodeSink,
    ) -> Result<(), WalkStopped>;
}

/// The holder of a value.
pub(crate) struct ResourceHolder {
    pub key: Arc<str>,
    /// The services that requested it.
    pub owner: String,
    /// `None`: it was not requested through the resource-manager.
    pub user: Option<Arc<str>>,
}

/// The nodes that the lists of pools of all kinds have.
#[derive(Debug, Clone)]
pub(crate) struct PoolNodes {
    /// The kind's name in notifications.
    pub label: &'static str,
    pub top: NodeId,
    pub list: NodeId,
    pub name: NodeId,
    pub allocation: NodeId,
    pub id: NodeId,
    pub username: NodeId,
    pub service: NodeId,
    pub sync_alloc: NodeId,
    pub redeploy: NodeId,
    pub request: NodeId,
    pub response: NodeId,
    pub error: NodeId,
}

impl PoolNodes {
    /// `list`: the path of the list of pools.
    pub fn of(schema: &Schema, label: &'static str, list: &str) -> Result<PoolNodes, String> {
        let below = |rest: &str| at(schema, &format!("{list}/{rest}"));
        Ok(PoolNodes {
            label,
            top: at(schema, "/resource-allocator:resource-pools")?,
            list: at(schema, list)?,
            name: below("name")?,
            allocation: below("allocation")?,
            id: below("allocation/id")?,
            username: below("allocation/username")?,
            service: below("allocation/allocating-service")?,
            sync_alloc: below("allocation/sync-alloc")?,
            redeploy: below("allocation/redeploy-type")?,
            request: below("allocation/request")?,
            response: below("allocation/response")?,
            error: below("allocation/response/error")?,
        })
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

/// The location of a pool in the data, for error paths.
pub(crate) struct PoolLocation<'a> {
    pub schema: &'a Schema,
    pub nodes: &'a PoolNodes,
    pub pool: &'a Arc<str>,
}

impl PoolLocation<'_> {
    fn target(&self) -> InstancePath {
        let keys = vec![LeafValue::Text(self.pool.clone())];
        let steps = vec![
            PathStep { node: self.nodes.top, keys: vec![] },
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

    /// The step to a request of the pool.
    pub fn request(&self, key: &Arc<str>) -> PathStep {
        PathStep { node: self.nodes.allocation, keys: vec![LeafValue::Text(key.clone())] }
    }

    /// An error about a list entry of the pool.
    pub fn wrong_entry(&self, entry: &DataNode, message: impl Into<String>) -> RestconfError {
        let step = PathStep { node: entry.schema, keys: entry.keys(self.schema) };
        RestconfError::application(ErrorTag::InvalidValue, message).at_path(self.below([step]))
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
