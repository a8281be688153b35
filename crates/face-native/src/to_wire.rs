//! Translates results into JSON and adds the headers of every reply.

pub(crate) mod authority;
pub(crate) mod candidates;
pub(crate) mod capacity;
mod change;
pub(crate) mod lookup;
pub(crate) mod outbox;
pub(crate) mod reconcile;

use allod_core::capacity::Uuid;
use allod_core::claim::{ClaimState, Values};
use allod_core::command::Op;
use allod_core::pool::{PoolRange, PoolSpec};
use allod_core::receipt::{ClaimIn, Outcome};
use allod_core::span::Span;
use allod_core::value::Kind;
use allod_core::view::{PoolView, Usage, ValueView};
use allod_edge::{Call, Reply};
use allod_engine::{CommitPoint, EngineStatus};
use bytes::Bytes;
use http::header::{CONTENT_TYPE, ETAG, LINK};
use http::{HeaderName, HeaderValue, StatusCode};
use serde::Serialize;

pub use authority::ReasonDetail;
pub use change::change;

use crate::query::QueryParams;
use crate::wire::{self, EachValue, LabelsOf, Seconds, Time, UuidText, WireValue};

const POSITION: HeaderName = HeaderName::from_static("allod-position");
const HASH: HeaderName = HeaderName::from_static("allod-hash");

/// Claims of more values than this show only their ranges.
const VALUES_LISTED_MAX: u128 = 4096;

/// A reply with this body, decided or read at this position.
pub(crate) fn json(status: StatusCode, body: &impl Serialize, at: &CommitPoint) -> Reply {
    let mut bytes = Vec::with_capacity(384);
    if let Err(error) = serde_json::to_writer(&mut bytes, body) {
        // Only a type that cannot be JSON gets here, which is a bug.
        return crate::refusals::unwritable(&error).reply();
    }
    let mut reply = Reply::new(Bytes::from(bytes).into());
    *reply.status_mut() = status;
    let json = HeaderValue::from_static("application/json");
    reply.headers_mut().insert(CONTENT_TYPE, json);
    at_position(reply, at)
}

pub(crate) fn no_content(at: &CommitPoint) -> Reply {
    let mut reply = Reply::default();
    *reply.status_mut() = StatusCode::NO_CONTENT;
    at_position(reply, at)
}

/// Adds the position that the reply reflects.
pub(crate) fn at_position(mut reply: Reply, at: &CommitPoint) -> Reply {
    let mut hash = [0; 64];
    for (pair, byte) in hash.chunks_exact_mut(2).zip(at.hash.0) {
        pair[0] = b"0123456789abcdef"[usize::from(byte >> 4)];
        pair[1] = b"0123456789abcdef"[usize::from(byte & 15)];
    }
    let headers = reply.headers_mut();
    headers.insert(POSITION, at.position.into());
    if let Ok(hash) = HeaderValue::from_bytes(&hash) {
        headers.insert(HASH, hash);
    }
    reply
}

/// Adds the version or generation as the ETag.
pub(crate) fn etag(mut reply: Reply, version: u64) -> Reply {
    if let Ok(tag) = HeaderValue::try_from(format!("\"{version}\"")) {
        reply.headers_mut().insert(ETAG, tag);
    }
    reply
}

/// A reply with a page of a list, and the link to the next page if there is one.
pub(crate) fn page(
    call: &Call,
    query: &QueryParams<'_>,
    body: &impl Serialize,
    next: Option<&str>,
    at: &CommitPoint,
) -> Reply {
    let mut reply = json(StatusCode::OK, body, at);
    let path = call.head.uri.path();
    let link = next.map(|next| format!("<{path}?{}>; rel=\"next\"", query.with_after(next)));
    if let Some(link) = link.and_then(|link| HeaderValue::try_from(link).ok()) {
        reply.headers_mut().insert(LINK, link);
    }
    reply
}

