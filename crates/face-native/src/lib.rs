//! The native interface: `/v1/…`, JSON requests and replies, errors as problem details.
//!
//! It only translates: a write becomes exactly one command, a read uses one snapshot. The core decides what is free and
//! enforces the limits of names and claims; the edge handles connections and request sizes.
//!
//! - `routes`: the table of routes, which both the server and the OpenAPI document use
//! - `wire`: the JSON forms of requests and replies
//! - `from_wire`, `query`: requests to commands
//! - `to_wire`, `refusals`: results and errors to replies
//! - `scope`: the pools that a token allows
//! - `openapi`, `docs`: the OpenAPI document and its HTML page
//! - `waiters`, `prefer`: requests that wait for an authority
//! - `authorities`, `lookups`, `reconcile`, `pools`, `claims`, `transactions`, `providers`, `consumers`, `candidates`, `alarms`, `outbox`, `watch`,
//!   `history`, `backup`, `server_info`: the handlers of the routes

mod alarms;
mod authorities;
mod backup;
mod candidates;
mod claims;
mod consumers;
mod docs;
mod from_wire;
mod history;
mod lookups;
mod openapi;
mod outbox;
mod pools;
mod prefer;
mod providers;
mod query;
mod reconcile;
mod refusals;
mod routes;
mod scope;
mod server_info;
mod to_wire;
mod transactions;
mod waiters;
mod watch;
mod wire;

use std::sync::{Arc, OnceLock};

use allod_core::command::Command;
use allod_core::receipt::Receipt;
use allod_core::search::SearchLimits;
use allod_edge::{Access, Call, Consistency, Reply, Route};
use allod_engine::{CommandReply as Decided, CommitPoint, FrozenRead, Handle, Snapshot};
use bytes::Bytes;

pub use from_wire::authority_spec;
pub use openapi::document as openapi;
pub use scope::ScopeRule;
pub use to_wire::{ReasonDetail, change};
pub use waiters::WaitLimits;
pub use watch::WatchLimits;
pub use wire::Change;

/// The access that a route requires, and how it enforces the pool scope of a token.
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
    routes::table().map(rule).collect()
}

/// A list that examines more entries is not made on a thread that serves connections.
const SMALL_ENTRIES_MAX: usize = 1000;

/// The face of one engine.
pub struct Native {
    handle: Handle,
    /// Every limit of the server by name, for `/v1/limits`.
    limits: Vec<(&'static str, u64)>,
    watch: watch::Watchers,
    waiters: Arc<waiters::Waiters>,
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
    /// `limits` is the content of `/v1/limits`; the others are those of watching, waiting and one candidate search.
    pub fn new(
        handle: Handle,
        limits: Vec<(&'static str, u64)>,
        watch: WatchLimits,
        wait: WaitLimits,
        search: SearchLimits,
    ) -> Arc<Native> {
        let watch = watch::Watchers::new(handle.clone(), watch);
        let waiters = waiters::Waiters::new(handle.clone(), wait);
        let (openapi, docs) = (OnceLock::new(), OnceLock::new());
        Arc::new(Native { handle, limits, watch, waiters, search, openapi, docs })
    }

    /// The server stops: requests that wait for an authority are answered at once.
    pub fn stop_waiting(&self) {
        self.waiters.stop();
    }

    pub fn routes(self: &Arc<Native>) -> Vec<Route> {
        let route =
            |entry: &'static routes::RouteEntry| {
                let native = self.clone();
                let route =
                    Route::boxed(entry.method.clone(), entry.path, entry.access, move |call| {
                        match entry.scope.admit(&call) {
                            Ok(()) => (entry.run)(native.clone(), call),
                            Err(denied) => Box::pin(std::future::ready(denied.reply())),
                        }
                    });
                let route = route.with_head_check(|call| {
                    entry.scope.admit(call).map_err(|denied| denied.reply())
                });
                match entry.request.can_wait() {
                    true => route.with_more_time(self.waiters.limits().wait_ms_max),
                    false => route,
                }
            };
        routes::table().map(route).collect()
    }

    /// Submits a command. `Err` is a failure of the engine; a refusal is an `Ok` answer.
    async fn submit(&self, command: Command) -> Result<Decided, Reply> {
        self.handle.submit(command).await.map_err(|failure| refusals::failure(&failure).reply())
    }

    /// Submits a command on the resource that the path names. The error is the reply to a refusal or a failure.
    async fn submit_alone(&self, command: Command) -> Result<(Receipt, CommitPoint), Reply> {
        let Decided { answer, at } = self.submit(command).await?;
        let receipt = answer.map_err(|refused| refusals::alone(refused.refusal, &at))?;
        Ok((receipt, at))
    }

    /// Reads the committed state.
    fn read<T>(&self, look: impl FnOnce(&Snapshot<'_>) -> T) -> Result<T, Reply> {
        self.handle.read(look).map_err(|failure| refusals::failure(&failure).reply())
    }

    /// A frozen copy of providers and consumers.
    fn freeze(&self) -> Result<FrozenRead, Reply> {
        self.handle.freeze().map_err(|failure| refusals::failure(&failure).reply())
    }

    /// Runs a read on a thread for long reads.
    async fn read_long<T: Send + 'static>(
        &self,
        read: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Reply> {
        let read = self.handle.read_long(read).await;
        read.map_err(|failure| refusals::failure(&failure).reply())
    }

    /// Makes a list that examines so many entries, on a thread for long reads if they are many.
    async fn list(
        &self,
        entries: usize,
        list: impl FnOnce() -> Result<Reply, Reply> + Send + 'static,
    ) -> Result<Reply, Reply> {
        if entries <= SMALL_ENTRIES_MAX { list() } else { self.read_long(list).await? }
    }

    /// Waits until [`Native::read`] has the consistency that the request's headers ask for.
    async fn wait_for_position(&self, call: &Call) -> Result<(), Reply> {
        let Consistency { linearizable, min_position } = Consistency::of(call)?;
        let waited = self.handle.wait_for_read(linearizable, min_position).await;
        waited.map_err(|failure| refusals::failure(&failure).reply())
    }
}
