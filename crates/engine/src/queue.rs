//! The bounded queue between the faces and the one thread that decides.
//!
//! The thread takes all that is there at once; that is what makes a batch.

use std::time::Duration;

use allod_core::command::Command;
use parking_lot::{Condvar, Mutex};
use tokio::sync::oneshot;

use crate::handle::{CommandReply, EngineError};

#[derive(Debug)]
pub(crate) enum Job {
    Command { command: Command, reply: oneshot::Sender<Result<CommandReply, EngineError>> },
    Barrier { reply: oneshot::Sender<Result<(), EngineError>> },
}

impl Job {
    pub fn fail(self, failure: EngineError) {
        // Whoever asked may have gone; then there is nobody to tell.
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
    /// Whether the thread sleeps and must be woken.
    waiting: bool,
    /// There may be something to do besides what is queued.
    woken: bool,
    closed: Option<EngineError>,
}

/// What the thread woke up to.
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

    /// Everything that has queued, up to `count`; waits for the first for at most this long.
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

    /// Wakes the thread although nothing has queued.
    pub fn wake(&self) {
        self.inner.lock().woken = true;
        self.filled.notify_one();
    }

    /// Takes no more; what is queued is still done.
    pub fn close(&self, failure: EngineError) {
        self.inner.lock().closed.get_or_insert(failure);
        self.filled.notify_one();
    }

    /// Takes no more, and fails what is queued.
    pub fn abort(&self, failure: &EngineError) {
        self.close(failure.clone());
        self.fail_all(failure);
    }

    /// Fails what is queued.
    pub fn fail_all(&self, failure: &EngineError) {
        let jobs = std::mem::take(&mut self.inner.lock().jobs);
        jobs.into_iter().for_each(|job| job.fail(failure.clone()));
    }
}
