//! Fairness between servers that write at the same time. Correctness does not depend on it; the append alone ensures that.
//!
//! A server whose append conflicts has to read what the other wrote and decide again. A busy server would always win. So
//! the loser takes an advisory lock and holds it until its next append; the others check the lock in their own append and
//! wait briefly if it is taken. A server that is paused while it holds the lock costs the others only that wait.

use std::time::{Duration, Instant};

use tokio_postgres::error::SqlState;

use super::session::{CALL_WAIT_MAX, CallError, Session};

/// How long to wait for a server with priority: enough for it to read and append once.
const WAIT_MAX_MS: u64 = 100;
/// How long to ignore the lock after a wait timed out.
const IGNORE: Duration = Duration::from_secs(1);

/// What a session knows of the lock.
#[derive(Debug, Default)]
pub struct PriorityLock {
    held: bool,
    ignore_until: Option<Instant>,
}

impl PriorityLock {
    /// Whether this session holds the lock. Its next append releases it.
    pub fn is_ours(&self) -> bool {
        self.held
    }

    /// Whether to append without checking the lock.
    pub fn goes_first(&self) -> bool {
        self.held || self.ignore_until.is_some_and(|until| until > Instant::now())
    }

    /// The append has released the lock.
    pub fn is_over(&mut self) {
        self.held = false;
    }
}

/// The lock ID of a journal.
pub fn key(schema: &str) -> i64 {
    let hash = blake3::hash(format!("allod turn {schema}").as_bytes());
    let mut first = [0; 8];
    first.copy_from_slice(&hash.as_bytes()[..8]);
    i64::from_be_bytes(first)
}

/// Takes priority after a conflict. Waits for appends in progress.
pub fn take(session: &mut Session, key: i64) -> Result<(), CallError> {
    if !session.priority.held {
        session.priority.held = lock(session, &format!("pg_advisory_lock({key})"))?;
    }
    Ok(())
}

/// Waits until the server with priority has appended.
pub fn wait(session: &mut Session, key: i64) -> Result<(), CallError> {
    if !lock(session, &format!("pg_advisory_xact_lock_shared({key})"))? {
        session.priority.ignore_until = Some(Instant::now() + IGNORE);
    }
    Ok(())
}

/// Releases the lock without an append.
pub fn give_back(session: &mut Session, key: i64) -> Result<(), CallError> {
    if std::mem::take(&mut session.priority.held) {
        session.run(&format!("SELECT pg_advisory_unlock({key})"), CALL_WAIT_MAX)?;
    }
    Ok(())
}

/// Takes a lock; false if that timed out.
fn lock(session: &Session, how: &str) -> Result<bool, CallError> {
    let text = format!("BEGIN; SET LOCAL lock_timeout = {WAIT_MAX_MS}; SELECT {how}; COMMIT");
    match session.run(&text, CALL_WAIT_MAX) {
        Ok(()) => Ok(true),
        Err(CallError::Database(error)) if error.code() == Some(&SqlState::LOCK_NOT_AVAILABLE) => {
            session.run("ROLLBACK", CALL_WAIT_MAX)?;
            Ok(false)
        }
        Err(error) => Err(error),
    }
}
