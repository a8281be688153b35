//! Pools: definition, removal, and the parts of a checkpoint.

use std::fmt;
use std::sync::Arc;

use serde::de::{Deserialize, Deserializer, SeqAccess, Visitor};
use serde::ser::{Serialize, Serializer};

use allod_core::event::{PoolDefined, PoolRemoved};
use allod_core::pool::{Labels, PoolRange, PoolSpec};
use allod_core::requests::RequestPool;
use allod_core::state::restore::PoolImage;

use super::blocks::BlocksV1;
use super::form::{StoredForm, stored_structs};
use super::number::{KindV1, StrategyV1};
use super::outside::{RequestPoolV2, has_more};
use super::requests::RequestPoolV1;
use super::span::SpanV1;

stored_structs! {
    PoolDefinedV1<'a> of PoolDefined {
        pool: &'a str,
        generation: u64,
        spec: PoolSpecV1,
    }

    /// Of a pool with claims or requests.
    PoolRemovedV2<'a> of PoolRemoved {
        pool: &'a str,
        claims: u64,
        requests: u64,
    }

    PoolRangeV1 of PoolRange {
        span: SpanV1,
        subnet_len: Option<u8>,
    }
}

/// A spec without its authority, which has its own field in later versions.
#[derive(Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct PoolSpecV1 {
    kind: KindV1,
    ranges: Vec<PoolRangeV1>,
    exclude: Vec<SpanV1>,
    manual: Vec<SpanV1>,
    draining: Vec<SpanV1>,
    strategy: StrategyV1,
    keep_edges: bool,
    quarantine_ms: u64,
    lease_ms: Option<u64>,
    reap: bool,
    labels: LabelsV1,
}

impl StoredForm<'_, PoolSpec> for PoolSpecV1 {
    fn store(spec: &PoolSpec) -> PoolSpecV1 {
        PoolSpecV1 {
            kind: StoredForm::store(&spec.kind),
            ranges: StoredForm::store(&spec.ranges),
            exclude: StoredForm::store(&spec.exclude),
            manual: StoredForm::store(&spec.manual),
            draining: StoredForm::store(&spec.draining),
            strategy: StoredForm::store(&spec.strategy),
            keep_edges: spec.keep_edges,
            quarantine_ms: spec.quarantine_ms,
            lease_ms: spec.lease_ms,
            reap: spec.reap,
            labels: StoredForm::store(&spec.labels),
        }
    }

    fn load(self) -> PoolSpec {
        PoolSpec {
            kind: self.kind.load(),
            ranges: self.ranges.load(),
            exclude: self.exclude.load(),
            manual: self.manual.load(),
            draining: self.draining.load(),
            strategy: self.strategy.load(),
            keep_edges: self.keep_edges,
            quarantine_ms: self.quarantine_ms,
            lease_ms: self.lease_ms,
            reap: self.reap,
            labels: self.labels.load(),
            authority: None,
        }
    }
}

/// Of a pool with an authority.
#[derive(Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct PoolDefinedV2<'a> {
    #[serde(borrow)]
    defined: PoolDefinedV1<'a>,
    authority: &'a str,
}

impl<'a> PoolDefinedV2<'a> {
    /// `None`: version 1 is sufficient.
    pub fn of(event: &'a PoolDefined) -> Option<PoolDefinedV2<'a>> {
        let authority = event.spec.authority.as_deref()?;
        Some(PoolDefinedV2 { defined: StoredForm::store(event), authority })
    }

    pub fn load(self) -> PoolDefined {
        let mut defined: PoolDefined = self.defined.load();
        defined.spec.authority = Some(self.authority.into());
        defined
    }
}

/// Of a pool without claims and requests.
#[derive(Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct PoolRemovedV1<'a> {
    pool: &'a str,
}

impl<'a> StoredForm<'a, PoolRemoved> for PoolRemovedV1<'a> {
    fn store(value: &'a PoolRemoved) -> PoolRemovedV1<'a> {
        PoolRemovedV1 { pool: &value.pool }
    }

    fn load(self) -> PoolRemoved {
        PoolRemoved { pool: self.pool.into(), claims: 0, requests: 0 }
    }
}

impl<'a> PoolRemovedV2<'a> {
    /// `None`: version 1 has everything.
    pub fn of(event: &'a PoolRemoved) -> Option<PoolRemovedV2<'a>> {
        removes_more(event).then(|| PoolRemovedV2::store(event))
    }
}

/// Whether claims or requests end with the pool.
pub(crate) fn removes_more(event: &PoolRemoved) -> bool {
    event.claims > 0 || event.requests > 0
}

/// A pool in a checkpoint. Its claims follow in other chunks.
#[derive(Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct CheckpointPoolV1<'a> {
    name: &'a str,
    generation: u64,
    spec: PoolSpecV1,
    cursor: Option<u128>,
    released: Vec<SpanV1>,
}

/// A block pool.
#[derive(Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct CheckpointPoolV2<'a> {
    #[serde(borrow)]
    pool: CheckpointPoolV1<'a>,
    #[serde(borrow)]
    account: BlocksV1<'a>,
}

/// A request pool. Its claims and requests follow.
#[derive(Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct CheckpointPoolV3<'a> {
    #[serde(borrow)]
    pool: CheckpointPoolV1<'a>,
    #[serde(borrow)]
    account: Option<BlocksV1<'a>>,
    config: RequestPoolV1,
    changed: u64,
}

