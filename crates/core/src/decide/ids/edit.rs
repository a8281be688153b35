//! What an operator writes over a pool: its range, its account, who holds what. All of it, or nothing.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::allocate::granted;
use super::{Draft, bounds, delete, ids_pool, release_all, release_now, spec, valid};
use crate::command::ids::{EditIds, Frame, IdEntry, PoolEdit, PutIds};
use crate::decide::{lease, room};
use crate::event::ids::LedgerDefined;
use crate::event::{Event, PoolDefined};
use crate::ids::Ledger;
use crate::limits::at_most;
use crate::pool::{PoolRange, PoolSpec};
use crate::receipt::Outcome;
use crate::refusal::{Holder, IdsRefusal, Refusal};
use crate::span::{self, Span};
use crate::state::account::{Block, ids_after};
use crate::state::pool::Pool;
use crate::value::Kind;

pub(super) fn run(draft: &mut Draft<'_>, edit: &EditIds) -> Result<Outcome, Refusal> {
    let entries = edit.pools.iter().map(|(_, edit)| match edit {
        PoolEdit::Remove => 0,
        PoolEdit::Put(put) => (put.put.len() + put.remove.len()) as u64,
    });
    at_most("ids_per_edit_max", draft.limits.ids_per_edit_max, entries.sum())?;
    for (name, one) in &edit.pools {
        unchanged(draft, name, one, edit)?;
    }
    for (name, edit) in &edit.pools {
        match edit {
            PoolEdit::Remove if draft.state.pool(name).is_none() => {}
            PoolEdit::Remove => delete(draft, name)?,
            PoolEdit::Put(put) => put_pool(draft, name, put)?,
        }
    }
    Ok(Outcome::IdsEdited)
}

/// Refuses when the pool has changed since the edit was made. Of a pool without an account only the whole state knows.
///
/// What goes may go whatever it was; where nothing is, a pool may be written of which everything is told; and who only looked
/// at some entries is held to those. All of this means the same whatever else happened, and would never get through on a busy
/// server if it were held to more.
fn unchanged(
    draft: &Draft<'_>,
    name: &Arc<str>,
    one: &PoolEdit,
    edit: &EditIds,
) -> Result<(), Refusal> {
    let at = match (draft.state.pool(name), one) {
        _ if edit.seen_all => draft.state.position,
        (_, PoolEdit::Remove) => return Ok(()),
        (None, PoolEdit::Put(put)) if put.frame.is_some() && put.replace_entries => return Ok(()),
        (Some(pool), PoolEdit::Put(put)) if saw_the_same(pool, put) => return Ok(()),
        (pool, PoolEdit::Put(_)) => pool
            .and_then(|pool| pool.account.as_ref())
            .map_or(draft.state.position, |account| account.counts.changed),
    };
    if at > edit.seen {
        return Err(IdsRefusal::PoolChanged { pool: name.clone(), at }.into());
    }
    Ok(())
}

/// Whether the edit only looked at some entries, and they are as they were.
fn saw_the_same(pool: &Pool, put: &PutIds) -> bool {
    let same = |(key, saw): &(Arc<str>, Option<IdEntry>)| match (pool.held(key), saw) {
        (None, None) => true,
        (Some((_, row)), Some(saw)) => {
            row.expires_ms() == saw.expires_ms && row.values().spans().eq(saw.ids.iter().copied())
        }
        _ => false,
    };
    put.saw.as_ref().is_some_and(|saw| saw.iter().all(same))
}

fn put_pool(draft: &mut Draft<'_>, name: &Arc<str>, put: &PutIds) -> Result<(), Refusal> {
    if draft.state.pool(name).is_some() {
        ids_pool(draft, name)?;
    } else if put.frame.is_none() {
        return Err(Refusal::PoolUnknown { pool: name.clone() });
    }
    if put.replace_entries && draft.state.pool(name).is_some() {
        let kept: BTreeSet<&Arc<str>> = put.put.iter().map(|entry| &entry.key).collect();
        if kept.is_empty() {
            release_all(draft, name)?;
        } else {
            let gone = others(draft.pool(name)?, &kept);
            gone.iter().try_for_each(|key| release_now(draft, name, key))?;
        }
    }
    put.remove.iter().try_for_each(|key| release_now(draft, name, key))?;
    // What changes hands within the edit must be free before anybody gets it.
    for entry in &put.put {
        let held = draft.state.pool(name).and_then(|pool| pool.held(&entry.key));
        if held.is_some_and(|(_, row)| !row.values().spans().eq(entry.ids.iter().copied())) {
            release_now(draft, name, &entry.key)?;
        }
    }
    if let Some(frame) = &put.frame {
        define(draft, name, frame)?;
    }
    put.put.iter().try_for_each(|entry| put_entry(draft, name, entry))?;
    if let Some(frame) = &put.frame {
        sound(draft.pool(name)?, &frame.ledger)?;
        let ledger = frame.ledger.clone();
        draft.record(Event::LedgerDefined(LedgerDefined { pool: name.clone(), ledger }));
    }
    Ok(())
}

/// The keys that hold something and are not among these.
fn others(pool: &Pool, kept: &BTreeSet<&Arc<str>>) -> Vec<Arc<str>> {
    pool.held_keys().filter(|key| !kept.contains(key)).cloned().collect()
}

