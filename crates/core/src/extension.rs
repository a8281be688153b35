//! The seam between a pool and the products that extend it.
//!
//! A pool may have one extension: [`Blocks`] (ids handed out in blocks) or [`Requests`] (standing requests). An
//! extension keeps data of its own about the pool. It never says which value is held: claims and the free set do.
//! The rest of the core knows nothing about extensions beyond the questions in this file:
//!
//! | point | asked | blocks | requests |
//! |---|---|---|---|
//! | a native command defines or deletes the pool | [`PoolExtension::ensure_pool_editable`] | allows | refuses |
//! | a native operation claims, releases or renews a key | [`PoolExtension::ensure_claim_editable`] | allows | refuses the keys of requests |
//! | a native claim would move the pool's cursor | [`PoolExtension::owns_cursor`] | yes | no |
//! | a native command has redefined the pool | [`pool_redefined`] | divides the new ids into blocks | – |
//! | a decision has granted or released claims, or changed them at an authority | [`claims_decided`] | – | grants waiting requests, answers those of the authority, sets alarms, notifies |
//! | an event has changed a claim (`apply`) | [`State::extension_changed`] | moves ids between its lists | – |
//! | a pool is added to the state or cleaned up | `State::set_in_group` | – | updates the index of groups |
//! | the free set has changed | [`PoolExtension::free_changed`] | – | updates the index of host addresses |
//! | time passes | [`PoolExtension::next_due_ms`], [`due`] | returns surplus ids | grants more waiting requests |
//!
//! A plain pool pays for each question one look at its empty extension.

use std::sync::Arc;

use crate::authority::ExternalClaim;
use crate::blocks::state::Blocks;
use crate::claim::Values;
use crate::decide::Draft;
use crate::event::Event;
use crate::refusal::Refusal;
use crate::requests::refusal::RequestsRefusal;
use crate::requests::state::Requests;
use crate::span::Span;
use crate::spanset::SpanSet;
use crate::state::pool::Pool;
use crate::state::{PoolIx, State};
use crate::{blocks, requests};

#[derive(Debug, Clone, Default)]
pub(crate) enum PoolExtension {
    #[default]
    None,
    Blocks(Box<Blocks>),
    Requests(Box<Requests>),
}

/// How an event has changed a claim of a pool.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ClaimChange<'a> {
    Granted {
        values: &'a Values,
        at_ms: u64,
        cursor: Option<u128>,
    },
    LeaseChanged,
    /// `ready_ms`: when the values can be granted again. `None`: at once.
    Released {
        values: &'a Values,
        ready_ms: Option<u64>,
    },
}

impl PoolExtension {
    /// Refuses a native definition or deletion of a pool that only its extension may change.
    pub fn ensure_pool_editable(&self, pool: &Arc<str>) -> Result<(), Refusal> {
        match self {
            PoolExtension::None | PoolExtension::Blocks(_) => Ok(()),
            PoolExtension::Requests(_) => {
                Err(RequestsRefusal::Managed { pool: pool.clone(), key: None }.into())
            }
        }
    }

    /// Refuses a native change of a claim that only the extension may change.
    pub fn ensure_claim_editable(&self, pool: &Arc<str>, key: &Arc<str>) -> Result<(), Refusal> {
        match self {
            PoolExtension::Requests(requests) if requests.get(key).is_some() => {
                let (pool, key) = (pool.clone(), Some(key.clone()));
                Err(RequestsRefusal::Managed { pool, key }.into())
            }
            PoolExtension::None | PoolExtension::Blocks(_) | PoolExtension::Requests(_) => Ok(()),
        }
    }

    /// Whether only the extension's own grants move the cursor of the pool.
    pub fn owns_cursor(&self) -> bool {
        matches!(self, PoolExtension::Blocks(_))
    }

    /// All values of `part` have become free or taken; `free` is the free set after that.
    pub fn free_changed(&mut self, part: Span, free: &SpanSet) {
        if let PoolExtension::Requests(requests) = self {
            requests.free_changed(part, free);
        }
    }

    /// The free set was rebuilt, or the extension was set up.
    pub fn free_rebuilt(&mut self, free: &SpanSet) {
        if let PoolExtension::Requests(requests) = self {
            requests.rebuild_hosts(free);
        }
    }

    /// When [`due_event`] next has something to do.
    pub fn next_due_ms(&self) -> Option<u64> {
        match self {
            PoolExtension::Blocks(blocks) => blocks.counts.clean_ms,
            PoolExtension::Requests(requests) => requests.retry.as_ref().map(|retry| retry.at_ms),
            PoolExtension::None => None,
        }
    }
}

/// A native command has redefined a pool whose values for automatic claims were `before`.
pub(crate) fn pool_redefined(
    draft: &mut Draft<'_>,
    pool: &Arc<str>,
    before: &[Span],
) -> Result<(), Refusal> {
    blocks::decide::divide_again(draft, pool, before)
}

/// The decision so far has granted or released claims: decides what follows from that. Called once, at the end of a
/// transaction and of a tick; commands of an extension do this themselves.
pub(crate) fn claims_decided(draft: &mut Draft<'_>) -> Result<(), Refusal> {
    requests::decide::claims_decided(draft)
}

/// What an extension does when it is due.
pub(crate) enum DueWork {
    Event(Box<Event>),
    /// An expired claim of a pool with an authority.
    Release(Arc<ExternalClaim>),
    /// The scheduled reconciliation of this authority.
    Reconcile(Arc<str>),
    /// The oldest claim of this authority has waited for too long.
    Overdue(Arc<str>),
    /// Failed requests of this pool are tried again.
    Retry(Arc<str>),
}

impl DueWork {
    pub(crate) fn event(event: Event) -> DueWork {
        DueWork::Event(Box::new(event))
    }
}

/// What is due at the pool's [`PoolExtension::next_due_ms`].
pub(crate) fn due(draft: &Draft<'_>, pool: &Pool) -> Option<DueWork> {
    pool.extension.next_due_ms().filter(|at_ms| *at_ms <= draft.now_ms)?;
    match &pool.extension {
        PoolExtension::None => None,
        PoolExtension::Blocks(_) => blocks::decide::return_surplus(draft, pool).map(DueWork::event),
        PoolExtension::Requests(_) => Some(DueWork::Retry(pool.name.clone())),
    }
}

impl State {
    /// An event has changed a claim of the pool.
    pub(crate) fn extension_changed(&mut self, ix: PoolIx, change: ClaimChange<'_>) {
        let extension = self.pool_at(ix).map(|pool| &pool.extension);
        match extension {
            Some(PoolExtension::Blocks(_)) => self.blocks_claim_changed(ix, change),
            None | Some(PoolExtension::None | PoolExtension::Requests(_)) => {}
        }
    }
}

impl Pool {
    pub(crate) fn blocks(&self) -> Option<&Blocks> {
        let PoolExtension::Blocks(blocks) = &self.extension else { return None };
        Some(blocks)
    }

    pub(crate) fn blocks_mut(&mut self) -> Option<&mut Blocks> {
        let PoolExtension::Blocks(blocks) = &mut self.extension else { return None };
        Some(blocks)
    }

    pub(crate) fn requests(&self) -> Option<&Requests> {
        let PoolExtension::Requests(requests) = &self.extension else { return None };
        Some(requests)
    }

    pub(crate) fn requests_mut(&mut self) -> Option<&mut Requests> {
        let PoolExtension::Requests(requests) = &mut self.extension else { return None };
        Some(requests)
    }
}
