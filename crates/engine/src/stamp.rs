//! The clock and the source of random numbers.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::{SystemTime, UNIX_EPOCH};

use allod_core::random;

pub trait Clock: Send + Sync {
    /// Milliseconds since 1970. May go back; the engine's time does not.
    fn now_ms(&self) -> u64;
}

#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now_ms(&self) -> u64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    }
}

/// A random generator with an unpredictable seed.
#[derive(Debug, Clone)]
pub(crate) struct RandomSource(u64);

impl RandomSource {
    pub fn new() -> RandomSource {
        RandomSource(RandomState::new().build_hasher().finish())
    }

    pub fn seeded(seed: u64) -> RandomSource {
        RandomSource(seed)
    }

    pub fn next(&mut self) -> u64 {
        random::next(&mut self.0)
    }

    pub fn batch(&mut self) -> u128 {
        (u128::from(self.next()) << 64) | u128::from(self.next())
    }
}
