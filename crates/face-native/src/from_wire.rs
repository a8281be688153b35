//! Translates headers and bodies of requests into the core's commands.
//!
//! Only syntax is checked here. The core decides whether a text names a value of its pool, whether the pool has it,
//! whether a limit is exceeded, and whether fields contradict each other.

pub(crate) mod authority;
pub(crate) mod candidates;
mod capacity;

pub use authority::authority_spec;

use std::collections::BTreeMap;
use std::sync::Arc;

use allod_core::claim::Want;
use allod_core::command::capacity::DeallocateOp;
use allod_core::command::{
    Check, ClaimOp, ConfirmOp, Expect, Idempotency, Op, PutPool, ReleaseOp, RenewOp, Transact,
};
use allod_core::pool::{Labels, PoolRange, PoolSpec};
use allod_core::span::Span;
use allod_core::value::Kind;
use allod_edge::{Call, Problem, position};
use http::HeaderName;
use http::header::{IF_MATCH, IF_NONE_MATCH};

use crate::wire::{
    CheckBody, ClaimBody, ClaimOpBody, ExpectText, OpBody, PoolBody, TransactionBody, ValueText,
};

const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// The last event that a reconnecting client of a stream has seen.
pub(crate) fn last_event_id(call: &Call) -> Result<Option<u64>, Problem> {
    let given = call.header(&LAST_EVENT_ID)?.filter(|text| !text.is_empty());
    given.map(|text| position("last-event-id", text)).transpose()
}

/// The condition of If-Match and If-None-Match. ETags are strong; each is a version or a generation.
pub(crate) fn expect(call: &Call) -> Result<Expect, Problem> {
    match (call.header(&IF_MATCH)?, call.header(&IF_NONE_MATCH)?) {
        (None, None) => Ok(Expect::Any),
        (Some("*"), None) => Ok(Expect::Present),
        (None, Some("*")) => Ok(Expect::Absent),
        (Some(tag), None) => match unquoted(tag).and_then(|number| number.parse().ok()) {
            Some(version) => Ok(Expect::Is(version)),
            None => Err(Problem::malformed(format!(
                "if-match is {tag}; expected * or one etag such as \"17\""
            ))),
        },
        (None, Some(tag)) => {
            Err(Problem::malformed(format!("if-none-match is {tag}; the only value is *")))
        }
        (Some(_), Some(_)) => {
            Err(Problem::malformed("if-match and if-none-match exclude each other"))
        }
    }
}

fn unquoted(tag: &str) -> Option<&str> {
    tag.strip_prefix('"')?.strip_suffix('"')
}

pub(crate) fn put_pool(
    pool: Arc<str>,
    body: PoolBody,
    expect: Expect,
    keep_held: bool,
) -> Result<PutPool, Problem> {
    let kind = body.kind.into();
    let mut ranges = Vec::with_capacity(body.ranges.len());
    for (index, text) in body.ranges.iter().enumerate() {
        let (span, subnet_len) = range("ranges", index, kind, text)?;
        ranges.push(PoolRange { span, subnet_len });
    }
    let spans = |field, texts: &[ValueText]| -> Result<Vec<Span>, Problem> {
        let texts = texts.iter().enumerate();
        texts.map(|(index, text)| Ok(range(field, index, kind, text)?.0)).collect()
    };
    let plain = PoolSpec::new(kind, ranges);
    let spec = PoolSpec {
        exclude: spans("exclude", &body.exclude)?,
        manual: spans("manual", &body.manual)?,
        draining: spans("draining", &body.draining)?,
        strategy: body.strategy.map_or(plain.strategy, Into::into),
        keep_edges: body.keep_edges.unwrap_or(plain.keep_edges),
        quarantine_ms: body.quarantine.map_or(plain.quarantine_ms, |seconds| seconds.ms),
        lease_ms: body.lease.map(|seconds| seconds.ms),
        reap: body.reap,
        labels: labels(body.labels),
        authority: body.authority.map(|authority| authority.0),
        ..plain
    };
    Ok(PutPool { pool, spec, expect, keep_held })
}

fn range(
    field: &str,
    index: usize,
    kind: Kind,
    text: &ValueText,
) -> Result<(Span, Option<u8>), Problem> {
    kind.parse_range(&text.0)
        .map_err(|error| Problem::malformed(format!("{field}[{index}]: {error}")))
}

pub(crate) fn claim(
    pools: Vec<Arc<str>>,
    key: Arc<str>,
    body: ClaimBody,
    expect: Expect,
) -> ClaimOp {
    let want = Want {
        value: body.value.map(value),
        fallback: body.fallback,
        count: body.count.unwrap_or(1),
        contiguous: body.contiguous,
        prefix_len: body.prefix_len,
        parity: body.parity.map(Into::into),
        strategy: body.strategy.map(Into::into),
    };
    ClaimOp {
        pools,
        key,
        owner: body.owner.map(|owner| owner.0),
        want,
        ttl_ms: body.ttl.map(|seconds| seconds.ms),
        labels: labels(body.labels),
        expect,
    }
}

