//! Replacing the definition and the entries of block pools by what an operator wrote.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::allocate::granted;
use super::{Draft, bounds, delete, ids_pool, release_now, spec, valid};
use crate::blocks::command::{BlockPool, BlockPoolEdit, EditBlocks, IdEntry, PutBlockPool};
use crate::blocks::state::{Block, ids_after};
use crate::blocks::{BlockLayout, BlocksDefined, BlocksRefusal, Child, LayoutError, check_block};
use crate::decide::pool::ensure_few_rezoned;
use crate::decide::{lease, room};
use crate::event::PoolDefined;
use crate::limits::at_most;
use crate::pool::{PoolRange, PoolSpec};
use crate::receipt::Outcome;
use crate::refusal::Refusal;
use crate::span::{self, Span};
use crate::state::pool::Pool;
use crate::value::Kind;

pub(super) fn run(draft: &mut Draft<'_>, edit: &EditBlocks) -> Result<Outcome, Refusal> {
    at_most("pools_per_edit_max", draft.limits.pools_per_edit_max, edit.pools.len() as u64)?;
    let max = draft.limits.ids_per_edit_max;
    let mut written = 0;
    for (name, edit) in &edit.pools {
        if let BlockPoolEdit::Put(put) = edit {
            written += size(put);
            // Before the entries are compared with those of the pool.
            at_most("ids_per_edit_max", max, written)?;
            written += replaced(draft, name, put);
            at_most("ids_per_edit_max", max, written)?;
        }
    }
    for (name, one) in &edit.pools {
        ensure_unchanged(draft, name, one, edit)?;
    }
    for (name, edit) in &edit.pools {
        match edit {
            BlockPoolEdit::Remove if draft.state.pool(name).is_none() => {}
            BlockPoolEdit::Remove => delete(draft, name)?,
            BlockPoolEdit::Put(put) => put_pool(draft, name, put)?,
        }
    }
    Ok(Outcome::BlocksEdited)
}

/// The entries and ranges of ids that the edit lists for one pool.
fn size(put: &PutBlockPool) -> u64 {
    let entries: usize = put.put.iter().map(|entry| entry.ids.len().max(1)).sum();
    let layout = put.definition.as_ref().map_or(0, |definition| {
        let layout = &definition.layout;
        let children: usize = layout.children.iter().map(|child| 1 + child.released.len()).sum();
        layout.released.len() + children
    });
    (entries + put.remove.len() + layout) as u64
}

/// The number of entries that are released because the edit does not have them.
fn replaced(draft: &Draft<'_>, name: &Arc<str>, put: &PutBlockPool) -> u64 {
    let Some(pool) = draft.state.pool(name).filter(|_| put.replace_entries) else { return 0 };
    let kept: BTreeSet<&Arc<str>> = put.put.iter().map(|entry| &entry.key).collect();
    let kept = kept.into_iter().filter(|key| pool.held(key).is_some()).count() as u64;
    pool.held_claims - kept
}

/// Refuses if the pool has changed since the state that the edit is based on. A pool that has not been divided into
/// blocks does not know when it last changed: any change of the state counts.
///
/// Three edits mean the same whatever else has changed, and must not fail on a busy server: removing a pool, writing a
/// whole pool where there is none, and changing entries that are as the edit saw them.
fn ensure_unchanged(
    draft: &Draft<'_>,
    name: &Arc<str>,
    one: &BlockPoolEdit,
    edit: &EditBlocks,
) -> Result<(), Refusal> {
    let at = match (draft.state.pool(name), one) {
        _ if edit.seen_all => draft.state.position,
        (_, BlockPoolEdit::Remove) => return Ok(()),
        (None, BlockPoolEdit::Put(put)) if put.definition.is_some() && put.replace_entries => {
            return Ok(());
        }
        (Some(pool), BlockPoolEdit::Put(put)) if saw_the_same(pool, put) => return Ok(()),
        (pool, BlockPoolEdit::Put(_)) => {
            pool.and_then(Pool::blocks).map_or(draft.state.position, |blocks| blocks.counts.changed)
        }
    };
    if at > edit.seen {
        return Err(BlocksRefusal::PoolChanged { pool: name.clone(), at }.into());
    }
    Ok(())
}

