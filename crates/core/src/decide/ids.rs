//! The id-manager: pools that are parcelled out in blocks, and ids by key.
//!
//! `draw` says where the next ids come from; `allocate` who gets them; `edit` is what an operator writes over all of it.

mod allocate;
mod draw;
mod edit;

use std::sync::Arc;

use super::{Draft, exhausted, release, room, valid};
use crate::command::ids::{CreateIds, IdsCommand};
use crate::event::ids::{BlocksMoved, LedgerDefined};
use crate::event::{ClaimReleased, Event, PoolDefined, PoolRemoved, ReleaseCause};
use crate::ids::{Child, Ledger};
use crate::limits::at_most;
use crate::pool::{PoolRange, PoolSpec};
use crate::receipt::Outcome;
use crate::refusal::{Exhausted, IdsRefusal, Refusal};
use crate::span::Span;
use crate::state::account::seconds;
use crate::state::pool::Pool;
use crate::value::Kind;

/// A pool of more ids than this many blocks is cut into as many.
const BLOCKS: u32 = 10;

pub(super) fn run(draft: &mut Draft<'_>, command: &IdsCommand) -> Result<Outcome, Refusal> {
    match command {
        IdsCommand::Create(create) => create_pool(draft, create),
        IdsCommand::Delete { pool } => {
            delete(draft, pool)?;
            Ok(Outcome::PoolDeleted { existed: true })
        }
        IdsCommand::Allocate(op) => allocate::run(draft, op),
        IdsCommand::Release { pool, key, unknown_is_fine } => {
            give_up(draft, pool, key, *unknown_is_fine)
        }
        IdsCommand::Edit(edit) => edit::run(draft, edit),
    }
}

fn create_pool(draft: &mut Draft<'_>, create: &CreateIds) -> Result<Outcome, Refusal> {
    if draft.state.pool(&create.pool).is_some() {
        let generation = ids_pool(draft, &create.pool)?.generation;
        return Ok(Outcome::PoolPut { created: false, generation });
    }
    valid::pool_name(&create.pool, draft.limits)?;
    valid::pool_name(&create.child, draft.limits)?;
    at_most("pools_max", draft.limits.pools_max, draft.state.pool_count() as u64 + 1)?;
    let Some(ids) = Span::new(create.low.into(), create.high.into()) else {
        let report = Box::new(Exhausted::default());
        return Err(Refusal::PoolExhausted { pool: create.pool.clone(), report });
    };
    let delay_s = if create.enhanced { 0 } else { create.delay_s };
    let (pool, spec) = (create.pool.clone(), spec(ids, delay_s));
    draft.record(Event::PoolDefined(PoolDefined { pool: pool.clone(), generation: 1, spec }));
    let ledger = fresh(ids, create.enhanced, &create.child, seconds(draft.now_ms));
    draft.record(Event::LedgerDefined(LedgerDefined { pool, ledger }));
    Ok(Outcome::PoolPut { created: true, generation: 1 })
}

/// A pool as the id-manager makes it.
fn spec(ids: Span, delay_s: u32) -> PoolSpec {
    let mut spec = PoolSpec::new(Kind::Id32, vec![PoolRange { span: ids, subnet_len: None }]);
    spec.quarantine_ms = u64::from(delay_s) * 1000;
    spec
}

/// The account of a pool of which nothing has been handed out: the child has the first block.
pub(crate) fn fresh(ids: Span, enhanced: bool, child: &Arc<str>, access_s: u32) -> Ledger {
    let (low, high) = (id(ids.first), id(ids.last));
    let more = high - low;
    let block_size = if more > BLOCKS { more / BLOCKS } else { 1 };
    let block_size = u16::try_from(block_size).unwrap_or(u16::MAX);
    let before = i64::from(low) - 1;
    let mut ledger =
        Ledger { block_size, enhanced, cursor: before, released: vec![], children: vec![] };
    let end = low.saturating_add(u32::from(block_size) - 1).min(high);
    ledger.cursor = end.into();
    let (name, released) = (child.clone(), vec![]);
    ledger.children.push(Child { name, start: low, end, cursor: before, released, access_s });
    ledger
}

/// All ids of a pool that the id-manager can speak of, from the lowest to the highest.
pub(crate) fn bounds(pool: &Pool) -> Option<Span> {
    let members = &pool.zones.members;
    let (first, last) = (members.first()?.first, members.last()?.last);
    let fits =
        pool.requests.is_none() && pool.spec.kind == Kind::Id32 && last <= u128::from(u32::MAX);
    fits.then_some(Span { first, last })
}

fn ids_pool<'a>(draft: &'a Draft<'_>, name: &Arc<str>) -> Result<&'a Pool, Refusal> {
    let pool = draft.pool(name)?;
    super::pool::kept(Some(pool))?;
    match bounds(pool) {
        Some(_) => Ok(pool),
        None => Err(IdsRefusal::NotIds { pool: name.clone() }.into()),
    }
}

