//! Claims: granted, leased, released, out of quarantine; and whole claims, for checkpoints and receipts.

use std::sync::Arc;

use allod_core::claim::{Claim, ClaimParams, ClaimState, Want};
use allod_core::event::{ClaimGranted, ClaimReleased, LeaseChanged, QuarantineEnded, Was};

use super::form::{StoredForm, stored_structs};
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
    params: Option<ClaimParamsV1>,
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
    params: Option<ClaimParamsV1>,
}

stored_structs! {
    ClaimParamsV1 of ClaimParams {
        want: WantV1,
        ttl_ms: Option<u64>,
    }

    WantV1 of Want {
        value: Option<SpanV1>,
        fallback: bool,
        count: u32,
        contiguous: bool,
        prefix_len: Option<u8>,
        parity: Option<ParityV1>,
        strategy: Option<StrategyV1>,
    }
}

impl StoredForm<'_, Arc<ClaimParams>> for ClaimParamsV1 {
    fn store(params: &Arc<ClaimParams>) -> ClaimParamsV1 {
        ClaimParamsV1::store(&**params)
    }

    fn load(self) -> Arc<ClaimParams> {
        Arc::new(self.load())
    }
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

impl<'a> StoredForm<'a, ClaimGranted> for ClaimGrantedV1<'a> {
    fn store(event: &'a ClaimGranted) -> ClaimGrantedV1<'a> {
        ClaimGrantedV1 {
            pool: &event.pool,
            key: &event.key,
            owner: store_owner(&event.key, &event.owner),
            values: ValuesV1(event.values.clone()),
            version: event.version,
            at_ms: event.at_ms,
            expires_ms: event.expires_ms,
            labels: LabelsV1(event.labels.clone()),
            params: StoredForm::store(&event.params),
            cursor: event.cursor,
        }
    }

    fn load(self) -> ClaimGranted {
        let (key, owner) = load_owner(self.key, self.owner);
        ClaimGranted {
            pool: self.pool.into(),
            kind: None,
            key,
            owner,
            values: self.values.0,
            version: self.version,
            at_ms: self.at_ms,
            expires_ms: self.expires_ms,
            labels: self.labels.0,
            params: self.params.load(),
            cursor: self.cursor,
        }
    }
}

impl<'a> StoredForm<'a, LeaseChanged> for LeaseChangedV1<'a> {
    fn store(event: &'a LeaseChanged) -> LeaseChangedV1<'a> {
        let &LeaseChanged { ref pool, ref key, version, expires_ms, was: _ } = event;
        LeaseChangedV1 { pool, key, version, expires_ms }
    }

    fn load(self) -> LeaseChanged {
        let LeaseChangedV1 { pool, key, version, expires_ms } = self;
        LeaseChanged { pool: pool.into(), key: key.into(), version, expires_ms, was: None }
    }
}

impl<'a> StoredForm<'a, ClaimReleased> for ClaimReleasedV1<'a> {
    fn store(event: &'a ClaimReleased) -> ClaimReleasedV1<'a> {
        ClaimReleasedV1 {
            pool: &event.pool,
            key: &event.key,
            version: event.version,
            at_version: event.at_version,
            cause: ReleaseCauseV1(event.cause),
            quarantine_until_ms: event.quarantine_until_ms,
        }
    }

    fn load(self) -> ClaimReleased {
        ClaimReleased {
            pool: self.pool.into(),
            key: self.key.into(),
            version: self.version,
            at_version: self.at_version,
            cause: self.cause.0,
            quarantine_until_ms: self.quarantine_until_ms,
            was: None,
        }
    }
}

impl<'a> StoredForm<'a, QuarantineEnded> for QuarantineEndedV1<'a> {
    fn store(event: &'a QuarantineEnded) -> QuarantineEndedV1<'a> {
        QuarantineEndedV1 { pool: &event.pool, first: event.first }
    }

    fn load(self) -> QuarantineEnded {
        QuarantineEnded { pool: self.pool.into(), first: self.first, key: None, was: None }
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
        event
            .kind
            .map(|kind| ClaimGrantedV2 { kind: KindV1(kind), grant: StoredForm::store(event) })
    }

    pub fn load(self) -> ClaimGranted {
        ClaimGranted { kind: Some(self.kind.0), ..self.grant.load() }
    }
}

impl<'a> LeaseChangedV2<'a> {
    pub fn of(event: &'a LeaseChanged) -> Option<LeaseChangedV2<'a>> {
        let was = WasV1::of(&event.key, event.was.as_ref()?);
        Some(LeaseChangedV2 { change: StoredForm::store(event), was })
    }

    pub fn load(self) -> LeaseChanged {
        let change = self.change.load();
        LeaseChanged { was: Some(self.was.load(&change.key)), ..change }
    }
}

impl<'a> ClaimReleasedV2<'a> {
    pub fn of(event: &'a ClaimReleased) -> Option<ClaimReleasedV2<'a>> {
        let was = WasV1::of(&event.key, event.was.as_ref()?);
        Some(ClaimReleasedV2 { release: StoredForm::store(event), was })
    }

    pub fn load(self) -> ClaimReleased {
        let release = self.release.load();
        ClaimReleased { was: Some(self.was.load(&release.key)), ..release }
    }
}

impl<'a> QuarantineEndedV2<'a> {
    pub fn of(event: &'a QuarantineEnded) -> Option<QuarantineEndedV2<'a>> {
        let key = event.key.as_ref()?;
        let was = WasV1::of(key, event.was.as_ref()?);
        Some(QuarantineEndedV2 { pool: &event.pool, first: event.first, key, was })
    }

    pub fn load(self) -> QuarantineEnded {
        let key: Arc<str> = self.key.into();
        QuarantineEnded {
            pool: self.pool.into(),
            first: self.first,
            was: Some(self.was.load(&key)),
            key: Some(key),
        }
    }
}

impl<'a> StoredForm<'a, Claim> for ClaimV1<'a> {
    fn store(claim: &'a Claim) -> ClaimV1<'a> {
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
            params: StoredForm::store(&claim.params),
        }
    }

    fn load(self) -> Claim {
        let (key, owner) = load_owner(self.key, self.owner);
        let quarantined = |until_ms| ClaimState::Quarantined { until_ms };
        Claim {
            key,
            owner,
            values: self.values.0,
            version: self.version,
            created_ms: self.created_ms,
            expires_ms: self.expires_ms,
            state: self.quarantined_until_ms.map_or(ClaimState::Held, quarantined),
            labels: self.labels.0,
            params: self.params.load(),
        }
    }
}
