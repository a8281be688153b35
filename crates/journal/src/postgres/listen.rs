//! Waiting for records of others: `LISTEN` for as long as somebody waits, with a look at the table now and then, because a
//! notification may be lost.
//!
//! One thread listens for all who wait. It runs only once somebody has.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use super::rows;
use super::server::Server;
use super::session::{CALL_WAIT_MAX, Session};
use crate::contract::JournalError;

/// How often the table is looked at when nothing is heard.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// The last one who waited may come back.
const LINGER: Duration = Duration::from_millis(500);

#[derive(Debug)]
pub struct Listener {
    server: Arc<Server>,
    told: Arc<Told>,
}

#[derive(Debug, Default)]
struct Told {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// The last record that was heard of.
    last: u64,
    waiting: usize,
    /// When the last one who waited left.
    left: Option<Instant>,
    running: bool,
    stop: bool,
}

impl Listener {
    pub fn new(server: Arc<Server>) -> Listener {
        Listener { server, told: Arc::default() }
    }

    /// There is a record `seq`.
    pub fn tell(&self, seq: u64) {
        self.told.tell(seq);
    }

    pub fn wait(&self, seq: u64, wait_max: Duration) {
        let until = Instant::now() + wait_max;
        let mut state = self.told.state.lock();
        if state.last > seq {
            return;
        }
        if !state.running {
            let (server, told) = (self.server.clone(), self.told.clone());
            let thread = std::thread::Builder::new().name("allod-listen".into());
            state.running = thread.spawn(move || listen(&server, &told)).is_ok();
        }
        state.waiting += 1;
        self.told.changed.notify_all();
        while state.last <= seq {
            if self.told.changed.wait_until(&mut state, until).timed_out() {
                break;
            }
        }
        state.waiting -= 1;
        state.left = Some(Instant::now());
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.told.state.lock().stop = true;
        self.told.changed.notify_all();
    }
}

impl Told {
    fn tell(&self, seq: u64) {
        let mut state = self.state.lock();
        if state.last < seq {
            state.last = seq;
            self.changed.notify_all();
        }
    }

    /// Waits until somebody waits. False: it is time to end.
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

fn listen(server: &Server, told: &Told) {
    let mut session: Option<Session> = None;
    while told.is_needed() {
        if session.as_ref().is_none_or(Session::is_spent) {
            session = server.session().ok();
        }
        let Some(session) = &mut session else {
            told.sleep(LOOK_EVERY);
            continue;
        };
        if let Err(error) = listen_on(session, server, told) {
            tracing::debug!(%error, "the journal's notifications cannot be heard at present");
            session.give_up();
            told.sleep(LOOK_EVERY);
        }
    }
}

fn listen_on(session: &mut Session, server: &Server, told: &Told) -> Result<(), JournalError> {
    let channel = server.address.channel();
    session.run(&format!("LISTEN {channel}"), CALL_WAIT_MAX).map_err(|trouble| trouble.at(0))?;
    let mut heard = rows::tail(session)?.seq;
    // After a fail-over it may be less than it was.
    told.state.lock().last = heard;
    told.changed.notify_all();
    while told.goes_on() {
        let record = session.wait_for_news(LOOK_EVERY);
        heard = if record > heard { record } else { rows::tail(session)?.seq };
        told.tell(heard);
    }
    session.run("UNLISTEN *", CALL_WAIT_MAX).map_err(|trouble| trouble.at(0))
}
