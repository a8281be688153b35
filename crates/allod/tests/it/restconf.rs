//! RESTCONF on the real binary: hostile requests, and pools shared by two interfaces.

mod hostile;
mod settings;
mod shared;
mod terraform;
mod wire;

use std::path::Path;
use std::process::{Command, Stdio};

use allod_testkit::server::Server;

fn allod(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_allod"));
    command.args(arguments).env_clear().stdin(Stdio::null());
    command
}

/// A server on an empty folder, with this `allod.toml`.
fn start(folder: &Path, settings: &str) -> Server {
    let config = folder.join("allod.toml");
    std::fs::write(&config, settings).unwrap();
    let (data, config) = (folder.join("data"), config.to_str().unwrap());
    let data = data.to_str().unwrap();
    let arguments = ["serve", "--listen", "127.0.0.1:0", "--data", data, "--config", config];
    Server::of(allod(&arguments))
}
