//! Pools: definition, removal, and the parts of a checkpoint.

use std::fmt;
use std::sync::Arc;

use serde::de::{Deserialize, Deserializer, SeqAccess, Visitor};
use serde::ser::{Serialize, Serializer};

use allod_core::event::PoolDefined;
use allod_core::pool::{Labels, PoolRange, PoolSpec};

use super::blocks::BlocksV1;
use super::number::{KindV1, StrategyV1};
use super::requests::RequestPoolV1;
use super::span::{SpanV1, load_spans, store_spans};
use allod_core::state::restore::PoolImage;

#[derive(Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct PoolDefinedV1<'a> {
    pool: &'a str,
    generation: u64,
    spec: PoolSpecV1,
}

#[derive(Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct PoolRemovedV1<'a> {
    pub pool: &'a str,
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

#[derive(Debug, serde::Serialize, serde::Deserialize)]
struct PoolSpecV1 {
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

#[derive(Debug, serde::Serialize, serde::Deserialize)]
struct PoolRangeV1 {
    span: SpanV1,
    subnet_len: Option<u8>,
}

impl<'a> From<&'a PoolDefined> for PoolDefinedV1<'a> {
    fn from(event: &'a PoolDefined) -> PoolDefinedV1<'a> {
        PoolDefinedV1 {
            pool: &event.pool,
            generation: event.generation,
            spec: PoolSpecV1::from(&event.spec),
        }
    }
}

impl From<PoolDefinedV1<'_>> for PoolDefined {
    fn from(stored: PoolDefinedV1<'_>) -> PoolDefined {
        PoolDefined {
            pool: stored.pool.into(),
            generation: stored.generation,
            spec: stored.spec.into(),
        }
    }
}

impl<'a> From<&'a PoolImage> for CheckpointPoolV1<'a> {
    fn from(image: &'a PoolImage) -> CheckpointPoolV1<'a> {
        CheckpointPoolV1 {
            name: &image.name,
            generation: image.generation,
            spec: PoolSpecV1::from(&image.spec),
            cursor: image.cursor,
            released: store_spans(&image.released),
        }
    }
}

impl From<CheckpointPoolV1<'_>> for PoolImage {
    fn from(stored: CheckpointPoolV1<'_>) -> PoolImage {
        PoolImage {
            name: stored.name.into(),
            generation: stored.generation,
            spec: stored.spec.into(),
            cursor: stored.cursor,
            released: load_spans(stored.released),
            blocks: None,
            requests: None,
        }
    }
}

impl<'a> CheckpointPoolV3<'a> {
    /// `None`: an earlier version is sufficient.
    pub fn of(image: &'a PoolImage) -> Option<CheckpointPoolV3<'a>> {
        let (config, changed) = image.requests.as_ref()?;
        Some(CheckpointPoolV3 {
            pool: CheckpointPoolV1::from(image),
            account: image.blocks.as_ref().map(BlocksV1::from),
            config: RequestPoolV1::from(config),
            changed: *changed,
        })
    }
}

impl From<CheckpointPoolV3<'_>> for PoolImage {
    fn from(stored: CheckpointPoolV3<'_>) -> PoolImage {
        let blocks = stored.account.map(Into::into);
        let requests = Some((stored.config.into(), stored.changed));
        PoolImage { blocks, requests, ..stored.pool.into() }
    }
}

impl<'a> CheckpointPoolV2<'a> {
    /// `None`: version 1 is sufficient.
    pub fn of(image: &'a PoolImage) -> Option<CheckpointPoolV2<'a>> {
        let account = BlocksV1::from(image.blocks.as_ref()?);
        Some(CheckpointPoolV2 { pool: CheckpointPoolV1::from(image), account })
    }
}

impl From<CheckpointPoolV2<'_>> for PoolImage {
    fn from(stored: CheckpointPoolV2<'_>) -> PoolImage {
        PoolImage { blocks: Some(stored.account.into()), ..stored.pool.into() }
    }
}

impl From<&PoolSpec> for PoolSpecV1 {
    fn from(spec: &PoolSpec) -> PoolSpecV1 {
        PoolSpecV1 {
            kind: KindV1(spec.kind),
            ranges: spec.ranges.iter().map(PoolRangeV1::from).collect(),
            exclude: store_spans(&spec.exclude),
            manual: store_spans(&spec.manual),
            draining: store_spans(&spec.draining),
            strategy: StrategyV1(spec.strategy),
            keep_edges: spec.keep_edges,
            quarantine_ms: spec.quarantine_ms,
            lease_ms: spec.lease_ms,
            reap: spec.reap,
            labels: LabelsV1(spec.labels.clone()),
        }
    }
}

impl From<PoolSpecV1> for PoolSpec {
    fn from(stored: PoolSpecV1) -> PoolSpec {
        PoolSpec {
            kind: stored.kind.0,
            ranges: stored.ranges.into_iter().map(PoolRange::from).collect(),
            exclude: load_spans(stored.exclude),
            manual: load_spans(stored.manual),
            draining: load_spans(stored.draining),
            strategy: stored.strategy.0,
            keep_edges: stored.keep_edges,
            quarantine_ms: stored.quarantine_ms,
            lease_ms: stored.lease_ms,
            reap: stored.reap,
            labels: stored.labels.0,
        }
    }
}

impl From<&PoolRange> for PoolRangeV1 {
    fn from(range: &PoolRange) -> PoolRangeV1 {
        PoolRangeV1 { span: SpanV1(range.span), subnet_len: range.subnet_len }
    }
}

impl From<PoolRangeV1> for PoolRange {
    fn from(stored: PoolRangeV1) -> PoolRange {
        PoolRange { span: stored.span.0, subnet_len: stored.subnet_len }
    }
}

/// Labels as pairs of strings. Empty labels share one allocation.
#[derive(Debug, Clone)]
pub(crate) struct LabelsV1(pub Labels);

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
