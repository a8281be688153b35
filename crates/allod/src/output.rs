//! Output of commands: data on stdout, messages on stderr.

pub mod changes;
pub mod format;
pub mod json;
pub mod progress;
pub mod style;
pub mod table;

use std::io::{self, Write};
use std::time::Duration;

use clap::ValueEnum;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::error::{CommandError, Result};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum OutputFormat {
    #[default]
    Table,
    /// The server's JSON, unchanged.
    Json,
}

/// Writes data to stdout.
pub fn print(text: &str) -> Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(CommandError::output)
}

/// Writes a message of one line to stderr. Control characters are escaped. A closed stderr is not an error.
pub fn message(text: &str) {
    drop(writeln!(io::stderr(), "{}", style::escape_controls(text)));
}

/// Runs `work` until it ends or the reader of stdout closes its end. Commands that follow changes may have nothing to
/// write for a long time, and would not notice a closed pipe otherwise.
pub async fn until_output_closed(work: impl Future<Output = Result<()>>) -> Result<()> {
    const POLL_EVERY: Duration = Duration::from_millis(250);
    let closed = async {
        while output_is_open() {
            tokio::time::sleep(POLL_EVERY).await;
        }
    };
    tokio::select! {
        done = work => done,
        () = closed => Err(CommandError::OutputClosed),
    }
}

/// Whether stdout can be written to. Files and terminals are always open.
fn output_is_open() -> bool {
    let out = io::stdout();
    // With no flags, poll still reports POLLERR, which says that the other end is closed.
    let mut polled = [PollFd::new(&out, PollFlags::empty())];
    let result = poll(&mut polled, Some(&Timespec::default()));
    result.is_err() || !polled[0].revents().contains(PollFlags::ERR)
}
