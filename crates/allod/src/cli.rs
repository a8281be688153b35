//! The commands that talk to a server: what they have in common. Each command is a file of its own.
//!
//! Data goes to stdout and talk to stderr. `--output json` gives the server's own JSON, whatever that is, refusals
//! included; tables are for people and may change.

pub mod alarms;
mod answer;
pub mod candidates;
pub mod change;
pub mod claim;
pub mod completions;
pub mod config;
pub mod consumer;
pub mod format;
pub mod history;
pub mod json;
pub mod man;
pub mod outbox;
pub mod pool;
pub mod progress;
pub mod provider;
pub mod release;
pub mod renew;
pub mod status;
pub mod style;
pub mod table;
pub mod token;
pub mod tx;
pub mod watch;
pub mod who;

use std::io::{self, Write};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context;
use bytes::Bytes;
use clap::{Args, ValueEnum};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::client::{Client, Server};
use crate::failed::Failed;

const HEADING: &str = "Connection";

/// Where the server is, and how to speak to it.
#[derive(Debug, Clone, Args)]
pub struct Connection {
    /// The server
    #[arg(long, env = "ALLOD_SERVER", hide_env_values = true, value_name = "URL", default_value = "http://127.0.0.1:8778", help_heading = HEADING)]
    pub server: Server,

    /// Proves to the server who you are
    #[arg(long, env = "ALLOD_TOKEN", hide_env_values = true, help_heading = HEADING, hide_short_help = true)]
    pub token: Option<String>,

    /// The file that has the token, which keeps it out of the list of processes
    #[arg(long, env = "ALLOD_TOKEN_FILE", hide_env_values = true, value_name = "FILE", help_heading = HEADING, hide_short_help = true)]
    pub token_file: Option<PathBuf>,

    /// The certificate, or several, that vouches for an https:// server [default: those of this machine]
    #[arg(long, env = "ALLOD_CA", hide_env_values = true, value_name = "FILE", help_heading = HEADING, hide_short_help = true)]
    pub ca: Option<PathBuf>,

    /// How long an answer may take
    #[arg(long, env = "ALLOD_TIMEOUT", hide_env_values = true, value_name = "TIME", default_value = "60s", value_parser = format::duration, help_heading = HEADING, hide_short_help = true)]
    pub timeout: Duration,

    /// For how long to go on asking a server that answers "try again later"
    #[arg(long, env = "ALLOD_PATIENCE", hide_env_values = true, value_name = "TIME", default_value = "10s", value_parser = format::duration, help_heading = HEADING, hide_short_help = true)]
    pub patience: Duration,
}

impl Connection {
    pub fn client(self) -> Result<Client, Failed> {
        let token = match (self.token.filter(|token| !token.is_empty()), self.token_file) {
            (Some(token), _) => Some(token),
            (None, Some(path)) => {
                let text = std::fs::read_to_string(&path)
                    .with_context(|| format!("the token file {}", path.display()))
                    .map_err(Failed::Asked)?;
                Some(text.trim().to_owned())
            }
            (None, None) => None,
        };
        let mut server = self.server;
        server.ca = self.ca;
        Ok(Client { server, token, timeout: self.timeout, patience: self.patience })
    }
}

/// How the answer is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum Form {
    /// For people.
    #[default]
    Table,
    /// The server's own JSON, for scripts.
    Json,
}

/// What every command that shows an answer takes.
#[derive(Debug, Clone, Args)]
pub struct Shown {
    /// A table for people, or the server's own JSON for scripts
    #[arg(
        long,
        short,
        value_enum,
        value_name = "FORM",
        env = "ALLOD_OUTPUT",
        hide_env_values = true,
        default_value_t
    )]
    pub output: Form,

    #[command(flatten)]
    pub connection: Connection,
}

impl Shown {
    /// Runs a command with a client. Where JSON is wanted, the server's refusal is an answer, too.
    pub fn run<W>(self, work: W) -> Result<(), Failed>
    where
        W: AsyncFnOnce(&Client, Form) -> Result<(), Failed>,
    {
        let form = self.output;
        let client = self.connection.client()?;
        let done = block_on(work(&client, form))?;
        if form == Form::Json
            && let Err(failed) = &done
            && let Some(body) = failed.body()
        {
            json::print(body)?;
        }
        done
    }
}

/// Runs to the end what waits for the network. Commands have one thread: they do one thing.
pub fn block_on<T>(work: impl Future<Output = T>) -> Result<T, Failed> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    Ok(runtime.map_err(|error| Failed::Running(error.into()))?.block_on(work))
}

/// Ends with the work, or when nobody reads stdout any more: what goes on for long may have nothing to write for long,
/// and would not notice.
async fn while_read(work: impl Future<Output = Result<(), Failed>>) -> Result<(), Failed> {
    const LOOK_EVERY: Duration = Duration::from_millis(250);
    let unread = async {
        while is_read() {
            tokio::time::sleep(LOOK_EVERY).await;
        }
    };
    tokio::select! {
        done = work => done,
        () = unread => Err(Failed::Unread),
    }
}

/// Whether stdout has a reader, or is of a kind that needs none.
fn is_read() -> bool {
    let out = io::stdout();
    // Asks for nothing but what is told unasked: that the other end is gone.
    let mut asked = [PollFd::new(&out, PollFlags::empty())];
    let answered = poll(&mut asked, Some(&Timespec::default()));
    answered.is_err() || !asked[0].revents().contains(PollFlags::ERR)
}

/// Writes data to stdout.
pub fn print(text: &str) -> Result<(), Failed> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(Failed::writing)
}

/// Says something to whoever watches.
pub fn say(text: &str) {
    // Talk that nobody hears is no reason to fail.
    drop(writeln!(io::stderr(), "{text}"));
}

/// Understands an answer for a table.
fn read<'a, T: serde::Deserialize<'a>>(body: &'a Bytes) -> Result<T, Failed> {
    serde_json::from_slice(body)
        .context("the server's answer is not as expected; is it of another version? `--output json` shows it as it is")
        .map_err(Failed::Running)
}
