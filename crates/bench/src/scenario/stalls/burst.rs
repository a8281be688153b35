//! The large requests of a round.

use std::collections::BTreeMap;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use allod_testkit::largest::LargeRequest;
use anyhow::{Context, Result, anyhow, bail, ensure};

/// What is sent beside the small clients.
pub enum Burst {
    /// Several clients send the requests in turn, for at least this long.
    Repeat { requests: Vec<LargeRequest>, clients: usize, time: Duration },
    /// One client sends each request once.
    Once(Vec<LargeRequest>),
    /// A program that must succeed.
    Program(Command),
}

/// What came back.
#[derive(Debug, Default)]
pub struct BurstSeen {
    /// How often each status was answered.
    statuses: BTreeMap<u16, u64>,
    /// The longest answer.
    bytes: u64,
}

impl BurstSeen {
    fn add(&mut self, (status, bytes): (u16, u64)) {
        *self.statuses.entry(status).or_default() += 1;
        self.bytes = self.bytes.max(bytes);
    }

    fn join(mut self, other: BurstSeen) -> BurstSeen {
        for (status, count) in other.statuses {
            *self.statuses.entry(status).or_default() += count;
        }
        self.bytes = self.bytes.max(other.bytes);
        self
    }

    pub fn shown(&self) -> String {
        let counts = self.statuses.iter().map(|(status, count)| match status {
            200..=299 => count.to_string(),
            _ => format!("{count} refused with {status}"),
        });
        let counts = counts.collect::<Vec<_>>().join(", ");
        match self.bytes >> 10 {
            0 => counts,
            kib => format!("{counts} of {kib} KiB"),
        }
    }
}

impl Burst {
    pub fn run(self, address: SocketAddr) -> Result<BurstSeen> {
        match self {
            Burst::Once(requests) => {
                let mut seen = BurstSeen::default();
                for request in &requests {
                    seen.add(fetch(address, request)?);
                }
                Ok(seen)
            }
            Burst::Repeat { requests, clients, time } => {
                let until = Instant::now() + time;
                std::thread::scope(|scope| {
                    let repeat = || -> Result<BurstSeen> {
                        let mut seen = BurstSeen::default();
                        while seen.statuses.is_empty() || Instant::now() < until {
                            for request in &requests {
                                seen.add(fetch(address, request)?);
                            }
                        }
                        Ok(seen)
                    };
                    let threads: Vec<_> = (0..clients).map(|_| scope.spawn(repeat)).collect();
                    threads.into_iter().try_fold(BurstSeen::default(), |sum, thread| {
                        let seen =
                            thread.join().map_err(|_| anyhow!("a large client panicked"))??;
                        Ok(sum.join(seen))
                    })
                })
            }
            Burst::Program(mut program) => {
                let output = program.stdin(Stdio::null()).output().context("starting a program")?;
                let said = String::from_utf8_lossy(&output.stderr).into_owned();
                ensure!(
                    output.status.success(),
                    "{program:?} ended with {}: {said}",
                    output.status
                );
                let mut seen = BurstSeen::default();
                seen.add((200, 0));
                Ok(seen)
            }
        }
    }
}

/// Sends a request on a connection of its own, reads the answer and discards it. Returns the status and the length.
pub fn fetch(address: SocketAddr, request: &LargeRequest) -> Result<(u16, u64)> {
    let mut request = request.clone();
    request.headers.push(("connection", "close"));
    let mut stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(Duration::from_secs(300)))?;
    // The server may refuse before everything is sent.
    let sent = stream.write_all(&request.bytes(None));
    let (mut start, mut bytes, mut chunk) = (Vec::new(), 0, vec![0; 256 * 1024]);
    loop {
        match stream.read(&mut chunk) {
            Ok(0) => break,
            Ok(count) => {
                bytes += count as u64;
                if start.len() < 600 {
                    start.extend_from_slice(&chunk[..count.min(600)]);
                }
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error).context("reading a large answer"),
        }
    }
    let start = String::from_utf8_lossy(&start).into_owned();
    let status = start.strip_prefix("HTTP/1.1 ").and_then(|rest| rest.get(..3)?.parse().ok());
    let LargeRequest { method, path, .. } = &request;
    match status {
        // A limit, or a lack of values, is an answer; what is measured is the time that it takes from others.
        Some(status @ (200..=299 | 409 | 413 | 422 | 429 | 503)) => Ok((status, bytes)),
        _ => bail!("{method} {path} answered {start} ({sent:?})"),
    }
}
