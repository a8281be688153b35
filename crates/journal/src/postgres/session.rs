//! One connection, used from blocking threads. Each call has a time limit. After any error other than a refused statement
//! the connection is closed.
//!
//! The driver is asynchronous. Each session has its own single-threaded runtime, which the calling thread drives, so that a
//! call needs no thread switch. The statements themselves are in `rows` and `checkpoints`.

use std::collections::HashMap;
use std::future::{Future, poll_fn};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::Poll;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::Notify;
use tokio_postgres::error::Severity;
use tokio_postgres::types::ToSql;
use tokio_postgres::{AsyncMessage, Client, Error, Row, Statement};

use super::address::PostgresAddress;
use super::connect::{ConnectError, HostConnection, HostId, HostOrder, connect};
use super::errors::{connection_survives, unavailable, while_appending, while_open};
use super::priority::PriorityLock;
use crate::contract::JournalError;

/// The time limit of every call except reading a page.
pub const CALL_WAIT_MAX: Duration = Duration::from_secs(10);

/// The time limit of `Session::answers`.
const PING_WAIT_MAX: Duration = Duration::from_secs(1);

/// After this time without a call, the session checks whether the server has closed the connection.
const IDLE: Duration = Duration::from_millis(5);

pub type Parameters<'a> = &'a [&'a (dyn ToSql + Sync)];

/// Messages that the server sent on its own.
#[derive(Debug, Default)]
struct ServerMessages {
    /// The latest warning since `take_warning`.
    warning: Mutex<Option<String>>,
    /// The highest record that a notification named.
    record: AtomicU64,
    news: Notify,
}

pub struct Session {
    client: Client,
    messages: Arc<ServerMessages>,
    prepared: HashMap<&'static str, Statement>,
    /// Set after an error that leaves the connection in an unknown state.
    closed: AtomicBool,
    /// A call was not answered in time.
    timed_out: AtomicBool,
    pub host: HostId,
    /// How often a host had not answered in time when this session last answered.
    pub silences: u64,
    used: Instant,
    pub priority: PriorityLock,
    /// `None` only during drop.
    runtime: Option<Runtime>,
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session").field("closed", &self.closed).finish_non_exhaustive()
    }
}

