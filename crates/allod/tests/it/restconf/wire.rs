//! Raw requests, which normal clients cannot send.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::{Value, json};

/// The answer, up to the end of the connection.
#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    pub text: String,
}

impl Reply {
    /// The body as JSON, if it has a length.
    pub fn json(&self) -> Value {
        let (_, body) = self.text.split_once("\r\n\r\n").unwrap();
        serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {}", self.text))
    }
}

pub fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream.set_write_timeout(Some(Duration::from_secs(20))).unwrap();
    stream
}

/// Sends one request on its own connection.
pub fn ask(address: SocketAddr, method: &str, path: &str, media_type: &str, body: &[u8]) -> Reply {
    let mut stream = connect(address);
    let head = format!(
        "{method} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: {media_type}\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    // The server may stop reading before the end.
    let _ = stream.write_all(body);
    read(stream)
}

/// Reads to the end of the connection.
pub fn read(mut stream: TcpStream) -> Reply {
    let mut bytes = Vec::new();
    match stream.read_to_end(&mut bytes) {
        Ok(_) => {}
        // The server answered without reading the rest of the request.
        Err(error) if error.kind() == ErrorKind::ConnectionReset && !bytes.is_empty() => {}
        Err(error) => panic!("no answer: {error}"),
    }
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let status = text.split(' ').nth(1).and_then(|status| status.parse().ok());
    Reply { status: status.unwrap_or_else(|| panic!("no status: {text}")), text }
}

/// An RPC of the id-manager, in the syntax of the RESTCONF draft.
pub fn call(address: SocketAddr, operation: &str, input: Value) -> Reply {
    let path = format!("/restconf/operations/id-manager:{operation}");
    let body = json!({ "input": input }).to_string();
    ask(address, "POST", &path, "application/json", body.as_bytes())
}

/// Allocates an ID for a key.
pub fn allocate(address: SocketAddr, pool: &str, key: &str) -> u64 {
    let reply = call(address, "allocateId", json!({ "pool-name": pool, "id-key": key }));
    assert_eq!(reply.status, 200, "{}", reply.text);
    reply.json()["output"]["id-value"].as_u64().unwrap()
}