/// Whether the edit depends on certain entries only, and they are as it saw them.
fn saw_the_same(pool: &Pool, put: &PutBlockPool) -> bool {
    let same = |(key, saw): &(Arc<str>, Option<IdEntry>)| match (pool.held(key), saw) {
        (None, None) => true,
        (Some((_, row)), Some(saw)) => {
            row.expires_ms() == saw.expires_ms && row.values().spans().eq(saw.ids.iter().copied())
        }
        _ => false,
    };
    put.saw.as_ref().is_some_and(|saw| saw.iter().all(same))
}

fn put_pool(draft: &mut Draft<'_>, name: &Arc<str>, put: &PutBlockPool) -> Result<(), Refusal> {
    if draft.state.pool(name).is_some() {
        ids_pool(draft, name)?;
    } else if put.definition.is_none() {
        return Err(Refusal::PoolUnknown { pool: name.clone() });
    }
    if put.replace_entries && draft.state.pool(name).is_some() {
        let kept: BTreeSet<&Arc<str>> = put.put.iter().map(|entry| &entry.key).collect();
        let gone = others(draft.pool(name)?, &kept);
        gone.iter().try_for_each(|key| release_now(draft, name, key))?;
    }
    put.remove.iter().try_for_each(|key| release_now(draft, name, key))?;
    // An id that moves from one entry to another must be free before it is granted again.
    for entry in &put.put {
        let held = draft.state.pool(name).and_then(|pool| pool.held(&entry.key));
        if held.is_some_and(|(_, row)| !row.values().spans().eq(entry.ids.iter().copied())) {
            release_now(draft, name, &entry.key)?;
        }
    }
    if let Some(definition) = &put.definition {
        define(draft, name, definition)?;
    }
    put.put.iter().try_for_each(|entry| put_entry(draft, name, entry))?;
    if let Some(definition) = &put.definition {
        ensure_sound(draft.pool(name)?, &definition.layout)?;
        let layout = definition.layout.clone();
        draft.record(BlocksDefined { pool: name.clone(), layout });
    }
    Ok(())
}

/// The keys that hold ids and are not in `kept`.
fn others(pool: &Pool, kept: &BTreeSet<&Arc<str>>) -> Vec<Arc<str>> {
    pool.held_keys().filter(|key| !kept.contains(key)).cloned().collect()
}

/// Sets range and delay. The rest of the pool's spec is unchanged.
fn define(draft: &mut Draft<'_>, name: &Arc<str>, wanted: &BlockPool) -> Result<(), Refusal> {
    valid::pool_name(name, draft.limits)?;
    ensure_blocks(name, wanted)?;
    let ids = Span { first: wanted.low.into(), last: wanted.high.into() };
    let before = draft.state.pool(name);
    let generation = before.map_or(0, |pool| pool.generation) + 1;
    let spec = match before {
        None => {
            at_most("pools_max", draft.limits.pools_max, draft.state.pool_count() as u64 + 1)?;
            spec(ids, wanted.delay_s)
        }
        Some(pool) => {
            let mut spec = PoolSpec::clone(&pool.spec);
            if bounds(pool) != Some(ids) {
                spec.ranges = vec![PoolRange { span: ids, subnet_len: None }];
            }
            if spec.quarantine_ms / 1000 != u64::from(wanted.delay_s) {
                spec.quarantine_ms = u64::from(wanted.delay_s) * 1000;
            }
            let outside = span::subtract(&pool.zones.members, &spec.members());
            let held = outside.iter().flat_map(|gone| pool.overlapping(*gone));
            if let Some((_, row, held)) = held.into_iter().find(|(_, row, _)| row.held()) {
                let (key, id) = (row.key.clone(), held.first);
                return contradiction(name, LayoutError::HeldOutside { key, id });
            }
            spec
        }
    };
    if before.is_some_and(|pool| *pool.spec == spec) {
        return Ok(());
    }
    if let Some(pool) = before {
        ensure_few_rezoned(draft, pool, &spec)?;
    }
    let pool = name.clone();
    draft.record(PoolDefined { pool, generation, spec });
    Ok(())
}

