//! The simulated clock. Only the simulation moves it, sometimes backwards.

use std::sync::atomic::{AtomicU64, Ordering};

use allod_engine::Clock;

/// Far from 0, so that a step back cannot underflow.
const START_MS: u64 = 1_800_000_000_000;

#[derive(Debug)]
pub struct SimClock(AtomicU64);

impl SimClock {
    pub fn new() -> SimClock {
        SimClock(AtomicU64::new(START_MS))
    }

    pub fn step(&self, forward_ms: u64) {
        self.0.fetch_add(forward_ms, Ordering::Relaxed);
    }

    pub fn step_back(&self, back_ms: u64) {
        self.0.fetch_sub(back_ms, Ordering::Relaxed);
    }
}

impl Clock for SimClock {
    fn now_ms(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}
