//! What a request means: headers and bodies into the core's words.
//!
//! Only syntax is judged here. Whether a pool has the value, whether a limit is passed, whether fields contradict each
//! other: the core says.

pub(crate) mod candidates;
mod capacity;

use std::borrow::Cow;
use std::sync::Arc;

use allod_core::claim::{Parity, Want};
use allod_core::command::capacity::DeallocateOp;
use allod_core::command::{
    Check, ClaimOp, ConfirmOp, Expect, Idempotency, Op, PutPool, ReadAs, ReleaseOp, RenewOp,
    Transact,
};
use allod_core::pool::{Labels, PoolRange, PoolSpec, Strategy};
use allod_core::refusal::{Refusal, Refused};
use allod_core::span::Span;
use allod_core::value::Kind;
use allod_edge::{Call, Problem, position};
use allod_engine::{CommitPoint, EngineError};
use http::HeaderName;
use http::header::{IF_MATCH, IF_NONE_MATCH};

use crate::wire::{
    CheckBody, ClaimBody, ClaimOpBody, ExpectText, KindName, LabelMap, OpBody, ParityName,
    PoolBody, StrategyName, TransactionBody, ValueText,
};

const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// Why a request is no command.
#[derive(Debug)]
pub(crate) enum Unclear {
    Malformed(Problem),
    /// It names a value of a pool, and what a value looks like only the pool's kind tells.
    PoolUnknown {
        refused: Refused,
        at: CommitPoint,
    },
    /// The server cannot look at present.
    Unready(EngineError),
}

impl From<Problem> for Unclear {
    fn from(problem: Problem) -> Unclear {
        Unclear::Malformed(problem)
    }
}

/// The kind of a pool, from whoever knows, and where in the journal it was looked up.
pub(crate) type KindOf<'a> = &'a dyn Fn(&str) -> Result<(Option<Kind>, CommitPoint), EngineError>;

/// Reads values by the kinds of their pools, and remembers as what they were read: by the time that the command is
/// decided a pool may be another one.
pub(crate) struct Reader<'a> {
    pub kind: KindOf<'a>,
    pub read_as: Vec<ReadAs>,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(kind: KindOf<'a>) -> Reader<'a> {
        Reader { kind, read_as: Vec::new() }
    }

    /// A value of a pool, for the operation with this number.
    fn value(&mut self, op: usize, pool: &Arc<str>, text: &ValueText<'_>) -> Result<Span, Unclear> {
        let kind = self.kind_of(op, pool)?;
        Ok(kind.parse(&text.0).map_err(|error| Problem::malformed(format!("value: {error}")))?)
    }

    fn kind_of(&mut self, op: usize, pool: &Arc<str>) -> Result<Kind, Unclear> {
        let pool = pool.clone();
        match (self.kind)(&pool).map_err(Unclear::Unready)? {
            (Some(kind), _) => {
                self.read_as.push(ReadAs { op, pool, kind });
                Ok(kind)
            }
            (None, at) => {
                let refused = Refused { op, refusal: Refusal::PoolUnknown { pool } };
                Err(Unclear::PoolUnknown { refused, at })
            }
        }
    }
}

/// The last message that a client of a stream has seen, which it says when it comes again.
pub(crate) fn last_event_id(call: &Call) -> Result<Option<u64>, Problem> {
    let given = call.header(&LAST_EVENT_ID)?.filter(|text| !text.is_empty());
    given.map(|text| position("last-event-id", text)).transpose()
}

