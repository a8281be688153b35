//! Waits for records of other servers with `LISTEN`, and polls the table from time to time because a notification may be
//! lost.
//!
//! One thread listens for all waiters. It is started by the first one.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use super::rows;
use super::server::PostgresServer;
use super::session::{CALL_WAIT_MAX, Session};
use crate::contract::JournalError;

/// How often the table is polled when no notification arrives.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// How long to keep listening after the last waiter left, because it may return.
const LINGER: Duration = Duration::from_millis(500);

#[derive(Debug)]
pub struct RecordListener {
    server: Arc<PostgresServer>,
    shared: Arc<ListenShared>,
}

#[derive(Debug, Default)]
struct ListenShared {
    state: Mutex<ListenState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct ListenState {
    /// The last known record.
    last: u64,
    waiting: usize,
    /// When the last waiter left.
    left: Option<Instant>,
    running: bool,
    stop: bool,
}

impl RecordListener {
    pub fn new(server: Arc<PostgresServer>) -> RecordListener {
        RecordListener { server, shared: Arc::default() }
    }

    /// Wakes waiters: record `seq` exists.
    pub fn notify(&self, seq: u64) {
        self.shared.notify(seq);
    }

    pub fn wait(&self, seq: u64, wait_max: Duration) {
        let until = Instant::now() + wait_max;
        let mut state = self.shared.state.lock();
        if state.last > seq {
            return;
        }
        if !state.running {
            let (server, shared) = (self.server.clone(), self.shared.clone());
            let thread = std::thread::Builder::new().name("allod-listen".into());
            state.running = thread.spawn(move || listen(&server, &shared)).is_ok();
        }
        state.waiting += 1;
        self.shared.changed.notify_all();
        while state.last <= seq {
            if self.shared.changed.wait_until(&mut state, until).timed_out() {
                break;
            }
        }
        state.waiting -= 1;
        state.left = Some(Instant::now());
    }
}

impl Drop for RecordListener {
    fn drop(&mut self) {
        self.shared.state.lock().stop = true;
        self.shared.changed.notify_all();
    }
}

impl ListenShared {
    fn notify(&self, seq: u64) {
        let mut state = self.state.lock();
        if state.last < seq {
            state.last = seq;
            self.changed.notify_all();
        }
    }

    /// Blocks until there is a waiter. False: stop.
    fn is_needed(&self) -> bool {
        let mut state = self.state.lock();
        while state.waiting == 0 && !state.stop {
            self.changed.wait(&mut state);
        }
        !state.stop
    }

    fn goes_on(&self) -> bool {
        let state = self.state.lock();
        let lingers = state.left.is_some_and(|left| left.elapsed() < LINGER);
        !state.stop && (state.waiting > 0 || lingers)
    }

    fn sleep(&self, time: Duration) {
        let mut state = self.state.lock();
        if !state.stop {
            self.changed.wait_for(&mut state, time);
        }
    }
}

fn listen(server: &PostgresServer, shared: &ListenShared) {
    let mut session: Option<Session> = None;
    while shared.is_needed() {
        if session.as_mut().is_none_or(|open| open.is_closed() || !server.is_current(open)) {
            session = server.session().ok();
        }
        let Some(session) = &mut session else {
            shared.sleep(LOOK_EVERY);
            continue;
        };
        if let Err(error) = listen_on(session, server, shared) {
            tracing::debug!(%error, "cannot listen for new records at present");
            session.give_up();
            if session.has_timed_out() {
                server.note_silence(session.host);
            }
            shared.sleep(LOOK_EVERY);
        }
    }
}

fn listen_on(
    session: &mut Session,
    server: &PostgresServer,
    shared: &ListenShared,
) -> Result<(), JournalError> {
    let channel = server.address.channel();
    session.run(&format!("LISTEN {channel}"), CALL_WAIT_MAX).map_err(|error| error.at(0))?;
    let mut heard = rows::tail(session)?.seq;
    // Set, not raised: after a fail-over it may be lower than before.
    shared.state.lock().last = heard;
    shared.changed.notify_all();
    while shared.goes_on() {
        if !server.is_current(session) {
            session.give_up();
            return Ok(());
        }
        let record = session.wait_for_record(LOOK_EVERY);
        heard = if record > heard { record } else { rows::tail(session)?.seq };
        shared.notify(heard);
    }
    session.run("UNLISTEN *", CALL_WAIT_MAX).map_err(|error| error.at(0))
}
