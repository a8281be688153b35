//! Uuids for providers whose clients left theirs out, and seeds for orders that should differ.
//!
//! They must be unlike others, not unguessable: they come from the standard library's only randomness and a count.

use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};

use allod_core::capacity::Uuid;

#[derive(Debug)]
pub(crate) struct Uuids {
    high: RandomState,
    low: RandomState,
    count: AtomicU64,
}

impl Uuids {
    pub(crate) fn new() -> Uuids {
        Uuids { high: RandomState::new(), low: RandomState::new(), count: AtomicU64::new(0) }
    }

    /// A uuid of the random kind.
    pub(crate) fn next(&self) -> Uuid {
        let count = self.count.fetch_add(1, Ordering::Relaxed);
        let bits =
            u128::from(self.high.hash_one(count)) << 64 | u128::from(self.low.hash_one(count));
        let kind = bits & !(0xf << 76) | 0x4 << 76;
        Uuid(kind & !(0x3 << 62) | 0x2 << 62)
    }

    pub(crate) fn seed(&self) -> u64 {
        self.high.hash_one(self.count.fetch_add(1, Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_another_one_of_the_random_kind() {
        let uuids = Uuids::new();
        let all: std::collections::BTreeSet<Uuid> = (0..1000).map(|_| uuids.next()).collect();
        assert_eq!(all.len(), 1000);
        for text in all.iter().map(Uuid::to_string) {
            assert_eq!(&text[14..15], "4", "{text}");
            assert!("89ab".contains(&text[19..20]), "{text}");
        }
    }
}
