//! Claims: granted, leased, released, out of quarantine; and whole claims, for checkpoints and receipts.

use std::sync::Arc;

use allod_core::claim::{Claim, ClaimParams, ClaimState, Want};
use allod_core::event::{ClaimGranted, ClaimReleased, LeaseChanged, QuarantineEnded, Was};

use super::number::{KindV1, ParityV1, ReleaseCauseV1, StrategyV1};
use super::pool::LabelsV1;
use super::span::{SpanV1, ValuesV1};

#[derive(Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct ClaimGrantedV1<'a> {
    pool: &'a str,
    key: &'a str,
    /// Absent when it is the key.
    owner: Option<&'a str>,
    values: ValuesV1,
    version: u64,
    at_ms: u64,
    expires_ms: Option<u64>,
    labels: LabelsV1,
    asked: Option<AskedV1>,
    cursor: Option<u128>,
}

#[derive(Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct ClaimGrantedV2<'a> {
    kind: KindV1,
    #[serde(borrow)]
    grant: ClaimGrantedV1<'a>,
}

/// The owner and the values of the claim that an event is about.
#[derive(Debug, serde::Serialize, serde::Deserialize)]
struct WasV1<'a> {
    /// Absent when it is the key.
    owner: Option<&'a str>,
    values: ValuesV1,
    kind: KindV1,
}

#[derive(Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct LeaseChangedV2<'a> {
    #[serde(borrow)]
    change: LeaseChangedV1<'a>,
    #[serde(borrow)]
    was: WasV1<'a>,
}

#[derive(Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct ClaimReleasedV2<'a> {
    #[serde(borrow)]
    release: ClaimReleasedV1<'a>,
    #[serde(borrow)]
    was: WasV1<'a>,
}

#[derive(Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct QuarantineEndedV2<'a> {
    pool: &'a str,
    first: u128,
    key: &'a str,
    #[serde(borrow)]
    was: WasV1<'a>,
}

#[derive(Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct LeaseChangedV1<'a> {
    pool: &'a str,
    key: &'a str,
    version: u64,
    expires_ms: Option<u64>,
}

#[derive(Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct ClaimReleasedV1<'a> {
    pool: &'a str,
    key: &'a str,
    version: u64,
    at_version: u64,
    cause: ReleaseCauseV1,
    quarantine_until_ms: Option<u64>,
}

#[derive(Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct QuarantineEndedV1<'a> {
    pool: &'a str,
    first: u128,
}

/// A claim. The payload of a chunk of claims is a sequence of these.
#[derive(Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct ClaimV1<'a> {
    key: &'a str,
    /// Absent when it is the key.
    owner: Option<&'a str>,
    values: ValuesV1,
    version: u64,
    created_ms: u64,
    expires_ms: Option<u64>,
    /// `None`: held.
    quarantined_until_ms: Option<u64>,
    labels: LabelsV1,
    asked: Option<AskedV1>,
}

#[derive(Debug, serde::Serialize, serde::Deserialize)]
struct AskedV1 {
    want: WantV1,
    ttl_ms: Option<u64>,
}

#[derive(Debug, serde::Serialize, serde::Deserialize)]
struct WantV1 {
    value: Option<SpanV1>,
    fallback: bool,
    count: u32,
    contiguous: bool,
    prefix_len: Option<u8>,
    parity: Option<ParityV1>,
    strategy: Option<StrategyV1>,
}

/// An owner as stored: only when it differs from the key.
fn store_owner<'a>(key: &str, owner: &'a str) -> Option<&'a str> {
    (owner != key).then_some(owner)
}

/// Key and owner; they share memory if they are the same.
fn load_owner(key: &str, owner: Option<&str>) -> (Arc<str>, Arc<str>) {
    let key: Arc<str> = key.into();
    let owner = owner.map_or_else(|| key.clone(), Arc::from);
    (key, owner)
}

impl<'a> From<&'a ClaimGranted> for ClaimGrantedV1<'a> {
    fn from(event: &'a ClaimGranted) -> ClaimGrantedV1<'a> {
        ClaimGrantedV1 {
            pool: &event.pool,
            key: &event.key,
            owner: store_owner(&event.key, &event.owner),
            values: ValuesV1(event.values.clone()),
            version: event.version,
            at_ms: event.at_ms,
            expires_ms: event.expires_ms,
            labels: LabelsV1(event.labels.clone()),
            asked: event.params.as_deref().map(AskedV1::from),
            cursor: event.cursor,
        }
    }
}

