//! A client that sends one request at a time, to prepare a scenario and check its result. `load` does the measuring.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use allod_testkit::reply;
use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::load::write_request;

#[derive(Debug)]
pub struct Caller {
    stream: TcpStream,
}

impl Caller {
    pub fn connect(address: SocketAddr) -> Result<Caller> {
        let stream =
            TcpStream::connect(address).with_context(|| format!("connecting to {address}"))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(Duration::from_secs(60)))?;
        Ok(Caller { stream })
    }

    /// Returns the status and the body.
    pub fn call(&mut self, method: &str, path: &str, body: Option<&str>) -> Result<(u16, String)> {
        let mut out = Vec::new();
        write_request(&mut out, method, path, body.map(str::as_bytes));
        self.stream.write_all(&out)?;
        let (mut input, mut chunk) = (Vec::new(), [0; 16 * 1024]);
        loop {
            let count = self.stream.read(&mut chunk)?;
            if count == 0 {
                bail!("the server closed the connection");
            }
            input.extend_from_slice(&chunk[..count]);
            if let Some(parsed) = reply::parse(&input).map_err(anyhow::Error::msg)? {
                let text = String::from_utf8_lossy(&input[parsed.body]).into_owned();
                return Ok((parsed.status, text));
            }
        }
    }

    /// Sends a request that must succeed.
    pub fn expect(&mut self, method: &str, path: &str, body: Option<&str>) -> Result<String> {
        let (status, text) = self.call(method, path, body)?;
        if !(200..300).contains(&status) {
            bail!("{method} {path} answered {status}: {text}");
        }
        Ok(text)
    }

    pub fn put_pool(&mut self, pool: &str, spec: &str) -> Result<()> {
        self.expect("PUT", &format!("/v1/pools/{pool}"), Some(spec)).map(drop)
    }

    pub fn get(&mut self, path: &str) -> Result<Value> {
        let text = self.expect("GET", path, None)?;
        serde_json::from_str(&text).with_context(|| format!("the answer to GET {path} is not JSON"))
    }
}
