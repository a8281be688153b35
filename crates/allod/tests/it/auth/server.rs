//! A server process with tokens and TLS, and a client for it.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Output, Stdio};
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

pub struct Server(allod_testkit::server::Server);

/// A connection, with or without TLS.
pub trait Socket: Read + Write {}
impl<T: Read + Write> Socket for T {}

impl Server {
    pub fn start(data: &Path, more: &[&str]) -> Server {
        let data = data.to_str().unwrap();
        let log = ["--log", "info,allod::access=debug"];
        let mut command = allod(&["serve", "--listen", "127.0.0.1:0", "--data", data]);
        command.args(log).args(more);
        Server(allod_testkit::server::Server::listening(command))
    }

    pub fn scheme(&self) -> &str {
        &self.0.scheme
    }

    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.0.address).unwrap();
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
        self.0.signal(name);
    }

    /// Stops the server and returns its stderr.
    pub fn stop(self) -> String {
        let (code, said) = self.0.stop();
        assert_eq!(code, Some(0), "{said}");
        said
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
        "{method} {path} HTTP/1.1\r\nconnection: close\r\n{token}content-type: application/json\r\ncontent-length: {len}\r\n\r\n{body}"
    );
    socket.write_all(head.as_bytes()).unwrap();
    socket.flush().unwrap();
    let mut reply = Vec::new();
    let _ = socket.read_to_end(&mut reply);
    String::from_utf8_lossy(&reply).into_owned()
}

/// Retries until the condition holds, with a time limit.
pub fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_secs(20), "not in time: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}
