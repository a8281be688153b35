//! A server process on a data folder.

use std::path::Path;
use std::process::{Command, Output, Stdio};

pub use allod_testkit::server::Server;

/// The command line of a server on this folder.
pub fn arguments(data: &Path) -> Vec<String> {
    let data = data.to_str().unwrap();
    // Many checkpoints, so that some are being written at the kill.
    let arguments = ["serve", "--listen", "127.0.0.1:0", "--data", data];
    let more = ["--limit", "checkpoint_bytes=20000", "--log", "warn"];
    arguments.into_iter().chain(more).map(str::to_owned).collect()
}

pub fn allod(arguments: &[String]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_allod"));
    command.args(arguments).env_clear().stdin(Stdio::null());
    command
}

/// Runs a server that must fail to start.
pub fn run(data: &Path) -> (Option<i32>, String) {
    let Output { status, stderr, .. } = allod(&arguments(data)).output().unwrap();
    (status.code(), String::from_utf8(stderr).unwrap())
}

pub fn start(data: &Path) -> Server {
    Server::of(allod(&arguments(data)))
}
