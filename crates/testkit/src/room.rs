//! What is free in a pool of the model, and whether a claim would fit, found by exhaustive search.

use allod_core::claim::{Parity, Want};
use allod_core::span::{Span, low_ones};
use allod_core::value::Kind;

use crate::model::{ModelClaim, ModelPool, ModelZone, ValueHolder};

/// The spans of automatic allocation, in order, whether held or not.
fn automatic(pool: &ModelPool) -> Vec<Span> {
    let spec = &pool.spec;
    let lists = [&spec.exclude, &spec.manual, &spec.draining];
    let ranges = spec.ranges.iter().map(|range| range.span);
    let mut starts = Vec::new();
    for span in lists.into_iter().flatten().copied().chain(ranges.clone()) {
        starts.extend([Some(span.first), span.first.checked_add(1)]);
        starts.extend([Some(span.last), span.last.checked_add(1)]);
    }
    let mut starts: Vec<u128> = starts.into_iter().flatten().collect();
    starts.sort_unstable();
    starts.dedup();
    let end = ranges.map(|span| span.last).max().unwrap_or(0);
    let next = starts.iter().skip(1).map(|next| next - 1).chain([end]);
    let pieces = starts.iter().zip(next).filter(|(first, last)| *first <= last);
    let pieces = pieces.map(|(&first, last)| Span { first, last });
    merged(pieces.filter(|piece| pool.zone(Span::one(piece.first)) == ModelZone::Automatic))
}

/// Joins adjacent pieces.
fn merged(pieces: impl Iterator<Item = Span>) -> Vec<Span> {
    let mut out: Vec<Span> = Vec::new();
    for piece in pieces {
        match out.last_mut() {
            Some(before) if before.last.checked_add(1) == Some(piece.first) => {
                before.last = piece.last;
            }
            _ => out.push(piece),
        }
    }
    out
}

/// The free spans; `stays` tells which claims count as taken.
pub fn free(pool: &ModelPool, stays: &dyn Fn(&ModelClaim) -> bool) -> Vec<Span> {
    let blocking: Vec<Span> = pool
        .taken
        .iter()
        .filter(|(_, (_, holder))| pool.claim(holder).is_none_or(stays))
        .map(|(&first, &(last, _))| Span { first, last })
        .collect();
    let mut out = Vec::new();
    for whole in automatic(pool) {
        let mut from = Some(whole.first);
        for block in blocking.iter().filter(|block| block.overlaps(whole)) {
            let Some(first) = from else { break };
            if block.first > first {
                out.push(Span { first, last: block.first - 1 });
            }
            from = block.last.checked_add(1);
        }
        out.extend(from.and_then(|first| Span::new(first, whole.last)));
    }
    out
}

/// Whether these spans satisfy the request.
pub fn fits(spans: &[Span], want: &Want, kind: Kind) -> bool {
    let count = u128::from(want.count);
    if kind.is_prefix() {
        let len = want.prefix_len.or_else(|| kind.prefix_len(want.value?));
        let Some(bits) = len.and_then(|len| kind.block_bits(len)) else { return false };
        let blocks = spans.iter().map(|span| blocks_in(*span, bits));
        return if want.contiguous {
            blocks.max().unwrap_or(0) >= count
        } else {
            blocks.fold(0, u128::saturating_add) >= count
        };
    }
    if want.contiguous && want.count > 1 {
        return spans.iter().any(|span| span.len() >= count);
    }
    let singles = spans.iter().map(|span| match want.parity {
        None => span.len(),
        Some(parity) => of_parity(*span, parity),
    });
    singles.fold(0, u128::saturating_add) >= count
}

fn of_parity(span: Span, parity: Parity) -> u128 {
    let half = span.len() / 2;
    half + u128::from(span.len() % 2 == 1 && Parity::of(span.first) == parity)
}

/// The number of aligned blocks of this size in a span.
fn blocks_in(span: Span, bits: u32) -> u128 {
    let host = low_ones(bits);
    let first = match span.first & host {
        0 => Some(span.first),
        _ => (span.first | host).checked_add(1),
    };
    let Some(first) = first.filter(|first| *first <= span.last) else { return 0 };
    let covered = span.last - first;
    if bits >= 128 {
        return u128::from(covered == u128::MAX);
    }
    // The number of values may exceed 128 bits, so 1 is added after the shift.
    let whole = covered >> bits;
    whole + u128::from(covered & host == host)
}

