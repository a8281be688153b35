//! The native face: `/v1/…`, JSON in and out, problem details for what cannot be done.
//!
//! It translates and nothing else: a write becomes exactly one command, a read looks at one snapshot. Which values are
//! free, who may take what, and every limit of the vocabulary are the core's; sockets and sizes are the edge's.
//!
//! - `routes`: the table of routes, from which the server and the OpenAPI document are both made
//! - `wire`: the JSON forms, as typed by clients and as shown to them
//! - `from_wire`, `query`: what a request means
//! - `to_wire`, `refusals`: how an answer looks
//! - `scope`: which pools a token is for
//! - `openapi`, `docs`: the interface described, for programs and for people
//! - `pools`, `claims`, `transactions`, `providers`, `consumers`, `candidates`, `alarms`, `outbox`, `watch`,
//!   `history`, `backup`, `about`: what each route does with these

mod alarms;
mod backup;
mod candidates;
mod claims;
mod consumers;
mod docs;
mod from_wire;
mod history;
mod openapi;
mod outbox;
mod pools;
mod providers;
mod query;
mod refusals;
mod routes;
mod scope;
mod server_info;
mod to_wire;
mod transactions;
mod watch;
mod wire;

use std::sync::{Arc, OnceLock};

use allod_core::command::Command;
use allod_core::search::SearchLimits;
use allod_edge::{Access, Call, Consistency, Reply, Route};
use allod_engine::{CommandReply as Decided, Handle, Snapshot};
use bytes::Bytes;

pub use openapi::document as openapi;
pub use scope::ScopeRule;
pub use to_wire::change;
pub use watch::WatchLimits;
pub use wire::Change;

/// Who may use a route, and what it does when their token is for some pools only.
#[derive(Debug)]
pub struct RouteRule {
    pub method: &'static http::Method,
    pub path: &'static str,
    /// The operation's name in the OpenAPI document.
    pub name: &'static str,
    pub access: Access,
    pub scope: ScopeRule,
}

/// The rule of every route of this face.
pub fn rules() -> Vec<RouteRule> {
    let rule = |entry: &'static routes::RouteEntry| {
        let routes::RouteEntry { method, path, name, access, scope, .. } = entry;
        RouteRule { method, path, name, access: *access, scope: *scope }
    };
    routes::TABLE.iter().map(rule).collect()
}

/// The face of one engine.
pub struct Native {
    handle: Handle,
    /// Every limit of the server by name, for whoever asks.
    limits: Vec<(&'static str, u64)>,
    watch: watch::Watchers,
    search: SearchLimits,
    openapi: OnceLock<Bytes>,
    docs: OnceLock<Bytes>,
}

impl std::fmt::Debug for Native {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Native").field("limits", &self.limits).finish_non_exhaustive()
    }
}

impl Native {
    /// `limits` is what `/v1/limits` tells of all parts; `own` are those that the face keeps itself, `search` says how far
    /// one search for candidates may go.
    pub fn new(
        handle: Handle,
        limits: Vec<(&'static str, u64)>,
        own: WatchLimits,
        search: SearchLimits,
    ) -> Arc<Native> {
        let watch = watch::Watchers::new(handle.clone(), own);
        let (openapi, docs) = (OnceLock::new(), OnceLock::new());
        Arc::new(Native { handle, limits, watch, search, openapi, docs })
    }

    pub fn routes(self: &Arc<Native>) -> Vec<Route> {
        let route = |entry: &'static routes::RouteEntry| {
            let native = self.clone();
            Route::boxed(entry.method.clone(), entry.path, entry.access, move |call| {
                match entry.scope.admit(&call) {
                    Ok(()) => (entry.run)(native.clone(), call),
                    Err(reply) => Box::pin(std::future::ready(reply)),
                }
            })
        };
        routes::TABLE.iter().map(route).collect()
    }

    /// Has a command decided. Only a failure is an `Err`: a refusal is an answer.
    async fn submit(&self, command: Command) -> Result<Decided, Reply> {
        self.handle.submit(command).await.map_err(|failure| refusals::failure(&failure).reply())
    }

    /// Looks at what is committed.
    fn read<T>(&self, look: impl FnOnce(&Snapshot<'_>) -> T) -> Result<T, Reply> {
        self.handle.read(look).map_err(|failure| refusals::failure(&failure).reply())
    }

    /// Waits until [`Native::read`] has the consistency that the request's headers ask for.
    async fn wait_for_position(&self, call: &Call) -> Result<(), Reply> {
        let Consistency { linearizable, min_position } =
            Consistency::of(call).map_err(|problem| problem.reply())?;
        let waited = self.handle.wait_for_read(linearizable, min_position).await;
        waited.map_err(|failure| refusals::failure(&failure).reply())
    }
}
