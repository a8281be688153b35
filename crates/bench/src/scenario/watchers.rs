//! Ten thousand idle watchers: their memory, and their effect on claims.
//!
//! Half of them watch one pool each, half the owners with one prefix each, so every watcher has its own filter. They connect
//! and disconnect between rounds, so that both cases are measured on the same server.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use allod_testkit::open_files;
use anyhow::{Context, Result, ensure};

use super::claim_script::NewClaims;
use super::{Effort, HOT_POOL};
use crate::caller::Caller;
use crate::figure::{Bar, ScenarioReport};
use crate::load;
use crate::load::latency::median;
use crate::process::{self, BenchServer};

const WATCHERS: usize = 10_000;
const CONNECTIONS: usize = 64;

pub fn run(effort: Effort) -> Result<ScenarioReport> {
    open_files::raise(WATCHERS)?;
    let scratch = process::scratch()?;
    let server = BenchServer::allod(&scratch.path().join("data"), scratch.path(), &[])?;
    Caller::connect(server.address)?.put_pool("hot", HOT_POOL)?;
    let mut report = ScenarioReport::default();
    let (mut alone, mut watched, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    let (mut slow, mut slow_watched) = (Vec::new(), Vec::new());
    let mut memory = None;
    for round in 0..effort.rounds() {
        let measure = |number| {
            let scripts = NewClaims::scripts("hot", CONNECTIONS, number);
            load::run(server.address, scripts, effort.round())
        };
        let without = measure(2 * round)?;
        let before = server.resident_bytes()?;
        let watchers = watch(server.address)?;
        // Only the first time: later watchers reuse memory that earlier ones freed.
        memory.get_or_insert(server.resident_bytes()?.saturating_sub(before));
        let with = measure(2 * round + 1)?;
        drop(watchers);
        all_gone(server.address)?;
        alone.push(without.per_second());
        watched.push(with.per_second());
        ratios.push(with.per_second() / without.per_second());
        slow.push(without.latencies.percentile(99.0).as_secs_f64() * 1e3);
        slow_watched.push(with.latencies.percentile(99.0).as_secs_f64() * 1e3);
    }
    report.note(format!(
        "{CONNECTIONS} connections: {:.0} claims/s (p99 {:.1} ms) with {WATCHERS} watchers, {:.0}/s (p99 {:.1} ms) without, {} rounds",
        median(watched),
        median(slow_watched),
        median(alone),
        median(slow),
        ratios.len()
    ));
    report.figure(
        "claims with 10,000 idle watchers over claims without",
        median(ratios),
        "×",
        Bar::AtLeast(0.95),
    );
    let each = memory.unwrap_or_default() as f64 / WATCHERS as f64 / 1024.0;
    report.figure("memory of an idle watcher", each, "KiB", Bar::AtMost(40.0));
    server.stop()?;
    Ok(report)
}

/// Opens the streams, and waits until each has received its first event.
fn watch(address: SocketAddr) -> Result<Vec<TcpStream>> {
    let mut streams = Vec::with_capacity(WATCHERS);
    // In groups, because the accept queue of the server is limited.
    for piece in 0..WATCHERS / 100 {
        for number in piece * 100..(piece + 1) * 100 {
            let mut stream = TcpStream::connect(address).context("connecting a watcher")?;
            stream.set_read_timeout(Some(Duration::from_secs(30)))?;
            let filter = match number % 2 {
                0 => format!("pool=idle-{number}"),
                _ => format!("owner_prefix=idle-{number:05}-"),
            };
            write!(stream, "GET /v1/watch?{filter} HTTP/1.1\r\nhost: localhost\r\n\r\n")?;
            streams.push(stream);
        }
        for stream in &mut streams[piece * 100..] {
            let mut said = Vec::new();
            let mut chunk = [0; 1024];
            while !said.windows(10).any(|part| part == b"\"position\"") {
                let count =
                    stream.read(&mut chunk).context("reading the first event of a watcher")?;
                said.extend_from_slice(&chunk[..count]);
                ensure!(count > 0, "a watcher got {}", String::from_utf8_lossy(&said));
            }
        }
    }
    Ok(streams)
}

/// Waits until the server has no watchers.
fn all_gone(address: SocketAddr) -> Result<()> {
    for _ in 0..1000 {
        let metrics = Caller::connect(address)?.call("GET", "/metrics", None)?.1;
        if metrics.lines().any(|line| line == "allod_watchers 0") {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    anyhow::bail!("the server still has watchers")
}
