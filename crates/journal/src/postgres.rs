//! The journal in a PostgreSQL database, for one server or several.
//!
//! An append is one statement and one round trip. The primary key ensures that of two servers only one succeeds. How safe
//! committed records are depends on the settings of the PostgreSQL server; `guarantees` reports it. The engine handles
//! appends of unknown outcome, and journals that lost records in a fail-over.

mod address;
mod checkpoints;
mod connect;
mod errors;
mod listen;
mod priority;
mod replication;
mod rows;
mod schema;
mod server;
mod session;
mod slot;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

pub use self::address::{PostgresAddress, SCHEMES};
pub use self::checkpoints::PostgresCheckpoints;
use self::errors::{unavailable, untried};
use self::listen::RecordListener;
use self::replication::BODY_BYTES_MAX;
use self::rows::AppendOptions;
use self::server::{PostgresServer, SessionError};
use self::session::Session;
use self::slot::SessionSlot;
use crate::contract::{AppendOutcome, FillSource, Guarantees, Journal, JournalError};
use crate::frame::{RecordFrame, Tail};

pub struct Postgres {
    server: Arc<PostgresServer>,
    /// For `append` and `tail`.
    writing: SessionSlot,
    /// For everything else, so that an append does not wait for a page of records.
    reading: SessionSlot,
    listener: RecordListener,
    priority_key: i64,
    channel: String,
}

impl fmt::Debug for Postgres {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Postgres").field("address", &self.server.address).finish_non_exhaustive()
    }
}

impl Postgres {
    /// Opens the journal; its tables are created if missing. An unreachable server is not an error: calls fail with
    /// `Unavailable` until it answers. With `ha`, appends are refused unless they survive the loss of one machine.
    ///
    /// Blocks, like all calls. Must not be called from asynchronous code.
    pub fn open(address: &PostgresAddress, ha: bool) -> Result<Postgres, JournalError> {
        let server = Arc::new(PostgresServer::new(address.clone(), ha));
        let first = match server.session() {
            Ok(session) => Some(session),
            Err(SessionError::Unreachable(what)) => {
                tracing::warn!(what, "the journal cannot be reached yet; retrying");
                None
            }
            Err(SessionError::NotWritable(what)) => return Err(JournalError::Unusable { what }),
            Err(SessionError::Permanent(error)) => return Err(error),
        };
        if let Some(what) = server.against_ha().filter(|_| first.is_some()) {
            return Err(JournalError::Unusable { what });
        }
        Ok(Postgres {
            listener: RecordListener::new(server.clone()),
            writing: SessionSlot::with_session(first),
            reading: SessionSlot::default(),
            priority_key: priority::key(&address.schema),
            channel: address.channel(),
            server,
        })
    }

    /// The checkpoints in the same database.
    pub fn checkpoints(&self) -> PostgresCheckpoints {
        PostgresCheckpoints::new(self.server.clone())
    }

    /// Executes the append statement. `Ok(None)`: another server has priority; wait and try again.
    fn try_append(
        &self,
        session: &mut Session,
        expected: &Tail,
        frame: &RecordFrame,
    ) -> Result<Option<AppendOutcome>, JournalError> {
        if let Some(why) = self.server.against_ha() {
            // The setting was read when the session began; a new session reads it again.
            session.give_up();
            return Err(untried(why));
        }
        let hash = frame.hash();
        let ours = session.priority.is_ours();
        let how = AppendOptions {
            goes_first: session.priority.goes_first(),
            gives_back: ours,
            way: self.priority_key,
            may_be_asynchronous: !self.server.ha,
            channel: &self.channel,
        };
        session.take_warning();
        let put = rows::append(session, expected, frame, &hash, how);
        session.priority.is_over();
        let put = put.map_err(|error| {
            // Whether the lock was released is unknown; closing the session releases it.
            if ours {
                session.give_up();
            }
            error.at_append(frame.seq)
        })?;
        let standbys_changed = self.server.update_standbys(&put.standbys);
        if let Some(what) = session.take_warning() {
            // For example: the wait for the standby was cancelled. The record is committed here, perhaps not there.
            session.give_up();
            return Err(unavailable(what));
        }
        if put.done {
            if standbys_changed {
                session.give_up();
            }
            self.listener.notify(frame.seq);
            return Ok(Some(AppendOutcome::Committed(frame.tail(hash))));
        }
        if self.server.ha && put.standbys.is_empty() {
            session.give_up();
            let why = self.server.against_ha();
            return Err(untried(why.unwrap_or_else(|| "it is not replicated".to_owned())));
        }
        if !put.not_blocked {
            return Ok(None);
        }
        // Taking priority first waits for appends in progress, so the tail read afterwards includes them.
        priority::take(session, self.priority_key).map_err(|error| error.at(frame.seq))?;
        let tail = rows::tail(session)?;
        if tail == *expected {
            return Err(untried("the record was not inserted, although the tail is as expected"));
        }
        Ok(Some(AppendOutcome::Conflict(tail)))
    }
}