/// A claim at `now_ms`. A claim that was just granted or renewed has not expired; pass 0.
pub(crate) fn claim(given: &ClaimIn, now_ms: u64) -> wire::Claim<'_> {
    let claim = &given.claim;
    let WrittenValues { value, values, ranges } = write_values(given.kind, &claim.values);
    let (state, until) = match claim.state {
        ClaimState::Held => ("held", None),
        ClaimState::Quarantined { until_ms } => ("quarantined", Some(Time { ms: until_ms })),
    };
    wire::Claim {
        pool: &given.pool,
        key: &claim.key,
        owner: &claim.owner,
        value: Some(value),
        values,
        ranges,
        version: claim.version,
        state,
        created: Time { ms: claim.created_ms },
        expires: claim.expires_ms.map(|ms| Time { ms }),
        expired: until.is_none() && claim.expired(now_ms),
        until,
        labels: LabelsOf(&claim.labels),
        authority: None,
        reference: None,
        handle: None,
        code: None,
        reason: None,
        attempts: None,
        next_attempt: None,
        since: None,
    }
}

/// The values of a claim: the first, each, and with several also as ranges.
struct WrittenValues<'a> {
    value: WireValue,
    values: Option<EachValue<'a>>,
    ranges: Option<Vec<String>>,
}

fn write_values(kind: Kind, values: &Values) -> WrittenValues<'_> {
    let several = !kind.is_prefix() && values.total() > 1;
    let first = values.first();
    WrittenValues {
        value: WireValue(kind, if kind.is_prefix() { first } else { Span::one(first.first) }),
        values: (!several || values.total() <= VALUES_LISTED_MAX)
            .then_some(EachValue(kind, values)),
        ranges: several.then(|| values.spans().map(|span| kind.show_range(span)).collect()),
    }
}

pub(crate) fn pool(view: &PoolView) -> wire::Pool<'_> {
    wire::Pool {
        usage: Some(usage(&view.usage)),
        ..defined(&view.name, view.generation, &view.spec)
    }
}

/// The definition of a pool, without its usage.
pub(crate) fn defined<'a>(name: &'a str, generation: u64, spec: &'a PoolSpec) -> wire::Pool<'a> {
    let kind = spec.kind;
    let spans = |spans: &[Span]| spans.iter().map(|&span| kind.show(span)).collect();
    wire::Pool {
        name,
        generation,
        kind: kind.name(),
        ranges: spec.ranges.iter().map(|given| range(kind, given)).collect(),
        exclude: spans(&spec.exclude),
        manual: spans(&spec.manual),
        draining: spans(&spec.draining),
        strategy: spec.strategy.name(),
        keep_edges: spec.keep_edges,
        quarantine: Seconds { ms: spec.quarantine_ms },
        lease: spec.lease_ms.map(|ms| Seconds { ms }),
        reap: spec.reap,
        authority: spec.authority.as_deref(),
        labels: LabelsOf(&spec.labels),
        usage: None,
    }
}

/// A range as in the request: a subnet stays a subnet, so that sending a pool back changes nothing.
fn range(kind: Kind, given: &PoolRange) -> String {
    match given.subnet_len {
        Some(len) => format!("{}/{len}", kind.point(given.span.first)),
        None => kind.show_range(given.span),
    }
}

fn usage(usage: &Usage) -> wire::Usage {
    wire::Usage {
        size: usage.size,
        claims: usage.claims,
        held: usage.held,
        expired_claims: usage.expired_claims,
        quarantined: usage.quarantined,
        excluded: usage.excluded,
        draining: usage.draining,
        draining_held: usage.draining_held,
        manual_free: usage.manual_free,
        free: usage.free,
        outside_held: usage.outside_held,
    }
}

pub(crate) fn value<'a>(
    pool: &'a str,
    value: WireValue,
    view: &'a ValueView,
    now_ms: u64,
) -> wire::ValueAnswer<'a> {
    let (state, held) = match view {
        ValueView::Outside => ("outside", None),
        ValueView::Excluded => ("excluded", None),
        ValueView::Draining => ("draining", None),
        ValueView::Manual => ("manual", None),
        ValueView::Free => ("free", None),
        ValueView::Held(held) => ("held", Some(held)),
        ValueView::Quarantined(held) => ("quarantined", Some(held)),
    };
    wire::ValueAnswer { pool, value, state, claim: held.map(|held| claim(held, now_ms)), at: None }
}

