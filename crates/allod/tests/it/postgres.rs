//! The real binary on a real PostgreSQL: two servers on one journal, killed and paused, connections cut, fail-over.

mod failover;
mod frozen;
mod rivals;
mod serving;

use std::process::Command;
use std::time::{Duration, Instant};

use crate::crash::server::{self, Server};

/// The command line of a server on this journal.
fn command(url: &str, more: &[&str]) -> Command {
    let usual = ["serve", "--listen", "127.0.0.1:0", "--journal", url];
    let arguments: Vec<String> = usual.iter().chain(more).map(|&text| text.to_owned()).collect();
    server::allod(&arguments)
}

fn start(url: &str) -> Server {
    Server::of(command(url, &["--limit", "checkpoint_bytes=20000"]))
}

/// Runs a server that must fail to start. Returns its exit code and stderr.
fn refused(url: &str, more: &[&str]) -> (Option<i32>, String) {
    let output = command(url, more).output().unwrap();
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

/// Waits until the condition holds.
#[track_caller]
fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < Duration::from_secs(30), "not in half a minute: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

const POOL: &str = r#"{"kind":"id32","ranges":["1-1000"]}"#;
