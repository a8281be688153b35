//! The value that one pool offers to one request.

use std::sync::Arc;

use super::requests;
use crate::claim::{Values, Want};
use crate::decide::{Draft, pick};
use crate::event::ClaimGranted;
use crate::pool::Strategy;
use crate::refusal::Refusal;
use crate::requests::hosts::Hosts;
use crate::requests::{Failure, Method, Request, Supply, Wanted, WantedId, WantedPrefix};
use crate::span::Span;
use crate::spanset::SpanSet;
use crate::state::pool::Pool;
use crate::value::{IpVersion, Kind};

/// How many free blocks a failure lists.
const BLOCKS_NAMED_MAX: usize = 1000;

/// How many free spans are searched for a single address that a host can use, in pools that prefer unused values.
const SINGLES_LOOKED_AT_MAX: usize = 1000;

/// A free value, and the cursor of the pool after its grant, if it moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Offer {
    pub value: Span,
    pub cursor: Option<u128>,
}

pub(super) fn offer(
    draft: &mut Draft<'_>,
    name: &Arc<str>,
    request: &Request,
) -> Result<Result<Offer, Failure>, Refusal> {
    let seed = draft.random();
    let (pool, requests) = requests(draft, name)?;
    Ok(match (&request.want, &requests.config.supply) {
        (Wanted::Id(want), Supply::Ids(_)) => id(pool, want, seed),
        (Wanted::Prefix(want), Supply::Addresses(given)) => prefix(pool, want, given.version, seed),
        (Wanted::Id(_), Supply::Addresses(_)) => Err(Failure::NoAddresses),
        (Wanted::Prefix(_), Supply::Ids(_)) => Err(Failure::Exhausted),
    })
}

fn id(pool: &Pool, want: &WantedId, seed: u64) -> Result<Offer, Failure> {
    if let Some(id) = want.id {
        return exactly(pool, id).map(|value| Offer { value, cursor: Some(value.last) });
    }
    let strategy = match want.method {
        Some(Method::RoundRobin) => Strategy::Next,
        None | Some(Method::FirstFree) => Strategy::Lowest,
    };
    let wanted = Want { parity: want.parity(), ..Want::any() };
    let spans = pick::pick(pool, &wanted, strategy, seed).ok_or(Failure::Exhausted)?;
    let value = spans.first().copied().ok_or(Failure::Exhausted)?;
    let cursor = (strategy == Strategy::Next).then_some(value.last);
    Ok(Offer { value, cursor })
}

/// This id. An exhausted pool is reported as that.
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

fn prefix(
    pool: &Pool,
    want: &WantedPrefix,
    version: IpVersion,
    seed: u64,
) -> Result<Offer, Failure> {
    // A prefix of the other IP version cannot be in this pool.
    if let Some((other, address)) = want.start.filter(|(wanted, _)| *wanted != version) {
        let len = want.len(other.width()).ok_or(Failure::TooLong)?;
        return Err(Failure::PrefixUnavailable { address, len });
    }
    let kind = pool.spec.kind;
    let len = want.len(kind.width()).ok_or(Failure::TooLong)?;
    let bits = kind.width() - u32::from(len);
    let offer = |value| Offer { value, cursor: None };
    if let Some((_, address)) = want.start {
        return named(pool, address, len, bits).map(offer);
    }
    if bits == 0 {
        return host(pool).map(|address| offer(Span::one(address))).ok_or(Failure::NoAddresses);
    }
    let wanted = Want { prefix_len: Some(len), ..Want::any() };
    match pick::pick(pool, &wanted, pool.spec.strategy, seed) {
        Some(spans) => spans.first().copied().map(offer).ok_or(Failure::NoAddresses),
        None => Err(too_big(pool)),
    }
}

/// The prefix that starts at this address.
fn named(pool: &Pool, address: u128, len: u8, bits: u32) -> Result<Span, Failure> {
    let value = Span::block(if bits >= 128 { 0 } else { address >> bits << bits }, bits);
    if value.first != address {
        return Err(Failure::Misaligned);
    }
    if bits == 0 && hosts(pool).is_some_and(|hosts| hosts.is_edge(address)) {
        return Err(Failure::EdgeAddress { address });
    }
    if !pool.free.covers(value) {
        return Err(Failure::PrefixUnavailable { address, len });
    }
    Ok(value)
}

fn hosts(pool: &Pool) -> Option<&Hosts> {
    pool.requests()?.hosts.as_ref()
}

/// An address for a host: an unused one if the pool prefers those and has one.
fn host(pool: &Pool) -> Option<u128> {
    let hosts = hosts(pool)?;
    let unused = pool.cold.as_ref().and_then(|cold| unused_host(cold, |at| hosts.is_edge(at)));
    unused.or_else(|| hosts.best_fit())
}

/// An unused address: a single one that is no edge, or else one of the smallest larger block, which always has one. Gives
/// up the search for a single one after [`SINGLES_LOOKED_AT_MAX`] spans.
fn unused_host(cold: &SpanSet, is_edge: impl Fn(u128) -> bool) -> Option<u128> {
    let mut from = Some(0);
    for _ in 0..SINGLES_LOOKED_AT_MAX {
        let Some(single) = from.and_then(|from| cold.first_exact_block(from, 0)) else { break };
        // A span has at most two single addresses: before its first aligned pair and after its last.
        let last = cold.span_at(single)?.last;
        let singles = [single, last].into_iter().filter(|at| *at == single || at % 2 == 0);
        if let Some(host) = singles.into_iter().find(|at| !is_edge(*at)) {
            return Some(host);
        }
        from = last.checked_add(1);
    }
    let base = cold.best_fit_block(1)?;
    if is_edge(base) { Some(base + 1) } else { Some(base) }
}

/// Whether a free block of this length is listed. NSO leaves the smallest IPv4 blocks out.
fn counts(len: u8) -> bool {
    !matches!(len, 30..=32)
}

/// The lengths of the free blocks, which are all too small; `NoAddresses` if none of them is listed.
fn too_big(pool: &Pool) -> Failure {
    let kind = pool.spec.kind;
    let blocks = pool.free.iter().flat_map(|span| span.aligned_blocks(128)).take(BLOCKS_NAMED_MAX);
    let lens = blocks.filter_map(|block| kind.prefix_len(block)).filter(|len| counts(*len));
    let mut lens: Vec<u8> = lens.collect();
    lens.sort_unstable_by(|one, other| other.cmp(one));
    if lens.is_empty() {
        // Beyond the first blocks there may be one that is listed.
        lens.extend(largest(pool).filter(|len| counts(*len)));
    }
    if lens.is_empty() { Failure::NoAddresses } else { Failure::TooBig(lens) }
}

/// The prefix length of the largest free block.
fn largest(pool: &Pool) -> Option<u8> {
    let bits = pool.free.largest_block_bits()?;
    pool.spec.kind.width().checked_sub(bits).and_then(|len| u8::try_from(len).ok())
}

/// Records the claim of a granted request.
pub(super) fn grant(
    draft: &mut Draft<'_>,
    name: &Arc<str>,
    key: &Arc<str>,
    request: &Request,
    offer: Offer,
) -> Result<(), Refusal> {
    let kind: Kind = draft.pool(name)?.spec.kind;
    draft.record(ClaimGranted {
        pool: name.clone(),
        kind: Some(kind),
        key: key.clone(),
        owner: request.services.first().unwrap_or(key).clone(),
        values: Values::one(offer.value),
        version: draft.version,
        at_ms: draft.now_ms,
        expires_ms: None,
        labels: Default::default(),
        params: None,
        cursor: offer.cursor,
    });
    Ok(())
}