/// What If-Match and If-None-Match ask for. Versions and generations are strong tags of one number.
pub(crate) fn expect(call: &Call) -> Result<Expect, Problem> {
    match (call.header(&IF_MATCH)?, call.header(&IF_NONE_MATCH)?) {
        (None, None) => Ok(Expect::Any),
        (Some("*"), None) => Ok(Expect::Present),
        (None, Some("*")) => Ok(Expect::Absent),
        (Some(tag), None) => match unquoted(tag).and_then(|number| number.parse().ok()) {
            Some(version) => Ok(Expect::Is(version)),
            None => Err(Problem::malformed(format!(
                "if-match is {tag}; * or one etag as the server sends them, such as \"17\", is expected"
            ))),
        },
        (None, Some(tag)) => {
            Err(Problem::malformed(format!("if-none-match is {tag}; * is all it can be here")))
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
    body: PoolBody<'_>,
    expect: Expect,
    keep_held: bool,
) -> Result<PutPool, Problem> {
    let kind = kind(body.kind);
    let mut ranges = Vec::with_capacity(body.ranges.len());
    for (index, text) in body.ranges.iter().enumerate() {
        let (span, subnet_len) = range("ranges", index, kind, text)?;
        ranges.push(PoolRange { span, subnet_len });
    }
    let spans = |field, texts: &[ValueText<'_>]| -> Result<Vec<Span>, Problem> {
        let texts = texts.iter().enumerate();
        texts.map(|(index, text)| Ok(range(field, index, kind, text)?.0)).collect()
    };
    let plain = PoolSpec::new(kind, ranges);
    let spec = PoolSpec {
        exclude: spans("exclude", &body.exclude)?,
        manual: spans("manual", &body.manual)?,
        draining: spans("draining", &body.draining)?,
        strategy: body.strategy.map_or(plain.strategy, strategy),
        keep_edges: body.keep_edges.unwrap_or(plain.keep_edges),
        quarantine_ms: body.quarantine.map_or(plain.quarantine_ms, |seconds| seconds.ms),
        lease_ms: body.lease.map(|seconds| seconds.ms),
        reap: body.reap,
        labels: labels(&body.labels),
        ..plain
    };
    Ok(PutPool { pool, spec, expect, keep_held })
}

fn range(
    field: &str,
    index: usize,
    kind: Kind,
    text: &ValueText<'_>,
) -> Result<(Span, Option<u8>), Problem> {
    kind.parse_range(&text.0)
        .map_err(|error| Problem::malformed(format!("{field}[{index}]: {error}")))
}

/// A claim under one key; `op` is its place in the transaction.
pub(crate) fn claim(
    op: usize,
    pools: Vec<Arc<str>>,
    key: Arc<str>,
    body: ClaimBody<'_>,
    expect: Expect,
    reader: &mut Reader<'_>,
) -> Result<ClaimOp, Unclear> {
    let value = match (&body.value, pools.first()) {
        (Some(text), Some(pool)) => Some(reader.value(op, pool, text)?),
        _ => None,
    };
    let want = Want {
        value,
        fallback: body.fallback,
        count: body.count.unwrap_or(1),
        contiguous: body.contiguous,
        prefix_len: body.prefix_len,
        parity: body.parity.map(parity),
        strategy: body.strategy.map(strategy),
    };
    Ok(ClaimOp {
        pools,
        key,
        owner: body.owner.map(|owner| owner.as_ref().into()),
        want,
        ttl_ms: body.ttl.map(|seconds| seconds.ms),
        labels: labels(&body.labels),
        expect,
    })
}

pub(crate) fn transaction(
    call: &Call,
    body: TransactionBody<'_>,
    reader: &mut Reader<'_>,
) -> Result<Transact, Unclear> {
    let idempotency = call.header(&IDEMPOTENCY_KEY)?.map(|key| Idempotency {
        key: key.into(),
        fingerprint: *blake3::hash(&call.body).as_bytes(),
    });
    let mut ops = Vec::with_capacity(body.ops.len());
    for (index, op) in body.ops.into_iter().enumerate() {
        let op = operation(index, op, reader).map_err(|unclear| placed(index, unclear))?;
        ops.push(op);
    }
    let read_as = std::mem::take(&mut reader.read_as);
    Ok(Transact { ops, dry_run: body.dry_run, read_as, idempotency })
}

/// Says in which operation something was malformed.
fn placed(index: usize, unclear: Unclear) -> Unclear {
    match unclear {
        Unclear::Malformed(problem) => {
            let detail = format!("ops[{index}]: {}", problem.detail).into();
            Unclear::Malformed(Problem { detail, ..problem })
        }
        other @ (Unclear::PoolUnknown { .. } | Unclear::Unready(_)) => other,
    }
}

fn operation(index: usize, op: OpBody<'_>, reader: &mut Reader<'_>) -> Result<Op, Unclear> {
    let text = |text: Cow<'_, str>| -> Arc<str> { text.as_ref().into() };
    let or = |condition: Option<ExpectText>, usual| condition.map_or(usual, |given| given.0);
    Ok(match op {
        OpBody::Claim(body) => Op::Claim(claim_op(index, body, reader)?),
        OpBody::Release(body) => Op::Release(ReleaseOp {
            pool: text(body.pool),
            key: text(body.key),
            expect: or(body.expect, Expect::Any),
        }),
        OpBody::Renew(body) => Op::Renew(RenewOp {
            pool: text(body.pool),
            key: text(body.key),
            expect: or(body.expect, Expect::Any),
            ttl_ms: body.ttl.map(|seconds| seconds.ms),
        }),
        OpBody::Confirm(body) => Op::Confirm(ConfirmOp {
            pool: text(body.pool),
            key: text(body.key),
            expect: or(body.expect, Expect::Any),
        }),
        OpBody::Allocate(body) => Op::Allocate(capacity::allocate(body)),
        OpBody::Deallocate(body) => Op::Deallocate(DeallocateOp {
            consumer: body.consumer.0,
            expect: or(body.expect, Expect::Any),
        }),
        OpBody::Extend(body) => Op::Extend(capacity::extend(body)?),
        OpBody::Check(CheckBody::Claim(body)) => {
            let pool = text(body.pool);
            let value = body.value.map(|named| reader.value(index, &pool, &named)).transpose()?;
            Op::Check(Check::Claim {
                value,
                pool,
                key: text(body.key),
                expect: or(body.expect, Expect::Present),
                owner: body.owner.map(text),
            })
        }
        OpBody::Check(CheckBody::Free(body)) => {
            let pool = text(body.pool);
            let value = reader.value(index, &pool, &body.value)?;
            Op::Check(Check::Free { pool, value })
        }
        OpBody::Check(CheckBody::Pool(body)) => Op::Check(Check::Pool {
            pool: text(body.pool),
            expect: or(body.expect, Expect::Present),
        }),
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

fn claim_op(
    index: usize,
    body: ClaimOpBody<'_>,
    reader: &mut Reader<'_>,
) -> Result<ClaimOp, Unclear> {
    let pools: Vec<Arc<str>> = match (body.pool, body.pools) {
        (Some(pool), None) => vec![pool.as_ref().into()],
        (None, Some(pools)) => pools.iter().map(|pool| pool.as_ref().into()).collect(),
        (None, None) => return Err(Problem::malformed("claim: pool or pools is missing").into()),
        (Some(_), Some(_)) => {
            return Err(Problem::malformed("claim: pool and pools exclude each other").into());
        }
    };
    let asked = ClaimBody {
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
    claim(index, pools, body.key.as_ref().into(), asked, expect, reader)
}

fn labels(map: &LabelMap<'_>) -> Labels {
    if map.is_empty() {
        return Labels::default();
    }
    map.iter().map(|(key, value)| (key.as_ref().into(), value.as_ref().into())).collect()
}

fn kind(name: KindName) -> Kind {
    match name {
        KindName::Id32 => Kind::Id32,
        KindName::Id64 => Kind::Id64,
        KindName::Address4 => Kind::Address4,
        KindName::Address6 => Kind::Address6,
        KindName::Prefix4 => Kind::Prefix4,
        KindName::Prefix6 => Kind::Prefix6,
    }
}

fn strategy(name: StrategyName) -> Strategy {
    match name {
        StrategyName::Lowest => Strategy::Lowest,
        StrategyName::Highest => Strategy::Highest,
        StrategyName::Next => Strategy::Next,
        StrategyName::Random => Strategy::Random,
        StrategyName::LeastRecentlyUsed => Strategy::LeastRecentlyUsed,
    }
}

fn parity(name: ParityName) -> Parity {
    match name {
        ParityName::Even => Parity::Even,
        ParityName::Odd => Parity::Odd,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_on_the_wire_are_the_core_s() {
        for name in Kind::ALL {
            let read: KindName = serde_json::from_str(&format!("\"{}\"", name.name())).unwrap();
            assert_eq!(kind(read), name);
        }
        for name in Strategy::ALL {
            let read: StrategyName = serde_json::from_str(&format!("\"{}\"", name.name())).unwrap();
            assert_eq!(strategy(read), name);
        }
        for name in [Parity::Even, Parity::Odd] {
            let read: ParityName = serde_json::from_str(&format!("\"{}\"", name.name())).unwrap();
            assert_eq!(parity(read), name);
        }
    }

    #[test]
    fn a_command_says_as_what_its_values_were_read() {
        let at = CommitPoint { position: 7, ..CommitPoint::default() };
        let kind = |pool: &str| Ok(((pool == "p").then_some(Kind::Address4), at));
        let value = |pool: &str, text: &str| {
            let mut reader = Reader::new(&kind);
            let body = ClaimBody { value: Some(ValueText(text.into())), ..ClaimBody::default() };
            let op = claim(3, vec![pool.into()], "k".into(), body, Expect::Any, &mut reader);
            op.map(|op| (op.want.value, reader.read_as))
        };
        let read_as = ReadAs { op: 3, pool: "p".into(), kind: Kind::Address4 };
        let read = value("p", "0.0.0.9").unwrap();
        assert_eq!(read, (Some(Span::one(9)), vec![read_as]));
        assert!(matches!(value("p", "9"), Err(Unclear::Malformed(_))));
        let Err(Unclear::PoolUnknown { refused, at }) = value("q", "9") else { panic!("no pool") };
        assert_eq!((refused.op, refused.refusal.code(), at.position), (3, "pool_unknown", 7));
    }
}
