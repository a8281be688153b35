//! Progress of what takes long: a bar that is drawn anew on a terminal, now and then a line otherwise.

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use super::format;

/// A terminal is drawn on this often; what is quicker shows nothing at all.
const DRAW_EVERY: Duration = Duration::from_millis(100);
/// A log gets a line this often.
const SAY_EVERY: Duration = Duration::from_secs(10);
const WIDTH: usize = 30;

/// What is being done, how far it is, and of how much if that is known.
#[derive(Debug)]
pub struct Progress {
    what: &'static str,
    count: fn(u64) -> String,
    whole: Option<u64>,
    began: Instant,
    said: Instant,
    terminal: bool,
    drawn: bool,
}

impl Progress {
    /// `count` says a number of what is counted, such as `7 records`.
    pub fn new(what: &'static str, count: fn(u64) -> String, whole: Option<u64>) -> Progress {
        let now = Instant::now();
        let terminal = io::stderr().is_terminal();
        Progress { what, count, whole, began: now, said: now, terminal, drawn: false }
    }

    /// It is this far now. Cheap: call it as often as you like.
    pub fn at(&mut self, done: u64) {
        let every = if self.terminal { DRAW_EVERY } else { SAY_EVERY };
        if self.said.elapsed() < every {
            return;
        }
        self.said = Instant::now();
        let line = line(self.what, self.count, done, self.whole, self.began.elapsed());
        let text = if self.terminal { format!("\r\x1b[K{line}") } else { format!("{line}\n") };
        self.drawn = self.terminal;
        // Progress that nobody sees is no reason to fail.
        drop(io::stderr().write_all(text.as_bytes()));
    }
}

impl Drop for Progress {
    /// Takes the bar away: what comes after it says how it went.
    fn drop(&mut self) {
        if self.drawn {
            drop(io::stderr().write_all(b"\r\x1b[K"));
        }
    }
}

fn line(
    what: &str,
    count: fn(u64) -> String,
    done: u64,
    whole: Option<u64>,
    took: Duration,
) -> String {
    let rate = (done as f64 / took.as_secs_f64().max(0.001)) as u64;
    match whole {
        Some(whole) => {
            let (done, whole) = (u128::from(done), u128::from(whole));
            let bar = format::bar(done, whole, WIDTH);
            let left = whole.saturating_sub(done) / u128::from(rate.max(1));
            let left = format::ago(Duration::from_secs(u64::try_from(left).unwrap_or(u64::MAX)));
            format!("{what} {bar} {}, {}/s, {left} left", format::percent(done, whole), count(rate))
        }
        None => format!("{what} {}, {}/s", count(done), count(rate)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_how_far_and_how_long() {
        let took = Duration::from_secs(10);
        assert_eq!(
            line("verifying", |n| format!("{n} records"), 500, Some(1000), took),
            "verifying ███████████████░░░░░░░░░░░░░░░ 50.0%, 50 records/s, 10s left"
        );
        assert_eq!(
            line("receiving", |n| format::bytes(n as f64), 20_480, None, took),
            "receiving 20.0 KiB, 2.0 KiB/s"
        );
    }
}