/// Range and delay. Whatever else the pool's definition says stays as it is.
fn define(draft: &mut Draft<'_>, name: &Arc<str>, frame: &Frame) -> Result<(), Refusal> {
    valid::pool_name(name, draft.limits)?;
    let Some(ids) = Span::new(frame.low.into(), frame.high.into()) else {
        return account(name, format!("it ends at {}, before its start {}", frame.high, frame.low));
    };
    let before = draft.state.pool(name);
    let generation = before.map_or(0, |pool| pool.generation) + 1;
    let wanted = match before {
        None => {
            at_most("pools_max", draft.limits.pools_max, draft.state.pool_count() as u64 + 1)?;
            spec(ids, frame.delay_s)
        }
        Some(pool) => {
            let mut wanted = PoolSpec::clone(&pool.spec);
            if bounds(pool) != Some(ids) {
                wanted.ranges = vec![PoolRange { span: ids, subnet_len: None }];
            }
            if wanted.quarantine_ms / 1000 != u64::from(frame.delay_s) {
                wanted.quarantine_ms = u64::from(frame.delay_s) * 1000;
            }
            let outside = span::subtract(&pool.zones.members, &wanted.members());
            let held = outside.iter().flat_map(|gone| pool.overlapping(*gone));
            if let Some((_, row, held)) = held.into_iter().find(|(_, row, _)| row.held()) {
                let (first, key) = (held.first, &row.key);
                return account(name, format!("'{key}' holds {first}, which is outside"));
            }
            wanted
        }
    };
    if before.is_some_and(|pool| *pool.spec == wanted) {
        return Ok(());
    }
    let (pool, spec) = (name.clone(), wanted);
    draft.record(Event::PoolDefined(PoolDefined { pool, generation, spec }));
    Ok(())
}

fn put_entry(draft: &mut Draft<'_>, name: &Arc<str>, entry: &IdEntry) -> Result<(), Refusal> {
    valid::key(&entry.key, draft.limits)?;
    let total = span::total(&entry.ids);
    let many = u64::try_from(total).unwrap_or(u64::MAX);
    at_most("values_per_transaction_max", draft.limits.values_per_transaction_max, many)?;
    if entry.ids.is_empty() {
        return account(name, format!("the entry '{}' has no id", entry.key));
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
    for ids in &entry.ids {
        room::in_zone(pool, *ids)?;
        for (_, row, _) in pool.overlapping(*ids) {
            if row.held() {
                let (key, owner) = (row.key.clone(), row.owner().clone());
                let by = Holder { key, owner, expires_ms: row.expires_ms() };
                let (pool, kind, value) = (name.clone(), Kind::Id32, *ids);
                return Err(Refusal::ValueTaken { pool, kind, value, by });
            }
            // Whoever writes the tree of pools knows that the rest is over.
            let event = room::quarantine_ended(pool, row);
            if !ended.contains(&event) {
                ended.push(event);
            }
        }
    }
    ended.into_iter().for_each(|event| draft.record(event));
    granted(draft, name, &entry.key, &entry.ids, None, entry.expires_ms)
}

/// Refuses an account in which an id stands twice, or is both held and released.
fn sound(pool: &Pool, ledger: &Ledger) -> Result<(), Refusal> {
    let name = &pool.name;
    let Some(ids) = bounds(pool) else { return account(name, "it has no ids".into()) };
    if ledger.block_size == 0 {
        return account(name, "its block size is zero".into());
    }
    let mut names = BTreeSet::new();
    if let Some(twice) = ledger.children.iter().find(|child| !names.insert(&child.name)) {
        return account(name, format!("it has the child '{}' twice", twice.name));
    }
    for child in &ledger.children {
        if child.name.rsplit_once('.').is_none_or(|(pool, node)| pool != &**name || node.is_empty())
        {
            let what = format!("its child '{}' is not called '{name}.' and a number", child.name);
            return account(name, what);
        }
    }
    let released = ledger.children.iter().flat_map(|child| &child.released);
    let mut released: Vec<Span> =
        ledger.released.iter().chain(released).map(|one| one.ids).collect();
    released.sort_unstable();
    if let Some(twice) = released.windows(2).find(|pair| pair[0].last >= pair[1].first) {
        return account(name, format!("{} is released twice", twice[1].first));
    }
    for span in &released {
        if !ids.covers(*span) {
            return account(name, format!("{} is released but outside its range", span.first));
        }
        if let Some((_, row, _)) = pool.overlapping(*span).find(|(_, row, _)| row.held()) {
            return account(name, format!("'{}' holds {}, which is released", row.key, span.first));
        }
    }
    let blocks = ledger
        .children
        .iter()
        .map(|child| Block { start: child.start, end: child.end, cursor: child.cursor }.rest());
    let rest = ids_after(ledger.cursor, u32::try_from(ids.last).unwrap_or(u32::MAX));
    let mut open: Vec<Span> = blocks.chain([rest]).flatten().collect();
    open.sort_unstable();
    if let Some(twice) = open.windows(2).find(|pair| pair[0].last >= pair[1].first) {
        return account(name, format!("{} is available in two places", twice[1].first));
    }
    Ok(())
}

fn account<T>(name: &Arc<str>, what: String) -> Result<T, Refusal> {
    Err(IdsRefusal::Account { pool: name.clone(), what }.into())
}
