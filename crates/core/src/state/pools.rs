//! The pools by index, and those that were removed but are still in the indexes that span pools.
//!
//! Removing a pool costs the same whatever it holds: the pool is set aside, and the indexes that span pools keep entries
//! that lead to no pool, which readers skip. [`State::clean_up`] removes those entries a few at a time. An index is never
//! used twice, so an entry that is left over never leads to another pool.

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasherDefault, Hasher};

use super::pool::Pool;
use super::{PoolIx, Slot, State};

#[derive(Debug, Clone, Default)]
pub(crate) struct Pools {
    present: HashMap<PoolIx, Box<Pool>, BuildHasherDefault<IxHasher>>,
    /// Oldest first.
    pub removed: VecDeque<RemovedPool>,
    next: PoolIx,
    /// All numbers have been used once: the next one may be in use.
    wrapped: bool,
}

/// A pool that was removed, and how much of it has left the indexes.
#[derive(Debug, Clone)]
pub(crate) struct RemovedPool {
    pub ix: PoolIx,
    pub pool: Box<Pool>,
    /// Claims and requests before these slots are in no index.
    pub claims_from: Slot,
    pub requests_from: Slot,
}

/// Removed pools that are in no index. Dropping one takes as long as the pool is large.
#[derive(Debug)]
pub struct CleanedPools(#[expect(dead_code, reason = "kept only to be dropped")] Vec<RemovedPool>);

/// Spreads consecutive numbers over the table. Clients do not choose them.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct IxHasher(u64);

impl Hasher for IxHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u32(u32::from(*byte)));
    }

    fn write_u32(&mut self, number: u32) {
        self.0 = (self.0 ^ u64::from(number)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}

impl Pools {
    pub fn get(&self, ix: PoolIx) -> Option<&Pool> {
        self.present.get(&ix).map(|pool| &**pool)
    }

    pub fn get_mut(&mut self, ix: PoolIx) -> Option<&mut Pool> {
        self.present.get_mut(&ix).map(|pool| &mut **pool)
    }

    pub fn len(&self) -> usize {
        self.present.len()
    }

    pub fn add(&mut self, pool: Box<Pool>) -> PoolIx {
        while self.wrapped && self.is_used(self.next) {
            self.next = self.next.wrapping_add(1);
        }
        let ix = self.next;
        self.next = ix.wrapping_add(1);
        self.wrapped |= self.next == 0;
        self.present.insert(ix, pool);
        ix
    }

    /// Whether a pool has this index, or entries with it are left over.
    fn is_used(&self, ix: PoolIx) -> bool {
        self.present.contains_key(&ix) || self.removed.iter().any(|removed| removed.ix == ix)
    }

    /// Takes back the last [`Pools::add`]. The pool has no claims.
    pub fn take_back(&mut self, ix: PoolIx) -> Option<Box<Pool>> {
        if self.next == ix.wrapping_add(1) {
            self.next = ix;
        }
        self.present.remove(&ix)
    }

    /// Sets a pool aside.
    pub fn set_aside(&mut self, ix: PoolIx) -> Option<&Pool> {
        let pool = self.present.remove(&ix)?;
        self.removed.push_back(RemovedPool { ix, pool, claims_from: 0, requests_from: 0 });
        self.removed.back().map(|removed| &*removed.pool)
    }

    /// Takes back the last [`Pools::set_aside`].
    pub fn bring_back(&mut self, ix: PoolIx) -> Option<&Pool> {
        let removed = self.removed.pop_back_if(|removed| removed.ix == ix)?;
        self.present.insert(ix, removed.pool);
        self.get(ix)
    }
}

impl State {
    /// Whether removed pools are still in the indexes.
    pub fn needs_clean_up(&self) -> bool {
        !self.pools.removed.is_empty()
    }

    /// Removes the entries of removed pools from the indexes that span pools, and looks at no more than `rows_max` claims
    /// and requests. Returns the pools that are finished. Must not be called while a decision may have to be undone.
    pub fn clean_up(&mut self, rows_max: usize) -> CleanedPools {
        let mut left = rows_max;
        let mut finished = Vec::new();
        while left > 0 {
            let Some(mut removed) = self.pools.removed.pop_front() else { break };
            left = self.clean_up_pool(&mut removed, left);
            if left == 0 {
                self.pools.removed.push_front(removed);
                break;
            }
            // An empty pool counts as one row.
            left -= 1;
            finished.push(removed);
        }
        CleanedPools(finished)
    }

    /// Returns how many rows are left of the budget; 0 if the pool is not finished.
    fn clean_up_pool(&mut self, removed: &mut RemovedPool, mut left: usize) -> usize {
        let RemovedPool { ix, pool, claims_from, requests_from } = removed;
        while *claims_from < pool.rows.end() {
            if left == 0 {
                return 0;
            }
            left -= 1;
            if let Some(row) = pool.rows.get(*claims_from) {
                self.owners.remove(&(row.owner().clone(), *ix, *claims_from));
            }
            *claims_from += 1;
        }
        let Some(requests) = pool.requests() else { return left };
        while *requests_from < requests.end() {
            if left == 0 {
                return 0;
            }
            left -= 1;
            if let Some(one) = requests.at(*requests_from).filter(|one| one.request.is_sync()) {
                self.set_in_group(*ix, &one.key, false);
            }
            *requests_from += 1;
        }
        left
    }
}
