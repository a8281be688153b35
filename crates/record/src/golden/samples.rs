//! The samples: a minimal one for each kind, and a full one for kinds with optional fields.

use std::sync::Arc;

use allod_core::claim::{Claim, ClaimParams, ClaimState, Parity, Values, Want};
use allod_core::event::{
    ClaimEvent, ClaimGranted, ClaimReleased, Event, IdempotencyEvent, IdempotencyExpired,
    IdempotencyStored, LeaseChanged, PoolDefined, PoolEvent, PoolRemoved, QuarantineEnded,
    ReleaseCause, Was,
};
use allod_core::pool::{Labels, PoolRange, PoolSpec, Strategy};
use allod_core::receipt::{ClaimIn, Outcome, Receipt};
use allod_core::span::Span;
use allod_core::value::Kind;

use crate::body::{Cause, Entry, Item};
use crate::checkpoint::{CheckpointPart, Header};
use allod_core::state::restore::PoolImage;

#[derive(Debug, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "there are few samples")]
pub(super) enum Sample {
    /// A body of one item.
    Item(Item),
    /// A single event, as in an entry.
    Event(Event),
    Checkpoint(Header, Vec<CheckpointPart>),
}

/// Each sample with the name of its file.
pub(super) fn all() -> Vec<(&'static str, Sample)> {
    vec![
        ("1-epoch_begun-v1", Sample::Item(Item::Epoch { writer: "node-a".into() })),
        ("2-level_raised-v1", Sample::Item(Item::Level { level: 1 })),
        ("3-entry-v1", Sample::Item(entry())),
        ("16-pool_defined-v1", pool_defined(plain_spec())),
        ("16-pool_defined-v1-full", pool_defined(full_spec())),
        ("17-pool_removed-v1", Sample::Event(pool_removed())),
        ("18-claim_granted-v1", granted(ClaimGranted { kind: None, ..plain_grant() })),
        ("18-claim_granted-v1-full", granted(ClaimGranted { kind: None, ..full_grant() })),
        ("18-claim_granted-v2", granted(plain_grant())),
        ("18-claim_granted-v2-full", granted(full_grant())),
        ("19-lease_changed-v1", lease_changed(Some(AT_MS), None)),
        ("19-lease_changed-v1-confirmed", lease_changed(None, None)),
        ("19-lease_changed-v2", lease_changed(Some(AT_MS), Some(plain_was()))),
        ("19-lease_changed-v2-confirmed", lease_changed(None, Some(full_was()))),
        ("20-claim_released-v1", claim_released(ReleaseCause::Asked, Some(AT_MS), None)),
        ("20-claim_released-v1-reaped", claim_released(ReleaseCause::Reaped, None, None)),
        (
            "20-claim_released-v2",
            claim_released(ReleaseCause::Asked, Some(AT_MS), Some(plain_was())),
        ),
        ("20-claim_released-v2-taken", claim_released(ReleaseCause::Taken, None, Some(full_was()))),
        ("21-quarantine_ended-v1", quarantine_ended(None, None)),
        ("21-quarantine_ended-v2", quarantine_ended(Some("vm-0001"), Some(plain_was()))),
        ("21-quarantine_ended-v2-full", quarantine_ended(Some("vm-0001"), Some(full_was()))),
        (
            "22-request_remembered-v1",
            Sample::Event(Event::Idempotency(IdempotencyEvent::Stored(request()))),
        ),
        ("23-request_forgotten-v1", Sample::Event(request_forgotten())),
        // The smallest checkpoint for each kind, and one checkpoint with all kinds.
        ("64-checkpoint_begun-v1", checkpoint(&[])),
        ("65-checkpoint_pool-v1", checkpoint(&[plain_pool(), full_pool()])),
        (
            "66-checkpoint_claims-v1",
            checkpoint(&[plain_pool(), CheckpointPart::Claim(plain_claim())]),
        ),
        ("67-checkpoint_ended-v1", full_checkpoint()),
    ]
}

