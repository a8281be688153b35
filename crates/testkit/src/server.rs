//! A server process under test. It is started with a command line and killed at the end of the test.

#![expect(clippy::unwrap_used, reason = "a panic fails the test")]

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
    /// Reads the server's output, so that the server never blocks. `None`: its output goes elsewhere.
    talk: Option<JoinHandle<String>>,
}

impl Server {
    /// Starts this command and waits until the server is ready.
    pub fn of(command: Command) -> Server {
        Server::listening(command).ready()
    }

    /// The same for a server whose output goes elsewhere; the caller knows its address.
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
            assert_eq!(self.child.try_wait().unwrap(), None, "the server exited");
            assert!(began.elapsed() < Duration::from_secs(20), "the server does not become ready");
            std::thread::sleep(Duration::from_millis(5));
        }
        self
    }

    /// Starts this command and waits until the server listens.
    pub fn listening(mut command: Command) -> Server {
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap());
        let mut said = String::new();
        let (scheme, address) = loop {
            let mut line = String::new();
            assert!(lines.read_line(&mut line).unwrap() > 0, "the server did not start: {said}");
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

    /// Kills the server with SIGKILL and returns its output.
    pub fn kill(mut self) -> String {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        self.said()
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits until the server exits. Returns its exit code and its output.
    pub fn wait(mut self) -> (Option<i32>, String) {
        let status = self.child.wait().unwrap();
        (status.code(), self.said())
    }

    fn said(&mut self) -> String {
        self.talk.take().map(|talk| talk.join().unwrap()).unwrap_or_default()
    }

    /// Sends a signal such as `TERM` or `HUP`.
    pub fn signal(&self, name: &str) {
        let pid = self.pid().to_string();
        assert!(Command::new("kill").args(["-s", name, &pid]).status().unwrap().success());
    }

    /// Stops the server with SIGTERM. Returns its exit code and its output.
    pub fn stop(self) -> (Option<i32>, String) {
        self.signal("TERM");
        self.wait()
    }
}

impl Drop for Server {
    /// A failing test leaves no server behind.
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
