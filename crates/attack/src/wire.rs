//! Bytes on a socket: what a client sends that does not follow the protocol.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

/// The longest that one exchange may take.
const EXCHANGE_MAX: Duration = Duration::from_secs(60);

/// What came back.
#[derive(Debug)]
pub struct Exchange {
    pub text: String,
    /// The server ended the connection.
    pub is_closed: bool,
}

impl Exchange {
    /// The statuses of all answers on the connection.
    pub fn statuses(&self) -> Vec<u16> {
        let heads = self.text.split("HTTP/1.1 ").skip(1);
        heads.filter_map(|head| head.get(..3)?.parse().ok()).collect()
    }

    pub fn status(&self) -> Option<u16> {
        self.statuses().first().copied()
    }
}

pub fn connect(address: SocketAddr) -> Result<TcpStream> {
    let stream = TcpStream::connect_timeout(&address, EXCHANGE_MAX).context("connecting")?;
    stream.set_nodelay(true)?;
    stream.set_write_timeout(Some(EXCHANGE_MAX))?;
    stream.set_read_timeout(Some(EXCHANGE_MAX))?;
    Ok(stream)
}

/// Sends bytes and reads until the connection ends or nothing arrives for `silence`.
pub fn exchange(address: SocketAddr, bytes: &[u8], silence: Duration) -> Result<Exchange> {
    let mut stream = connect(address)?;
    // The server may refuse and close before everything is sent.
    let _ = stream.write_all(bytes);
    read_rest(&mut stream, silence)
}

/// Reads until the connection ends or nothing arrives for `silence`.
pub fn read_rest(stream: &mut TcpStream, silence: Duration) -> Result<Exchange> {
    stream.set_read_timeout(Some(silence))?;
    let begun = Instant::now();
    let (mut all, mut chunk) = (Vec::new(), [0; 16 * 1024]);
    let is_closed = loop {
        if begun.elapsed() > EXCHANGE_MAX {
            break false;
        }
        match stream.read(&mut chunk) {
            Ok(0) => break true,
            Ok(count) => all.extend_from_slice(&chunk[..count]),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                break false;
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            // Reset: the server has closed while data was on its way.
            Err(_) => break true,
        }
    };
    Ok(Exchange { text: String::from_utf8_lossy(&all).into_owned(), is_closed })
}

/// A request with these headers that ends its connection.
pub fn request(method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Vec<u8> {
    let mut out = format!("{method} {path} HTTP/1.1\r\nconnection: close\r\n");
    if !headers.iter().any(|(name, _)| *name == "host") {
        out.push_str("host: localhost\r\n");
    }
    for (name, value) in headers {
        out.push_str(&format!("{name}: {value}\r\n"));
    }
    if !body.is_empty() {
        out.push_str(&format!("content-length: {}\r\n", body.len()));
    }
    out.push_str("\r\n");
    let mut out = out.into_bytes();
    out.extend_from_slice(body);
    out
}
