//! How far the import is, for whoever watches.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::cli::format;
use crate::cli::progress::Progress;

/// A phase of the import, which several tasks take part in.
#[derive(Debug)]
pub struct Phase {
    done: AtomicU64,
    bar: Mutex<Progress>,
}

impl Phase {
    pub fn new(what: &'static str, whole: usize) -> Phase {
        let bar = Progress::new(what, |count| format::count(count, "provider"), Some(whole as u64));
        Phase { done: AtomicU64::new(0), bar: Mutex::new(bar) }
    }

    /// One more is done.
    pub fn one(&self) {
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        self.bar.lock().unwrap_or_else(PoisonError::into_inner).at(done);
    }

    /// Some more happened within one of them: the bar is drawn anew, so that one can see that it lives.
    pub fn still(&self) {
        let done = self.done.load(Ordering::Relaxed);
        self.bar.lock().unwrap_or_else(PoisonError::into_inner).at(done);
    }
}
