//! One connection, and how it is used from a thread that blocks: each call has a time limit, and after anything but a
//! plain refusal of one statement the connection is given up.
//!
//! The driver is asynchronous; its runtime here is one of the session's own, driven by whoever calls, so that a call costs
//! no change of threads. Not here: what is asked.

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

use super::address::Address;
use super::errors::{connection_survives, describe, unavailable, while_appending, while_open};
use super::turn::Turn;
use crate::contract::JournalError;

/// How long anything may take but the reading of a page.
pub const CALL_WAIT_MAX: Duration = Duration::from_secs(10);

/// After this time the server may have gone away without being asked anything.
const IDLE: Duration = Duration::from_millis(5);

pub type Parameters<'a> = &'a [&'a (dyn ToSql + Sync)];

/// What the server said without being asked.
#[derive(Debug, Default)]
struct Heard {
    /// A warning since this was last cleared.
    warning: Mutex<Option<String>>,
    /// The highest record that another session told of.
    record: AtomicU64,
    news: Notify,
}

pub struct Session {
    client: Client,
    heard: Arc<Heard>,
    prepared: HashMap<&'static str, Statement>,
    /// The connection can no longer be used: nobody knows what it is about to say.
    spent: AtomicBool,
    used: Instant,
    pub turn: Turn,
    /// `None` only while it is dropped.
    runtime: Option<Runtime>,
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session").field("spent", &self.spent).finish_non_exhaustive()
    }
}

/// Why there is no connection.
#[derive(Debug)]
pub enum NoConnection {
    /// Nobody answers, or not now.
    Unreachable(String),
    /// The server answers, and says no.
    Refused(Error),
}

impl Session {
    pub fn connect(address: &Address) -> Result<Session, NoConnection> {
        let unreachable = |what: String| NoConnection::Unreachable(format!("{address}: {what}"));
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| unreachable(error.to_string()))?;
        let hosts = u32::try_from(address.config.get_hosts().len()).unwrap_or(1);
        let wait_max = address.config.get_connect_timeout().unwrap_or(&CALL_WAIT_MAX);
        let connecting = address.config.connect(address.tls.clone());
        // The driver's own limit is for the socket alone; a server that accepts and says nothing is no better.
        let connected = runtime
            .block_on(async { tokio::time::timeout(2 * *wait_max * hosts, connecting).await });
        let (client, mut connection) = match connected {
            Err(_) => return Err(unreachable("it accepts connections and does not answer".into())),
            Ok(Err(error)) if error.as_db_error().is_some() => {
                return Err(NoConnection::Refused(error));
            }
            Ok(Err(error)) => return Err(unreachable(describe(&error))),
            Ok(Ok(connected)) => connected,
        };
        let heard = Arc::new(Heard::default());
        let hearing = heard.clone();
        runtime.spawn(poll_fn(move |context| {
            loop {
                match connection.poll_message(context) {
                    Poll::Ready(Some(Ok(message))) => hearing.take_in(message),
                    Poll::Ready(Some(Err(_)) | None) => {
                        // Whoever waits for news is told; whoever waits for an answer gets the driver's error.
                        hearing.news.notify_one();
                        return Poll::Ready(());
                    }
                    Poll::Pending => return Poll::Pending,
                }
            }
        }));
        Ok(Session {
            client,
            heard,
            prepared: HashMap::new(),
            spent: AtomicBool::new(false),
            used: Instant::now(),
            turn: Turn::default(),
            runtime: Some(runtime),
        })
    }

    /// Whether it is of no more use.
    pub fn is_spent(&self) -> bool {
        self.spent.load(Ordering::Relaxed) || self.client.is_closed()
    }

    /// Before it is used again after a while: takes in what the server has sent meanwhile, such as that it is gone.
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

    pub fn give_up(&self) {
        self.spent.store(true, Ordering::Relaxed);
    }

    fn within<T>(
        &self,
        wait_max: Duration,
        work: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Trouble> {
        let Some(runtime) = &self.runtime else { return Err(Trouble::Late(wait_max)) };
        let done = runtime.block_on(async { tokio::time::timeout(wait_max, work).await });
        let trouble = match done {
            Ok(Ok(done)) => return Ok(done),
            Ok(Err(error)) if connection_survives(&error) => return Err(Trouble::Said(error)),
            Ok(Err(error)) => Trouble::Said(error),
            Err(_) => Trouble::Late(wait_max),
        };
        self.give_up();
        Err(trouble)
    }

    /// Asks what is prepared on first use and kept.
    pub fn query(
        &mut self,
        text: &'static str,
        parameters: Parameters<'_>,
        wait_max: Duration,
    ) -> Result<Vec<Row>, Trouble> {
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
    pub fn run(&self, text: &str, wait_max: Duration) -> Result<(), Trouble> {
        self.within(wait_max, self.client.batch_execute(text))
    }

    /// Asks something once.
    pub fn ask(&self, text: &str) -> Result<Vec<Row>, Trouble> {
        self.within(CALL_WAIT_MAX, self.client.query(text, &[]))
    }

    /// What the server warned of since this was last asked.
    pub fn take_warning(&self) -> Option<String> {
        self.heard.warning.lock().take()
    }

    /// Waits until another session tells of a record, and returns the highest that was told of so far.
    pub fn wait_for_news(&self, wait_max: Duration) -> u64 {
        if let Some(runtime) = &self.runtime {
            let news = self.heard.news.notified();
            // That nothing came is no reason to give up the connection.
            let _ = runtime.block_on(async { tokio::time::timeout(wait_max, news).await });
        }
        self.heard.record.load(Ordering::Relaxed)
    }
}

impl Heard {
    fn take_in(&self, message: AsyncMessage) {
        match message {
            AsyncMessage::Notification(told) => {
                let record = told.payload().parse().unwrap_or(0);
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
        // In the background, because this may be dropped where nobody may wait. What is being sent is cut off.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// How a call went wrong.
#[derive(Debug)]
pub enum Trouble {
    Said(Error),
    /// No answer in this time.
    Late(Duration),
}

impl Trouble {
    /// What it means for record `seq`, which was being appended.
    pub fn at_append(self, seq: u64) -> JournalError {
        match self {
            Trouble::Said(error) => while_appending(&error, seq),
            late => late.at(seq),
        }
    }

    /// What it means for record `seq`, which was being read or written.
    pub fn at(self, seq: u64) -> JournalError {
        match self {
            Trouble::Said(error) => while_open(&error, seq),
            Trouble::Late(wait_max) => {
                unavailable(format!("PostgreSQL did not answer within {} s", wait_max.as_secs()))
            }
        }
    }
}
