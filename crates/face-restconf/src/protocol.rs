//! The protocol: RESTCONF as RFC 8040 has it, and as the draft before it had it. The same for every model.
//!
//! - `routes`: the table of routes, and what happens around every handler
//! - `space`, `media`, `ask`: where a request is, in which dialect, in which form
//! - `read`, `send`: data that is read, and how a large answer is sent
//! - `write`, `patch`, `commit`: edits, from the body to the one command that they come to
//! - `invoke`: RPCs and actions
//! - `conditions`: entity tags, and requests that hold only of a certain state
//! - `errors`, `error_format`: how a no is told, by a handler or by the edge in its place
//! - `discovery`, `builtin`, `library`, `monitoring`: what the server says of itself
//! - `streams`: events as they happen
//!
//! Not here: what any node means; that is for the models.

mod ask;
mod builtin;
mod commit;
mod conditions;
mod discovery;
mod error_format;
mod errors;
mod invoke;
mod library;
mod media;
mod monitoring;
mod patch;
mod read;
mod routes;
mod send;
mod space;
mod streams;
pub(crate) mod time;
mod write;

use std::sync::Arc;

use allod_edge::{ErrorFormat, Route};
use allod_engine::{Handle, Snapshot};
use hashbrown::HashMap;
use tokio::sync::Semaphore;

use crate::fault::{Fault, Tag};
use crate::model::{Change, Content, Model, Target};
use crate::settings::Settings;
use crate::tree::{Sink, Source, Stopped};
use crate::yang::{ModuleId, NodeId, Schema};
use builtin::Builtin;
use monitoring::Announced;
use streams::Streams;

/// The name of the stream that has the events of all models.
const EVERYTHING: &str = "allod";

/// The face of one engine.
pub struct Restconf {
    handle: Handle,
    settings: Arc<Settings>,
    schema: Arc<Schema>,
    /// The last one is the protocol's own.
    models: Vec<Arc<dyn Model>>,
    /// Which model answers for a module.
    owners: HashMap<ModuleId, usize>,
    builtin: Arc<Builtin>,
    streams: Streams,
    large_reads: Arc<Semaphore>,
}

impl std::fmt::Debug for Restconf {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Restconf").field("settings", &self.settings).finish_non_exhaustive()
    }
}

impl Restconf {
    /// `schema` has the modules of the protocol and those of all models. Refuses settings that cannot be meant, and models
    /// that the schema does not fit.
    pub fn new(
        handle: Handle,
        settings: Settings,
        schema: Arc<Schema>,
        mut models: Vec<Arc<dyn Model>>,
    ) -> Result<Arc<Restconf>, String> {
        settings.check()?;
        let builtin = Arc::new(Builtin::new(schema.clone(), announced(&models))?);
        models.push(builtin.clone());
        let mut owners = HashMap::new();
        for (index, model) in models.iter().enumerate() {
            for name in model.modules() {
                let module = schema
                    .module_named(name)
                    .ok_or_else(|| format!("there is no module {name}"))?;
                if owners.insert(module, index).is_some() {
                    return Err(format!("two models answer for the module {name}"));
                }
            }
        }
        let large = usize::try_from(settings.restconf_large_reads_max).unwrap_or(usize::MAX);
        let large_reads = Arc::new(Semaphore::new(large.min(Semaphore::MAX_PERMITS)));
        let (settings, streams) = (Arc::new(settings), Streams::new());
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

    /// How the edge answers in this face's place, below `/restconf`, `/rests` and `/.well-known/host-meta`.
    pub fn error_format(&self) -> Arc<dyn ErrorFormat> {
        Arc::new(error_format::RestconfErrors(self.settings.clone()))
    }

    /// Who answers for a node and all that is below it.
    fn owner(&self, top: NodeId) -> Result<&Arc<dyn Model>, Fault> {
        let module = self.schema.node(top).module;
        let model = self.owners.get(&module).and_then(|index| self.models.get(*index));
        model.ok_or_else(|| {
            let name = &self.schema.module(module).name;
            Fault::protocol(
                Tag::OperationNotSupported,
                format!("{name} has nothing to answer with"),
            )
        })
    }

    /// Looks at what is committed. What is wrong with it is wrong at that position.
    fn look<T>(&self, look: impl FnOnce(&Snapshot<'_>) -> Result<T, Fault>) -> Result<T, Fault> {
        let look = |snapshot: &Snapshot<'_>| {
            look(snapshot).map_err(|fault| fault.at_position(snapshot.at.position))
        };
        self.handle.read(look).map_err(|why| errors::failure(&why))?
    }

    /// What is at the target; of the whole datastore, what all models have there.
    fn source(
        &self,
        snapshot: &Snapshot<'_>,
        target: &Target,
        content: Content,
    ) -> Result<Option<Box<dyn Source>>, Fault> {
        if let Some(first) = target.steps.first() {
            return self.owner(first.node)?.read(snapshot, target, content);
        }
        let mut all = Vec::new();
        for model in &self.models {
            all.extend(model.read(snapshot, target, content)?);
        }
        Ok(Some(Box::new(Together(all))))
    }

    /// When the target changed last. Where nobody can tell, everything may have changed with the newest entry.
    fn changed(&self, snapshot: &Snapshot<'_>, target: &Target) -> Change {
        let owner = target.steps.first().and_then(|first| self.owner(first.node).ok());
        let known = owner.and_then(|model| model.changed(snapshot, target));
        let at_ms = Some(snapshot.state.now_ms).filter(|ms| *ms > 0);
        known.unwrap_or(Change { position: snapshot.at.position, at_ms })
    }
}

/// The streams that there are: one of each model that has notifications, and one of all.
fn announced(models: &[Arc<dyn Model>]) -> Vec<Announced> {
    let mut all = vec![Announced { name: EVERYTHING, description: "The events of all models" }];
    for model in models {
        if let (Some(name), Some(description)) = (model.modules().first(), model.stream()) {
            all.push(Announced { name, description });
        }
    }
    all
}

/// One after the other.
struct Together(Vec<Box<dyn Source>>);

impl Source for Together {
    fn walk(&self, sink: &mut dyn Sink) -> Result<(), Stopped> {
        self.0.iter().try_for_each(|source| source.walk(sink))
    }
}
