//! Who goes first when two servers write at once. Never who may: that is decided by the append alone.
//!
//! A writer that was overtaken has to read what the other wrote and decide anew, and would find itself overtaken again by
//! a busy one, for ever. So it asks to go first, by an advisory lock that it holds until its next append; the others look
//! at the lock in their own append, and wait a moment when it is taken. A server that is paused while it holds the lock
//! costs the others that moment, once in a while, and nothing else.

use std::time::{Duration, Instant};

use tokio_postgres::error::SqlState;

use super::session::{CALL_WAIT_MAX, Session, Trouble};

/// How long to wait for one who goes first. It reads and appends once in that time.
const WAIT_MAX_MS: u64 = 100;
/// For how long nobody is waited for after somebody made us wait for nothing.
const IGNORE: Duration = Duration::from_secs(1);

/// What a session knows of it.
#[derive(Debug, Default)]
pub struct Turn {
    held: bool,
    ignore_until: Option<Instant>,
}

impl Turn {
    /// Whether we go first at our next append, which gives the lock back.
    pub fn is_ours(&self) -> bool {
        self.held
    }

    /// Whether to append without looking whether anybody else is to go first.
    pub fn goes_first(&self) -> bool {
        self.held || self.ignore_until.is_some_and(|until| until > Instant::now())
    }

    /// The append has given it back.
    pub fn is_over(&mut self) {
        self.held = false;
    }
}

/// The lock of this journal.
pub fn key(schema: &str) -> i64 {
    let hash = blake3::hash(format!("allod turn {schema}").as_bytes());
    let mut first = [0; 8];
    first.copy_from_slice(&hash.as_bytes()[..8]);
    i64::from_be_bytes(first)
}

/// After a conflict: to go first next time. Waits for what is under way.
pub fn take(session: &mut Session, key: i64) -> Result<(), Trouble> {
    if !session.turn.held {
        session.turn.held = lock(session, &format!("pg_advisory_lock({key})"))?;
    }
    Ok(())
}

/// Somebody else is to go first: waits until it has.
pub fn wait(session: &mut Session, key: i64) -> Result<(), Trouble> {
    if !lock(session, &format!("pg_advisory_xact_lock_shared({key})"))? {
        session.turn.ignore_until = Some(Instant::now() + IGNORE);
    }
    Ok(())
}

/// The append that it was for will not be made.
pub fn give_back(session: &mut Session, key: i64) -> Result<(), Trouble> {
    if std::mem::take(&mut session.turn.held) {
        session.run(&format!("SELECT pg_advisory_unlock({key})"), CALL_WAIT_MAX)?;
    }
    Ok(())
}

/// Whether the lock was to be had in time.
fn lock(session: &Session, how: &str) -> Result<bool, Trouble> {
    let text = format!("BEGIN; SET LOCAL lock_timeout = {WAIT_MAX_MS}; SELECT {how}; COMMIT");
    match session.run(&text, CALL_WAIT_MAX) {
        Ok(()) => Ok(true),
        Err(Trouble::Said(error)) if error.code() == Some(&SqlState::LOCK_NOT_AVAILABLE) => {
            session.run("ROLLBACK", CALL_WAIT_MAX)?;
            Ok(false)
        }
        Err(trouble) => Err(trouble),
    }
}
