//! The PostgreSQL server at an address: how sessions begin, and what is known of its replication.

use parking_lot::Mutex;
use tokio_postgres::Row;

use super::address::PostgresAddress;
use super::connect::{ConnectError, HostId, HostOrder};
use super::errors::describe;
use super::replication::ReplicationStatus;
use super::schema;
use super::session::{CALL_WAIT_MAX, CallError, Session};
use crate::contract::JournalError;

/// Ends statements whose client has given up. The wait for a standby is not part of a statement, and is never cancelled:
/// otherwise a commit would look replicated that is not.
const STATEMENT_WAIT_MAX: &str = "30s";

const FACTS: &str = "SELECT
    pg_is_in_recovery(),
    current_setting('synchronous_standby_names'),
    current_setting('fsync')::boolean AND current_setting('full_page_writes')::boolean,
    (SELECT count(*) FROM pg_stat_replication),
    CASE WHEN pg_is_in_recovery() THEN '' ELSE left(pg_walfile_name(pg_current_wal_lsn()), 8) END";

#[derive(Debug)]
pub struct PostgresServer {
    pub address: PostgresAddress,
    /// Appends are refused unless they survive the loss of one machine.
    pub ha: bool,
    promise: Mutex<ReplicationStatus>,
    hosts: Mutex<KnownHosts>,
}

#[derive(Debug, Default)]
struct KnownHosts {
    order: HostOrder,
    /// How often a host did not answer in time.
    silences: u64,
}

/// Why there is no session.
#[derive(Debug)]
pub enum SessionError {
    /// The server does not answer. Retrying may help.
    Unreachable(String),
    /// The server answers but cannot be written at present. Retrying may help.
    NotWritable(String),
    /// An operator has to act.
    Permanent(JournalError),
}

impl SessionError {
    pub fn while_running(self) -> JournalError {
        match self {
            SessionError::Unreachable(what) | SessionError::NotWritable(what) => {
                JournalError::Unavailable { what }
            }
            SessionError::Permanent(error) => error,
        }
    }
}

impl From<JournalError> for SessionError {
    fn from(error: JournalError) -> SessionError {
        match error {
            JournalError::Unavailable { what } => SessionError::Unreachable(what),
            other => SessionError::Permanent(other),
        }
    }
}

impl From<CallError> for SessionError {
    fn from(error: CallError) -> SessionError {
        error.at(0).into()
    }
}

impl PostgresServer {
    pub fn new(address: PostgresAddress, ha: bool) -> PostgresServer {
        PostgresServer { address, ha, promise: Mutex::default(), hosts: Mutex::default() }
    }

    pub fn promise(&self) -> ReplicationStatus {
        self.promise.lock().clone()
    }

    /// Why `ha` forbids appends at present.
    pub fn against_ha(&self) -> Option<String> {
        self.promise.lock().against_ha().filter(|_| self.ha)
    }

    /// Opens a session on the primary, with the required settings and tables. All records that it sees are replicated to
    /// the synchronous standbys. Begins with the host that answered last.
    pub fn session(&self) -> Result<Session, SessionError> {
        let (order, silences) = {
            let hosts = self.hosts.lock();
            (hosts.order, hosts.silences)
        };
        let session = Session::connect(&self.address, order, silences);
        let session = session.map_err(|failed| self.refused(failed))?;
        let host = session.host;
        let ready = self.prepare(session);
        let mut hosts = self.hosts.lock();
        hosts.order = match &ready {
            Ok(_) => HostOrder { preferred: Some(host), avoided: None },
            Err(_) => HostOrder { preferred: None, avoided: Some(host) },
        };
        ready
    }

    /// A session timed out: its host is tried last from now on, and the other sessions must prove that it answers.
    pub fn note_silence(&self, host: HostId) {
        let mut hosts = self.hosts.lock();
        hosts.silences += 1;
        hosts.order = HostOrder { preferred: None, avoided: Some(host) };
    }

    /// Whether an open session may still be used: the primary has not moved to another host, and its own host answers if
    /// any has been silent since.
    pub fn is_current(&self, session: &mut Session) -> bool {
        let (preferred, silences) = {
            let hosts = self.hosts.lock();
            (hosts.order.preferred, hosts.silences)
        };
        if preferred.is_some_and(|preferred| preferred != session.host) {
            return false;
        }
        if session.silences < silences && !session.answers() {
            return false;
        }
        session.silences = silences;
        true
    }

    /// Sets a new session up.
    fn prepare(&self, mut session: Session) -> Result<Session, SessionError> {
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
            return Err(SessionError::NotWritable(
                "the server does not report its settings".into(),
            ));
        };
        if facts.get(0) {
            return Err(SessionError::NotWritable(format!(
                "{} is a standby, which cannot be written: name the primary, or all hosts with commas between them",
                self.address
            )));
        }
        let found = promise(facts);
        let (timeline, synchronous) = (&found.timeline, found.replicated());
        let doubt = schema::ensure(&mut session, &self.address.schema, timeline, synchronous)?;
        self.learn(ReplicationStatus { fell_back_from: doubt, ..found });
        // After a crash or a cancelled wait, the server shows records that the standby may not have. Our own commit waits
        // until the standby has everything before it.
        session.run("SELECT pg_logical_emit_message(true, 'allod', '')", CALL_WAIT_MAX)?;
        match session.take_warning() {
            Some(what) => Err(SessionError::NotWritable(what)),
            None => Ok(session),
        }
    }

    /// Stores what a new session has found.
    fn learn(&self, found: ReplicationStatus) {
        let mut known = self.promise.lock();
        if known.known && known.standbys != found.standbys {
            tracing::warn!(note = found.note(), "the replication of the journal has changed");
        }
        *known = found;
    }

    /// Stores the setting that an append returned; true if it changed.
    pub fn update_standbys(&self, standbys: &str) -> bool {
        let mut known = self.promise.lock();
        let changed = known.standbys != standbys;
        if changed {
            standbys.clone_into(&mut known.standbys);
            tracing::warn!(note = known.note(), "the replication of the journal has changed");
        }
        changed
    }

    fn refused(&self, failed: ConnectError) -> SessionError {
        match failed {
            ConnectError::Unreachable(what) => {
                SessionError::Unreachable(format!("{}: {what}", self.address))
            }
            ConnectError::Refused(error) => {
                let what = format!("{}: {}", self.address, describe(&error));
                SessionError::Permanent(JournalError::Unusable { what })
            }
        }
    }
}

fn promise(facts: &Row) -> ReplicationStatus {
    ReplicationStatus {
        standbys: facts.get(1),
        syncs: facts.get(2),
        receivers: facts.get(3),
        timeline: facts.get(4),
        fell_back_from: None,
        known: true,
    }
}
