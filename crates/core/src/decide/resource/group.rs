//! What requests of one key get that must get the same id in all of their pools: one id for all, or nothing for any.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::answer::{self, Gift};
use super::{Draft, pick, requests};
use crate::claim::{Parity, Want};
use crate::refusal::Refusal;
use crate::resource::{Answer, Failure, Request, Wanted};
use crate::span::Span;
use crate::state::pool::Pool;

/// For each pool what its request gets.
pub(super) type Gifts = BTreeMap<Arc<str>, Result<Gift, Failure>>;

/// What the members that have nothing get. `members`: all of them. `had`: what some of them had until now.
pub(super) fn gifts(
    draft: &mut Draft<'_>,
    key: &Arc<str>,
    members: &[(Arc<str>, Request)],
    had: Option<Span>,
) -> Result<Gifts, Refusal> {
    // Whoever has an id already says which it is.
    if let Some(value) = held_by_others(draft, key, members)? {
        let mut gifts = Gifts::new();
        for (name, request) in members {
            let other = asked_id(request).is_some_and(|id| u128::from(id) != value.first);
            let gift = match other {
                true => Err(Failure::SyncConflict),
                false => take(requests(draft, name)?.0, value),
            };
            gifts.insert(name.clone(), gift);
        }
        return Ok(gifts);
    }
    if let Some(value) = had.filter(|value| still_serves(draft, members, *value)) {
        let gift = Gift { value, cursor: None };
        return Ok(members.iter().map(|(name, _)| (name.clone(), Ok(gift))).collect());
    }
    if let [(name, request)] = members {
        let gift = answer::gift(draft, name, request)?;
        return Ok(Gifts::from([(name.clone(), gift)]));
    }
    let all = |failure: Failure| -> Gifts {
        members.iter().map(|(name, _)| (name.clone(), Err(failure.clone()))).collect()
    };
    let mut asked: Vec<u32> = members.iter().filter_map(|(_, request)| asked_id(request)).collect();
    asked.sort_unstable();
    asked.dedup();
    let value = match asked[..] {
        [_, _, ..] => return Ok(all(Failure::SyncConflict)),
        [id] => {
            // Where it could be had nothing is wrong but that it cannot be had elsewhere.
            let mut denied = all(Failure::SyncExhausted);
            let mut is_denied = false;
            for (name, _) in members {
                if let Err(failure) = answer::exactly(requests(draft, name)?.0, id) {
                    denied.insert(name.clone(), Err(failure));
                    is_denied = true;
                }
            }
            if is_denied {
                return Ok(denied);
            }
            Span::one(id.into())
        }
        [] => {
            let pools = members.iter().map(|(name, _)| Ok(requests(draft, name)?.0));
            let pools: Vec<&Pool> = pools.collect::<Result<_, Refusal>>()?;
            let mut parities = members.iter().filter_map(|(_, request)| match &request.want {
                Wanted::Id(want) => want.parity(),
                Wanted::Prefix(_) => None,
            });
            let parity = parities.next();
            // Nothing is odd and even.
            if parities.any(|other| Some(other) != parity) {
                return Ok(all(Failure::SyncExhausted));
            }
            match pick::pick_common(&pools, &Want { parity, ..Want::any() }) {
                Some(value) => value,
                None => return Ok(all(Failure::SyncExhausted)),
            }
        }
    };
    // An id that was named is where going round goes on, as it is for one alone.
    let gift = Gift { value, cursor: (!asked.is_empty()).then_some(value.last) };
    Ok(members.iter().map(|(name, _)| (name.clone(), Ok(gift))).collect())
}

/// Whether all of them can have it, and none has named anything.
pub(super) fn still_serves(
    draft: &Draft<'_>,
    members: &[(Arc<str>, Request)],
    value: Span,
) -> bool {
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

fn take(pool: &Pool, value: Span) -> Result<Gift, Failure> {
    let id = u32::try_from(value.first).unwrap_or(u32::MAX);
    answer::exactly(pool, id).map(|value| Gift { value, cursor: Some(value.last) })
}

/// The id that a pool outside of these holds for the group.
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
        let granted = pool.requests.as_ref().and_then(|requests| requests.get(key));
        if granted.is_some_and(|asked| asked.answer == Answer::Granted)
            && let Some((_, row)) = pool.held(key)
        {
            return Ok(Some(row.first));
        }
    }
    Ok(None)
}
