//! NSO's resource-manager: pools of resources, requests for some of them as configuration, and their answers as state.
//!
//! It translates and nothing else: what a request gets, what moves when a pool changes and who is told is the core's. What each
//! part knows:
//!
//! - `kind`: what a kind of pool is; `id_pool`, `ip_pool`: the two that there are, each whole in its file
//! - `request`: what requests to pools of every kind have; `words`: why a request has nothing, as the original says it
//! - `read`, `oper`: what a path names of the pools, and of what is free and held in them
//! - `plan`: what edits ask of the core
//! - `call`: the calls of releases 4 and 5 of the original, and its tools
//! - `alarms`, `notifications`, `faults`: what is wrong, what has happened, and what is refused

mod alarms;
mod call;
mod faults;
mod id_pool;
mod ip_pool;
mod kind;
mod notifications;
mod oper;
mod plan;
mod read;
mod request;
mod words;

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
use self::notifications::ToldNodes;
use crate::fault::Fault;
use crate::model::{Called, Change, Content, Edit, Model, Output, Planned, Target};
use crate::tree::{Node, Source, Value};
use crate::yang::{NodeId, Schema};

/// The files of its modules, for [`Schema::compile`].
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
    /// Every kind of pool, in the order in which they are shown.
    kinds: Vec<Arc<dyn PoolKind>>,
    alarms: AlarmNodes,
    calls: CallNodes,
    told: ToldNodes,
}

impl ResourcePools {
    /// The schema must have [`MODULES`] in it.
    pub fn new(schema: Arc<Schema>) -> Result<ResourcePools, String> {
        let kinds: Vec<Arc<dyn PoolKind>> =
            vec![Arc::new(IdPool::new(&schema)?), Arc::new(IpPool::new(&schema)?)];
        Ok(ResourcePools {
            top: at(&schema, "/resource-allocator:resource-pools")?,
            kinds,
            alarms: AlarmNodes::of(&schema)?,
            calls: CallNodes::of(&schema)?,
            told: ToldNodes::of(&schema)?,
            schema,
        })
    }

    /// The pool that the target is in, whichever of the trees it is named in.
    fn pool_of<'t>(&self, target: &'t Target) -> Option<&'t Arc<str>> {
        match target.steps.get(1).and_then(|step| step.keys.first()) {
            Some(Value::Text(name)) => Some(name),
            _ => None,
        }
    }
}

/// A node of the modules.
fn at(schema: &Schema, path: &str) -> Result<NodeId, String> {
    schema.find(path).ok_or_else(|| format!("the modules of the resource-manager lack {path}"))
}

impl Model for ResourcePools {
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
            "pools of resources that change, requests that are answered, services that are to be re-deployed, and alarms",
        )
    }

    fn read(
        &self,
        snapshot: &Snapshot<'_>,
        target: &Target,
        _content: Content,
    ) -> Result<Option<Box<dyn Source>>, Fault> {
        Ok(self.shown(snapshot.state, target))
    }

    fn changed(&self, snapshot: &Snapshot<'_>, target: &Target) -> Option<Change> {
        let position = view::changed(snapshot.state, self.pool_of(target)?)?;
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
        matches!(refused.refusal, Refusal::Requests(RequestsRefusal::Changed { .. }))
    }

    fn call(
        &self,
        snapshot: &Snapshot<'_>,
        operation: NodeId,
        target: &Target,
        input: &[Node],
    ) -> Result<Called, Fault> {
        self.called(snapshot.state, operation, target, input)
    }

    fn output(&self, _operation: NodeId, _receipt: &Receipt) -> Output {
        Vec::new()
    }

    fn fault(&self, _operation: Option<NodeId>, refused: &Refused) -> Fault {
        self.refused(&refused.refusal)
    }

    fn notifications(&self, _event: &Event) -> Vec<Node> {
        Vec::new()
    }

    fn told(&self, events: &[Event]) -> Vec<Node> {
        notifications::told(self, events)
    }
}
