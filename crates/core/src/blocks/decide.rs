//! Decisions about block pools.
//!
//! `draw` finds the next ids, `allocate` grants them to a key, `edit` replaces parts of pools by what an operator wrote.

mod allocate;
mod draw;
mod edit;

use std::sync::Arc;

use super::command::{BlocksCommand, CreateBlockPool};
use super::state::seconds;
use super::{BlockLayout, BlocksDefined, BlocksMoved, BlocksRefusal, Child};
use crate::decide::pool::removed;
use crate::decide::{Draft, exhausted, release, valid};
use crate::event::{Event, PoolDefined, ReleaseCause};
use crate::limits::at_most;
use crate::pool::{PoolRange, PoolSpec};
use crate::receipt::Outcome;
use crate::refusal::{Exhausted, Refusal};
use crate::span::Span;
use crate::state::pool::Pool;
use crate::value::Kind;

/// A new pool is divided into this many blocks, or into blocks of one id if it is smaller.
const BLOCKS: u32 = 10;

/// The most runs of released ids that one tick returns to the pool.
const RUNS_RETURNED_MAX: usize = 1000;

pub(crate) fn run(draft: &mut Draft<'_>, command: &BlocksCommand) -> Result<Outcome, Refusal> {
    match command {
        BlocksCommand::Create(create) => create_pool(draft, create),
        BlocksCommand::Delete { pool } => {
            delete(draft, pool)?;
            Ok(Outcome::PoolDeleted { existed: true })
        }
        BlocksCommand::Allocate(op) => allocate::run(draft, op),
        BlocksCommand::Release { pool, key, unknown_is_fine } => {
            release_key(draft, pool, key, *unknown_is_fine)
        }
        BlocksCommand::Edit(edit) => edit::run(draft, edit),
    }
}

fn create_pool(draft: &mut Draft<'_>, create: &CreateBlockPool) -> Result<Outcome, Refusal> {
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
    draft.record(PoolDefined { pool: pool.clone(), generation: 1, spec });
    let layout = new_layout(ids, create.enhanced, &create.child, seconds(draft.now_ms));
    draft.record(BlocksDefined { pool, layout });
    Ok(Outcome::PoolPut { created: true, generation: 1 })
}

fn spec(ids: Span, delay_s: u32) -> PoolSpec {
    let mut spec = PoolSpec::new(Kind::Id32, vec![PoolRange { span: ids, subnet_len: None }]);
    spec.quarantine_ms = u64::from(delay_s) * 1000;
    spec
}

/// The layout of a pool with no ids handed out: the child has the first block.
pub(crate) fn new_layout(
    ids: Span,
    enhanced: bool,
    child: &Arc<str>,
    access_s: u32,
) -> BlockLayout {
    let (low, high) = (id(ids.first), id(ids.last));
    let more = high - low;
    let block_size = if more > BLOCKS { more / BLOCKS } else { 1 };
    let block_size = u16::try_from(block_size).unwrap_or(u16::MAX);
    let before = i64::from(low) - 1;
    let mut layout =
        BlockLayout { block_size, enhanced, cursor: before, released: vec![], children: vec![] };
    let end = low.saturating_add(u32::from(block_size) - 1).min(high);
    layout.cursor = end.into();
    let (name, released) = (child.clone(), vec![]);
    layout.children.push(Child { name, start: low, end, cursor: before, released, access_s });
    layout
}

/// From the lowest to the highest id of a pool that is or can become a block pool. `None` for other pools.
pub(crate) fn bounds(pool: &Pool) -> Option<Span> {
    let members = &pool.zones.members;
    let (first, last) = (members.first()?.first, members.last()?.last);
    let fits =
        pool.requests().is_none() && pool.spec.kind == Kind::Id32 && last <= u128::from(u32::MAX);
    fits.then_some(Span { first, last })
}

fn ids_pool<'a>(draft: &'a Draft<'_>, name: &Arc<str>) -> Result<&'a Pool, Refusal> {
    let pool = draft.pool(name)?;
    pool.extension.ensure_pool_editable(&pool.name)?;
    match bounds(pool) {
        Some(_) => Ok(pool),
        None => Err(BlocksRefusal::NotIds { pool: name.clone() }.into()),
    }
}

