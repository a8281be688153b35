//! The disk of the server under attack, measured beside the attack: a durable write cannot be faster than a sync, and on a busy machine
//! a sync alone may take long.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};

/// The time between two syncs.
const PACE: Duration = Duration::from_millis(10);

/// A thread that appends to a file and syncs it.
pub(crate) struct DiskWitness {
    thread: JoinHandle<Result<Duration>>,
    over: Arc<AtomicBool>,
}

impl DiskWitness {
    pub(crate) fn start(folder: &Path) -> Result<DiskWitness> {
        let mut file = File::create(folder.join("disk-witness"))?;
        let over = Arc::new(AtomicBool::new(false));
        let is_over = over.clone();
        let thread = std::thread::spawn(move || {
            let mut longest = Duration::ZERO;
            while !is_over.load(Ordering::Relaxed) {
                let begun = Instant::now();
                file.write_all(&[7; 4096])?;
                file.sync_data()?;
                longest = longest.max(begun.elapsed());
                std::thread::sleep(PACE);
            }
            Ok(longest)
        });
        Ok(DiskWitness { thread, over })
    }

    /// The longest sync.
    pub(crate) fn finish(self) -> Result<Duration> {
        self.over.store(true, Ordering::Relaxed);
        self.thread.join().map_err(|_| anyhow!("the disk witness panicked"))?
    }
}