/// A pool with an authority.
#[derive(Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct CheckpointPoolV4<'a> {
    #[serde(borrow)]
    pool: CheckpointPoolV1<'a>,
    authority: &'a str,
    #[serde(borrow)]
    account: Option<BlocksV1<'a>>,
    requests: Option<(RequestPoolV1, u64)>,
}

impl<'a> CheckpointPoolV4<'a> {
    /// `None`: an earlier version is sufficient.
    pub fn of(image: &'a PoolImage) -> Option<CheckpointPoolV4<'a>> {
        let authority = image.spec.authority.as_deref()?;
        Some(CheckpointPoolV4 {
            pool: CheckpointPoolV1::store(image),
            authority,
            account: StoredForm::store(&image.blocks),
            requests: StoredForm::store(&image.requests),
        })
    }

    pub fn load(self) -> PoolImage {
        let mut image: PoolImage = self.pool.load();
        image.spec.authority = Some(self.authority.into());
        PoolImage { blocks: self.account.load(), requests: self.requests.load(), ..image }
    }
}

/// A request pool that is answered from outside, or has nodes of a site's modules.
#[derive(Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct CheckpointPoolV5<'a> {
    #[serde(borrow)]
    pool: CheckpointPoolV1<'a>,
    #[serde(borrow)]
    account: Option<BlocksV1<'a>>,
    #[serde(borrow)]
    config: RequestPoolV2<'a>,
    changed: u64,
    authority: Option<&'a str>,
}

impl<'a> CheckpointPoolV5<'a> {
    /// `None`: an earlier version is sufficient.
    pub fn of(image: &'a PoolImage) -> Option<CheckpointPoolV5<'a>> {
        let (config, changed) = image.requests.as_ref().filter(|(config, _)| has_more(config))?;
        let (pool, config) = (CheckpointPoolV1::store(image), StoredForm::store(config));
        let account = StoredForm::store(&image.blocks);
        let authority = image.spec.authority.as_deref();
        Some(CheckpointPoolV5 { pool, account, config, changed: *changed, authority })
    }

    pub fn load(self) -> PoolImage {
        let config: RequestPool = self.config.load();
        let mut image: PoolImage = self.pool.load();
        image.spec.authority = self.authority.map(Arc::from);
        PoolImage { blocks: self.account.load(), requests: Some((config, self.changed)), ..image }
    }
}

impl<'a> StoredForm<'a, PoolImage> for CheckpointPoolV1<'a> {
    fn store(image: &'a PoolImage) -> CheckpointPoolV1<'a> {
        CheckpointPoolV1 {
            name: &image.name,
            generation: image.generation,
            spec: PoolSpecV1::store(&image.spec),
            cursor: image.cursor,
            released: StoredForm::store(&image.released),
        }
    }

    fn load(self) -> PoolImage {
        PoolImage {
            name: self.name.into(),
            generation: self.generation,
            spec: self.spec.load(),
            cursor: self.cursor,
            released: self.released.load(),
            blocks: None,
            requests: None,
        }
    }
}

impl<'a> CheckpointPoolV2<'a> {
    /// `None`: version 1 is sufficient.
    pub fn of(image: &'a PoolImage) -> Option<CheckpointPoolV2<'a>> {
        let account = BlocksV1::store(image.blocks.as_ref()?);
        Some(CheckpointPoolV2 { pool: CheckpointPoolV1::store(image), account })
    }

    pub fn load(self) -> PoolImage {
        PoolImage { blocks: Some(self.account.load()), ..self.pool.load() }
    }
}

impl<'a> CheckpointPoolV3<'a> {
    /// `None`: an earlier version is sufficient.
    pub fn of(image: &'a PoolImage) -> Option<CheckpointPoolV3<'a>> {
        let (config, changed) = image.requests.as_ref()?;
        Some(CheckpointPoolV3 {
            pool: CheckpointPoolV1::store(image),
            account: StoredForm::store(&image.blocks),
            config: RequestPoolV1::store(config),
            changed: *changed,
        })
    }

    pub fn load(self) -> PoolImage {
        let requests = Some((self.config.load(), self.changed));
        PoolImage { blocks: self.account.load(), requests, ..self.pool.load() }
    }
}

/// Labels as pairs of strings. Empty labels share one allocation.
#[derive(Debug, Clone)]
pub(crate) struct LabelsV1(pub Labels);

impl StoredForm<'_, Labels> for LabelsV1 {
    fn store(labels: &Labels) -> LabelsV1 {
        LabelsV1(labels.clone())
    }

    fn load(self) -> Labels {
        self.0
    }
}

impl Serialize for LabelsV1 {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|(name, value)| (&**name, &**value)))
    }
}

impl<'de> Deserialize<'de> for LabelsV1 {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<LabelsV1, D::Error> {
        struct Pairs;

        impl<'de> Visitor<'de> for Pairs {
            type Value = Labels;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("pairs of strings")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Labels, A::Error> {
                let mut pairs: Vec<(Arc<str>, Arc<str>)> = Vec::new();
                while let Some((name, value)) = seq.next_element::<(&str, &str)>()? {
                    pairs.push((name.into(), value.into()));
                }
                Ok(if pairs.is_empty() { Labels::default() } else { pairs.into() })
            }
        }

        deserializer.deserialize_seq(Pairs).map(LabelsV1)
    }
}
