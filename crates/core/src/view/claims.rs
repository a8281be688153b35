//! Lists of claims: of a pool by value, of an owner across pools.

use std::ops::Bound::{self, Excluded, Included, Unbounded};
use std::sync::Arc;

use super::{NoCursor, Page, claim_in};
use crate::receipt::ClaimIn;
use crate::span::Span;
use crate::state::rows::Row;
use crate::state::{PoolIx, Slot, State};

/// Which claims to list; all conditions must hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClaimFilter {
    pub key_prefix: Option<String>,
    pub owner_prefix: Option<String>,
    /// In a list of claims of many pools: only pools whose name starts with this.
    pub pool_prefix: Option<String>,
    /// Only claims that have a value in here.
    pub overlaps: Option<Span>,
    pub expired: Option<bool>,
    /// List claims in quarantine instead of held ones.
    pub quarantined: bool,
}

/// How many claims are read for one page, so that a filter without matches does not scan the whole pool at once. A page
/// may be short or empty and still have a next one.
const LOOKED_AT_MAX: usize = 10_000;

impl ClaimFilter {
    fn fits(&self, row: &Row, now_ms: u64) -> bool {
        row.held() != self.quarantined
            && self.key_prefix.as_ref().is_none_or(|prefix| row.key.starts_with(&**prefix))
            && self.owner_prefix.as_ref().is_none_or(|prefix| row.owner().starts_with(&**prefix))
            && self.expired.is_none_or(|expired| row.expired(now_ms) == expired)
    }
}

/// The claims of a pool in the order of their first values, or of the first that are within what is asked for. `None`:
/// there is no such pool.
///
/// Pages continue by value, so that a claim that exists all the time is listed once, whatever else changes.
pub fn claims(
    state: &State,
    pool: &str,
    now_ms: u64,
    filter: &ClaimFilter,
    after: Option<&str>,
    limit: usize,
) -> Result<Option<Page<ClaimIn>>, NoCursor> {
    let window = filter.overlaps.unwrap_or(Span { first: 0, last: u128::MAX });
    claims_within(state, pool, now_ms, filter, &[window], after, limit)
}

/// As [`claims`], for claims that have a value in one of these windows, which are in ascending order and do not overlap.
/// `filter.overlaps` is not used.
pub fn claims_within(
    state: &State,
    pool: &str,
    now_ms: u64,
    filter: &ClaimFilter,
    windows: &[Span],
    after: Option<&str>,
    limit: usize,
) -> Result<Option<Page<ClaimIn>>, NoCursor> {
    let Some(pool) = state.pool(pool) else { return Ok(None) };
    let after = after.map(str::parse::<u128>).transpose().map_err(|_| NoCursor)?;
    let mut items = Vec::new();
    let mut seen = after;
    let mut looked_at = 0;
    let passed = windows.partition_point(|window| after.is_some_and(|after| window.last <= after));
    for &window in &windows[passed..] {
        // One span may start before the window and overlap it; it comes first.
        let before = pool.at(window.first).map(|(_, _, span)| span.first);
        let from = match (after, before) {
            (Some(after), _) if after >= window.first => after.checked_add(1),
            (Some(after), Some(before)) if before <= after => Some(window.first),
            (_, Some(before)) => Some(before),
            (_, None) => Some(window.first),
        };
        let spans = from.and_then(|from| Span::new(from, window.last));
        let spans = spans.map(|spans| pool.taken.range(spans.first..=spans.last));
        for (&first, &slot) in spans.into_iter().flatten() {
            if items.len() >= limit.max(1) || looked_at >= LOOKED_AT_MAX {
                return Ok(Some(Page { items, next: seen.map(|seen: u128| seen.to_string()) }));
            }
            (seen, looked_at) = (Some(first), looked_at + 1);
            let row = pool.rows.get(slot).filter(|row| {
                let shown_here = row.values().first_within(window).map(|span| span.first);
                shown_here == Some(first) && filter.fits(row, now_ms)
            });
            items.extend(row.map(|row| claim_in(pool, row)));
        }
        // A window without claims costs a look as well.
        looked_at += 1;
        if looked_at >= LOOKED_AT_MAX && windows.last().is_some_and(|last| *last != window) {
            return Ok(Some(Page { items, next: Some(window.last.to_string()) }));
        }
    }
    Ok(Some(Page { items, next: None }))
}

/// Claims of every owner whose name starts with `owner_prefix`, in order of owner.
pub fn claims_by_owner(
    state: &State,
    now_ms: u64,
    owner_prefix: &str,
    filter: &ClaimFilter,
    after: Option<&str>,
    limit: usize,
) -> Result<Page<ClaimIn>, NoCursor> {
    let from = match after {
        Some(after) => resume(state, after, owner_prefix).ok_or(NoCursor)?,
        None => Included((owner_prefix.into(), 0, 0)),
    };
    let mut items: Vec<ClaimIn> = Vec::new();
    let mut seen: Option<&OwnerSlot> = None;
    let owners = state
        .owners
        .range((from, Unbounded))
        .take_while(|(owner, _, _)| owner.starts_with(owner_prefix));
    for (looked_at, place) in owners.enumerate() {
        if items.len() >= limit.max(1) || looked_at == LOOKED_AT_MAX {
            let next =
                seen.map(|(owner, ix, slot)| format!("{}.{ix}.{slot}.{owner}", state.counted_from));
            return Ok(Page { items, next });
        }
        seen = Some(place);
        let Some(pool) = state.pool_at(place.1) else { continue };
        if filter.pool_prefix.as_ref().is_some_and(|prefix| !pool.name.starts_with(&**prefix)) {
            continue;
        }
        let overlaps = |row: &&Row| {
            filter.overlaps.is_none_or(|window| row.values().first_within(window).is_some())
        };
        let row = pool.rows.get(place.2).filter(|row| filter.fits(row, now_ms)).filter(overlaps);
        items.extend(row.map(|row| claim_in(pool, row)));
    }
    Ok(Page { items, next: None })
}

/// The position of a claim in the index of owners. It does not change when the claim is renewed.
type OwnerSlot = (Arc<str>, PoolIx, Slot);

/// Where a list by owner continues: after this claim. In a state that was restored since (another node, a restart) slots
/// have changed, so it continues at the first claim of the owner: a claim may be listed twice, but none is left out.
/// `None`: not a valid cursor.
fn resume(state: &State, after: &str, owner_prefix: &str) -> Option<Bound<OwnerSlot>> {
    let mut parts = after.splitn(4, '.');
    let counted_from: u64 = parts.next()?.parse().ok()?;
    let (ix, slot) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
    let owner: Arc<str> = parts.next().filter(|owner| owner.starts_with(owner_prefix))?.into();
    if counted_from != state.counted_from {
        return Some(Included((owner, 0, 0)));
    }
    Some(Excluded((owner, ix, slot)))
}
