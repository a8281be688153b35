//! A slot for one session, which is opened on demand and reopened after it was lost, with back-off.

use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::errors::unavailable;
use super::server::PostgresServer;
use super::session::Session;
use crate::contract::JournalError;

const BACK_OFF_MIN: Duration = Duration::from_millis(20);
const BACK_OFF_MAX: Duration = Duration::from_secs(1);

#[derive(Debug, Default)]
pub struct SessionSlot {
    held: Mutex<SlotState>,
}

#[derive(Debug, Default)]
struct SlotState {
    session: Option<Session>,
    back_off: Option<BackOff>,
}

#[derive(Debug)]
struct BackOff {
    until: Instant,
    next: Duration,
    why: String,
}

impl SlotState {
    fn session(&mut self, server: &PostgresServer) -> Result<&mut Session, JournalError> {
        if let Some(session) = &mut self.session {
            session.wake();
        }
        if self.session.as_mut().is_some_and(|open| open.is_closed() || !server.is_current(open)) {
            self.session = None;
        }
        if self.session.is_none() {
            if let Some(back_off) = self.back_off.as_ref().filter(|one| one.until > Instant::now())
            {
                return Err(unavailable(back_off.why.clone()));
            }
            match server.session() {
                Ok(session) => {
                    self.session = Some(session);
                    self.back_off = None;
                }
                Err(refused) => {
                    let error = refused.while_running();
                    let wait = self.back_off.as_ref().map_or(BACK_OFF_MIN, |before| before.next);
                    let why = match &error {
                        JournalError::Unavailable { what } => what.clone(),
                        other => other.to_string(),
                    };
                    let next = (wait * 2).min(BACK_OFF_MAX);
                    self.back_off = Some(BackOff { until: Instant::now() + wait, next, why });
                    return Err(error);
                }
            }
        }
        self.session.as_mut().ok_or_else(|| unavailable("there is no connection"))
    }
}

impl SessionSlot {
    /// A slot with an open session.
    pub fn with_session(session: Option<Session>) -> SessionSlot {
        SessionSlot { held: Mutex::new(SlotState { session, back_off: None }) }
    }

    /// Runs `work` on the session, one caller at a time.
    pub fn with<T>(
        &self,
        server: &PostgresServer,
        work: impl FnOnce(&mut Session) -> Result<T, JournalError>,
    ) -> Result<T, JournalError> {
        self.with_or(server, |error| error, work)
    }

    /// Like `with`; `without` maps the error if there is no session.
    pub fn with_or<T>(
        &self,
        server: &PostgresServer,
        without: impl FnOnce(JournalError) -> JournalError,
        work: impl FnOnce(&mut Session) -> Result<T, JournalError>,
    ) -> Result<T, JournalError> {
        let mut held = self.held.lock();
        let session = held.session(server).map_err(without)?;
        let done = work(session);
        if session.has_timed_out() {
            server.note_silence(session.host);
        }
        if session.is_closed() {
            // Dropped at once, so that the server learns of it.
            held.session = None;
        }
        done
    }
}
