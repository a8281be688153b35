//! The protocol: RESTCONF as in RFC 8040 and in draft-bierman-netconf-restconf-02. The same for all models.
//!
//! - `routes`: the route table, and the common part of all handlers
//! - `endpoint`, `media`, `request`: resource, dialect and media types of a request
//! - `read`, `send`: GET of data, and how large replies are streamed
//! - `write`, `patch`, `commit`: edits, from the body to their command
//! - `invoke`: RPCs and actions
//! - `conditions`: entity tags and conditional requests
//! - `errors`, `error_format`: error replies of handlers, and of the edge
//! - `discovery`, `builtin`, `library`, `monitoring`: the server's description of itself
//! - `streams`: event streams
//!
//! Not here: the meaning of data nodes; that is in the models.

mod builtin;
mod commit;
mod conditions;
mod discovery;
mod endpoint;
mod error_format;
mod errors;
mod invoke;
mod library;
mod media;
mod monitoring;
mod patch;
mod read;
mod request;
mod routes;
mod send;
mod streams;
pub(crate) mod time;
mod write;

use std::sync::Arc;

use allod_edge::{ErrorFormat, Route};
use allod_engine::{Handle, Snapshot};
use hashbrown::HashMap;
use tokio::sync::Semaphore;

use crate::error::{ErrorTag, RestconfError, Result};
use crate::model::{Content, InstancePath, LastChange, YangModel};
use crate::settings::RestconfSettings;
use crate::tree::{NodeSource, SourceList};
use crate::yang::{ModuleId, NodeId, Schema};
use builtin::Builtin;
use monitoring::StreamInfo;
use streams::StreamRegistry;

/// The name of the stream with the events of all models.
const ALL_EVENTS: &str = "allod";

/// The RESTCONF face of an engine.
pub struct Restconf {
    handle: Handle,
    settings: Arc<RestconfSettings>,
    schema: Arc<Schema>,
    /// The last one is the protocol's own.
    models: Vec<Arc<dyn YangModel>>,
    /// The index of the model that implements a module.
    owners: HashMap<ModuleId, usize>,
    builtin: Arc<Builtin>,
    streams: StreamRegistry,
    large_reads: Arc<Semaphore>,
}

impl std::fmt::Debug for Restconf {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Restconf").field("settings", &self.settings).finish_non_exhaustive()
    }
}

impl Restconf {
    /// `schema` contains the modules of the protocol and of all models. Refuses invalid settings, and models that do not fit
    /// the schema.
    pub fn new(
        handle: Handle,
        settings: RestconfSettings,
        schema: Arc<Schema>,
        mut models: Vec<Arc<dyn YangModel>>,
    ) -> Result<Arc<Restconf>, String> {
        settings.check()?;
        let builtin = Arc::new(Builtin::new(schema.clone(), stream_list(&models))?);
        models.push(builtin.clone());
        let mut owners = HashMap::new();
        for (index, model) in models.iter().enumerate() {
            for name in model.modules() {
                let module = schema
                    .module_named(name)
                    .ok_or_else(|| format!("module {name} is missing in the schema"))?;
                if owners.insert(module, index).is_some() {
                    return Err(format!("two models implement the module {name}"));
                }
            }
        }
        let large = usize::try_from(settings.restconf_large_reads_max).unwrap_or(usize::MAX);
        let large_reads = Arc::new(Semaphore::new(large.min(Semaphore::MAX_PERMITS)));
        let (settings, streams) = (Arc::new(settings), StreamRegistry::new());
        Ok(Arc::new(Restconf {
            handle,
            settings,
            schema,
            models,
            owners,
            builtin,
            streams,
            large_reads,
        }))
    }

    pub fn routes(self: &Arc<Restconf>) -> Vec<Route> {
        routes::all(self)
    }

    /// How the edge writes errors below `/restconf`, `/rests` and `/.well-known/host-meta`.
    pub fn error_format(&self) -> Arc<dyn ErrorFormat> {
        Arc::new(error_format::RestconfErrors(self.settings.clone()))
    }

    /// The model that implements a top-level node.
    fn owner(&self, top: NodeId) -> Result<&Arc<dyn YangModel>> {
        let module = self.schema.node(top).module;
        let model = self.owners.get(&module).and_then(|index| self.models.get(*index));
        model.ok_or_else(|| {
            let name = &self.schema.module(module).name;
            RestconfError::not_supported(format!("no model implements the module {name}"))
        })
    }

    /// Reads the committed state. An error gets the position of the snapshot.
    fn read_snapshot<T>(
        &self,
        read_snapshot: impl FnOnce(&Snapshot<'_>) -> Result<T>,
    ) -> Result<T> {
        let read_snapshot = |snapshot: &Snapshot<'_>| {
            read_snapshot(snapshot).map_err(|error| error.at_position(snapshot.at.position))
        };
        self.handle.read(read_snapshot).map_err(|why| errors::failure(&why))?
    }

    /// The data at the target; for the whole datastore, the data of all models.
    fn source(
        &self,
        snapshot: &Snapshot<'_>,
        target: &InstancePath,
        content: Content,
    ) -> Result<Option<Box<dyn NodeSource>>> {
        if let Some(first) = target.steps.first() {
            let model = self.owner(first.node)?;
            self.ensure_small_tree(&**model, snapshot, target)?;
            return model.read(snapshot, target, content);
        }
        let mut all = Vec::new();
        for model in &self.models {
            self.ensure_small_tree(&**model, snapshot, target)?;
            all.extend(model.read(snapshot, target, content)?);
        }
        Ok(Some(Box::new(SourceList(all))))
    }

    /// Refuses a target that has all pools below it if there are many: each is copied while writers wait.
    fn ensure_small_tree(
        &self,
        model: &dyn YangModel,
        snapshot: &Snapshot<'_>,
        target: &InstancePath,
    ) -> Result<()> {
        let max = self.settings.pools_per_read_max;
        let size = model.tree_size(snapshot) as u64;
        if size <= max || target.steps.iter().any(|step| !step.keys.is_empty()) {
            return Ok(());
        }
        Err(RestconfError::protocol(
            ErrorTag::TooBig,
            format!(
                "the tree has up to {size} pools and alarms; pools_per_read_max is {max}; name a pool in the path, or raise the limit"
            ),
        ))
    }

    /// When the target last changed. If the model does not know, the newest position is used.
    fn changed(&self, snapshot: &Snapshot<'_>, target: &InstancePath) -> LastChange {
        let owner = target.steps.first().and_then(|first| self.owner(first.node).ok());
        let known = owner.and_then(|model| model.changed(snapshot, target));
        let at_ms = Some(snapshot.state.now_ms).filter(|ms| *ms > 0);
        known.unwrap_or(LastChange { position: snapshot.at.position, at_ms })
    }
}

/// The event streams: one for each model with notifications, and one for all.
fn stream_list(models: &[Arc<dyn YangModel>]) -> Vec<StreamInfo> {
    let mut all = vec![StreamInfo { name: ALL_EVENTS, description: "The events of all models" }];
    for model in models {
        if let (Some(name), Some(description)) = (model.modules().first(), model.stream()) {
            all.push(StreamInfo { name, description });
        }
    }
    all
}
