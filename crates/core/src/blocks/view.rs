//! Block pools as the id-manager's face shows them.

use std::sync::Arc;

use super::command::{BlockPool, IdEntry};
use super::decide::{bounds, new_layout};
use super::state::seconds;
use crate::claim::{Claim, ClaimState};
use crate::state::State;
use crate::state::pool::Pool;
use crate::state::rows::FrozenRows;

/// A block pool at one position, to be read later.
#[derive(Debug, Clone)]
pub struct FrozenBlockPool {
    pub name: Arc<str>,
    pub definition: BlockPool,
    rows: FrozenRows,
}

impl FrozenBlockPool {
    /// The number of claims, those in quarantine included.
    pub fn claim_count(&self) -> usize {
        self.rows.len()
    }

    /// All keys with their ids, in no particular order.
    pub fn entries(&self) -> impl Iterator<Item = IdEntry> + '_ {
        self.rows.claims().filter(|claim| claim.state == ClaimState::Held).map(shown)
    }
}

/// The names of all pools that are or can become block pools: those of ids below 2^32.
pub fn names(state: &State) -> impl Iterator<Item = &Arc<str>> {
    state.pools().filter(|pool| bounds(pool).is_some()).map(|pool| &pool.name)
}

/// Whether the pool exists and is one of [`names`].
pub fn is_ids(state: &State, pool: &str) -> bool {
    state.pool(pool).is_some_and(|pool| bounds(pool).is_some())
}

/// Whether a client can ask the pool for a certain id, or for one that expires.
pub fn is_enhanced(state: &State, pool: &str) -> bool {
    state.pool(pool).and_then(Pool::blocks).is_some_and(|blocks| blocks.enhanced)
}

/// The name of the child that hands out ids. `None`: the pool has not been divided into blocks.
pub fn active<'a>(state: &'a State, pool: &str) -> Option<&'a Arc<str>> {
    state.pool(pool)?.blocks()?.active().map(|child| &child.name)
}

/// The pool at this position. A pool that has not been divided into blocks is shown as its first allocation would
/// divide it; `child` makes the name of its child.
pub fn frozen(
    state: &State,
    pool: &str,
    child: impl Fn(&str) -> Arc<str>,
) -> Option<FrozenBlockPool> {
    let pool = state.pool(pool)?;
    let definition = definition_of(state, pool, &child)?;
    Some(FrozenBlockPool { name: pool.name.clone(), definition, rows: pool.freeze_rows() })
}

/// The pool without its entries; see [`frozen`].
pub fn definition(
    state: &State,
    pool: &str,
    child: impl Fn(&str) -> Arc<str>,
) -> Option<BlockPool> {
    definition_of(state, state.pool(pool)?, &child)
}

fn definition_of(
    state: &State,
    pool: &Pool,
    child: &impl Fn(&str) -> Arc<str>,
) -> Option<BlockPool> {
    let ids = bounds(pool)?;
    let layout = match pool.blocks() {
        Some(blocks) => blocks.layout(),
        None => new_layout(ids, false, &child(&pool.name), seconds(state.now_ms)),
    };
    let (low, high) = (u32::try_from(ids.first).ok()?, u32::try_from(ids.last).ok()?);
    Some(BlockPool { low, high, delay_s: seconds(pool.spec.quarantine_ms), layout })
}

/// What the key holds.
pub fn entry(state: &State, pool: &str, key: &str) -> Option<IdEntry> {
    let (_, row) = state.pool(pool)?.held(key)?;
    Some(shown(row.claim()))
}

/// The entry that holds the id.
pub fn holder(state: &State, pool: &str, id: u32) -> Option<IdEntry> {
    let (_, row, _) = state.pool(pool)?.at(id.into())?;
    row.held().then(|| shown(row.claim()))
}

/// The number of keys that hold ids.
pub fn entry_count(state: &State, pool: &str) -> Option<u64> {
    state.pool(pool).map(|pool| pool.held_claims)
}

/// The position at which the pool last changed; that of the state for a pool that has not been divided into blocks.
pub fn changed(state: &State, pool: &str) -> Option<u64> {
    let pool = state.pool(pool)?;
    Some(pool.blocks().map_or(state.position, |blocks| blocks.counts.changed))
}

/// Whether the pool has a child of this name; see [`frozen`].
pub fn has_child(
    state: &State,
    pool: &str,
    child: &str,
    name_of: impl Fn(&str) -> Arc<str>,
) -> bool {
    let Some(pool) = state.pool(pool) else { return false };
    match pool.blocks() {
        Some(blocks) => blocks.children.iter().any(|one| &*one.name == child),
        None => bounds(pool).is_some() && &*name_of(&pool.name) == child,
    }
}

fn shown(claim: Claim) -> IdEntry {
    let ids = claim.values.spans().collect();
    IdEntry { key: claim.key, ids, expires_ms: claim.expires_ms }
}