pub(super) const AT_MS: u64 = 1_767_225_600_000;

fn entry() -> Item {
    let events = vec![pool_removed(), request_forgotten()];
    Item::Entry(Entry { at_ms: AT_MS, cause: Cause::Tick, events })
}

fn pool_defined(spec: PoolSpec) -> Sample {
    Sample::Event(Event::Pool(PoolEvent::Defined(PoolDefined {
        pool: "vlan".into(),
        generation: 1,
        spec,
    })))
}

fn pool_removed() -> Event {
    Event::Pool(PoolEvent::Removed(PoolRemoved { pool: "vlan".into(), claims: 0, requests: 0 }))
}

fn granted(grant: ClaimGranted) -> Sample {
    Sample::Event(Event::Claim(ClaimEvent::Granted(grant)))
}

/// The claim of the key that these samples use.
fn plain_was() -> Was {
    Was { owner: "vm-0001".into(), values: Values::one(Span::one(1001)), kind: Kind::Id32 }
}

fn full_was() -> Was {
    let claim = full_claim();
    Was { owner: claim.owner, values: claim.values, kind: Kind::Prefix6 }
}

fn lease_changed(expires_ms: Option<u64>, was: Option<Was>) -> Sample {
    let (pool, key) = ("vlan".into(), "vm-0001".into());
    Sample::Event(Event::Claim(ClaimEvent::LeaseChanged(LeaseChanged {
        pool,
        key,
        version: 300,
        expires_ms,
        was,
    })))
}

fn claim_released(
    cause: ReleaseCause,
    quarantine_until_ms: Option<u64>,
    was: Option<Was>,
) -> Sample {
    Sample::Event(Event::Claim(ClaimEvent::Released(ClaimReleased {
        pool: "vlan".into(),
        key: "vm-0001".into(),
        version: 300,
        at_version: 301,
        cause,
        quarantine_until_ms,
        was,
    })))
}

fn quarantine_ended(key: Option<&str>, was: Option<Was>) -> Sample {
    let (pool, key) = ("vlan".into(), key.map(Arc::from));
    Sample::Event(Event::Claim(ClaimEvent::QuarantineEnded(QuarantineEnded {
        pool,
        first: 1001,
        key,
        was,
    })))
}

fn request_forgotten() -> Event {
    Event::Idempotency(IdempotencyEvent::Expired(IdempotencyExpired { key: "order 17".into() }))
}

pub(super) fn checkpoint(parts: &[CheckpointPart]) -> Sample {
    let header = Header { level: 1, position: 123_456, now_ms: AT_MS };
    Sample::Checkpoint(header, [parts, &[CheckpointPart::End]].concat())
}

fn full_checkpoint() -> Sample {
    checkpoint(&[
        plain_pool(),
        CheckpointPart::Claim(plain_claim()),
        CheckpointPart::Claim(full_claim()),
        full_pool(),
        CheckpointPart::Claim(full_claim()),
        CheckpointPart::Idempotency(request()),
    ])
}

fn plain_pool() -> CheckpointPart {
    CheckpointPart::Pool(Box::new(PoolImage {
        name: "vlan".into(),
        generation: 1,
        spec: plain_spec(),
        cursor: None,
        released: vec![],
        blocks: None,
        requests: None,
    }))
}

fn full_pool() -> CheckpointPart {
    CheckpointPart::Pool(Box::new(PoolImage {
        name: "hosts".into(),
        generation: 7,
        spec: full_spec(),
        cursor: Some(0x0a00_0010),
        released: vec![Span::one(0x0a00_0020), span(0x0a00_0018, 0x0a00_0019)],
        blocks: None,
        requests: None,
    }))
}

fn labels(pairs: &[(&str, &str)]) -> Labels {
    pairs.iter().map(|&(name, value)| (name.into(), value.into())).collect()
}

fn span(first: u128, last: u128) -> Span {
    Span::new(first, last).unwrap()
}

