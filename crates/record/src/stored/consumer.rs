//! Allocations of consumers: the events, and the rows of a checkpoint.

use std::sync::Arc;

use allod_core::event::capacity::{
    Allocated, AllocationsExtended, AllocationsReleased, AllocationsSet,
};
use allod_core::state::capacity::image::ConsumerImage;

use super::capacity::{UuidV1, load, uuids};
use super::number::{ReclaimV1, ReleaseCauseV1};

#[derive(Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct AllocationsSetV1<'a> {
    consumer: UuidV1,
    generation: u64,
    project: &'a str,
    user: &'a str,
    consumer_type: Option<&'a str>,
    #[serde(borrow)]
    allocations: Vec<AllocatedV1<'a>>,
    expires_ms: Option<u64>,
    reclaim: ReclaimV1,
    left: Vec<UuidV1>,
    at_ms: u64,
}

#[derive(Debug, serde::Serialize, serde::Deserialize)]
struct AllocatedV1<'a> {
    provider: UuidV1,
    #[serde(borrow)]
    resources: Vec<(&'a str, u32)>,
}

fn held(allocations: &[Allocated]) -> Vec<AllocatedV1<'_>> {
    allocations
        .iter()
        .map(|one| AllocatedV1 {
            provider: one.provider.into(),
            resources: one.resources.iter().map(|(class, amount)| (&**class, *amount)).collect(),
        })
        .collect()
}

impl From<AllocatedV1<'_>> for Allocated {
    fn from(stored: AllocatedV1<'_>) -> Allocated {
        let resource = |(class, amount): (&str, u32)| (class.into(), amount);
        Allocated {
            provider: stored.provider.into(),
            resources: stored.resources.into_iter().map(resource).collect(),
        }
    }
}

impl<'a> From<&'a AllocationsSet> for AllocationsSetV1<'a> {
    fn from(event: &'a AllocationsSet) -> AllocationsSetV1<'a> {
        AllocationsSetV1 {
            consumer: event.consumer.into(),
            generation: event.generation,
            project: &event.project,
            user: &event.user,
            consumer_type: event.consumer_type.as_deref(),
            allocations: held(&event.allocations),
            expires_ms: event.expires_ms,
            reclaim: ReclaimV1(event.reclaim),
            left: uuids(&event.left),
            at_ms: event.at_ms,
        }
    }
}

impl From<AllocationsSetV1<'_>> for AllocationsSet {
    fn from(stored: AllocationsSetV1<'_>) -> AllocationsSet {
        AllocationsSet {
            consumer: stored.consumer.into(),
            generation: stored.generation,
            project: stored.project.into(),
            user: stored.user.into(),
            consumer_type: stored.consumer_type.map(Arc::from),
            allocations: load(stored.allocations),
            expires_ms: stored.expires_ms,
            reclaim: stored.reclaim.0,
            left: load(stored.left),
            at_ms: stored.at_ms,
        }
    }
}

#[derive(Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct AllocationsExtendedV1 {
    consumer: UuidV1,
    generation: u64,
    expires_ms: Option<u64>,
    reclaim: ReclaimV1,
}

impl From<&AllocationsExtended> for AllocationsExtendedV1 {
    fn from(event: &AllocationsExtended) -> AllocationsExtendedV1 {
        AllocationsExtendedV1 {
            consumer: event.consumer.into(),
            generation: event.generation,
            expires_ms: event.expires_ms,
            reclaim: ReclaimV1(event.reclaim),
        }
    }
}

impl From<AllocationsExtendedV1> for AllocationsExtended {
    fn from(stored: AllocationsExtendedV1) -> AllocationsExtended {
        AllocationsExtended {
            consumer: stored.consumer.into(),
            generation: stored.generation,
            expires_ms: stored.expires_ms,
            reclaim: stored.reclaim.0,
        }
    }
}

#[derive(Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct AllocationsReleasedV1<'a> {
    consumer: UuidV1,
    generation: u64,
    project: &'a str,
    user: &'a str,
    cause: ReleaseCauseV1,
    #[serde(borrow)]
    was: Vec<AllocatedV1<'a>>,
}

impl<'a> From<&'a AllocationsReleased> for AllocationsReleasedV1<'a> {
    fn from(event: &'a AllocationsReleased) -> AllocationsReleasedV1<'a> {
        AllocationsReleasedV1 {
            consumer: event.consumer.into(),
            generation: event.generation,
            project: &event.project,
            user: &event.user,
            cause: ReleaseCauseV1(event.cause),
            was: held(&event.was),
        }
    }
}

impl From<AllocationsReleasedV1<'_>> for AllocationsReleased {
    fn from(stored: AllocationsReleasedV1<'_>) -> AllocationsReleased {
        AllocationsReleased {
            consumer: stored.consumer.into(),
            generation: stored.generation,
            project: stored.project.into(),
            user: stored.user.into(),
            cause: stored.cause.0,
            was: load(stored.was),
        }
    }
}

/// A consumer. The payload of a chunk of consumers is a sequence of these.
#[derive(Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct ConsumerV1<'a> {
    uuid: UuidV1,
    generation: u64,
    project: &'a str,
    user: &'a str,
    consumer_type: Option<&'a str>,
    #[serde(borrow)]
    held: Vec<AllocatedV1<'a>>,
    written_ms: u64,
    expires_ms: Option<u64>,
    reclaim: ReclaimV1,
}

impl<'a> From<&'a ConsumerImage> for ConsumerV1<'a> {
    fn from(image: &'a ConsumerImage) -> ConsumerV1<'a> {
        ConsumerV1 {
            uuid: image.uuid.into(),
            generation: image.generation,
            project: &image.project,
            user: &image.user,
            consumer_type: image.consumer_type.as_deref(),
            held: held(&image.held),
            written_ms: image.written_ms,
            expires_ms: image.expires_ms,
            reclaim: ReclaimV1(image.reclaim),
        }
    }
}

impl From<ConsumerV1<'_>> for ConsumerImage {
    fn from(stored: ConsumerV1<'_>) -> ConsumerImage {
        ConsumerImage {
            uuid: stored.uuid.into(),
            generation: stored.generation,
            project: stored.project.into(),
            user: stored.user.into(),
            consumer_type: stored.consumer_type.map(Arc::from),
            held: load(stored.held),
            written_ms: stored.written_ms,
            expires_ms: stored.expires_ms,
            reclaim: stored.reclaim.0,
        }
    }
}