/// Sees to it that the pool has an account, and in it this child in front.
fn open(draft: &mut Draft<'_>, name: &Arc<str>, child: &Arc<str>) -> Result<(), Refusal> {
    let pool = ids_pool(draft, name)?;
    let active = pool.account.as_ref().and_then(|account| account.active());
    if active.is_some_and(|active| active.name == *child) {
        return Ok(());
    }
    let Some(ids) = bounds(pool) else { return Ok(()) };
    let access_s = seconds(draft.now_ms);
    let ledger = match &pool.account {
        None => fresh(ids, false, child, access_s),
        Some(account) => {
            let mut ledger = account.ledger();
            let known = ledger.children.iter().position(|other| other.name == *child);
            let child = match known {
                Some(at) => ledger.children.remove(at),
                None => {
                    // A block of its own, as for any new node; none, when there is none left.
                    let high = high(pool);
                    let before = ledger.cursor.min(high);
                    let last = before.saturating_add(ledger.block_size.into()).min(high);
                    ledger.cursor = ledger.cursor.max(last);
                    let (start, end) = (id_of((before + 1).min(high)), id_of(last));
                    let (name, released) = (child.clone(), vec![]);
                    Child { name, start, end, cursor: before, released, access_s }
                }
            };
            ledger.children.insert(0, child);
            ledger
        }
    };
    draft.record(Event::LedgerDefined(LedgerDefined { pool: name.clone(), ledger }));
    Ok(())
}

/// A pool whose ids have become others is parcelled out anew: all that is free is available.
pub(super) fn parcel_again(
    draft: &mut Draft<'_>,
    name: &Arc<str>,
    before: &[Span],
) -> Result<(), Refusal> {
    let pool = draft.pool(name)?;
    let (Some(account), Some(ids)) = (&pool.account, bounds(pool)) else { return Ok(()) };
    if pool.zones.automatic == before {
        return Ok(());
    }
    let Some(child) = account.active() else { return Ok(()) };
    let ledger = fresh(ids, account.enhanced, &child.name, child.access_s);
    draft.record(Event::LedgerDefined(LedgerDefined { pool: name.clone(), ledger }));
    Ok(())
}

/// The highest id of the pool.
fn high(pool: &Pool) -> i64 {
    bounds(pool).map_or(-1, |ids| id(ids.last).into())
}

/// An id of a pool that has been found to be one of ids below 2^32.
fn id(value: u128) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}

fn id_of(value: i64) -> u32 {
    u32::try_from(value.max(0)).unwrap_or(u32::MAX)
}

fn give_up(
    draft: &mut Draft<'_>,
    name: &Arc<str>,
    key: &Arc<str>,
    unknown_is_fine: bool,
) -> Result<Outcome, Refusal> {
    let pool = ids_pool(draft, name)?;
    let Some((_, row)) = pool.held(key) else {
        if unknown_is_fine && pool.held_claims > 0 {
            return Ok(Outcome::Ids(vec![]));
        }
        let (pool_name, key, entries) = (name.clone(), key.clone(), pool.held_claims);
        return Err(IdsRefusal::KeyUnknown { pool: pool_name, key, entries }.into());
    };
    let ids = row.values().spans().collect();
    let event = release::released(draft, pool, row, ReleaseCause::Asked);
    draft.record(event);
    Ok(Outcome::Ids(ids))
}

/// The pool goes, with all that is held of it.
fn delete(draft: &mut Draft<'_>, name: &Arc<str>) -> Result<(), Refusal> {
    ids_pool(draft, name)?;
    release_all(draft, name)?;
    draft.record(Event::PoolRemoved(PoolRemoved { pool: name.clone() }));
    Ok(())
}

/// Every claim of the pool ends, without rest.
fn release_all(draft: &mut Draft<'_>, name: &Arc<str>) -> Result<(), Refusal> {
    let pool = ids_pool(draft, name)?;
    at_most("ids_per_edit_max", draft.limits.ids_per_edit_max, pool.held_claims)?;
    let keys: Vec<Arc<str>> = pool.held_keys().cloned().collect();
    keys.iter().try_for_each(|key| release_now(draft, name, key))
}

/// What the key holds is free at once.
fn release_now(draft: &mut Draft<'_>, name: &Arc<str>, key: &Arc<str>) -> Result<(), Refusal> {
    let pool = draft.pool(name)?;
    let Some((_, row)) = pool.held(key) else { return Ok(()) };
    let event = Event::ClaimReleased(ClaimReleased {
        pool: name.clone(),
        key: key.clone(),
        version: draft.version,
        at_version: row.version,
        cause: ReleaseCause::Asked,
        quarantine_until_ms: None,
        was: row.was(pool.spec.kind),
    });
    draft.record(event);
    Ok(())
}

/// What is more than two blocks' worth of a child goes back to the pool: of the released ids, those that are ready.
pub(super) fn give_back(draft: &Draft<'_>, pool: &Pool) -> Option<Event> {
    let account = pool.account.as_ref()?;
    let child = account.active()?;
    let now_s = seconds(draft.now_ms);
    let ready = || child.released.iter().take_while(|run| run.ready_s <= now_s);
    let ready_ids: u128 = ready().map(|run| run.ids.len()).sum();
    let has = pool.local_available(account) + ready_ids;
    let mut excess = has.saturating_sub(2 * u128::from(account.block_size)).min(ready_ids);
    let mut returned = Vec::new();
    for run in ready() {
        if excess == 0 {
            break;
        }
        let many = run.ids.len().min(excess);
        returned.push(Span { first: run.ids.first, last: run.ids.first + many - 1 });
        excess -= many;
    }
    Some(Event::BlocksMoved(BlocksMoved {
        pool: pool.name.clone(),
        cursor: account.cursor,
        start: child.block.start,
        end: child.block.end,
        child_cursor: child.block.cursor,
        fetched: vec![],
        returned,
        at_ms: draft.now_ms,
    }))
}

/// Nothing is left.
fn dry(draft: &Draft<'_>, name: &Arc<str>) -> Refusal {
    let report = draft.pool(name).map(|pool| exhausted::report(pool, draft.now_ms));
    Refusal::PoolExhausted { pool: name.clone(), report: Box::new(report.unwrap_or_default()) }
}
