//! Reads that take longer than a moment: candidate searches and long lists.
//!
//! They use a frozen copy of the state, so that they hold no lock, and run on threads of their own, so that they do not
//! occupy the threads that serve connections. A limited number runs at the same time, and a limited number waits.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use allod_core::view::capacity::{self, CapacitySnapshot};
use tokio::sync::Semaphore;

use crate::handle::{CommitPoint, EngineError, Handle};

/// Everything about capacity as it was at one position.
#[derive(Debug, Clone)]
pub struct FrozenRead {
    pub capacity: CapacitySnapshot,
    pub now_ms: u64,
    pub at: CommitPoint,
}

/// The long reads of one engine.
#[derive(Debug)]
pub(crate) struct LongReads {
    threads: Arc<Semaphore>,
    waiting: AtomicUsize,
    waiting_max: usize,
}

/// A place in the queue, until it is dropped.
struct QueuePlace<'a>(&'a AtomicUsize);

impl Drop for QueuePlace<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl LongReads {
    pub fn new(running_max: usize, waiting_max: usize) -> LongReads {
        let threads = Arc::new(Semaphore::new(running_max.clamp(1, Semaphore::MAX_PERMITS)));
        LongReads { threads, waiting: AtomicUsize::new(0), waiting_max }
    }

    async fn run<T: Send + 'static>(
        &self,
        read: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, EngineError> {
        let permit = match self.threads.clone().try_acquire_owned() {
            Ok(permit) => permit,
            Err(_) => {
                let _place = self.take_place()?;
                let permit = self.threads.clone().acquire_owned().await;
                permit.map_err(|_| EngineError::Stopping)?
            }
        };
        // The permit is returned when the read has ended, also if the client is gone before that.
        let work = move || {
            let _permit = permit;
            read()
        };
        tokio::task::spawn_blocking(work).await.map_err(|_| EngineError::Internal)
    }

    fn take_place(&self) -> Result<QueuePlace<'_>, EngineError> {
        let place = QueuePlace(&self.waiting);
        if self.waiting.fetch_add(1, Ordering::Relaxed) >= self.waiting_max {
            return Err(EngineError::ReadQueueFull { long_reads_queue_max: self.waiting_max });
        }
        Ok(place)
    }
}

impl Handle {
    /// A frozen copy of the capacity part of the committed state. It takes about a microsecond, and does not change.
    pub fn freeze(&self) -> Result<FrozenRead, EngineError> {
        self.read(|snapshot| FrozenRead {
            capacity: capacity::freeze(snapshot.state),
            now_ms: snapshot.now_ms,
            at: snapshot.at,
        })
    }

    /// Runs a read that may take long on another thread, after those that came before it. It should use a copy from
    /// [`Handle::freeze`]. Needs a tokio runtime.
    pub async fn read_long<T: Send + 'static>(
        &self,
        read: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, EngineError> {
        self.long_reads.run(read).await
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[tokio::test]
    async fn reads_beyond_both_limits_are_refused_until_one_has_ended() {
        let reads = Arc::new(LongReads::new(1, 1));
        let (release, wait) = mpsc::channel::<()>();
        let (started, has_started) = mpsc::channel::<()>();
        let own = reads.clone();
        let first = tokio::spawn(async move {
            let read = move || {
                let _ = started.send(());
                let _ = wait.recv();
                1
            };
            own.run(read).await
        });
        let waited = tokio::task::spawn_blocking(move || has_started.recv());
        waited.await.expect("joined").expect("started");
        let own = reads.clone();
        let second = tokio::spawn(async move { own.run(|| 2).await });
        while reads.waiting.load(Ordering::Relaxed) == 0 {
            tokio::task::yield_now().await;
        }
        let full = EngineError::ReadQueueFull { long_reads_queue_max: 1 };
        assert_eq!(reads.run(|| 3).await, Err(full.clone()));
        assert!(full.to_string().contains("(long_reads_queue_max)"), "{full}");
        drop(release);
        assert_eq!(first.await.expect("joined"), Ok(1));
        assert_eq!(second.await.expect("joined"), Ok(2));
        assert_eq!(reads.run(|| 4).await, Ok(4));
        assert_eq!(reads.waiting.load(Ordering::Relaxed), 0);
    }

    #[tokio::test]
    async fn read_that_panics_is_an_error_and_returns_its_place() {
        let reads = LongReads::new(1, 0);
        let panicked = reads.run(|| -> u32 { panic!("as the test wants") }).await;
        assert_eq!(panicked, Err(EngineError::Internal));
        assert_eq!(reads.run(|| 5).await, Ok(5));
    }
}