impl Session {
    /// Connects to a host that can be written; those in `order` are tried first and last.
    pub fn connect(
        address: &PostgresAddress,
        order: HostOrder,
        silences: u64,
    ) -> Result<Session, ConnectError> {
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| ConnectError::Unreachable(error.to_string()))?;
        let HostConnection { client, mut connection, host } =
            runtime.block_on(connect(address, order))?;
        let messages = Arc::new(ServerMessages::default());
        let receiving = messages.clone();
        runtime.spawn(poll_fn(move |context| {
            loop {
                match connection.poll_message(context) {
                    Poll::Ready(Some(Ok(message))) => receiving.receive(message),
                    Poll::Ready(Some(Err(_)) | None) => {
                        // Wakes `wait_for_record`; pending calls get the driver's error.
                        receiving.news.notify_one();
                        return Poll::Ready(());
                    }
                    Poll::Pending => return Poll::Pending,
                }
            }
        }));
        Ok(Session {
            client,
            messages,
            prepared: HashMap::new(),
            closed: AtomicBool::new(false),
            timed_out: AtomicBool::new(false),
            host,
            silences,
            used: Instant::now(),
            priority: PriorityLock::default(),
            runtime: Some(runtime),
        })
    }

    /// Whether the connection can no longer be used.
    pub fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Relaxed) || self.client.is_closed()
    }

    /// Processes what the server has sent since the last call, such as the end of the connection.
    pub fn wake(&mut self) {
        if self.used.elapsed() > IDLE
            && let Some(runtime) = &self.runtime
        {
            runtime.block_on(async {
                for _ in 0..3 {
                    tokio::task::yield_now().await;
                }
            });
        }
        self.used = Instant::now();
    }

    /// Whether a call was not answered in time. The connection is closed then.
    pub fn has_timed_out(&self) -> bool {
        self.timed_out.load(Ordering::Relaxed)
    }

    /// Whether the server still answers, soon.
    pub fn answers(&self) -> bool {
        self.within(PING_WAIT_MAX, self.client.batch_execute("")).is_ok()
    }

    pub fn give_up(&self) {
        self.closed.store(true, Ordering::Relaxed);
    }

    fn within<T>(
        &self,
        wait_max: Duration,
        work: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, CallError> {
        let Some(runtime) = &self.runtime else { return Err(CallError::Timeout(wait_max)) };
        let done = runtime.block_on(async { tokio::time::timeout(wait_max, work).await });
        let error = match done {
            Ok(Ok(done)) => return Ok(done),
            Ok(Err(error)) if connection_survives(&error) => {
                return Err(CallError::Database(error));
            }
            Ok(Err(error)) => CallError::Database(error),
            Err(_) => {
                self.timed_out.store(true, Ordering::Relaxed);
                CallError::Timeout(wait_max)
            }
        };
        self.give_up();
        Err(error)
    }

    /// Runs a statement that is prepared on first use.
    pub fn query(
        &mut self,
        text: &'static str,
        parameters: Parameters<'_>,
        wait_max: Duration,
    ) -> Result<Vec<Row>, CallError> {
        let statement = match self.prepared.get(text) {
            Some(statement) => statement.clone(),
            None => {
                let statement = self.within(wait_max, self.client.prepare(text))?;
                self.prepared.insert(text, statement.clone());
                statement
            }
        };
        self.within(wait_max, self.client.query(&statement, parameters))
    }

    /// Runs statements without parameters, in one round trip.
    pub fn run(&self, text: &str, wait_max: Duration) -> Result<(), CallError> {
        self.within(wait_max, self.client.batch_execute(text))
    }

    /// Runs a query without preparing it.
    pub fn ask(&self, text: &str) -> Result<Vec<Row>, CallError> {
        self.within(CALL_WAIT_MAX, self.client.query(text, &[]))
    }

    /// The latest warning of the server since the last call.
    pub fn take_warning(&self) -> Option<String> {
        self.messages.warning.lock().take()
    }

    /// Waits for a notification about a record, and returns the highest record named so far.
    pub fn wait_for_record(&self, wait_max: Duration) -> u64 {
        if let Some(runtime) = &self.runtime {
            let news = self.messages.news.notified();
            // A timeout is not an error here.
            let _ = runtime.block_on(async { tokio::time::timeout(wait_max, news).await });
        }
        self.messages.record.load(Ordering::Relaxed)
    }
}

impl ServerMessages {
    fn receive(&self, message: AsyncMessage) {
        match message {
            AsyncMessage::Notification(shared) => {
                let record = shared.payload().parse().unwrap_or(0);
                self.record.fetch_max(record, Ordering::Relaxed);
                self.news.notify_one();
            }
            AsyncMessage::Notice(notice) if notice.parsed_severity() == Some(Severity::Warning) => {
                *self.warning.lock() = Some(notice.message().to_owned());
            }
            _ => {}
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // In the background, because asynchronous code may drop a session. Pending output is discarded.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// Why a call failed.
#[derive(Debug)]
pub enum CallError {
    Database(Error),
    /// No answer in this time.
    Timeout(Duration),
}

impl CallError {
    /// The journal error, if record `seq` was being appended.
    pub fn at_append(self, seq: u64) -> JournalError {
        match self {
            CallError::Database(error) => while_appending(&error, seq),
            late => late.at(seq),
        }
    }

    /// The journal error, if record `seq` was being read or written.
    pub fn at(self, seq: u64) -> JournalError {
        match self {
            CallError::Database(error) => while_open(&error, seq),
            CallError::Timeout(wait_max) => {
                unavailable(format!("PostgreSQL did not answer within {} s", wait_max.as_secs()))
            }
        }
    }
}
