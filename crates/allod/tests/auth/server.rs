//! The binary as a server with tokens and TLS, and a client that speaks to it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

pub fn allod(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_allod"));
    command.args(arguments).env_clear().stdin(Stdio::null());
    command
}

pub fn run(arguments: &[&str]) -> Output {
    allod(arguments).output().unwrap()
}

pub struct Server {
    child: Child,
    /// With `http` or `https`.
    scheme: String,
    address: String,
    /// Keeps reading what the server says, so that it never waits for us.
    talk: Option<std::thread::JoinHandle<String>>,
}

/// A connection, with or without TLS.
pub trait Socket: Read + Write {}
impl<T: Read + Write> Socket for T {}

impl Server {
    pub fn start(data: &Path, more: &[&str]) -> Server {
        let data = data.to_str().unwrap();
        let log = ["--log", "info,allod::access=debug"];
        let mut child = allod(&["serve", "--listen", "127.0.0.1:0", "--data", data])
            .args(log)
            .args(more)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap());
        let mut said = String::new();
        let (scheme, address) = loop {
            let mut line = String::new();
            assert!(lines.read_line(&mut line).unwrap() > 0, "it did not start: {said}");
            said.push_str(&line);
            if let Some(url) = line.trim().strip_prefix("listening on ") {
                let (scheme, address) = url.split_once("://").unwrap();
                break (scheme.to_owned(), address.to_owned());
            }
        };
        let talk = std::thread::spawn(move || {
            lines.read_to_string(&mut said).unwrap();
            said
        });
        Server { child, scheme, address, talk: Some(talk) }
    }

    pub fn scheme(&self) -> &str {
        &self.scheme
    }

    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream
    }

    /// A TLS connection of a client that trusts this authority.
    pub fn connect_tls(
        &self,
        ca: &CertificateDer<'static>,
    ) -> StreamOwned<ClientConnection, TcpStream> {
        let mut roots = RootCertStore::empty();
        roots.add(ca.clone()).unwrap();
        let config = ClientConfig::builder_with_provider(ring::default_provider().into())
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        let name = ServerName::try_from("localhost").unwrap();
        let session = ClientConnection::new(Arc::new(config), name).unwrap();
        StreamOwned::new(session, self.connect())
    }

    pub fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-s", name, &pid]).status().unwrap().success());
    }

    /// Asks it to stop; everything that it said.
    pub fn stop(mut self) -> String {
        self.signal("TERM");
        assert_eq!(self.child.wait().unwrap().code(), Some(0));
        self.talk.take().unwrap().join().unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Only a test that failed gets here with a server that still runs.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Sends a request and reads to the end of the connection.
pub fn ask(socket: &mut dyn Socket, method: &str, path: &str, token: &str, body: &str) -> String {
    let token = match token {
        "" => String::new(),
        token => format!("authorization: Bearer {token}\r\n"),
    };
    let len = body.len();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nconnection: close\r\n{token}content-length: {len}\r\n\r\n{body}"
    );
    socket.write_all(head.as_bytes()).unwrap();
    socket.flush().unwrap();
    let mut reply = Vec::new();
    let _ = socket.read_to_end(&mut reply);
    String::from_utf8_lossy(&reply).into_owned()
}

/// Tries until it is so, for a while.
pub fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_secs(20), "not in time: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}