impl From<ClaimGrantedV1<'_>> for ClaimGranted {
    fn from(stored: ClaimGrantedV1<'_>) -> ClaimGranted {
        let (key, owner) = load_owner(stored.key, stored.owner);
        ClaimGranted {
            pool: stored.pool.into(),
            kind: None,
            key,
            owner,
            values: stored.values.0,
            version: stored.version,
            at_ms: stored.at_ms,
            expires_ms: stored.expires_ms,
            labels: stored.labels.0,
            params: stored.asked.map(|params| Arc::new(params.into())),
            cursor: stored.cursor,
        }
    }
}

impl<'a> From<&'a LeaseChanged> for LeaseChangedV1<'a> {
    fn from(event: &'a LeaseChanged) -> LeaseChangedV1<'a> {
        let &LeaseChanged { ref pool, ref key, version, expires_ms, was: _ } = event;
        LeaseChangedV1 { pool, key, version, expires_ms }
    }
}

impl From<LeaseChangedV1<'_>> for LeaseChanged {
    fn from(stored: LeaseChangedV1<'_>) -> LeaseChanged {
        let LeaseChangedV1 { pool, key, version, expires_ms } = stored;
        LeaseChanged { pool: pool.into(), key: key.into(), version, expires_ms, was: None }
    }
}

impl<'a> From<&'a ClaimReleased> for ClaimReleasedV1<'a> {
    fn from(event: &'a ClaimReleased) -> ClaimReleasedV1<'a> {
        ClaimReleasedV1 {
            pool: &event.pool,
            key: &event.key,
            version: event.version,
            at_version: event.at_version,
            cause: ReleaseCauseV1(event.cause),
            quarantine_until_ms: event.quarantine_until_ms,
        }
    }
}

impl From<ClaimReleasedV1<'_>> for ClaimReleased {
    fn from(stored: ClaimReleasedV1<'_>) -> ClaimReleased {
        ClaimReleased {
            pool: stored.pool.into(),
            key: stored.key.into(),
            version: stored.version,
            at_version: stored.at_version,
            cause: stored.cause.0,
            quarantine_until_ms: stored.quarantine_until_ms,
            was: None,
        }
    }
}

impl<'a> From<&'a QuarantineEnded> for QuarantineEndedV1<'a> {
    fn from(event: &'a QuarantineEnded) -> QuarantineEndedV1<'a> {
        QuarantineEndedV1 { pool: &event.pool, first: event.first }
    }
}

impl From<QuarantineEndedV1<'_>> for QuarantineEnded {
    fn from(stored: QuarantineEndedV1<'_>) -> QuarantineEnded {
        QuarantineEnded { pool: stored.pool.into(), first: stored.first, key: None, was: None }
    }
}

