//! The Placement face: OpenStack's Placement API in all microversions from 1.0 to 1.39, at the root of the server and
//! again under `/placement`.
//!
//! It only translates: a write becomes exactly one command, and a read uses one snapshot. The core decides what fits
//! where; the edge handles sockets, limits and authentication.
//!
//! - `routes`: the route table and the steps around every handler
//! - `versions`: what each microversion changed
//! - `schema`, `query`, `from_wire`: parse and validate requests
//! - `long_read`: searches and long lists, on a frozen copy and in parts
//! - `json`, `to_wire`, `summaries`: write replies
//! - `error`, `accept`, `refusals`, `error_format`: write errors
//! - `explain`: why there are no candidates
//! - `policy`: authorisation rules
//! - `providers`, `inventories`, `aggregates`, `traits`, `classes`, `allocations`, `usages`, `candidates`, `reshaper`,
//!   `root`: the handlers of each route
//!
//! Differences from OpenStack's own server are listed in docs/reference/placement-differences.md.

mod accept;
mod aggregates;
mod allocations;
mod candidates;
mod classes;
mod error;
mod error_format;
mod explain;
mod from_wire;
mod inventories;
mod json;
mod long_read;
mod lookup;
mod policy;
mod providers;
mod query;
mod refusals;
mod request;
mod reshaper;
mod root;
mod routes;
mod schema;
mod settings;
mod summaries;
mod to_wire;
mod traits;
mod usages;
mod uuid;
mod versions;

use std::sync::Arc;

use allod_core::command::Command;
use allod_core::command::capacity::CapacityCommand;
use allod_core::receipt::{Outcome, ProviderNow};
use allod_core::view;
use allod_core::view::capacity::CapacityView;
use allod_edge::{ErrorFormat, Route};
use allod_engine::{CommitPoint, Handle, Snapshot};
use http::StatusCode;

use error::PlacementResult;
use policy::Policy;
use refusals::WriteOperation;
use summaries::SummaryCache;
use to_wire::{HandlerResult, PlacementReply};
use uuid::UuidGenerator;

pub use policy::PolicySettings;
pub use settings::{GenerationStrategy, PlacementSettings};

/// The Placement API of one engine.
pub struct Placement {
    handle: Handle,
    settings: PlacementSettings,
    policy: Policy,
    summaries: Arc<SummaryCache>,
    uuids: UuidGenerator,
}

impl std::fmt::Debug for Placement {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Placement").field("settings", &self.settings).finish_non_exhaustive()
    }
}

impl Placement {
    /// Fails if the policy rules are invalid.
    pub fn new(handle: Handle, settings: PlacementSettings) -> Result<Arc<Placement>, String> {
        let policy = Policy::new(&settings.policy)?;
        let (summaries, uuids) = (Arc::default(), UuidGenerator::new());
        Ok(Arc::new(Placement { handle, settings, policy, summaries, uuids }))
    }

    pub fn routes(self: &Arc<Placement>) -> Vec<Route> {
        routes::all(self)
    }

    /// How the edge writes errors on paths of this face.
    pub fn error_format() -> Arc<dyn ErrorFormat> {
        Arc::new(error_format::PlacementErrors)
    }

    /// Submits a command. The text of a refusal depends on the operation.
    async fn submit(
        &self,
        command: Command,
        operation: WriteOperation<'_>,
    ) -> PlacementResult<(Outcome, CommitPoint)> {
        let reply = self.handle.submit(command).await.map_err(|why| refusals::failure(&why))?;
        match reply.answer {
            Ok(receipt) => match receipt.outcomes.into_iter().next() {
                Some(outcome) => Ok((outcome, reply.at)),
                None => Err(refusals::unexpected()),
            },
            Err(refused) => {
                Err(refusals::error(&refused.refusal, &operation).at(reply.at.position))
            }
        }
    }

    /// Submits a command that creates or changes a provider.
    async fn submit_provider(
        &self,
        command: CapacityCommand,
        operation: WriteOperation<'_>,
    ) -> PlacementResult<(ProviderNow, CommitPoint)> {
        match self.submit(Command::Capacity(command), operation).await? {
            (Outcome::Provider(now), at) => Ok((now, at)),
            _ => Err(refusals::unexpected()),
        }
    }

    /// Submits a command whose reply has no content.
    async fn submit_empty(&self, command: Command, operation: WriteOperation<'_>) -> HandlerResult {
        let (_, at) = self.submit(command, operation).await?;
        Ok(PlacementReply::empty(at, StatusCode::NO_CONTENT))
    }

    /// Reads the committed state. An error carries the position of the snapshot.
    fn read<T>(
        &self,
        read: impl FnOnce(CapacityView<'_>, &Snapshot<'_>) -> PlacementResult<T>,
    ) -> PlacementResult<T> {
        let read = |snapshot: &Snapshot<'_>| {
            read(view::capacity(snapshot.state), snapshot)
                .map_err(|error| error.at(snapshot.at.position))
        };
        self.handle.read(read).map_err(|why| refusals::failure(&why))?
    }
}
