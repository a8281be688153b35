//! Progress of long operations on stderr: a bar on a terminal, a line now and then otherwise.

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use super::format;

/// Interval on a terminal. Shorter operations show no bar.
const DRAW_EVERY: Duration = Duration::from_millis(100);
/// Interval of lines without a terminal.
const LINE_EVERY: Duration = Duration::from_secs(10);
const WIDTH: usize = 30;
/// Moves to the begin of the line of a terminal, and clears it.
const CLEAR: &str = "\r\x1b[K";

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
    /// `count` formats a number with its unit, such as `7 records`.
    pub fn new(what: &'static str, count: fn(u64) -> String, whole: Option<u64>) -> Progress {
        let now = Instant::now();
        let terminal = io::stderr().is_terminal();
        Progress { what, count, whole, began: now, said: now, terminal, drawn: false }
    }

    /// Reports how much is done. Cheap enough to call for every item.
    pub fn at(&mut self, done: u64) {
        let every = if self.terminal { DRAW_EVERY } else { LINE_EVERY };
        if self.said.elapsed() < every {
            return;
        }
        self.said = Instant::now();
        let line = line(self.what, self.count, done, self.whole, self.began.elapsed());
        let text = if self.terminal { format!("{CLEAR}{line}") } else { format!("{line}\n") };
        self.drawn = self.terminal;
        // A closed stderr is not an error.
        drop(io::stderr().write_all(text.as_bytes()));
    }
}

impl Drop for Progress {
    /// Removes the bar.
    fn drop(&mut self) {
        if self.drawn {
            drop(io::stderr().write_all(CLEAR.as_bytes()));
        }
    }
}

/// What is being waited for: one line on a terminal, which is replaced and removed at the end; messages otherwise.
#[derive(Debug)]
pub struct StatusLine {
    terminal: bool,
    drawn: bool,
}

impl StatusLine {
    pub fn new() -> StatusLine {
        StatusLine { terminal: io::stderr().is_terminal(), drawn: false }
    }

    pub fn show(&mut self, text: &str) {
        if self.terminal {
            self.drawn = true;
            drop(io::stderr().write_all(format!("{CLEAR}{text}").as_bytes()));
        } else {
            super::message(text);
        }
    }
}

impl Drop for StatusLine {
    fn drop(&mut self) {
        if self.drawn {
            drop(io::stderr().write_all(CLEAR.as_bytes()));
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
            let left = format::short_duration(Duration::from_secs(
                u64::try_from(left).unwrap_or(u64::MAX),
            ));
            format!("{what} {bar} {}, {}/s, {left} left", format::percent(done, whole), count(rate))
        }
        None => format!("{what} {}, {}/s", count(done), count(rate)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_the_percentage_and_the_time_left() {
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