fn value(text: ValueText) -> allod_core::value::ValueText {
    allod_core::value::ValueText(text.0)
}

pub(crate) fn transaction(call: &Call, body: TransactionBody) -> Result<Transact, Problem> {
    let idempotency = call.header(&IDEMPOTENCY_KEY)?.map(|key| {
        Idempotency::new(call.identity().name(), key, *blake3::hash(&call.body).as_bytes())
    });
    let mut ops = Vec::with_capacity(body.ops.len());
    for (index, op) in body.ops.into_iter().enumerate() {
        ops.push(operation(op).map_err(|problem| {
            let detail = format!("ops[{index}]: {}", problem.detail).into();
            Problem { detail, ..problem }
        })?);
    }
    Ok(Transact { ops, dry_run: body.dry_run, idempotency })
}

fn operation(op: OpBody) -> Result<Op, Problem> {
    let or = |condition: Option<ExpectText>, usual| condition.map_or(usual, |given| given.0);
    Ok(match op {
        OpBody::Claim(body) => Op::Claim(claim_op(body)?),
        OpBody::Release(body) => Op::Release(ReleaseOp {
            pool: body.pool.0,
            key: body.key.0,
            expect: or(body.expect, Expect::Any),
        }),
        OpBody::Renew(body) => Op::Renew(RenewOp {
            pool: body.pool.0,
            key: body.key.0,
            expect: or(body.expect, Expect::Any),
            ttl_ms: body.ttl.map(|seconds| seconds.ms),
        }),
        OpBody::Confirm(body) => Op::Confirm(ConfirmOp {
            pool: body.pool.0,
            key: body.key.0,
            expect: or(body.expect, Expect::Any),
        }),
        OpBody::Allocate(body) => Op::Allocate(capacity::allocate(body)),
        OpBody::Deallocate(body) => Op::Deallocate(DeallocateOp {
            consumer: body.consumer.0,
            expect: or(body.expect, Expect::Any),
        }),
        OpBody::Extend(body) => Op::Extend(capacity::extend(body)?),
        OpBody::Check(CheckBody::Claim(body)) => Op::Check(Check::Claim {
            pool: body.pool.0,
            key: body.key.0,
            expect: or(body.expect, Expect::Present),
            owner: body.owner.map(|owner| owner.0),
            value: body.value.map(value),
        }),
        OpBody::Check(CheckBody::Free(body)) => {
            Op::Check(Check::Free { pool: body.pool.0, value: value(body.value) })
        }
        OpBody::Check(CheckBody::Pool(body)) => {
            Op::Check(Check::Pool { pool: body.pool.0, expect: or(body.expect, Expect::Present) })
        }
        OpBody::Check(CheckBody::Provider(body)) => Op::Check(Check::Provider {
            provider: body.provider.0,
            expect: or(body.expect, Expect::Present),
        }),
        OpBody::Check(CheckBody::Consumer(body)) => Op::Check(Check::Consumer {
            consumer: body.consumer.0,
            expect: or(body.expect, Expect::Present),
        }),
    })
}

fn claim_op(body: ClaimOpBody) -> Result<ClaimOp, Problem> {
    let pools: Vec<Arc<str>> = match (body.pool, body.pools) {
        (Some(pool), None) => vec![pool.0],
        (None, Some(pools)) => pools.into_iter().map(|pool| pool.0).collect(),
        (None, None) => return Err(Problem::malformed("claim: pool or pools is missing")),
        (Some(_), Some(_)) => {
            return Err(Problem::malformed("claim: pool and pools exclude each other"));
        }
    };
    let params = ClaimBody {
        value: body.value,
        fallback: body.fallback,
        count: body.count,
        contiguous: body.contiguous,
        prefix_len: body.prefix_len,
        parity: body.parity,
        strategy: body.strategy,
        ttl: body.ttl,
        owner: body.owner,
        labels: body.labels,
    };
    let expect = body.expect.map_or(Expect::Any, |condition| condition.0);
    Ok(claim(pools, body.key.0, params, expect))
}

fn labels(map: BTreeMap<String, String>) -> Labels {
    if map.is_empty() {
        return Labels::default();
    }
    map.into_iter().map(|(key, value)| (key.into(), value.into())).collect()
}

#[cfg(test)]
mod tests {
    use allod_core::claim::Parity;
    use allod_core::pool::Strategy;

    use super::*;
    use crate::wire::{KindName, ParityName, StrategyName};

    #[test]
    fn wire_names_match_the_core() {
        for name in Kind::ALL {
            let read: KindName = serde_json::from_str(&format!("\"{}\"", name.name())).unwrap();
            assert_eq!(Kind::from(read), name);
        }
        for name in Strategy::ALL {
            let read: StrategyName = serde_json::from_str(&format!("\"{}\"", name.name())).unwrap();
            assert_eq!(Strategy::from(read), name);
        }
        for name in [Parity::Even, Parity::Odd] {
            let read: ParityName = serde_json::from_str(&format!("\"{}\"", name.name())).unwrap();
            assert_eq!(Parity::from(read), name);
        }
    }
}
