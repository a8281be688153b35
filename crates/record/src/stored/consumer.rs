//! Allocations of consumers: the events, and the rows of a checkpoint.

use allod_core::event::capacity::{
    Allocated, AllocationsExtended, AllocationsReleased, AllocationsSet,
};
use allod_core::state::capacity::image::ConsumerImage;

use super::capacity::UuidV1;
use super::form::stored_structs;
use super::number::{ReclaimV1, ReleaseCauseV1};

stored_structs! {
    AllocationsSetV1<'a> of AllocationsSet {
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

    AllocatedV1<'a> of Allocated {
        provider: UuidV1,
        #[serde(borrow)]
        resources: Vec<(&'a str, u32)>,
    }

    AllocationsExtendedV1 of AllocationsExtended {
        consumer: UuidV1,
        generation: u64,
        expires_ms: Option<u64>,
        reclaim: ReclaimV1,
    }

    AllocationsReleasedV1<'a> of AllocationsReleased {
        consumer: UuidV1,
        generation: u64,
        project: &'a str,
        user: &'a str,
        cause: ReleaseCauseV1,
        #[serde(borrow)]
        was: Vec<AllocatedV1<'a>>,
    }

    /// A consumer. The payload of a chunk of consumers is a sequence of these.
    ConsumerV1<'a> of ConsumerImage {
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
}
