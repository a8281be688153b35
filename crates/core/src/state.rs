//! The state: the result of all events up to a position, with indexes.
//!
//! It changes only through `apply`, and back through [`undo`]. Deciding is in `decide`, reading for faces in `view`.

pub mod answers;
pub mod capacity;
pub mod pool;
pub mod pools;
pub mod recent;
pub mod restore;
pub mod rows;
pub(crate) mod shared_list;
pub(crate) mod shared_map;
pub(crate) mod slots;
pub mod undo;
pub mod zones;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::alarm::Alarms;
use crate::authority::Authorities;
use crate::event::IdempotencyStored;
use crate::outbox::Outbox;
use crate::requests::event::Retry;
use answers::StoredAnswers;
use capacity::Capacity;
use pool::Pool;
use pools::Pools;
use undo::ChangeLog;

/// The index of a pool. It is never used again, so two states with the same history have the same indexes.
pub type PoolIx = u32;

/// The index of a claim in its pool.
pub type Slot = u32;

#[derive(Debug, Clone, Default)]
pub struct State {
    /// The number of journal entries that were applied.
    pub position: u64,
    /// When the last entry was decided, in milliseconds since 1970.
    pub now_ms: u64,
    pub(crate) names: BTreeMap<Arc<str>, PoolIx>,
    pub(crate) pools: Pools,
    /// All claims, held or in quarantine, by owner; and entries of removed pools that have not been cleaned up.
    pub(crate) owners: BTreeSet<(Arc<str>, PoolIx, Slot)>,
    /// When the next quarantine, lease or cleanup of each pool is due.
    pub(crate) due: BTreeSet<(u64, PoolIx)>,
    /// Answers by idempotency key.
    pub(crate) answers: StoredAnswers,
    /// Providers, and what consumers hold of them.
    pub(crate) capacity: Capacity,
    /// The pools with a request of this key that is to get the same value in all of them; and entries of removed pools
    /// that have not been cleaned up.
    pub(crate) sync: BTreeMap<Arc<str>, BTreeSet<PoolIx>>,
    /// The groups that are still to be tried.
    pub(crate) retry_groups: Option<Retry>,
    pub(crate) outbox: Outbox,
    pub(crate) alarms: Alarms,
    pub(crate) authorities: Authorities,
    /// Pools by authority.
    pub(crate) external_pools: BTreeSet<(Arc<str>, PoolIx)>,
    /// The position since which slots and pool indexes have been assigned here. Two states with the same value and the
    /// same events since then have the same slots.
    pub(crate) counted_from: u64,
    /// The changes of the decision in progress.
    pub(crate) log: ChangeLog,
}

impl State {
    pub fn new() -> State {
        State::default()
    }

    pub fn pool(&self, name: &str) -> Option<&Pool> {
        self.pool_at(*self.names.get(name)?)
    }

    pub fn pool_count(&self) -> usize {
        self.names.len()
    }

    /// All pools in the order of their names.
    pub fn pools(&self) -> impl Iterator<Item = &Pool> {
        self.names.values().filter_map(|&ix| self.pool_at(ix))
    }

    /// The pools with this authority.
    pub(crate) fn pools_of_authority(&self, authority: &str) -> impl Iterator<Item = &Pool> {
        let from = self.external_pools.range((Arc::from(authority), 0)..);
        let pools = from.take_while(move |(name, _)| **name == *authority);
        pools.filter_map(|(_, ix)| self.pool_at(*ix))
    }

    /// When the next tick has something to do.
    pub fn next_due_ms(&self) -> Option<u64> {
        let pool = self.due.first().map(|&(at, _)| at);
        let answers = self.answers.next_due().map(IdempotencyStored::until_ms);
        let groups = self.retry_groups.as_ref().map(|retry| retry.at_ms);
        let due = pool.into_iter().chain(answers).chain(groups);
        let refused = self.authorities.refused.first().map(|&(at, _)| at);
        let overdue = self.authorities.next_overdue(&self.alarms).map(|&(at, _)| at);
        let reconcile = self.authorities.reconcile_due.first().map(|&(at, _)| at);
        let external = refused.into_iter().chain(overdue).chain(reconcile);
        due.chain(self.capacity.next_due_ms()).chain(external).min()
    }

    /// The answer under this idempotency key.
    pub fn idempotency(&self, key: &str) -> Option<&IdempotencyStored> {
        self.answers.get(key)
    }

    pub(crate) fn pool_at(&self, ix: PoolIx) -> Option<&Pool> {
        self.pools.get(ix)
    }
}