/// Divides the pool into blocks if that has not been done, and makes this child the first one.
fn ensure_active_child(
    draft: &mut Draft<'_>,
    name: &Arc<str>,
    child: &Arc<str>,
) -> Result<(), Refusal> {
    let pool = ids_pool(draft, name)?;
    let active = pool.blocks().and_then(|blocks| blocks.active());
    if active.is_some_and(|active| active.name == *child) {
        return Ok(());
    }
    let Some(ids) = bounds(pool) else { return Ok(()) };
    let access_s = seconds(draft.now_ms);
    let layout = match pool.blocks() {
        None => new_layout(ids, false, child, access_s),
        Some(blocks) => {
            let mut layout = blocks.layout();
            let known = layout.children.iter().position(|other| other.name == *child);
            let child = match known {
                Some(at) => layout.children.remove(at),
                None => {
                    // A new node gets a block; an empty one if no ids are left.
                    let high = high(pool);
                    let before = layout.cursor.min(high);
                    let last = before.saturating_add(layout.block_size.into()).min(high);
                    layout.cursor = layout.cursor.max(last);
                    let (start, end) = (id_of((before + 1).min(high)), id_of(last));
                    let (name, released) = (child.clone(), vec![]);
                    Child { name, start, end, cursor: before, released, access_s }
                }
            };
            layout.children.insert(0, child);
            layout
        }
    };
    draft.record(BlocksDefined { pool: name.clone(), layout });
    Ok(())
}

/// Divides a block pool again if its ids have changed: all free ids are then available. `before`: its ids before.
pub(crate) fn divide_again(
    draft: &mut Draft<'_>,
    name: &Arc<str>,
    before: &[Span],
) -> Result<(), Refusal> {
    let pool = draft.pool(name)?;
    let (Some(blocks), Some(ids)) = (pool.blocks(), bounds(pool)) else { return Ok(()) };
    if pool.zones.automatic == before {
        return Ok(());
    }
    let Some(child) = blocks.active() else { return Ok(()) };
    let layout = new_layout(ids, blocks.enhanced, &child.name, child.access_s);
    draft.record(BlocksDefined { pool: name.clone(), layout });
    Ok(())
}

/// The highest id of the pool.
fn high(pool: &Pool) -> i64 {
    bounds(pool).map_or(-1, |ids| id(ids.last).into())
}

/// An id of a pool for which [`bounds`] has a span.
fn id(value: u128) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}

fn id_of(value: i64) -> u32 {
    u32::try_from(value.max(0)).unwrap_or(u32::MAX)
}

fn release_key(
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
        return Err(BlocksRefusal::KeyUnknown { pool: pool_name, key, entries }.into());
    };
    let ids = row.values().spans().collect();
    let event = release::released(draft, pool, row, ReleaseCause::Asked);
    draft.record(event);
    Ok(Outcome::Ids(ids))
}

/// Deletes the pool and all of its claims.
fn delete(draft: &mut Draft<'_>, name: &Arc<str>) -> Result<(), Refusal> {
    let event = removed(ids_pool(draft, name)?);
    draft.record(event);
    Ok(())
}

/// Releases what the key holds without quarantine.
fn release_now(draft: &mut Draft<'_>, name: &Arc<str>, key: &Arc<str>) -> Result<(), Refusal> {
    let pool = draft.pool(name)?;
    let Some((_, row)) = pool.held(key) else { return Ok(()) };
    let event = release::released_at_once(draft, pool, row, ReleaseCause::Asked);
    draft.record(event);
    Ok(())
}

/// Returns the surplus of the first child to the pool: the ready ids beyond those for two blocks.
pub(crate) fn return_surplus(draft: &Draft<'_>, pool: &Pool) -> Option<Event> {
    let blocks = pool.blocks()?;
    let child = blocks.active()?;
    let now_s = seconds(draft.now_ms);
    let ready = || child.released.iter().take_while(|run| run.ready_s <= now_s);
    let ready_ids: u128 = ready().map(|run| run.ids.len()).sum();
    let has = pool.available_in_block(blocks) + ready_ids;
    let mut excess = has.saturating_sub(2 * u128::from(blocks.block_size)).min(ready_ids);
    let mut returned = Vec::new();
    // The rest is returned the next time.
    for run in ready().take(RUNS_RETURNED_MAX) {
        if excess == 0 {
            break;
        }
        let many = run.ids.len().min(excess);
        returned.push(Span { first: run.ids.first, last: run.ids.first + many - 1 });
        excess -= many;
    }
    let moved = BlocksMoved {
        pool: pool.name.clone(),
        cursor: blocks.cursor,
        start: child.block.start,
        end: child.block.end,
        child_cursor: child.block.cursor,
        fetched: vec![],
        returned,
        at_ms: draft.now_ms,
    };
    Some(moved.into())
}

/// No ids are left.
fn pool_exhausted(draft: &Draft<'_>, name: &Arc<str>) -> Refusal {
    let report = draft.pool(name).map(|pool| exhausted::report(pool, draft.now_ms));
    Refusal::PoolExhausted { pool: name.clone(), report: Box::new(report.unwrap_or_default()) }
}
