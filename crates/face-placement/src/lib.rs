//! The Placement face: OpenStack's interface to inventories, allocations and candidates, at the root of the server and the
//! same under `/placement`, in all microversions from 1.0 to 1.39.
//!
//! It translates and nothing else: a write becomes exactly one command, a read looks at one snapshot. What fits where is the
//! core's; sockets, sizes and who somebody is are the edge's.
//!
//! - `routes`: the table of routes, and what happens around every handler
//! - `versions`: what each microversion changed
//! - `schema`, `query`, `from_wire`: what a request means
//! - `out`, `to_wire`, `summaries`: how an answer is written
//! - `fault`, `accept`, `refusals`, `error_format`: how a no is told
//! - `explain`: why there are no candidates
//! - `policy`: who may do what
//! - `providers`, `inventories`, `aggregates`, `traits`, `classes`, `allocations`, `usages`, `candidates`, `reshaper`,
//!   `root`: what each route does with these
//!
//! Not here: which differences from the original there are; see docs/reference/placement-differences.md.

mod accept;
mod aggregates;
mod allocations;
mod ask;
mod candidates;
mod classes;
mod error_format;
mod explain;
mod fault;
mod fresh;
mod from_wire;
mod inventories;
mod names;
mod out;
mod policy;
mod providers;
mod query;
mod refusals;
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
use allod_core::receipt::Outcome;
use allod_core::state::capacity::Capacity;
use allod_edge::{ErrorFormat, Route};
use allod_engine::{CommitPoint, Handle, Snapshot};

use fault::Fault;
use policy::Policy;
use refusals::Doing;
use summaries::Summaries;

pub use policy::PolicySettings;
pub use settings::{Settings, Strategy};

/// The face of one engine.
pub struct Placement {
    handle: Handle,
    settings: Settings,
    policy: Policy,
    summaries: Summaries,
    fresh: fresh::Uuids,
}

impl std::fmt::Debug for Placement {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Placement").field("settings", &self.settings).finish_non_exhaustive()
    }
}

impl Placement {
    /// Refuses settings that cannot be meant.
    pub fn new(handle: Handle, settings: Settings) -> Result<Arc<Placement>, String> {
        let policy = Policy::new(&settings.policy)?;
        let (summaries, fresh) = (Summaries::default(), fresh::Uuids::new());
        Ok(Arc::new(Placement { handle, settings, policy, summaries, fresh }))
    }

    pub fn routes(self: &Arc<Placement>) -> Vec<Route> {
        routes::all(self)
    }

    /// How the edge answers in this face's place.
    pub fn error_format() -> Arc<dyn ErrorFormat> {
        Arc::new(error_format::PlacementErrors)
    }

    /// Has a command decided. A refusal is told in the words for what was being done.
    async fn submit(
        &self,
        command: Command,
        doing: Doing<'_>,
    ) -> Result<(Outcome, CommitPoint), Fault> {
        let reply = self.handle.submit(command).await.map_err(|why| refusals::failure(&why))?;
        match reply.answer {
            Ok(receipt) => match receipt.outcomes.into_iter().next() {
                Some(outcome) => Ok((outcome, reply.at)),
                None => Err(refusals::unexpected()),
            },
            Err(refused) => Err(refusals::fault(&refused.refusal, &doing).at(reply.at.position)),
        }
    }

    /// Looks at what is committed. What is wrong with it is wrong at that position.
    fn read<T>(
        &self,
        look: impl FnOnce(&Capacity, &Snapshot<'_>) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let look = |snapshot: &Snapshot<'_>| {
            look(snapshot.state.capacity(), snapshot)
                .map_err(|fault| fault.at(snapshot.at.position))
        };
        self.handle.read(look).map_err(|why| refusals::failure(&why))?
    }
}
