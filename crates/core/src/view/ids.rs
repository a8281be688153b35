//! Pools of ids as the id-manager shows them.

use std::sync::Arc;

use crate::claim::{Claim, ClaimState};
use crate::command::ids::{Frame, IdEntry};
use crate::decide::ids::{bounds, fresh};
use crate::state::State;
use crate::state::account::seconds;
use crate::state::pool::Pool;
use crate::state::rows::FrozenRows;

/// A pool of one moment, to be walked later.
#[derive(Debug, Clone)]
pub struct FrozenIds {
    pub name: Arc<str>,
    pub frame: Frame,
    rows: FrozenRows,
}

impl FrozenIds {
    /// Who holds what, in no particular order.
    pub fn entries(&self) -> impl Iterator<Item = IdEntry> + '_ {
        self.rows.claims().filter(|claim| claim.state == ClaimState::Held).map(shown)
    }
}

/// The names of all pools that can be shown: those of ids that fit into 32 bits.
pub fn names(state: &State) -> impl Iterator<Item = &Arc<str>> {
    state.pools().filter(|pool| bounds(pool).is_some()).map(|pool| &pool.name)
}

/// Whether there is a pool of this name that can be shown.
pub fn is_ids(state: &State, pool: &str) -> bool {
    state.pool(pool).is_some_and(|pool| bounds(pool).is_some())
}

/// Whether ids of the pool may be asked for by value and for a time.
pub fn is_enhanced(state: &State, pool: &str) -> bool {
    state.pool(pool).and_then(|pool| pool.account.as_ref()).is_some_and(|account| account.enhanced)
}

/// The name of the child that hands out, if there is any yet.
pub fn active<'a>(state: &'a State, pool: &str) -> Option<&'a Arc<str>> {
    let account = state.pool(pool)?.account.as_ref()?;
    account.active().map(|child| &child.name)
}

/// The pool as it is; one that the id-manager has not touched yet, as its first allocation would find it. `child` makes the
/// name of its child.
pub fn frozen(state: &State, pool: &str, child: impl Fn(&str) -> Arc<str>) -> Option<FrozenIds> {
    let pool = state.pool(pool)?;
    let frame = frame_of(state, pool, &child)?;
    Some(FrozenIds { name: pool.name.clone(), frame, rows: pool.freeze_rows() })
}

/// Everything about the pool but who holds what.
pub fn frame(state: &State, pool: &str, child: impl Fn(&str) -> Arc<str>) -> Option<Frame> {
    frame_of(state, state.pool(pool)?, &child)
}

fn frame_of(state: &State, pool: &Pool, child: &impl Fn(&str) -> Arc<str>) -> Option<Frame> {
    let ids = bounds(pool)?;
    let ledger = match &pool.account {
        Some(account) => account.ledger(),
        None => fresh(ids, false, &child(&pool.name), seconds(state.now_ms)),
    };
    let (low, high) = (u32::try_from(ids.first).ok()?, u32::try_from(ids.last).ok()?);
    Some(Frame { low, high, delay_s: seconds(pool.spec.quarantine_ms), ledger })
}

/// What the key holds.
pub fn entry(state: &State, pool: &str, key: &str) -> Option<IdEntry> {
    let (_, row) = state.pool(pool)?.held(key)?;
    Some(shown(row.claim()))
}

/// Who holds the id.
pub fn holder(state: &State, pool: &str, id: u32) -> Option<IdEntry> {
    let (_, row, _) = state.pool(pool)?.at(id.into())?;
    row.held().then(|| shown(row.claim()))
}

/// How many keys hold something.
pub fn entry_count(state: &State, pool: &str) -> Option<u64> {
    state.pool(pool).map(|pool| pool.held_claims)
}

/// The position at which the pool last changed. Of a pool that the id-manager has not touched only the whole state knows.
pub fn changed(state: &State, pool: &str) -> Option<u64> {
    let pool = state.pool(pool)?;
    Some(pool.account.as_ref().map_or(state.position, |account| account.counts.changed))
}

/// The pool that has a child of this name, which is that of the pool and something behind a point.
pub fn parent_of<'a>(
    state: &'a State,
    child: &str,
    name_of: impl Fn(&str) -> Arc<str>,
) -> Option<&'a Arc<str>> {
    let pool = child.rsplit_once('.').and_then(|(pool, _)| state.pool(pool))?;
    let has = match &pool.account {
        Some(account) => account.children.iter().any(|one| &*one.name == child),
        None => bounds(pool).is_some() && &*name_of(&pool.name) == child,
    };
    has.then_some(&pool.name)
}

fn shown(claim: Claim) -> IdEntry {
    let ids = claim.values.spans().collect();
    IdEntry { key: claim.key, ids, expires_ms: claim.expires_ms }
}