fn put_entry(draft: &mut Draft<'_>, name: &Arc<str>, entry: &IdEntry) -> Result<(), Refusal> {
    valid::key(&entry.key, draft.limits)?;
    let total = span::total(&entry.ids);
    let many = u64::try_from(total).unwrap_or(u64::MAX);
    at_most("ids_per_range_max", draft.limits.ids_per_range_max, many)?;
    if entry.ids.is_empty() {
        return contradiction(name, LayoutError::EntryEmpty { key: entry.key.clone() });
    }
    let pool = draft.pool(name)?;
    if let Some((_, row)) = pool.held(&entry.key) {
        if row.expires_ms() != entry.expires_ms {
            let event = lease::changed(draft, name, &entry.key, entry.expires_ms)?;
            draft.record(event);
        }
        return Ok(());
    }
    let mut ended = Vec::new();
    let mut seen = BTreeSet::new();
    for ids in &entry.ids {
        room::in_zone(pool, *ids)?;
        for (_, row, _) in pool.overlapping(*ids) {
            if row.held() {
                let (pool, kind, value) = (name.clone(), Kind::Id32, *ids);
                return Err(Refusal::ValueTaken { pool, kind, value, by: row.holder() });
            }
            // The operator overrides quarantine.
            if seen.insert(row.first.first) {
                draft.ensure_may_end(seen.len() as u64)?;
                ended.push(room::quarantine_ended(pool, row));
            }
        }
    }
    ended.into_iter().for_each(|event| draft.end(event));
    granted(draft, name, &entry.key, &entry.ids, None, entry.expires_ms)
}

/// Refuses a range or a block that ends before it starts, or whose cursor is before its start.
fn ensure_blocks(name: &Arc<str>, wanted: &BlockPool) -> Result<(), Refusal> {
    let children = wanted.layout.children.iter();
    let children =
        children.map(|child| (Some(&child.name), (child.start, child.end, child.cursor)));
    let children = children.filter(|(_, block)| *block != Child::NO_BLOCK);
    let pool = (None, (wanted.low, wanted.high, wanted.layout.cursor));
    for (child, (start, end, cursor)) in std::iter::once(pool).chain(children) {
        if let Err(error) = check_block(start, end, cursor) {
            return contradiction(name, LayoutError::Block { child: child.cloned(), error });
        }
    }
    Ok(())
}

/// Refuses a layout that has an id in two places, or a released id that is held.
fn ensure_sound(pool: &Pool, layout: &BlockLayout) -> Result<(), Refusal> {
    let name = &pool.name;
    let Some(ids) = bounds(pool) else { return contradiction(name, LayoutError::NoIds) };
    if layout.block_size == 0 {
        return contradiction(name, LayoutError::BlockSizeZero);
    }
    let mut names = BTreeSet::new();
    if let Some(twice) = layout.children.iter().find(|child| !names.insert(&child.name)) {
        return contradiction(name, LayoutError::ChildTwice { child: twice.name.clone() });
    }
    let released = layout.children.iter().flat_map(|child| &child.released);
    let mut released: Vec<Span> =
        layout.released.iter().chain(released).map(|one| one.ids).collect();
    released.sort_unstable();
    if let Some(twice) = released.windows(2).find(|pair| pair[0].last >= pair[1].first) {
        return contradiction(name, LayoutError::ReleasedTwice { id: twice[1].first });
    }
    for span in &released {
        if !ids.covers(*span) {
            return contradiction(name, LayoutError::ReleasedOutside { id: span.first });
        }
        if let Some((_, row, _)) = pool.overlapping(*span).find(|(_, row, _)| row.held()) {
            let (key, id) = (row.key.clone(), span.first);
            return contradiction(name, LayoutError::ReleasedHeld { key, id });
        }
    }
    let blocks = layout
        .children
        .iter()
        .map(|child| Block { start: child.start, end: child.end, cursor: child.cursor }.rest());
    let rest = ids_after(layout.cursor, u32::try_from(ids.last).unwrap_or(u32::MAX));
    let mut open: Vec<Span> = blocks.chain([rest]).flatten().collect();
    open.sort_unstable();
    if let Some(twice) = open.windows(2).find(|pair| pair[0].last >= pair[1].first) {
        return contradiction(name, LayoutError::AvailableTwice { id: twice[1].first });
    }
    Ok(())
}

fn contradiction<T>(name: &Arc<str>, error: LayoutError) -> Result<T, Refusal> {
    Err(BlocksRefusal::Layout { pool: name.clone(), error }.into())
}
