//! Progress of an import, for the caller to show.

use std::sync::atomic::{AtomicU64, Ordering};

/// Shows how far an import is.
pub trait ImportProgress: Send + Sync {
    fn message(&self, text: &str);

    /// Called when a phase begins: what is done, and to how many providers.
    fn phase(&self, what: &'static str, providers: u64) -> Box<dyn PhaseDisplay>;
}

/// Shows how far one phase is; the phase ends when it is dropped.
pub trait PhaseDisplay: Send + Sync {
    /// So many providers are done. Called often.
    fn update(&self, done: u64);
}

/// One phase, which several tasks work on.
pub(crate) struct Phase {
    done: AtomicU64,
    display: Box<dyn PhaseDisplay>,
}

impl Phase {
    pub fn new(progress: &dyn ImportProgress, what: &'static str, providers: usize) -> Phase {
        let display = progress.phase(what, providers as u64);
        Phase { done: AtomicU64::new(0), display }
    }

    pub fn provider_done(&self) {
        self.display.update(self.done.fetch_add(1, Ordering::Relaxed) + 1);
    }

    /// Updates the display without counting, so that a long-running provider shows as work in progress.
    pub fn still_working(&self) {
        self.display.update(self.done.load(Ordering::Relaxed));
    }
}
