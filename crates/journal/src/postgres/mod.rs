//! The journal in a PostgreSQL database, for one server or several.
//!
//! An append is one statement and one round trip; that two servers never both succeed is the primary key's doing. What is
//! committed is as safe as the server's own settings make it, and `guarantees` says how safe that is. Not here: what to do
//! about an append of unknown outcome, or about a journal that has lost records in a fail-over; that is the engine's.

mod address;
mod checkpoints;
mod errors;
mod lane;
mod listen;
mod replication;
mod rows;
mod schema;
mod server;
mod session;
mod tls;
mod turn;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

pub use self::address::{Address, SCHEMES};
pub use self::checkpoints::PostgresCheckpoints;
use self::errors::{unavailable, untried};
use self::lane::Lane;
use self::listen::Listener;
use self::replication::BODY_BYTES_MAX;
use self::rows::How;
use self::server::{NoSession, Server};
use self::session::Session;
use crate::contract::{Append, Guarantees, Journal, JournalError, Source};
use crate::frame::{Frame, Tail};

pub struct Postgres {
    server: Arc<Server>,
    /// Appends, and looks at the end.
    writing: Lane,
    /// Everything else, so that an append does not wait for a page of records.
    reading: Lane,
    listener: Listener,
    turn_key: i64,
    channel: String,
}

impl fmt::Debug for Postgres {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Postgres").field("address", &self.server.address).finish_non_exhaustive()
    }
}

impl Postgres {
    /// Opens the journal, and makes its tables if there are none. A server that does not answer is not an error: calls
    /// are `Unavailable` until it does. With `ha`, nothing is written that would not survive the loss of one machine.
    ///
    /// Blocks, as all calls do; not to be called from asynchronous code.
    pub fn open(address: &Address, ha: bool) -> Result<Postgres, JournalError> {
        let server = Arc::new(Server::new(address.clone(), ha));
        let first = match server.session() {
            Ok(session) => Some(session),
            Err(NoSession::Unreachable(what)) => {
                tracing::warn!(what, "the journal cannot be reached yet");
                None
            }
            Err(NoSession::NotNow(what)) => return Err(JournalError::Unusable { what }),
            Err(NoSession::Never(error)) => return Err(error),
        };
        if let Some(what) = server.against_ha().filter(|_| first.is_some()) {
            return Err(JournalError::Unusable { what });
        }
        Ok(Postgres {
            listener: Listener::new(server.clone()),
            writing: Lane::with_session(first),
            reading: Lane::default(),
            turn_key: turn::key(&address.schema),
            channel: address.channel(),
            server,
        })
    }

    /// The checkpoints in the same database.
    pub fn checkpoints(&self) -> PostgresCheckpoints {
        PostgresCheckpoints::new(self.server.clone())
    }

    /// One statement, and what it says. `Ok(None)`: somebody else is to go first.
    fn try_append(
        &self,
        session: &mut Session,
        expected: &Tail,
        frame: &Frame,
    ) -> Result<Option<Append>, JournalError> {
        if let Some(why) = self.server.against_ha() {
            // What it says is from when the session began; perhaps it has been put right since.
            session.give_up();
            return Err(untried(why));
        }
        let hash = frame.hash();
        let ours = session.turn.is_ours();
        let how = How {
            goes_first: session.turn.goes_first(),
            gives_back: ours,
            way: self.turn_key,
            may_be_asynchronous: !self.server.ha,
            channel: &self.channel,
        };
        session.take_warning();
        let put = rows::append(session, expected, frame, &hash, how);
        session.turn.is_over();
        let put = put.map_err(|trouble| {
            // Whether the turn was given back is not known; a new session has none.
            if ours {
                session.give_up();
            }
            trouble.at_append(frame.seq)
        })?;
        let standbys_changed = self.server.heard_of_standbys(&put.standbys);
        if let Some(what) = session.take_warning() {
            // Such as: the wait for the standby was cut short. It is committed here, and perhaps nowhere else.
            session.give_up();
            return Err(unavailable(what));
        }
        if put.done {
            if standbys_changed {
                session.give_up();
            }
            self.listener.tell(frame.seq);
            return Ok(Some(Append::Committed(frame.tail(hash))));
        }
        if self.server.ha && put.standbys.is_empty() {
            session.give_up();
            let why = self.server.against_ha();
            return Err(untried(why.unwrap_or_else(|| "it is not replicated".to_owned())));
        }
        if !put.way_was_free {
            return Ok(None);
        }
        // To go first next time, before looking where the journal ends: what is under way is done by then.
        turn::take(session, self.turn_key).map_err(|trouble| trouble.at(frame.seq))?;
        let tail = rows::tail(session)?;
        if tail == *expected {
            return Err(untried("the record was not taken, though nothing is in its way"));
        }
        Ok(Some(Append::Conflict(tail)))
    }
}

/// There was nobody to send an append to.
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

    fn append(&self, expected: &Tail, frame: &Frame) -> Append {
        if let Err(broken) = frame.follows(expected) {
            return Append::Unknown(broken.into());
        }
        if frame.body.len() > BODY_BYTES_MAX {
            let bytes = frame.body.len();
            return Append::Unknown(JournalError::TooLarge { bytes, bytes_max: BODY_BYTES_MAX });
        }
        // Without a session nothing is sent.
        let outcome = self.writing.with_or(&self.server, not_sent, |session| {
            loop {
                match self.try_append(session, expected, frame)? {
                    Some(outcome) => return Ok(outcome),
                    None => {
                        let waited = turn::wait(session, self.turn_key);
                        waited.map_err(|trouble| trouble.at(frame.seq))?;
                    }
                }
            }
        });
        outcome.unwrap_or_else(Append::Unknown)
    }

    fn read(&self, from: u64, bytes_max: usize) -> Result<Vec<Frame>, JournalError> {
        let from = from.max(1);
        self.reading.with(&self.server, |session| rows::read(session, from, bytes_max))
    }

    fn read_each(&self, seqs: &[u64], bytes_max: usize) -> Result<Vec<Frame>, JournalError> {
        self.reading.with(&self.server, |session| rows::read_each(session, seqs, bytes_max))
    }

    fn oldest(&self) -> Result<u64, JournalError> {
        self.reading.with(&self.server, rows::oldest)
    }

    fn trim(&self, upto: u64) -> Result<(), JournalError> {
        // The session is let go between slices, so that readers do not wait for a long trim.
        while self.reading.with(&self.server, |session| rows::trim_slice(session, upto))? {}
        Ok(())
    }

    fn fill(&self, next: &mut Source<'_>) -> Result<Tail, JournalError> {
        self.reading.with(&self.server, |session| {
            // Whatever goes wrong, the transaction goes with the session.
            rows::fill(session, next).inspect_err(|_| session.give_up())
        })
    }

    fn watch(&self, seq: u64, wait_max: Duration) {
        self.listener.wait(seq, wait_max);
    }

    fn guarantees(&self) -> Guarantees {
        self.server.promise().guarantees()
    }

    fn stand_back(&self) {
        let gave_back = self.writing.with(&self.server, |session| {
            turn::give_back(session, self.turn_key).map_err(|trouble| trouble.at(0))
        });
        if let Err(error) = gave_back {
            // The lock goes with the session.
            tracing::debug!(%error, "the turn was not given back");
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