/// Why a claim without a value would get something: free values, ended quarantines, its own earlier value, or expired
/// leases.
pub fn would_get(
    pool: &ModelPool,
    want: &Want,
    key: &str,
    owner: &str,
    now_ms: u64,
) -> Option<String> {
    let kind = pool.spec.kind;
    let over = |claim: &ModelClaim| claim.until_ms.is_some_and(|until| until <= now_ms);
    if fits(&free(pool, &|claim| !over(claim)), want, kind) {
        return Some("there are free values".into());
    }
    let gone = |claim: &ModelClaim| {
        let whole = |span: &Span| pool.zone(*span) == ModelZone::Automatic;
        claim.expired(now_ms) && claim.spans.iter().all(whole)
    };
    let several = want.count > 1 && want.contiguous;
    if kind.is_prefix() || several {
        let mut expired = pool.held.values().filter(|claim| gone(claim));
        let alone = |claim: &&ModelClaim| {
            fits(&claim.spans, &Want { count: want.count, ..want.clone() }, kind)
        };
        if let Some(claim) = expired.find(alone) {
            return Some(format!("the lease of '{}' has expired", claim.key));
        }
    } else if fits(&free(pool, &|claim| !over(claim) && !gone(claim)), want, kind) {
        return Some("leases have expired".into());
    }
    let own = |claim: &&ModelClaim| &*claim.key == key && &*claim.owner == owner && want.count == 1;
    let own = pool.kept.values().filter(own).find(|claim| {
        let whole =
            |span: &Span| matches!(pool.zone(*span), ModelZone::Automatic | ModelZone::Manual);
        claim.spans.len() == 1
            && (kind.is_prefix() || claim.spans[0].len() == 1)
            && claim.spans.iter().all(whole)
            && fits(&claim.spans, want, kind)
            && (!kind.is_prefix() || kind.prefix_len(claim.spans[0]) == want.prefix_len)
    });
    own.map(|claim| format!("{:?} is in quarantine for '{key}'", claim.spans))
}

/// The first value that is free in all pools. Only used for small pools.
pub fn in_common(pools: &[&ModelPool], want: &Want) -> Option<u128> {
    let (first, others) = pools.split_first()?;
    let kind = first.spec.kind;
    let is_free = |pool: &ModelPool, span: Span| {
        pool.zone(span) == ModelZone::Automatic && pool.holders(span).is_empty()
    };
    let (size, step) = match kind.is_prefix() {
        true => {
            let len = want.prefix_len.or_else(|| kind.prefix_len(want.value?));
            let bits = kind.block_bits(len?)?;
            (1u128.checked_shl(bits)?, 1u128.checked_shl(bits)?)
        }
        false => (u128::from(want.count), 1),
    };
    for span in free(first, &|_| true) {
        let mut at = span.first.checked_next_multiple_of(step)?;
        while let Some(last) = at.checked_add(size - 1).filter(|last| *last <= span.last) {
            let here = Span { first: at, last };
            let fits = want.parity.is_none_or(|parity| Parity::of(at) == parity);
            if fits && others.iter().all(|pool| is_free(pool, here)) {
                return Some(at);
            }
            match at.checked_add(step) {
                Some(next) => at = next,
                None => break,
            }
        }
    }
    None
}

/// The claim that blocks a claim for exactly this value.
pub fn in_the_way<'a>(
    pool: &'a ModelPool,
    value: Span,
    owner: &str,
    now_ms: u64,
) -> Option<(&'a ValueHolder, &'a ModelClaim)> {
    pool.holders(value).into_iter().find_map(|holder| {
        let claim = pool.claim(holder)?;
        let passes = match claim.until_ms {
            Some(until) => until <= now_ms || &*claim.owner == owner,
            None => claim.expired(now_ms),
        };
        (!passes).then_some((holder, claim))
    })
}