/// The error of an append that was never sent, because there is no session.
fn not_sent(error: JournalError) -> JournalError {
    match error {
        JournalError::Unavailable { what } => untried(what),
        other => other,
    }
}

impl Journal for Postgres {
    fn tail(&self) -> Result<Tail, JournalError> {
        self.writing.with(&self.server, rows::tail)
    }

    fn append(&self, expected: &Tail, frame: &RecordFrame) -> AppendOutcome {
        if let Err(broken) = frame.follows(expected) {
            return AppendOutcome::Unknown(broken.into());
        }
        if frame.body.len() > BODY_BYTES_MAX {
            let bytes = frame.body.len();
            return AppendOutcome::Unknown(JournalError::TooLarge {
                bytes,
                bytes_max: BODY_BYTES_MAX,
            });
        }
        let outcome = self.writing.with_or(&self.server, not_sent, |session| {
            loop {
                match self.try_append(session, expected, frame)? {
                    Some(outcome) => return Ok(outcome),
                    None => {
                        let waited = priority::wait(session, self.priority_key);
                        waited.map_err(|error| error.at(frame.seq))?;
                    }
                }
            }
        });
        outcome.unwrap_or_else(AppendOutcome::Unknown)
    }

    fn read(&self, from: u64, bytes_max: usize) -> Result<Vec<RecordFrame>, JournalError> {
        let from = from.max(1);
        self.reading.with(&self.server, |session| rows::read(session, from, bytes_max))
    }

    fn read_each(&self, seqs: &[u64], bytes_max: usize) -> Result<Vec<RecordFrame>, JournalError> {
        self.reading.with(&self.server, |session| rows::read_each(session, seqs, bytes_max))
    }

    fn oldest(&self) -> Result<u64, JournalError> {
        self.reading.with(&self.server, rows::oldest)
    }

    fn trim(&self, upto: u64) -> Result<(), JournalError> {
        // The session is released between slices, so that readers do not wait for a long trim.
        while self.reading.with(&self.server, |session| rows::trim_slice(session, upto))? {}
        Ok(())
    }

    fn fill(&self, next: &mut FillSource<'_>) -> Result<Tail, JournalError> {
        self.reading.with(&self.server, |session| {
            // Closing the session rolls the transaction back.
            rows::fill(session, next).inspect_err(|_| session.give_up())
        })
    }

    fn watch(&self, seq: u64, wait_max: Duration) {
        self.listener.wait(seq, wait_max);
    }

    fn guarantees(&self) -> Guarantees {
        self.server.promise().guarantees()
    }

    fn yield_turn(&self) {
        let gave_back = self.writing.with(&self.server, |session| {
            priority::give_back(session, self.priority_key).map_err(|error| error.at(0))
        });
        if let Err(error) = gave_back {
            // Not an error: the lock is released when the session ends.
            tracing::debug!(%error, "cannot release the priority lock");
        }
    }

    fn seq_of_position(&self, position: u64) -> Result<u64, JournalError> {
        let (mut low, mut high) = (self.oldest()?, self.tail()?.seq + 1);
        while low < high {
            let middle = low + (high - low) / 2;
            let end = self.reading.with(&self.server, |session| rows::position(session, middle))?;
            match end {
                Some(end) if end < position => low = middle + 1,
                _ => high = middle,
            }
        }
        Ok(low)
    }
}
