//! How a command can fail: its exit code, and what it prints on stderr.
//!
//! Scripts rely on the exit codes. `EXIT_CODES` documents them in the help and the man page.

use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;

use bytes::Bytes;

use crate::output::style;

pub const EXIT_CODES: &str = "\
Exit codes:
  0  success
  1  failed: the server cannot be reached, or an internal error
  2  the command line or the configuration is wrong
  3  the journal is damaged
  4  refused: the server rejects the request in its present state
  5  not found: no such pool, claim or position
  6  not allowed: the token is missing, unknown or lacks the role
  7  try again later: the server is starting, stopping or overloaded";

/// Why a command failed. Each variant but the last is one exit code.
#[derive(Debug)]
pub enum CommandError {
    Failed(anyhow::Error),
    /// The command line or the configuration is wrong.
    Usage(anyhow::Error),
    /// The journal is damaged.
    Unsound(anyhow::Error),
    Refused(anyhow::Error),
    NotFound(anyhow::Error),
    Denied(anyhow::Error),
    /// The same request may succeed later.
    Unavailable(anyhow::Error),
    /// The reader of stdout closed its end, as in `allod watch | head -1`. Exits with success.
    OutputClosed,
}

/// An error with advice on what to do about it.
#[derive(Debug)]
pub struct AdvisedError {
    pub what: String,
    /// One sentence each.
    pub advice: Vec<String>,
    /// The server's answer, for `--output json`.
    pub body: Option<Bytes>,
}

impl fmt::Display for AdvisedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl std::error::Error for AdvisedError {}

pub fn with_advice(what: impl Into<String>, advice: impl Into<String>) -> anyhow::Error {
    AdvisedError { what: what.into(), advice: vec![advice.into()], body: None }.into()
}

pub type Result<T, E = CommandError> = std::result::Result<T, E>;

impl CommandError {
    pub fn failed(error: impl Into<anyhow::Error>) -> CommandError {
        CommandError::Failed(error.into())
    }

    pub fn usage(error: impl Into<anyhow::Error>) -> CommandError {
        CommandError::Usage(error.into())
    }

    /// The exit code and the error.
    fn parts(&self) -> Option<(u8, &anyhow::Error)> {
        match self {
            CommandError::Failed(error) => Some((1, error)),
            CommandError::Usage(error) => Some((2, error)),
            CommandError::Unsound(error) => Some((3, error)),
            CommandError::Refused(error) => Some((4, error)),
            CommandError::NotFound(error) => Some((5, error)),
            CommandError::Denied(error) => Some((6, error)),
            CommandError::Unavailable(error) => Some((7, error)),
            CommandError::OutputClosed => None,
        }
    }

    /// The server's answer, if the server refused the request.
    pub fn body(&self) -> Option<&Bytes> {
        self.parts()?.1.downcast_ref::<AdvisedError>()?.body.as_ref()
    }

    /// An error of writing to stdout.
    pub fn output(error: io::Error) -> CommandError {
        if error.kind() == io::ErrorKind::BrokenPipe {
            CommandError::OutputClosed
        } else {
            CommandError::Failed(anyhow::Error::from(error).context("cannot write the output"))
        }
    }

    /// Prints the error and the advice to stderr, and returns the exit code.
    pub fn report(self) -> ExitCode {
        let Some((code, error)) = self.parts() else { return ExitCode::SUCCESS };
        let coloured = style::use_colour(io::stderr().is_terminal());
        // Some texts have several lines; everything else in them must not control the terminal.
        let shown: Vec<String> = format!("{error:#}").lines().map(style::escape_controls).collect();
        let mut text = format!("{} {}\n", style::error("error:", coloured), shown.join("\n"));
        if let Some(advised) = error.downcast_ref::<AdvisedError>() {
            for advice in &advised.advice {
                let advice = style::escape_controls(advice);
                text.push_str(&format!("{} {advice}\n", style::bold("help:", coloured)));
            }
        }
        // With stderr closed, the exit code still reports the failure.
        drop(io::stderr().write_all(text.as_bytes()));
        ExitCode::from(code)
    }
}
