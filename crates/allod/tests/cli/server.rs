//! A real server for a session, on a free port of this machine.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};

pub struct Server {
    child: Child,
    pub address: String,
    /// Keeps reading what the server says, so that it never waits for us.
    talk: Option<std::thread::JoinHandle<()>>,
}

impl Server {
    pub fn start(data: &Path) -> Server {
        let mut child = Command::new(env!("CARGO_BIN_EXE_allod"))
            .args(["serve", "--listen", "127.0.0.1:0", "--data", data.to_str().unwrap()])
            .env_clear()
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap());
        let address = loop {
            let mut line = String::new();
            assert!(lines.read_line(&mut line).unwrap() > 0, "the server did not start");
            if let Some(address) = line.trim().strip_prefix("listening on http://") {
                break address.to_owned();
            }
        };
        let talk = std::thread::spawn(move || {
            let mut rest = String::new();
            drop(lines.read_to_string(&mut rest));
        });
        Server { child, address, talk: Some(talk) }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Nothing to be done if it has ended already.
        drop(self.child.kill());
        drop(self.child.wait());
        drop(self.talk.take().map(std::thread::JoinHandle::join));
    }
}
