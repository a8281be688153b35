//! What one request gets of one pool.

use std::sync::Arc;

use super::{Draft, pick, requests};
use crate::claim::{Values, Want};
use crate::event::{ClaimGranted, Event};
use crate::pool::Strategy;
use crate::refusal::Refusal;
use crate::resource::{
    Failure, Given, GivenAddresses, Method, Request, Wanted, WantedId, WantedPrefix, blocks_of,
};
use crate::span::Span;
use crate::spanset::SpanSet;
use crate::state::pool::Pool;
use crate::value::Kind;

/// How many free blocks a refusal names.
const BLOCKS_NAMED_MAX: usize = 1000;

/// How many single addresses are looked at for one that a host can have, where used ones come last.
const SINGLES_LOOKED_AT_MAX: usize = 1000;

/// A value to give, and where going round goes on from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Gift {
    pub value: Span,
    pub cursor: Option<u128>,
}

pub(super) fn gift(
    draft: &mut Draft<'_>,
    name: &Arc<str>,
    request: &Request,
) -> Result<Result<Gift, Failure>, Refusal> {
    let seed = draft.random();
    let (pool, kept) = requests(draft, name)?;
    Ok(match (&request.want, &kept.config.given) {
        (Wanted::Id(want), Given::Ids(_)) => id(pool, want, seed),
        (Wanted::Prefix(want), Given::Addresses(given)) => prefix(pool, want, given.six, seed),
        (Wanted::Id(_), Given::Addresses(_)) => Err(Failure::NoAddresses),
        (Wanted::Prefix(_), Given::Ids(_)) => Err(Failure::Exhausted),
    })
}

fn id(pool: &Pool, want: &WantedId, seed: u64) -> Result<Gift, Failure> {
    if let Some(id) = want.id {
        return exactly(pool, id).map(|value| Gift { value, cursor: Some(value.last) });
    }
    let strategy = match want.method {
        Some(Method::RoundRobin) => Strategy::Next,
        None | Some(Method::FirstFree) => Strategy::Lowest,
    };
    let wanted = Want { parity: want.parity(), ..Want::any() };
    let spans = pick::pick(pool, &wanted, strategy, seed).ok_or(Failure::Exhausted)?;
    let value = spans.first().copied().ok_or(Failure::Exhausted)?;
    let cursor = (strategy == Strategy::Next).then_some(value.last);
    Ok(Gift { value, cursor })
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

fn prefix(pool: &Pool, want: &WantedPrefix, six: bool, seed: u64) -> Result<Gift, Failure> {
    // A prefix of the other version is none of this pool, however long it is.
    if let Some((start_six, address)) = want.start.filter(|(start_six, _)| *start_six != six) {
        let other = GivenAddresses { six: start_six, ..GivenAddresses::default() };
        let len = want.len(other.width()).ok_or(Failure::TooLong)?;
        return Err(Failure::PrefixUnavailable { address, len });
    }
    let kind = pool.spec.kind;
    let len = want.len(kind.width()).ok_or(Failure::TooLong)?;
    let bits = kind.width() - u32::from(len);
    let gift = |value| Gift { value, cursor: None };
    if let Some((_, address)) = want.start {
        return named(pool, address, len, bits).map(gift);
    }
    if bits == 0 {
        return host(pool).map(|address| gift(Span::one(address))).ok_or(Failure::NoAddresses);
    }
    let wanted = Want { prefix_len: Some(len), ..Want::any() };
    match pick::pick(pool, &wanted, pool.spec.strategy, seed) {
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
    let unused = pool.cold.as_ref().and_then(|cold| unused_host(cold, |at| hosts.is_edge(at)));
    unused.or_else(|| hosts.best_fit())
}

/// The same of what has not been used: a single address that is no edge, or else the smallest block of several, of which one
/// always will do. Past so many edges that stand alone, any block is better than to look at them all.
fn unused_host(cold: &SpanSet, is_edge: impl Fn(u128) -> bool) -> Option<u128> {
    let mut from = Some(0);
    for _ in 0..SINGLES_LOOKED_AT_MAX {
        let Some(single) = from.and_then(|from| cold.first_exact_block(from, 0)) else { break };
        // A span has at most two: what stands before its first pair, and what is left behind its last.
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

/// Whether a block of this length counts as something that is left. The original leaves the smallest of IPv4 out.
fn counts(len: u8) -> bool {
    !matches!(len, 30..=32)
}

/// What is left, if it is too small. If nothing that counts is left, that is nothing.
fn too_big(pool: &Pool) -> Failure {
    let kind = pool.spec.kind;
    let blocks = pool.free.iter().flat_map(blocks_of).take(BLOCKS_NAMED_MAX);
    let lens = blocks.filter_map(|block| kind.prefix_len(block)).filter(|len| counts(*len));
    let mut lens: Vec<u8> = lens.collect();
    lens.sort_unstable_by(|one, other| other.cmp(one));
    if lens.is_empty() {
        // Behind so many that do not count there may be one that does.
        lens.extend(largest(pool).filter(|len| counts(*len)));
    }
    if lens.is_empty() { Failure::NoAddresses } else { Failure::TooBig(lens) }
}

/// The length of the largest block that is free.
fn largest(pool: &Pool) -> Option<u8> {
    let bits = pool.free.largest_block_bits()?;
    pool.spec.kind.width().checked_sub(bits).and_then(|len| u8::try_from(len).ok())
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
        params: None,
        cursor: gift.cursor,
    }));
    Ok(())
}
