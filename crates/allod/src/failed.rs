//! How a command can fail: its exit code, and what it says on stderr.
//!
//! The codes are a promise to scripts. `EXIT_CODES` is what the help and the man page say about them.

use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;

use bytes::Bytes;

use crate::cli::style;

pub const EXIT_CODES: &str = "\
Exit codes:
  0  done
  1  failed: the server cannot be reached, or something broke
  2  the command line or the configuration is wrong
  3  the journal is not sound
  4  refused: the server could not do it as things are
  5  not found: there is no such pool, claim or position
  6  not allowed: the token is missing, unknown or too weak
  7  try again later: the server is starting, stopping or overloaded";

/// How a command went wrong, which is its exit code.
#[derive(Debug)]
pub enum Failed {
    /// What it tried did not work.
    Running(anyhow::Error),
    /// It was asked for something that cannot be meant.
    Asked(anyhow::Error),
    /// The journal is not sound.
    Unsound(anyhow::Error),
    /// The server will not do it as things are.
    Refused(anyhow::Error),
    /// It is about something that is not there.
    Missing(anyhow::Error),
    /// Whoever asks may not.
    Denied(anyhow::Error),
    /// It may work later.
    Later(anyhow::Error),
    /// Nobody reads the output any more. That is no error: `allod watch | head -1` has what it wanted.
    Unread,
}

/// A failure that comes with what to do about it.
#[derive(Debug)]
pub struct Advised {
    pub what: String,
    /// One sentence each.
    pub advice: Vec<String>,
    /// The server's own words, for whoever asked for JSON.
    pub body: Option<Bytes>,
}

impl fmt::Display for Advised {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl std::error::Error for Advised {}

/// An error with what to do about it.
pub fn advised(what: impl Into<String>, advice: impl Into<String>) -> anyhow::Error {
    Advised { what: what.into(), advice: vec![advice.into()], body: None }.into()
}

impl Failed {
    fn parts(self) -> Option<(u8, anyhow::Error)> {
        match self {
            Failed::Running(error) => Some((1, error)),
            Failed::Asked(error) => Some((2, error)),
            Failed::Unsound(error) => Some((3, error)),
            Failed::Refused(error) => Some((4, error)),
            Failed::Missing(error) => Some((5, error)),
            Failed::Denied(error) => Some((6, error)),
            Failed::Later(error) => Some((7, error)),
            Failed::Unread => None,
        }
    }

    fn error(&self) -> Option<&anyhow::Error> {
        match self {
            Failed::Running(error)
            | Failed::Asked(error)
            | Failed::Unsound(error)
            | Failed::Refused(error)
            | Failed::Missing(error)
            | Failed::Denied(error)
            | Failed::Later(error) => Some(error),
            Failed::Unread => None,
        }
    }

    /// What the server answered, if it was the server that refused.
    pub fn body(&self) -> Option<&Bytes> {
        self.error()?.downcast_ref::<Advised>()?.body.as_ref()
    }

    /// The same failure in the same words, with other advice.
    pub fn advised(self, advice: &str) -> Failed {
        let kind: fn(anyhow::Error) -> Failed = match self {
            Failed::Running(_) => Failed::Running,
            Failed::Asked(_) => Failed::Asked,
            Failed::Unsound(_) => Failed::Unsound,
            Failed::Refused(_) => Failed::Refused,
            Failed::Missing(_) => Failed::Missing,
            Failed::Denied(_) => Failed::Denied,
            Failed::Later(_) => Failed::Later,
            Failed::Unread => return self,
        };
        match self.parts() {
            Some((_, error)) => kind(advised(format!("{error:#}"), advice)),
            None => Failed::Unread,
        }
    }

    /// Output could not be written.
    pub fn writing(error: io::Error) -> Failed {
        if error.kind() == io::ErrorKind::BrokenPipe {
            Failed::Unread
        } else {
            Failed::Running(anyhow::Error::from(error).context("the output cannot be written"))
        }
    }

    /// Says what went wrong and what to do, and gives the exit code.
    pub fn tell(self) -> ExitCode {
        let Some((code, error)) = self.parts() else { return ExitCode::SUCCESS };
        let coloured = style::coloured(io::stderr().is_terminal());
        let mut text = format!("{} {error:#}\n", style::error("error:", coloured));
        if let Some(advised) = error.downcast_ref::<Advised>() {
            for advice in &advised.advice {
                text.push_str(&format!("{} {advice}\n", style::bold("help:", coloured)));
            }
        }
        // When stderr is gone there is nobody to tell; the exit code still says it.
        drop(io::stderr().write_all(text.as_bytes()));
        ExitCode::from(code)
    }
}