impl<'a> WasV1<'a> {
    fn of(key: &str, was: &'a Was) -> WasV1<'a> {
        let (owner, values) = (store_owner(key, &was.owner), ValuesV1(was.values.clone()));
        WasV1 { owner, values, kind: KindV1(was.kind) }
    }

    fn load(self, key: &Arc<str>) -> Was {
        let owner = self.owner.map_or_else(|| key.clone(), Arc::from);
        Was { owner, values: self.values.0, kind: self.kind.0 }
    }
}

impl<'a> ClaimGrantedV2<'a> {
    pub fn of(event: &'a ClaimGranted) -> Option<ClaimGrantedV2<'a>> {
        event.kind.map(|kind| ClaimGrantedV2 { kind: KindV1(kind), grant: event.into() })
    }
}

impl From<ClaimGrantedV2<'_>> for ClaimGranted {
    fn from(stored: ClaimGrantedV2<'_>) -> ClaimGranted {
        ClaimGranted { kind: Some(stored.kind.0), ..stored.grant.into() }
    }
}

impl<'a> LeaseChangedV2<'a> {
    pub fn of(event: &'a LeaseChanged) -> Option<LeaseChangedV2<'a>> {
        let was = WasV1::of(&event.key, event.was.as_ref()?);
        Some(LeaseChangedV2 { change: event.into(), was })
    }
}

impl From<LeaseChangedV2<'_>> for LeaseChanged {
    fn from(stored: LeaseChangedV2<'_>) -> LeaseChanged {
        let change = LeaseChanged::from(stored.change);
        LeaseChanged { was: Some(stored.was.load(&change.key)), ..change }
    }
}

impl<'a> ClaimReleasedV2<'a> {
    pub fn of(event: &'a ClaimReleased) -> Option<ClaimReleasedV2<'a>> {
        let was = WasV1::of(&event.key, event.was.as_ref()?);
        Some(ClaimReleasedV2 { release: event.into(), was })
    }
}

impl From<ClaimReleasedV2<'_>> for ClaimReleased {
    fn from(stored: ClaimReleasedV2<'_>) -> ClaimReleased {
        let release = ClaimReleased::from(stored.release);
        ClaimReleased { was: Some(stored.was.load(&release.key)), ..release }
    }
}

impl<'a> QuarantineEndedV2<'a> {
    pub fn of(event: &'a QuarantineEnded) -> Option<QuarantineEndedV2<'a>> {
        let key = event.key.as_ref()?;
        let was = WasV1::of(key, event.was.as_ref()?);
        Some(QuarantineEndedV2 { pool: &event.pool, first: event.first, key, was })
    }
}

impl From<QuarantineEndedV2<'_>> for QuarantineEnded {
    fn from(stored: QuarantineEndedV2<'_>) -> QuarantineEnded {
        let key: Arc<str> = stored.key.into();
        QuarantineEnded {
            pool: stored.pool.into(),
            first: stored.first,
            was: Some(stored.was.load(&key)),
            key: Some(key),
        }
    }
}

impl<'a> From<&'a Claim> for ClaimV1<'a> {
    fn from(claim: &'a Claim) -> ClaimV1<'a> {
        ClaimV1 {
            key: &claim.key,
            owner: store_owner(&claim.key, &claim.owner),
            values: ValuesV1(claim.values.clone()),
            version: claim.version,
            created_ms: claim.created_ms,
            expires_ms: claim.expires_ms,
            quarantined_until_ms: match claim.state {
                ClaimState::Held => None,
                ClaimState::Quarantined { until_ms } => Some(until_ms),
            },
            labels: LabelsV1(claim.labels.clone()),
            asked: claim.params.as_deref().map(AskedV1::from),
        }
    }
}

impl From<ClaimV1<'_>> for Claim {
    fn from(stored: ClaimV1<'_>) -> Claim {
        let (key, owner) = load_owner(stored.key, stored.owner);
        let quarantined = |until_ms| ClaimState::Quarantined { until_ms };
        Claim {
            key,
            owner,
            values: stored.values.0,
            version: stored.version,
            created_ms: stored.created_ms,
            expires_ms: stored.expires_ms,
            state: stored.quarantined_until_ms.map_or(ClaimState::Held, quarantined),
            labels: stored.labels.0,
            params: stored.asked.map(|params| Arc::new(params.into())),
        }
    }
}

impl From<&ClaimParams> for AskedV1 {
    fn from(params: &ClaimParams) -> AskedV1 {
        let want = &params.want;
        AskedV1 {
            want: WantV1 {
                value: want.value.map(SpanV1),
                fallback: want.fallback,
                count: want.count,
                contiguous: want.contiguous,
                prefix_len: want.prefix_len,
                parity: want.parity.map(ParityV1),
                strategy: want.strategy.map(StrategyV1),
            },
            ttl_ms: params.ttl_ms,
        }
    }
}

impl From<AskedV1> for ClaimParams {
    fn from(AskedV1 { want, ttl_ms }: AskedV1) -> ClaimParams {
        ClaimParams {
            want: Want {
                value: want.value.map(|SpanV1(span)| span),
                fallback: want.fallback,
                count: want.count,
                contiguous: want.contiguous,
                prefix_len: want.prefix_len,
                parity: want.parity.map(|ParityV1(parity)| parity),
                strategy: want.strategy.map(|StrategyV1(strategy)| strategy),
            },
            ttl_ms,
        }
    }
}
