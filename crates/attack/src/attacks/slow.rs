//! Clients that send slowly, or stop in the middle.

use std::io::Write;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

use crate::wire::{self, Exchange};
use crate::{Sent, Target};

/// The time between two bytes of a slow client.
const DRIP: Duration = Duration::from_millis(100);

/// How long after its limit a connection may stay open.
const LATE_MAX: Duration = Duration::from_secs(20);

/// Sends one byte of `more` on each connection at a time, until the server has closed all.
fn drip(mut streams: Vec<TcpStream>, more: u8, limit_ms: u64) -> Result<Vec<Exchange>> {
    let begun = Instant::now();
    let mut ended = Vec::new();
    while !streams.is_empty() {
        ensure!(
            begun.elapsed() < Duration::from_millis(limit_ms) + LATE_MAX,
            "{} connections are open long after the limit of {limit_ms} ms",
            streams.len()
        );
        std::thread::sleep(DRIP);
        let mut open = Vec::with_capacity(streams.len());
        for mut stream in streams {
            let is_open = stream.write_all(&[more]).is_ok() && !has_answer(&stream)?;
            if is_open {
                open.push(stream);
            } else {
                ended.push(wire::read_rest(&mut stream, Duration::from_secs(2))?);
            }
        }
        streams = open;
    }
    Ok(ended)
}

/// Whether something has arrived, or the connection has ended.
pub(super) fn has_answer(stream: &TcpStream) -> Result<bool> {
    stream.set_nonblocking(true)?;
    let peeked = stream.peek(&mut [0]);
    stream.set_nonblocking(false)?;
    Ok(!matches!(peeked, Err(error) if error.kind() == std::io::ErrorKind::WouldBlock))
}

fn report(what: &str, ended: &[Exchange]) -> Sent {
    let answered = ended.iter().filter(|came| came.status() == Some(408)).count();
    let count = ended.len() as u64;
    Sent { count, answers: format!("{answered} {what} got 408, the rest was closed") }
}

fn begin(target: &Target, clients: usize, start: &[u8]) -> Result<Vec<TcpStream>> {
    allod_testkit::open_files::raise(clients)?;
    let connect = |_| {
        let mut stream = wire::connect(target.address)?;
        stream.write_all(start)?;
        Ok(stream)
    };
    (0..clients).map(connect).collect()
}

pub(super) fn send_heads(target: &Target) -> Result<Sent> {
    let clients = target.effort.pick(1000, 100);
    let streams = begin(target, clients, b"GET /healthz HTTP/1.1\r\nx: ")?;
    let ended = drip(streams, b'a', target.limits.get("header_read_ms_max")?)?;
    ensure!(ended.iter().all(|came| came.status().is_none_or(|status| status == 408)));
    Ok(report("heads", &ended))
}

pub(super) fn send_bodies(target: &Target) -> Result<Sent> {
    let clients = target.effort.pick(500, 50);
    let head = b"PUT /v1/pools/p HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 1000000\r\n\r\n{";
    let streams = begin(target, clients, head)?;
    let ended = drip(streams, b' ', target.limits.get("request_ms_max")?)?;
    ensure!(ended.iter().all(|came| came.status().is_none_or(|status| status == 408)));
    Ok(report("bodies", &ended))
}
