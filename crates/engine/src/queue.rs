//! The bounded queue between the faces and the write loop, which takes everything queued as one batch.

use std::time::Duration;

use allod_core::command::Command;
use parking_lot::{Condvar, Mutex};
use tokio::sync::oneshot;

use crate::handle::{CommandReply, EngineError};

#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "nearly all jobs are commands")]
pub(crate) enum Job {
    Command { command: Command, reply: oneshot::Sender<Result<CommandReply, EngineError>> },
    Barrier { reply: oneshot::Sender<Result<(), EngineError>> },
}

impl Job {
    pub fn fail(self, failure: EngineError) {
        // The client may have disconnected.
        match self {
            Job::Command { reply, .. } => drop(reply.send(Err(failure))),
            Job::Barrier { reply } => drop(reply.send(Err(failure))),
        }
    }
}

#[derive(Debug)]
pub(crate) struct CommandQueue {
    inner: Mutex<QueueState>,
    filled: Condvar,
    max: usize,
}

#[derive(Debug, Default)]
struct QueueState {
    jobs: Vec<Job>,
    /// The write loop sleeps and must be woken.
    waiting: bool,
    /// There may be something to do other than jobs.
    woken: bool,
    closed: Option<EngineError>,
}

/// Why the write loop woke up.
pub(crate) enum Wakeup {
    Jobs(Vec<Job>),
    Idle,
    Closed,
}

impl CommandQueue {
    pub fn new(max: usize) -> CommandQueue {
        CommandQueue { inner: Mutex::default(), filled: Condvar::new(), max }
    }

    pub fn max(&self) -> usize {
        self.max
    }

    pub fn len(&self) -> usize {
        self.inner.lock().jobs.len()
    }

    pub fn push(&self, job: Job) -> Result<(), EngineError> {
        let mut inner = self.inner.lock();
        if let Some(failure) = &inner.closed {
            return Err(failure.clone());
        }
        if inner.jobs.len() >= self.max {
            return Err(EngineError::QueueFull { queue_commands_max: self.max });
        }
        inner.jobs.push(job);
        let wake = std::mem::take(&mut inner.waiting);
        drop(inner);
        if wake {
            self.filled.notify_one();
        }
        Ok(())
    }

    /// All queued jobs, at most `count`; waits up to `wait_max` for the first one.
    pub fn take(&self, count: usize, wait_max: Duration) -> Wakeup {
        let mut inner = self.inner.lock();
        if inner.jobs.is_empty() && inner.closed.is_none() && !inner.woken {
            inner.waiting = true;
            self.filled.wait_for(&mut inner, wait_max);
            inner.waiting = false;
        }
        inner.woken = false;
        if inner.jobs.is_empty() {
            return if inner.closed.is_some() { Wakeup::Closed } else { Wakeup::Idle };
        }
        if inner.jobs.len() <= count {
            return Wakeup::Jobs(std::mem::take(&mut inner.jobs));
        }
        let rest = inner.jobs.split_off(count);
        Wakeup::Jobs(std::mem::replace(&mut inner.jobs, rest))
    }

    /// Wakes the write loop although no job is queued.
    pub fn wake(&self) {
        self.inner.lock().woken = true;
        self.filled.notify_one();
    }

    /// Refuses further jobs; queued ones are still done.
    pub fn close(&self, failure: EngineError) {
        self.inner.lock().closed.get_or_insert(failure);
        self.filled.notify_one();
    }

    /// Refuses further jobs and fails the queued ones.
    pub fn abort(&self, failure: &EngineError) {
        self.close(failure.clone());
        self.fail_all(failure);
    }

    /// Fails all queued jobs.
    pub fn fail_all(&self, failure: &EngineError) {
        let jobs = std::mem::take(&mut self.inner.lock().jobs);
        jobs.into_iter().for_each(|job| job.fail(failure.clone()));
    }
}
