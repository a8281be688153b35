//! One id for the requests of a group: they have the same key in several pools and must all get the same id, or none.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::answer::{self, Offer};
use super::requests;
use crate::claim::{Parity, Want};
use crate::decide::Draft;
use crate::refusal::Refusal;
use crate::requests::{Answer, Failure, Request, Wanted};
use crate::span::Span;
use crate::state::pool::Pool;

/// The offer to the request of each pool.
pub(super) type Offers = BTreeMap<Arc<str>, Result<Offer, Failure>>;

/// The offers to the open requests of a group. `had`: the value that they held until now.
pub(super) fn offers(
    draft: &mut Draft<'_>,
    key: &Arc<str>,
    members: &[(Arc<str>, Request)],
    had: Option<Span>,
) -> Result<Offers, Refusal> {
    // Another pool holds an id for the group: all get that one.
    if let Some(value) = held_by_others(draft, key, members)? {
        let mut offers = Offers::new();
        for (name, request) in members {
            let other = asked_id(request).is_some_and(|id| u128::from(id) != value.first);
            let offer = match other {
                true => Err(Failure::SyncConflict),
                false => take(requests(draft, name)?.0, value),
            };
            offers.insert(name.clone(), offer);
        }
        return Ok(offers);
    }
    if let Some(value) = had.filter(|value| fits_all(draft, members, *value)) {
        let offer = Offer { value, cursor: None };
        return Ok(members.iter().map(|(name, _)| (name.clone(), Ok(offer))).collect());
    }
    if let [(name, request)] = members {
        let offer = answer::offer(draft, name, request)?;
        return Ok(Offers::from([(name.clone(), offer)]));
    }
    let all = |failure: Failure| -> Offers {
        members.iter().map(|(name, _)| (name.clone(), Err(failure.clone()))).collect()
    };
    let mut asked: Vec<u32> = members.iter().filter_map(|(_, request)| asked_id(request)).collect();
    asked.sort_unstable();
    asked.dedup();
    let value = match asked[..] {
        [_, _, ..] => return Ok(all(Failure::SyncConflict)),
        [id] => {
            // In pools where the id is available, the reason is only that another pool has failed.
            let mut failures = all(Failure::SyncExhausted);
            let mut has_failed = false;
            for (name, _) in members {
                if let Err(failure) = answer::exactly(requests(draft, name)?.0, id) {
                    failures.insert(name.clone(), Err(failure));
                    has_failed = true;
                }
            }
            if has_failed {
                return Ok(failures);
            }
            Span::one(id.into())
        }
        [] => {
            let pools: Vec<Arc<str>> = members.iter().map(|(name, _)| name.clone()).collect();
            let mut parities = members.iter().filter_map(|(_, request)| match &request.want {
                Wanted::Id(want) => want.parity(),
                Wanted::Prefix(_) => None,
            });
            let parity = parities.next();
            // No id is both odd and even.
            if parities.any(|other| Some(other) != parity) {
                return Ok(all(Failure::SyncExhausted));
            }
            match draft.pick_common(&pools, &Want { parity, ..Want::any() }) {
                Ok(Some(value)) => value,
                // A search that is too long leaves the requests unanswered, as if nothing were free: they are tried
                // again when a value is released.
                Ok(None) | Err(Refusal::SearchTooLong { .. }) => {
                    return Ok(all(Failure::SyncExhausted));
                }
                Err(refusal) => return Err(refusal),
            }
        }
    };
    // A named id moves the cursor, as it does without a group.
    let offer = Offer { value, cursor: (!asked.is_empty()).then_some(value.last) };
    Ok(members.iter().map(|(name, _)| (name.clone(), Ok(offer))).collect())
}

/// Whether the value is free and suitable for all members, and none of them names an id.
pub(super) fn fits_all(draft: &Draft<'_>, members: &[(Arc<str>, Request)], value: Span) -> bool {
    members.iter().all(|(name, request)| {
        let Ok((pool, _)) = requests(draft, name) else { return false };
        let Wanted::Id(want) = &request.want else { return false };
        let parity = want.parity().is_none_or(|parity| Parity::of(value.first) == parity);
        want.id.is_none() && parity && pool.free.contains(value.first)
    })
}

fn asked_id(request: &Request) -> Option<u32> {
    match &request.want {
        Wanted::Id(want) => want.id,
        Wanted::Prefix(_) => None,
    }
}

fn take(pool: &Pool, value: Span) -> Result<Offer, Failure> {
    let id = u32::try_from(value.first).unwrap_or(u32::MAX);
    answer::exactly(pool, id).map(|value| Offer { value, cursor: Some(value.last) })
}

/// The id that the group holds in a pool that is not among these.
fn held_by_others(
    draft: &Draft<'_>,
    key: &Arc<str>,
    members: &[(Arc<str>, Request)],
) -> Result<Option<Span>, Refusal> {
    for ix in draft.state.sync.get(key).into_iter().flatten() {
        let Some(pool) = draft.state.pool_at(*ix) else { continue };
        if members.iter().any(|(name, _)| *name == pool.name) {
            continue;
        }
        let request = pool.requests().and_then(|requests| requests.get(key));
        if request.is_some_and(|one| one.answer == Answer::Granted)
            && let Some((_, row)) = pool.held(key)
        {
            return Ok(Some(row.first));
        }
    }
    Ok(None)
}