pub(crate) fn status(status: EngineStatus) -> wire::Status {
    let EngineStatus { counters, journal, .. } = status;
    wire::Status {
        version: env!("CARGO_PKG_VERSION"),
        ready: status.ready,
        degraded: status.degraded,
        position: status.at.position,
        hash: status.at.hash.to_string(),
        epoch: status.epoch,
        now: Time { ms: status.now_ms },
        uptime_ms: status.uptime_ms,
        clock: wire::ClockAgreement { off_ms: status.clock.off_ms, jumps: status.clock.jumps },
        queue: wire::QueueStatus {
            commands: status.queue_commands,
            commands_max: status.queue_commands_max,
        },
        checkpoint_position: status.checkpoint_position,
        checkpoint_at: status.checkpoint_ms.map(|ms| Time { ms }),
        counters: wire::CountersSinceStart {
            commands: counters.commands,
            records: counters.records,
            bytes: counters.bytes,
            conflicts: counters.conflicts,
            checkpoints: counters.checkpoints,
        },
        last_append_ms: counters.last_append_us as f64 / 1000.0,
        last_batch_commands: counters.last_batch_commands,
        journal: wire::JournalStatus {
            name: journal.name,
            durable: journal.durable,
            replicated: journal.replicated,
            shared: journal.shared,
            note: journal.note,
        },
    }
}

/// The outcome of one operation; `None` for outcomes of other commands.
pub(crate) fn outcome<'a>(op: OpName, outcome: &'a Outcome) -> Option<wire::OpAnswer<'a>> {
    match outcome {
        Outcome::Claimed { claims, created } => {
            let claims = claims.iter().map(|given| claim(given, 0)).collect();
            Some(wire::OpAnswer::Claim { created: *created, claims })
        }
        Outcome::Released { existed } => {
            Some(wire::OpAnswer::Release { existed: *existed, claim: None })
        }
        Outcome::Leased(given) => Some(match op {
            OpName::Confirm => wire::OpAnswer::Confirm(claim(given, 0)),
            OpName::Renew | OpName::Release | OpName::Other => {
                wire::OpAnswer::Renew(claim(given, 0))
            }
        }),
        Outcome::Checked => Some(wire::OpAnswer::Check {}),
        Outcome::Allocated { consumers } => {
            let now = |&(consumer, generation): &(Uuid, Option<u64>)| wire::HoldingAnswer {
                consumer: UuidText(consumer),
                generation,
            };
            Some(wire::OpAnswer::Allocate { consumers: consumers.iter().map(now).collect() })
        }
        Outcome::Deallocated { existed } => Some(wire::OpAnswer::Deallocate { existed: *existed }),
        Outcome::Extended { consumer, generation, expires_ms } => Some(wire::OpAnswer::Extend {
            consumer: UuidText(*consumer),
            generation: *generation,
            expires: expires_ms.map(|ms| Time { ms }),
        }),
        Outcome::PoolPut { .. } | Outcome::PoolDeleted { .. } | Outcome::Ticked => None,
        Outcome::Provider(_)
        | Outcome::Named { .. }
        | Outcome::Unnamed
        | Outcome::Reshaped
        | Outcome::Ids(_)
        | Outcome::BlocksEdited
        | Outcome::RequestsEdited
        | Outcome::NotificationChanged
        | Outcome::AlarmPurged
        | Outcome::AuthorityPut { .. }
        | Outcome::AuthorityDeleted { .. }
        | Outcome::External(_)
        | Outcome::LookUp(_)
        | Outcome::LookUpDeleted { .. }
        | Outcome::LookUpsRefreshed
        | Outcome::Reconciling { .. }
        | Outcome::Reported { .. }
        | Outcome::Found(_) => None,
    }
}

/// The operation, where the outcome does not tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OpName {
    Renew,
    Confirm,
    Release,
    Other,
}

impl OpName {
    pub(crate) fn of(op: &Op) -> OpName {
        match op {
            Op::Renew(_) => OpName::Renew,
            Op::Confirm(_) => OpName::Confirm,
            Op::Release(_) => OpName::Release,
            Op::Claim(_) | Op::Check(_) => OpName::Other,
            Op::Allocate(_) | Op::Deallocate(_) | Op::Extend(_) => OpName::Other,
        }
    }
}
