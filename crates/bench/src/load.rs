//! The load generator: many keep-alive connections on one thread, each sending its next request when the last is answered.
//!
//! One thread without a runtime, to leave the machine to the server under test. The [`Script`] of a connection produces the
//! requests and checks the answers.

pub mod latency;

use std::io::{ErrorKind, Read, Write};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use allod_testkit::reply;
use anyhow::{Context, Result, bail};
use mio::net::TcpStream;
use mio::{Events, Interest, Poll, Token};

use latency::Latencies;

/// The requests of one connection.
pub trait Script {
    /// Writes the next request into the empty `out`. Returns `false` if there are no more.
    fn request(&mut self, out: &mut Vec<u8>) -> bool;

    /// Checks the answer. An error ends the run.
    fn reply(&mut self, status: u16, body: &[u8]) -> Result<(), String>;
}

#[derive(Debug, Clone, Copy)]
pub enum Length {
    /// Counts answers for the time `measure`, after `warm_up`.
    Timed { warm_up: Duration, measure: Duration },
    /// Until every script has ended; counts all answers.
    UntilDone,
}

/// The result of a run.
#[derive(Debug)]
pub struct Measured {
    pub replies: u64,
    pub elapsed: Duration,
    pub latencies: Latencies,
}

impl Measured {
    pub fn per_second(&self) -> f64 {
        self.replies as f64 / self.elapsed.as_secs_f64()
    }
}

struct LoadConnection<S> {
    stream: TcpStream,
    script: S,
    out: Vec<u8>,
    /// How much of `out` is sent.
    sent: usize,
    input: Vec<u8>,
    /// When the pending request was sent.
    since: Option<Instant>,
}

const READ_BYTES: usize = 64 * 1024;

/// Without any answer in this time, the run fails.
const SILENCE_MAX: Duration = Duration::from_secs(30);

/// Runs one connection for each script, and waits for pending answers at the end.
pub fn run<S: Script>(address: SocketAddr, scripts: Vec<S>, length: Length) -> Result<Measured> {
    let mut poll = Poll::new().context("no poll")?;
    let mut connections = Vec::with_capacity(scripts.len());
    for (number, script) in scripts.into_iter().enumerate() {
        let stream = std::net::TcpStream::connect(address)
            .with_context(|| format!("connecting to {address}"))?;
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
        let mut stream = TcpStream::from_std(stream);
        let interest = Interest::READABLE | Interest::WRITABLE;
        poll.registry().register(&mut stream, Token(number), interest)?;
        connections.push(LoadConnection {
            stream,
            script,
            out: Vec::with_capacity(512),
            sent: 0,
            input: Vec::with_capacity(READ_BYTES),
            since: None,
        });
    }

    let start = Instant::now();
    let (from, until) = match length {
        Length::Timed { warm_up, measure } => (start + warm_up, Some(start + warm_up + measure)),
        Length::UntilDone => (start, None),
    };
    let mut run =
        LoadRun { from, until, replies: 0, under_way: 0, latencies: Latencies::default() };
    for connection in &mut connections {
        run.next(connection, start)?;
    }

    let mut events = Events::with_capacity(1024);
    let mut chunk = vec![0; READ_BYTES];
    while run.under_way > 0 {
        poll.poll(&mut events, Some(SILENCE_MAX)).or_else(|error| match error.kind() {
            ErrorKind::Interrupted => Ok(()),
            _ => Err(error),
        })?;
        if events.is_empty() {
            bail!("no answer for {} s", SILENCE_MAX.as_secs());
        }
        for event in &events {
            let connection = &mut connections[event.token().0];
            if event.is_writable() {
                connection.send()?;
            }
            if event.is_readable() || event.is_read_closed() {
                run.receive(connection, &mut chunk)?;
            }
        }
    }
    let end = until.unwrap_or_else(Instant::now);
    Ok(Measured { replies: run.replies, elapsed: end - from, latencies: run.latencies })
}

struct LoadRun {
    from: Instant,
    until: Option<Instant>,
    replies: u64,
    under_way: usize,
    latencies: Latencies,
}

impl LoadRun {
    fn next<S: Script>(&mut self, connection: &mut LoadConnection<S>, now: Instant) -> Result<()> {
        connection.out.clear();
        connection.sent = 0;
        let over = self.until.is_some_and(|until| now >= until);
        if over || !connection.script.request(&mut connection.out) {
            return Ok(());
        }
        connection.since = Some(now);
        self.under_way += 1;
        connection.send()
    }

    fn receive<S: Script>(
        &mut self,
        connection: &mut LoadConnection<S>,
        chunk: &mut [u8],
    ) -> Result<()> {
        loop {
            match connection.stream.read(chunk) {
                Ok(0) if connection.since.is_none() => return Ok(()),
                Ok(0) => bail!("the server closed a connection with a pending request"),
                Ok(count) => {
                    connection.input.extend_from_slice(&chunk[..count]);
                    if count < chunk.len() {
                        break;
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error).context("reading an answer"),
            }
        }
        let Some(since) = connection.since else { return Ok(()) };
        let Some(parsed) = reply::parse(&connection.input).map_err(anyhow::Error::msg)? else {
            return Ok(());
        };
        let now = Instant::now();
        connection.since = None;
        self.under_way -= 1;
        if now >= self.from && self.until.is_none_or(|until| now < until) {
            self.replies += 1;
            self.latencies.add(now - since);
        }
        let body = &connection.input[parsed.body];
        connection.script.reply(parsed.status, body).map_err(anyhow::Error::msg)?;
        connection.input.clear();
        self.next(connection, now)
    }
}

impl<S> LoadConnection<S> {
    /// Sends as much as the socket accepts; the rest when it is writable again.
    fn send(&mut self) -> Result<()> {
        while self.sent < self.out.len() {
            match self.stream.write(&self.out[self.sent..]) {
                Ok(count) => self.sent += count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error).context("sending a request"),
            }
        }
        Ok(())
    }
}

/// Writes one request with a minimal head.
pub fn write_request(out: &mut Vec<u8>, method: &str, path: &str, body: Option<&[u8]>) {
    let head = format_args!("{method} {path} HTTP/1.1\r\nhost: localhost\r\n");
    // Writing into a vector cannot fail.
    let _ = out.write_fmt(head);
    if let Some(body) = body {
        let length =
            format_args!("content-type: application/json\r\ncontent-length: {}\r\n", body.len());
        let _ = out.write_fmt(length);
    }
    out.extend_from_slice(b"\r\n");
    out.extend_from_slice(body.unwrap_or_default());
}

#[cfg(test)]
mod tests;
