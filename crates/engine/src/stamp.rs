//! The clock and the source of random numbers.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use allod_core::random;
use tracing::{info, warn};

use crate::metrics::metrics_struct;

/// The largest step of the wall clock that the server's time follows. Time servers correct small errors in such steps.
const CLOCK_STEP_MS_MAX: u64 = 1000;

pub trait Clock: Send + Sync {
    /// Milliseconds since 1970. May go back; the engine's time does not.
    fn now_ms(&self) -> u64;

    /// The journal has reached this time, which may be ahead of the clock: time goes on from there.
    fn advance_to(&self, _now_ms: u64) {}

    fn status(&self) -> ClockStatus {
        ClockStatus::default()
    }
}

/// How well the wall clock agrees with the server's time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ClockStatus {
    /// The wall clock minus the server's time; 0 while they agree.
    pub off_ms: i64,
    /// Jumps of the wall clock since the start of the server.
    pub jumps: u64,
}

/// Where [`SystemClock`] reads the time.
pub trait TimeSource: Send + Sync {
    /// Milliseconds since 1970, as set by the operator or a time server.
    fn wall_ms(&self) -> u64;

    /// Milliseconds since any fixed moment. Never jumps.
    fn steady_ms(&self) -> u64;
}

/// The clocks of the operating system.
#[derive(Debug, Clone, Copy)]
pub struct OsTime(Instant);

impl TimeSource for OsTime {
    fn wall_ms(&self) -> u64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    }

    fn steady_ms(&self) -> u64 {
        u64::try_from(self.0.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}

metrics_struct!(ClockMetrics {
    jumps: counter("allod_clock_jumps_total", "Jumps of the machine's clock"),
    off_seconds: gauge("allod_clock_off_seconds", "The machine's clock minus the server's time"),
});

/// The wall clock, checked against the monotonic clock. While the two disagree about the time that has passed, time goes
/// on by the monotonic clock, so that leases have the length that was asked for.
pub struct SystemClock<S = OsTime> {
    source: S,
    /// The server's time at the zero of the monotonic clock.
    zero_ms: AtomicI64,
    off_ms: AtomicI64,
    jumps: AtomicU64,
    metrics: ClockMetrics,
}

impl<S> std::fmt::Debug for SystemClock<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SystemClock").field("off_ms", &self.off_ms).finish_non_exhaustive()
    }
}

impl Default for SystemClock {
    fn default() -> SystemClock {
        SystemClock::new(OsTime(Instant::now()))
    }
}

impl<S: TimeSource> SystemClock<S> {
    pub fn new(source: S) -> SystemClock<S> {
        let zero_ms = signed(source.wall_ms()).wrapping_sub(signed(source.steady_ms()));
        SystemClock {
            source,
            zero_ms: AtomicI64::new(zero_ms),
            off_ms: AtomicI64::new(0),
            jumps: AtomicU64::new(0),
            metrics: ClockMetrics::new(),
        }
    }

    /// The clocks disagree by this much. A jump is reported once, not each time the clock is read.
    fn disagree(&self, off_ms: i64) {
        let before_ms = self.off_ms.swap(off_ms, Ordering::Relaxed);
        if before_ms.abs_diff(off_ms) <= CLOCK_STEP_MS_MAX {
            return;
        }
        self.jumps.fetch_add(1, Ordering::Relaxed);
        self.metrics.jumps.increment(1);
        self.metrics.off_seconds.set(off_ms as f64 / 1000.0);
        warn!(
            off_ms,
            "the clock of this machine jumped, or differs from the time of the journal; leases go on by the monotonic \
             clock. Correct the clock, or restart the server to accept a clock that is ahead"
        );
    }

    fn agree(&self) {
        if self.off_ms.swap(0, Ordering::Relaxed) != 0 {
            self.metrics.off_seconds.set(0.0);
            info!("the clock of this machine agrees with the server's time again");
        }
    }
}

impl<S: TimeSource> Clock for SystemClock<S> {
    fn now_ms(&self) -> u64 {
        let (wall_ms, steady_ms) = (self.source.wall_ms(), signed(self.source.steady_ms()));
        let expected_ms = self.zero_ms.load(Ordering::Relaxed).saturating_add(steady_ms);
        let off_ms = signed(wall_ms).saturating_sub(expected_ms);
        if off_ms.unsigned_abs() > CLOCK_STEP_MS_MAX {
            self.disagree(off_ms);
            return expected_ms.unsigned_abs();
        }
        if off_ms != 0 {
            self.zero_ms.store(signed(wall_ms).saturating_sub(steady_ms), Ordering::Relaxed);
        }
        if self.off_ms.load(Ordering::Relaxed) != 0 {
            self.agree();
        }
        wall_ms
    }

    fn advance_to(&self, now_ms: u64) {
        let zero_ms = signed(now_ms).saturating_sub(signed(self.source.steady_ms()));
        self.zero_ms.fetch_max(zero_ms, Ordering::Relaxed);
    }

    fn status(&self) -> ClockStatus {
        ClockStatus {
            off_ms: self.off_ms.load(Ordering::Relaxed),
            jumps: self.jumps.load(Ordering::Relaxed),
        }
    }
}

fn signed(ms: u64) -> i64 {
    i64::try_from(ms).unwrap_or(i64::MAX)
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
