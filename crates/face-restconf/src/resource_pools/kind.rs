//! What a kind of pool is to everything else here: its nodes, what is configured of a pool, what is asked of it, what is given.
//!
//! A kind is one module of YANG that adds a list of pools, one that shows what is free, and one file that implements
//! [`PoolKind`]. `docs/how-to/add-a-pool-kind.md` goes through it.

use std::fmt::Debug;
use std::sync::Arc;

use allod_core::requests::{RequestPool, Wanted};
use allod_core::span::Span;
use allod_core::view::requests::FrozenRequestPool;

use super::at;
use crate::fault::{Fault, Tag};
use crate::model::{Step, Target};
use crate::path;
use crate::tree::{Node, Sink, Stopped, Value};
use crate::yang::{NodeId, Schema};

pub(crate) trait PoolKind: Debug + Send + Sync {
    /// What its list of pools has in common with those of all kinds.
    fn nodes(&self) -> &PoolNodes;

    /// Where it is shown what is free and held.
    fn oper(&self) -> &OperNodes;

    /// Whether a pool is of this kind.
    fn is(&self, config: &RequestPool) -> bool;

    /// What is configured of a pool, beside its name and its requests.
    fn config_nodes(&self, config: &RequestPool) -> Vec<Node>;

    /// The same back. `pool` has all that the schema asks for. `before`: what was configured until now.
    fn config(
        &self,
        place: &Place<'_>,
        pool: &Node,
        before: Option<&RequestPool>,
    ) -> Result<RequestPool, Fault>;

    /// What a request asks for.
    fn request_nodes(&self, want: &Wanted) -> Vec<Node>;

    /// The same back: the children of the request, if it has any.
    fn wanted(&self, request: &[Node]) -> Result<Wanted, Fault>;

    /// What a request has got.
    fn granted_nodes(&self, config: &RequestPool, value: Span) -> Vec<Node>;

    /// A value, in words.
    fn spelled(&self, config: &RequestPool, value: Span) -> String;

    /// What is free in a pool and what it consists of, of which `part` is wanted; `None`: all. Who holds what is not part of it.
    fn show_free(
        &self,
        pool: &FrozenRequestPool,
        part: Option<NodeId>,
        sink: &mut dyn Sink,
    ) -> Result<(), Stopped>;

    /// The value that the keys of an entry of what is held stand for.
    fn value_of(&self, config: &RequestPool, keys: &[Value]) -> Option<Span>;

    /// An entry of what is held.
    fn show_held(
        &self,
        config: &RequestPool,
        value: Span,
        holder: &Holder,
        sink: &mut dyn Sink,
    ) -> Result<(), Stopped>;
}

/// Who has a value.
pub(crate) struct Holder {
    pub key: Arc<str>,
    /// The services that asked for it.
    pub owner: String,
    /// `None`: it was not asked for through the resource-manager.
    pub user: Option<Arc<str>>,
}

/// The nodes that lists of pools of all kinds have.
#[derive(Debug, Clone)]
pub(crate) struct PoolNodes {
    /// As notifications call it.
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

/// The nodes that all trees of what is free have.
#[derive(Debug, Clone)]
pub(crate) struct OperNodes {
    pub top: NodeId,
    pub list: NodeId,
    pub name: NodeId,
    pub allocation: NodeId,
}

impl OperNodes {
    pub fn of(schema: &Schema, top: &str) -> Result<OperNodes, String> {
        Ok(OperNodes {
            top: at(schema, top)?,
            list: at(schema, &format!("{top}/pool"))?,
            name: at(schema, &format!("{top}/pool/name"))?,
            allocation: at(schema, &format!("{top}/pool/allocation"))?,
        })
    }
}

/// A pool, and where it is in the data: to say what is wrong where.
pub(crate) struct Place<'a> {
    pub schema: &'a Schema,
    pub nodes: &'a PoolNodes,
    pub pool: &'a Arc<str>,
}

impl Place<'_> {
    fn target(&self) -> Target {
        let keys = vec![Value::Text(self.pool.clone())];
        let steps =
            vec![Step { node: self.nodes.top, keys: vec![] }, Step { node: self.nodes.list, keys }];
        Target { steps }
    }

    /// Something below the pool, as an instance identifier.
    pub fn below(&self, steps: impl IntoIterator<Item = Step>) -> String {
        let mut target = self.target();
        target.steps.extend(steps);
        path::instance(self.schema, &target)
    }

    /// A request to the pool.
    pub fn request(&self, key: &Arc<str>) -> Step {
        Step { node: self.nodes.allocation, keys: vec![Value::Text(key.clone())] }
    }

    /// What is wrong with an entry of a list of the pool.
    pub fn wrong_entry(&self, entry: &Node, message: impl Into<String>) -> Fault {
        let step = Step { node: entry.schema, keys: entry.keys(self.schema) };
        Fault::application(Tag::InvalidValue, message).at_path(self.below([step]))
    }

    /// A fault of the schema says which node; this says of which pool, and of which request.
    pub fn placed(&self, fault: Fault, key: Option<&Arc<str>>) -> Fault {
        let node = match key {
            Some(_) => self.nodes.allocation,
            None => self.nodes.list,
        };
        let path = fault.path.clone().unwrap_or_default();
        let rest = path.strip_prefix(&self.schema.path(node)).unwrap_or_default().to_owned();
        fault.at_path(self.below(key.map(|key| self.request(key))) + &rest)
    }
}