fn full_spec() -> PoolSpec {
    let subnet = PoolRange { span: span(0x0a00_0000, 0x0a00_00ff), subnet_len: Some(24) };
    let range = PoolRange { span: span(0x0a00_0200, 0x0a00_0210), subnet_len: None };
    PoolSpec {
        exclude: vec![Span::one(0x0a00_0001)],
        manual: vec![span(0x0a00_0002, 0x0a00_000f)],
        draining: vec![span(0x0a00_0080, 0x0a00_0080), span(0x0a00_0090, 0x0a00_009f)],
        strategy: Strategy::LeastRecentlyUsed,
        quarantine_ms: 60_000,
        lease_ms: Some(3_600_000),
        reap: true,
        labels: labels(&[("site", "zürich")]),
        ..PoolSpec::new(Kind::Address4, vec![subnet, range])
    }
}

pub(super) fn plain_spec() -> PoolSpec {
    PoolSpec::new(Kind::Id32, vec![PoolRange { span: span(1, 4094), subnet_len: None }])
}

fn plain_claim() -> Claim {
    Claim {
        key: "vm-0001".into(),
        owner: "vm-0001".into(),
        values: Values::one(Span::one(1001)),
        version: 123_456,
        created_ms: AT_MS,
        expires_ms: None,
        state: ClaimState::Held,
        labels: Labels::default(),
        params: None,
    }
}

fn full_params() -> Arc<ClaimParams> {
    Arc::new(ClaimParams {
        want: Want {
            value: Some(span(0, u128::MAX)),
            fallback: true,
            count: 3,
            contiguous: true,
            prefix_len: Some(64),
            parity: Some(Parity::Odd),
            strategy: Some(Strategy::Next),
        },
        ttl_ms: Some(90_000),
    })
}

fn full_claim() -> Claim {
    Claim {
        key: "vm-0002".into(),
        owner: "tenant ä".into(),
        values: Values::new(&[span(7, 9), Span::one(11), Span::one(u128::MAX)]).unwrap(),
        version: 123_457,
        created_ms: AT_MS,
        expires_ms: Some(AT_MS + 90_000),
        state: ClaimState::Quarantined { until_ms: AT_MS + 60_000 },
        labels: labels(&[("a", ""), ("b", "c")]),
        params: Some(full_params()),
    }
}

pub(super) fn plain_grant() -> ClaimGranted {
    ClaimGranted {
        pool: "vlan".into(),
        kind: Some(Kind::Id32),
        key: "vm-0001".into(),
        owner: "vm-0001".into(),
        values: Values::one(Span::one(1001)),
        version: 123_456,
        at_ms: AT_MS,
        expires_ms: None,
        labels: Labels::default(),
        params: None,
        cursor: None,
    }
}

fn full_grant() -> ClaimGranted {
    let claim = full_claim();
    ClaimGranted {
        kind: Some(Kind::Prefix6),
        owner: claim.owner,
        values: claim.values,
        expires_ms: claim.expires_ms,
        labels: claim.labels,
        params: claim.params,
        cursor: Some(u128::MAX),
        ..plain_grant()
    }
}

fn request() -> IdempotencyStored {
    let claim_in = |claim| ClaimIn { pool: "vlan".into(), kind: Kind::Id32, claim };
    let receipt = Receipt {
        outcomes: vec![
            Outcome::PoolPut { created: true, generation: 1 },
            Outcome::PoolDeleted { existed: true },
            Outcome::Claimed {
                claims: vec![claim_in(plain_claim()), claim_in(full_claim())],
                created: true,
            },
            Outcome::Released { existed: false },
            Outcome::Leased(claim_in(plain_claim())),
            Outcome::Checked,
            Outcome::Ticked,
        ],
    };
    let fingerprint = std::array::from_fn(|i| i as u8);
    IdempotencyStored::new("order 17", fingerprint, AT_MS + 86_400_000, &receipt)
}
