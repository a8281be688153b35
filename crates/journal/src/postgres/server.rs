//! The server behind an address: how a session with it begins, and what is known of what it promises.

use parking_lot::Mutex;
use tokio_postgres::Row;

use super::address::Address;
use super::errors::{describe, never};
use super::replication::Promise;
use super::schema;
use super::session::{CALL_WAIT_MAX, NoConnection, Session, Trouble};
use crate::contract::JournalError;

/// A statement that nobody waits for any more ends by itself. Waiting for a standby is not a statement, and is never cut
/// short: that would make a commit look complete that is not.
const STATEMENT_WAIT_MAX: &str = "30s";

const FACTS: &str = "SELECT
    pg_is_in_recovery(),
    current_setting('synchronous_standby_names'),
    current_setting('fsync')::boolean AND current_setting('full_page_writes')::boolean,
    (SELECT count(*) FROM pg_stat_replication),
    CASE WHEN pg_is_in_recovery() THEN '' ELSE left(pg_walfile_name(pg_current_wal_lsn()), 8) END";

#[derive(Debug)]
pub struct Server {
    pub address: Address,
    /// Nothing is written that would not survive the loss of a machine.
    pub ha: bool,
    promise: Mutex<Promise>,
}

/// Why there is no session.
#[derive(Debug)]
pub enum NoSession {
    /// Nobody answers. That may change by itself.
    Unreachable(String),
    /// The server answers, but cannot be written as it is. That may change without us, too.
    NotNow(String),
    /// Somebody has to do something.
    Never(JournalError),
}

impl NoSession {
    pub fn while_running(self) -> JournalError {
        match self {
            NoSession::Unreachable(what) | NoSession::NotNow(what) => {
                JournalError::Unavailable { what }
            }
            NoSession::Never(error) => error,
        }
    }
}

impl From<JournalError> for NoSession {
    fn from(error: JournalError) -> NoSession {
        match error {
            JournalError::Unavailable { what } => NoSession::Unreachable(what),
            other => NoSession::Never(other),
        }
    }
}

impl From<Trouble> for NoSession {
    fn from(trouble: Trouble) -> NoSession {
        trouble.at(0).into()
    }
}

impl Server {
    pub fn new(address: Address, ha: bool) -> Server {
        Server { address, ha, promise: Mutex::default() }
    }

    pub fn promise(&self) -> Promise {
        self.promise.lock().clone()
    }

    /// Why nothing may be written at present, if `ha` is on and something is against it.
    pub fn against_ha(&self) -> Option<String> {
        self.promise.lock().against_ha().filter(|_| self.ha)
    }

    /// A new session: on the primary, with the settings that the journal relies on, on tables that it knows, and with
    /// everything that it will see safe on whatever the server waits for.
    pub fn session(&self) -> Result<Session, NoSession> {
        let mut session = Session::connect(&self.address).map_err(|failed| self.refused(failed))?;
        session.run(
            &format!(
                "SELECT set_config('synchronous_commit', CASE current_setting('synchronous_commit')
                    WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END, false);
                SET statement_timeout = '{STATEMENT_WAIT_MAX}';
                SET lock_timeout = 0;
                SET idle_in_transaction_session_timeout = '{STATEMENT_WAIT_MAX}';
                SET default_transaction_isolation = 'read committed';
                SET client_min_messages = 'warning';
                SET search_path = {}",
                self.address.schema
            ),
            CALL_WAIT_MAX,
        )?;
        let facts = session.ask(FACTS)?;
        let Some(facts) = facts.first() else {
            return Err(NoSession::NotNow("the server says nothing about itself".into()));
        };
        if facts.get(0) {
            return Err(NoSession::NotNow(format!(
                "{} is a standby, which cannot be written: name the primary, or all hosts with commas between them",
                self.address
            )));
        }
        let found = promise(facts);
        let (timeline, synchronous) = (&found.timeline, found.replicated());
        let doubt = schema::ensure(&mut session, &self.address.schema, timeline, synchronous)?;
        self.learn(Promise { fell_back_from: doubt, ..found });
        // A server that crashed, or whose wait for a standby was cut short, shows what the standby may not have yet. A
        // commit of our own waits for all that came before it.
        session.run("SELECT pg_logical_emit_message(true, 'allod', '')", CALL_WAIT_MAX)?;
        match session.take_warning() {
            Some(what) => Err(NoSession::NotNow(what)),
            None => Ok(session),
        }
    }

    /// Takes in what a session has found out.
    fn learn(&self, found: Promise) {
        let mut known = self.promise.lock();
        if known.known && known.standbys != found.standbys {
            tracing::warn!(note = found.note(), "the replication of the journal has changed");
        }
        *known = found;
    }

    /// An append was told that another setting holds. The next session will look at everything anew.
    pub fn heard_of_standbys(&self, standbys: &str) -> bool {
        let mut known = self.promise.lock();
        let changed = known.standbys != standbys;
        if changed {
            standbys.clone_into(&mut known.standbys);
            tracing::warn!(note = known.note(), "the replication of the journal has changed");
        }
        changed
    }

    fn refused(&self, failed: NoConnection) -> NoSession {
        let error = match failed {
            NoConnection::Unreachable(what) => return NoSession::Unreachable(what),
            NoConnection::Refused(error) => error,
        };
        let what = format!("{}: {}", self.address, describe(&error));
        match error.code() {
            Some(code) if never(code) => NoSession::Never(JournalError::Unusable { what }),
            _ => NoSession::Unreachable(what),
        }
    }
}

fn promise(facts: &Row) -> Promise {
    Promise {
        standbys: facts.get(1),
        syncs: facts.get(2),
        receivers: facts.get(3),
        timeline: facts.get(4),
        fell_back_from: None,
        known: true,
    }
}
