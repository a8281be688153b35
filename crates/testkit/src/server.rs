//! A server process under test: started by its command line, spoken to, killed, stopped, and never left behind.

#![expect(clippy::unwrap_used, reason = "a test stops where it cannot go on")]

use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::http::{Client, Response};

#[derive(Debug)]
pub struct Server {
    child: Child,
    /// `http` or `https`.
    pub scheme: String,
    pub address: SocketAddr,
    /// Keeps reading what the server says, so that it never waits for us. `None`: we cannot hear it.
    talk: Option<JoinHandle<String>>,
}

impl Server {
    /// Starts this command line, and waits until it is ready.
    pub fn of(command: Command) -> Server {
        Server::listening(command).ready()
    }

    /// The same for one that cannot say where it listens, because what it says goes elsewhere.
    pub fn unheard(mut command: Command, address: SocketAddr) -> Server {
        let child = command.spawn().unwrap();
        Server { child, scheme: "http".to_owned(), address, talk: None }.ready()
    }

    fn ready(mut self) -> Server {
        let began = Instant::now();
        let is_ready = |server: &Server| {
            let answer = server.client().send("GET", "/readyz", &[], None);
            answer.is_ok_and(|answer| answer.status == 200)
        };
        while !is_ready(&self) {
            assert_eq!(self.child.try_wait().unwrap(), None, "it ended");
            assert!(began.elapsed() < Duration::from_secs(20), "it does not get ready");
            std::thread::sleep(Duration::from_millis(5));
        }
        self
    }

    /// Starts this command line, and waits until it listens, whatever it speaks there.
    pub fn listening(mut command: Command) -> Server {
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap());
        let mut said = String::new();
        let (scheme, address) = loop {
            let mut line = String::new();
            assert!(lines.read_line(&mut line).unwrap() > 0, "it did not start: {said}");
            said.push_str(&line);
            if let Some(url) = line.trim().strip_prefix("listening on ") {
                let (scheme, address) = url.split_once("://").unwrap();
                break (scheme.to_owned(), address.parse().unwrap());
            }
        };
        let talk = std::thread::spawn(move || {
            lines.read_to_string(&mut said).unwrap();
            said
        });
        Server { child, scheme, address, talk: Some(talk) }
    }

    pub fn client(&self) -> Client {
        Client::new(self.address, Duration::from_secs(20))
    }

    pub fn get(&self, path: &str) -> Response {
        self.client().send("GET", path, &[], None).unwrap()
    }

    pub fn put(&self, path: &str, body: &str) -> Response {
        let sent = self.client().send("PUT", path, &[], Some(body));
        sent.unwrap_or_else(|error| panic!("PUT {path}: {error}"))
    }

    /// No time to say anything: SIGKILL. What it had said before.
    pub fn kill(mut self) -> String {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        self.said()
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits until it ends by itself; its exit code and what it said.
    pub fn wait(mut self) -> (Option<i32>, String) {
        let status = self.child.wait().unwrap();
        (status.code(), self.said())
    }

    fn said(&mut self) -> String {
        self.talk.take().map(|talk| talk.join().unwrap()).unwrap_or_default()
    }

    /// `TERM`, `HUP` and the like.
    pub fn signal(&self, name: &str) {
        let pid = self.pid().to_string();
        assert!(Command::new("kill").args(["-s", name, &pid]).status().unwrap().success());
    }

    /// Asks it to stop; its exit code and what it said.
    pub fn stop(self) -> (Option<i32>, String) {
        self.signal("TERM");
        self.wait()
    }
}

impl Drop for Server {
    /// A test that fails leaves no server behind.
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
