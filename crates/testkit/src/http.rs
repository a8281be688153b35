//! A small HTTP client with one persistent connection, so that tests do not depend on a library that the server uses.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// A connection that is opened on demand and kept while it works.
#[derive(Debug)]
pub struct Client {
    address: SocketAddr,
    timeout: Duration,
    stream: Option<BufReader<TcpStream>>,
}

#[derive(Debug, Clone)]
pub struct Response {
    pub status: u16,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Response {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

fn broken(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.to_owned())
}

impl Client {
    pub fn new(address: SocketAddr, timeout: Duration) -> Client {
        Client { address, timeout, stream: None }
    }

    /// Sends a request and reads its response. After an error the outcome is unknown.
    pub fn send(
        &mut self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<&str>,
    ) -> io::Result<Response> {
        let mut stream = match self.stream.take() {
            Some(stream) => stream,
            None => {
                let stream = TcpStream::connect_timeout(&self.address, self.timeout)?;
                stream.set_nodelay(true)?;
                stream.set_read_timeout(Some(self.timeout))?;
                stream.set_write_timeout(Some(self.timeout))?;
                BufReader::new(stream)
            }
        };
        let mut request = format!("{method} {path} HTTP/1.1\r\nhost: {}\r\n", self.address);
        for (name, value) in headers {
            request.push_str(&format!("{name}: {value}\r\n"));
        }
        if let Some(body) = body {
            request.push_str("content-type: application/json\r\n");
            request.push_str(&format!("content-length: {}\r\n", body.len()));
        }
        request.push_str("\r\n");
        request.push_str(body.unwrap_or_default());
        stream.get_mut().write_all(request.as_bytes())?;
        let response = read_response(&mut stream)?;
        if response.header("connection") != Some("close") {
            self.stream = Some(stream);
        }
        Ok(response)
    }
}

fn read_response(stream: &mut BufReader<TcpStream>) -> io::Result<Response> {
    let line = read_line(stream)?;
    let status = line.split(' ').nth(1).and_then(|status| status.parse().ok());
    let status: u16 = status.ok_or_else(|| broken("the status line has no status"))?;
    let mut headers = Vec::new();
    loop {
        let line = read_line(stream)?;
        if line.is_empty() {
            break;
        }
        let (name, value) = line.split_once(':').ok_or_else(|| broken("a header has no colon"))?;
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let mut response = Response { status, headers, body: Vec::new() };
    if status == 204 || status == 304 {
        return Ok(response);
    }
    if response.header("transfer-encoding") == Some("chunked") {
        loop {
            let line = read_line(stream)?;
            let size = usize::from_str_radix(line.trim(), 16)
                .map_err(|_| broken("a chunk has no valid size"))?;
            let start = response.body.len();
            response.body.resize(start + size, 0);
            stream.read_exact(&mut response.body[start..])?;
            read_line(stream)?;
            if size == 0 {
                return Ok(response);
            }
        }
    }
    let length = response.header("content-length").and_then(|length| length.parse().ok());
    response.body.resize(length.unwrap_or(0), 0);
    stream.read_exact(&mut response.body)?;
    Ok(response)
}

fn read_line(stream: &mut BufReader<TcpStream>) -> io::Result<String> {
    let mut line = String::new();
    if stream.read_line(&mut line)? == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    line.truncate(line.trim_end_matches(['\r', '\n']).len());
    Ok(line)
}
