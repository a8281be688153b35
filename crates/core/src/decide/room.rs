//! Makes values available whose quarantine or lease has ended, for a claim that needs them.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::claim::ParsedClaim;
use super::pick::{self, block_bits};
use super::{Draft, STEPS_PER_END, release};
use crate::claim::{Parity, Values, Want};
use crate::event::{Event, QuarantineEnded, ReleaseCause};
use crate::limits::at_most;
use crate::refusal::Refusal;
use crate::span::Span;
use crate::state::pool::{LeaseClass, Pool};
use crate::state::rows::Row;
use crate::state::zones::Zone;

/// The most expired claims of one lease class that are examined.
const EXPIRED_EXAMINED_MAX: usize = 1000;

/// The most releases of one key and owner that are examined.
const RELEASES_EXAMINED_MAX: usize = 16;

/// Ends every expired claim and quarantine that overlaps a named value, in all of the pools. If anything else overlaps
/// it, refuses with the holder and ends nothing.
pub(super) fn for_value(
    draft: &mut Draft<'_>,
    claim: &ParsedClaim<'_>,
    pools: &[Arc<str>],
    value: Span,
) -> Result<(), Refusal> {
    let mut events = Vec::new();
    for name in pools {
        conflicts(draft, claim, name, value, &mut events)?;
    }
    draft.ensure_steps(STEPS_PER_END.saturating_mul(events.len() as u64))?;
    events.into_iter().for_each(|event| draft.end(event));
    Ok(())
}

/// Adds to `events` what has to end so that the claim can have its value.
fn conflicts(
    draft: &Draft<'_>,
    claim: &ParsedClaim<'_>,
    name: &Arc<str>,
    value: Span,
    events: &mut Vec<Event>,
) -> Result<(), Refusal> {
    let (pool, now_ms) = (draft.pool(name)?, draft.now_ms);
    let kind = pool.spec.kind;
    let owner = claim.owner();
    in_zone(pool, value)?;
    if pool.free.covers(value) {
        return Ok(());
    }
    let mut seen = BTreeSet::new();
    for (slot, row, span) in pool.overlapping(value) {
        let event = match row.quarantined_until() {
            Some(until_ms) if until_ms > now_ms && row.owner() != owner => {
                let pool = name.clone();
                return Err(Refusal::ValueQuarantined { pool, kind, value, until_ms });
            }
            Some(_) => quarantine_ended(pool, row),
            None if row.expired(now_ms) => taken(draft, pool, row),
            None => {
                let value = if kind.is_prefix() { span } else { value };
                let (pool, by) = (name.clone(), row.holder());
                return Err(Refusal::ValueTaken { pool, kind, value, by });
            }
        };
        if seen.insert(slot) {
            events.push(event);
            let max = draft.limits.claims_ended_per_claim_max;
            let ended = draft.ended + events.len() as u64;
            at_most("claims_ended_per_claim_max", max, ended)?;
        }
    }
    Ok(())
}

/// Refuses a value that no claim can have in this pool.
pub(crate) fn in_zone(pool: &Pool, value: Span) -> Result<(), Refusal> {
    let (name, kind) = (pool.name.clone(), pool.spec.kind);
    match pool.zones.worst(value) {
        Zone::Automatic | Zone::Manual => Ok(()),
        Zone::Outside => Err(Refusal::ValueOutside { pool: name, kind, value }),
        Zone::Excluded => Err(Refusal::ValueExcluded { pool: name, kind, value }),
        Zone::Draining => Err(Refusal::ValueDraining { pool: name, kind, value }),
    }
}

/// The values that this key and owner released and that are still in quarantine for them, if they satisfy the claim.
pub(super) fn given_back(
    draft: &Draft<'_>,
    claim: &ParsedClaim<'_>,
    name: &Arc<str>,
) -> Result<Option<(Values, Event)>, Refusal> {
    let pool = draft.pool(name)?;
    if pool.returned.is_empty() {
        return Ok(None);
    }
    let mut rows = pool.given_back(&claim.op.key, claim.owner()).take(RELEASES_EXAMINED_MAX);
    let given = |span| matches!(pool.zones.worst(span), Zone::Automatic | Zone::Manual);
    let row = rows.find(|row| {
        let values = row.values();
        fits(&values, &claim.want, pool) && values.spans().all(given)
    });
    Ok(row.map(|row| (row.values(), quarantine_ended(pool, row))))
}

