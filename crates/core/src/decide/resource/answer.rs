//! What one request gets of one pool.

use std::sync::Arc;

use super::{Draft, pick, requests};
use crate::claim::{Parity, Values, Want};
use crate::event::{ClaimGranted, Event};
use crate::pool::Strategy;
use crate::refusal::Refusal;
use crate::resource::{
    Failure, Given, Method, Request, Wanted, WantedId, WantedParity, WantedPrefix, blocks_of,
};
use crate::span::Span;
use crate::state::pool::Pool;
use crate::value::Kind;

/// How many free blocks a refusal names.
const BLOCKS_NAMED_MAX: usize = 1000;

/// How many blocks are looked at for one whose first address a host can have, where used ones come last.
const BLOCKS_LOOKED_AT_MAX: usize = 1000;

/// A value to give, and where going round goes on from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Gift {
    pub value: Span,
    pub cursor: Option<u128>,
}

/// What the request would get.
pub(super) fn gift(
    draft: &mut Draft<'_>,
    name: &Arc<str>,
    request: &Request,
) -> Result<Result<Gift, Failure>, Refusal> {
    let dice = [draft.roll(), draft.roll()];
    let (pool, kept) = requests(draft, name)?;
    Ok(match (&request.want, &kept.config.given) {
        (Wanted::Id(want), Given::Ids(_)) => id(pool, want, dice),
        (Wanted::Prefix(want), Given::Addresses(given)) => prefix(pool, want, given.six, dice),
        (Wanted::Id(_), Given::Addresses(_)) => Err(Failure::NoAddresses),
        (Wanted::Prefix(_), Given::Ids(_)) => Err(Failure::Exhausted),
    })
}

fn id(pool: &Pool, want: &WantedId, dice: [u64; 2]) -> Result<Gift, Failure> {
    if let Some(id) = want.id {
        return exactly(pool, id).map(|value| Gift { value, cursor: Some(value.last) });
    }
    let strategy = match want.method {
        Some(Method::RoundRobin) => Strategy::Next,
        None | Some(Method::FirstFree) => Strategy::Lowest,
    };
    let wanted = Want { parity: parity(want), ..Want::any() };
    let spans = pick::pick(pool, &wanted, strategy, dice).ok_or(Failure::Exhausted)?;
    let value = spans.first().copied().ok_or(Failure::Exhausted)?;
    let cursor = (strategy == Strategy::Next).then_some(value.last);
    Ok(Gift { value, cursor })
}

pub(super) fn parity(want: &WantedId) -> Option<Parity> {
    match want.parity {
        Some(WantedParity::Only(parity)) => Some(parity),
        None | Some(WantedParity::Any) => None,
    }
}

/// This id, or why not. That there is nothing at all is said first.
pub(super) fn exactly(pool: &Pool, id: u32) -> Result<Span, Failure> {
    let value = Span::one(id.into());
    if pool.free.contains(id.into()) {
        Ok(value)
    } else if pool.free.is_empty() {
        Err(Failure::Exhausted)
    } else {
        Err(Failure::IdUnavailable(id))
    }
}

fn prefix(pool: &Pool, want: &WantedPrefix, six: bool, dice: [u64; 2]) -> Result<Gift, Failure> {
    let kind = pool.spec.kind;
    let len = want.len(kind.width()).ok_or(Failure::TooLong)?;
    let bits = kind.width() - u32::from(len);
    let gift = |value| Gift { value, cursor: None };
    if let Some((start_six, address)) = want.start {
        if start_six != six {
            return Err(Failure::PrefixUnavailable { address, len });
        }
        return named(pool, address, len, bits).map(gift);
    }
    if bits == 0 {
        return host(pool).map(|address| gift(Span::one(address))).ok_or(Failure::NoAddresses);
    }
    let wanted = Want { prefix_len: Some(len), ..Want::any() };
    match pick::pick(pool, &wanted, pool.spec.strategy, dice) {
        Some(spans) => spans.first().copied().map(gift).ok_or(Failure::NoAddresses),
        None => Err(too_big(pool)),
    }
}

/// Exactly the prefix that starts here.
fn named(pool: &Pool, address: u128, len: u8, bits: u32) -> Result<Span, Failure> {
    let value = Span::block(if bits >= 128 { 0 } else { address >> bits << bits }, bits);
    if value.first != address {
        return Err(Failure::Misaligned);
    }
    if bits == 0 && pool.hosts.as_ref().is_some_and(|hosts| hosts.is_edge(address)) {
        return Err(Failure::EdgeAddress { address });
    }
    if !pool.free.covers(value) {
        return Err(Failure::PrefixUnavailable { address, len });
    }
    Ok(value)
}

/// An address for a host; where used ones come last, one that has not been used, if there is any.
fn host(pool: &Pool) -> Option<u128> {
    let hosts = pool.hosts.as_ref()?;
    let unused = pool.cold.as_ref().and_then(|cold| {
        let mut from = 0;
        for _ in 0..BLOCKS_LOOKED_AT_MAX {
            let address = cold.first_at_or_after(from)?;
            if !hosts.is_edge(address) {
                return Some(address);
            }
            from = address.checked_add(1)?;
        }
        None
    });
    unused.or_else(|| hosts.best_fit())
}

/// What is left, if it is too small. The smallest blocks do not count: what is left of them is said to be nothing.
fn too_big(pool: &Pool) -> Failure {
    let width = pool.spec.kind.width();
    let blocks = pool.free.iter().flat_map(blocks_of).take(BLOCKS_NAMED_MAX);
    let lens = blocks.filter_map(|block| {
        let bits = (block.last - block.first).count_ones();
        u8::try_from(width - bits).ok().filter(|len| !matches!(len, 30..=32))
    });
    let mut lens: Vec<u8> = lens.collect();
    lens.sort_unstable_by(|one, other| other.cmp(one));
    if lens.is_empty() { Failure::NoAddresses } else { Failure::TooBig(lens) }
}

/// Records that the request has it.
pub(super) fn grant(
    draft: &mut Draft<'_>,
    name: &Arc<str>,
    key: &Arc<str>,
    request: &Request,
    gift: Gift,
) -> Result<(), Refusal> {
    let kind: Kind = draft.pool(name)?.spec.kind;
    draft.record(Event::ClaimGranted(ClaimGranted {
        pool: name.clone(),
        kind: Some(kind),
        key: key.clone(),
        owner: request.services.first().unwrap_or(key).clone(),
        values: Values::one(gift.value),
        version: draft.version,
        at_ms: draft.now_ms,
        expires_ms: None,
        labels: Default::default(),
        asked: None,
        cursor: gift.cursor,
    }));
    Ok(())
}