fn fits(values: &Values, want: &Want, pool: &Pool) -> bool {
    let kind = pool.spec.kind;
    if kind.is_prefix() {
        let len = block_bits(pool, want);
        return values.spans().count() == want.count as usize
            && values
                .spans()
                .all(|span| kind.prefix_len(span).and_then(|len| kind.block_bits(len)) == len)
            && (!want.contiguous || in_a_row(values));
    }
    values.total() == want.count.into()
        && (!want.contiguous || values.spans().nth(1).is_none())
        && want
            .parity
            .is_none_or(|parity| values.each(kind).all(|value| Parity::of(value.first) == parity))
}

fn in_a_row(values: &Values) -> bool {
    let next = values.spans().skip(1);
    values.spans().zip(next).all(|(a, b)| a.last.checked_add(1) == Some(b.first))
}

/// Ends one quarantine whose time is over. Returns whether there was one.
pub(crate) fn end_quarantine(draft: &mut Draft<'_>, name: &Arc<str>) -> Result<bool, Refusal> {
    let pool = draft.pool(name)?;
    let over = pool.quarantine.first().filter(|(until, _)| *until <= draft.now_ms);
    let over = over.and_then(|&(_, first)| pool.at(first));
    let event = over.map(|(_, row, _)| quarantine_ended(pool, row));
    let found = event.is_some();
    event.into_iter().for_each(|event| draft.end(event));
    Ok(found)
}

/// Takes the useful claim that expired first. Returns whether there was one.
pub(crate) fn take_expired(
    draft: &mut Draft<'_>,
    want: &Want,
    name: &Arc<str>,
) -> Result<bool, Refusal> {
    let pool = draft.pool(name)?;
    let oldest = useful_expired(pool, want, draft.now_ms).filter_map(|mut class| class.next());
    let oldest = oldest.min_by_key(|(at, row, _)| (*at, row.first.first));
    let event = oldest.map(|(_, row, _)| taken(draft, pool, row));
    let found = event.is_some();
    event.into_iter().for_each(|event| draft.end(event));
    Ok(found)
}

/// Values that expired claims of the pools could make available, in the order of expiry.
pub(super) fn expired_values(
    draft: &Draft<'_>,
    claim: &ParsedClaim<'_>,
    pools: &[Arc<str>],
) -> Result<Vec<Span>, Refusal> {
    let mut found = Vec::new();
    for name in pools {
        let classes = useful_expired(draft.pool(name)?, &claim.want, draft.now_ms);
        found.extend(classes.flatten().map(|(at, _, value)| (at, value)));
    }
    found.sort_unstable();
    found.truncate(EXPIRED_EXAMINED_MAX);
    Ok(found.into_iter().map(|(_, value)| value).collect())
}

/// Expired claims with a value, a run or a block that satisfies the claim: one iterator for each lease class, in the
/// order of expiry.
fn useful_expired<'a>(
    pool: &'a Pool,
    want: &'a Want,
    now_ms: u64,
) -> impl Iterator<Item = impl Iterator<Item = (u64, &'a Row, Span)>> {
    let in_a_row = want.contiguous && want.count > 1;
    let wanted_bits = block_bits(pool, want);
    let classes = pool.leases.iter().filter(move |(class, _)| match class {
        LeaseClass::Single(parity) => {
            !in_a_row && want.parity.is_none_or(|wanted| wanted as u8 == *parity)
        }
        LeaseClass::Block(bits) => wanted_bits.is_some_and(|wanted| *bits >= wanted),
        LeaseClass::Several => true,
        LeaseClass::NotAutomatic => false,
    });
    classes.map(move |(_, leases)| {
        let expired = leases.iter().take_while(move |(at, _)| *at <= now_ms);
        expired.take(EXPIRED_EXAMINED_MAX).filter_map(move |&(at, first)| {
            let (_, row, _) = pool.at(first)?;
            let value = row.values().spans().find_map(|span| pick::within(pool, want, span))?;
            Some((at, row, value))
        })
    })
}

pub(crate) fn quarantine_ended(pool: &Pool, row: &Row) -> Event {
    let first = row.first.first;
    let (key, was) = (Some(row.key.clone()), row.was(pool.spec.kind));
    QuarantineEnded { pool: pool.name.clone(), first, key, was }.into()
}

/// An expired claim is released, because another claim takes its values.
fn taken(draft: &Draft<'_>, pool: &Pool, row: &Row) -> Event {
    release::released_at_once(draft, pool, row, ReleaseCause::Taken).into()
}
