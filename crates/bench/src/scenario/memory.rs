//! A million claims: memory, start-up from a checkpoint, and reads while the server is busy.
//!
//! Memory per claim is the growth of the process from an empty to a full pool, divided by the claims and by two, because the
//! server has two copies of the state. It includes rows, indexes, the free list and the reserve of the allocator, but not
//! the bytes of the keys.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, anyhow, ensure};

use super::claim_script::{NewClaims, Reads, held_key};
use super::{Effort, HOT_POOL};
use crate::caller::Caller;
use crate::figure::{Bar, ScenarioReport};
use crate::load::latency::median;
use crate::load::{self, Length, Script, write_request};
use crate::process::{self, BenchServer};

const PER_TRANSACTION: u64 = 1000;
const COPIES: f64 = 2.0;
const READERS: u64 = 8;
const WRITERS: usize = 64;

/// So small that checkpoints are written continuously under load.
const ALWAYS_CHECKPOINT: [&str; 2] = ["--limit", "checkpoint_bytes=1"];

/// Creates claims in transactions of a thousand.
struct ClaimLoader {
    next: u64,
    until: u64,
}

impl Script for ClaimLoader {
    fn request(&mut self, out: &mut Vec<u8>) -> bool {
        if self.next >= self.until {
            return false;
        }
        let end = self.until.min(self.next + PER_TRANSACTION);
        let ops: Vec<String> = (self.next..end)
            .map(|number| format!(r#"{{"claim":{{"pool":"big","key":"{}"}}}}"#, held_key(number)))
            .collect();
        self.next = end;
        let body = format!(r#"{{"ops":[{}]}}"#, ops.join(","));
        write_request(out, "POST", "/v1/transactions", Some(body.as_bytes()));
        true
    }

    fn reply(&mut self, status: u16, body: &[u8]) -> Result<(), String> {
        if status == 200 {
            return Ok(());
        }
        Err(format!("a transaction was answered with {status}: {}", String::from_utf8_lossy(body)))
    }
}

pub fn run(effort: Effort) -> Result<ScenarioReport> {
    let claims: u64 = if effort == Effort::Quick { 100_000 } else { 1_000_000 };
    let scratch = process::scratch()?;
    let data = scratch.path().join("data");
    let mut report = ScenarioReport::default();
    if effort == Effort::Quick {
        report.note("a tenth of the claims, so fixed costs count ten times as much");
    }

    let server = BenchServer::allod(&data, scratch.path(), &[])?;
    fill(&mut report, &server, claims)?;
    server.stop()?;
    start_up(&mut report, &data, scratch.path(), claims)?;
    reads(&mut report, effort, &data, scratch.path(), claims)?;
    Ok(report)
}

fn fill(report: &mut ScenarioReport, server: &BenchServer, claims: u64) -> Result<()> {
    let mut caller = Caller::connect(server.address)?;
    caller.put_pool("big", HOT_POOL)?;
    caller.put_pool("busy", HOT_POOL)?;
    let empty = server.resident_bytes()?;
    let quarter = claims / 4;
    let loaders = (0..4)
        .map(|part| ClaimLoader { next: part * quarter, until: (part + 1) * quarter })
        .collect();
    let loaded = load::run(server.address, loaders, Length::UntilDone)?;
    let usage = caller.get("/v1/pools/big")?;
    let held = usage["usage"]["claims"].as_u64();
    ensure!(held == Some(claims), "the pool says {held:?} claims");
    // Gives the allocator time to return memory of the load.
    std::thread::sleep(Duration::from_secs(2));
    let full = server.resident_bytes()?;
    let per_claim = (full - empty) as f64 / claims as f64;
    let key = held_key(0).len() as f64;
    report.note(format!(
        "{claims} claims in transactions of {PER_TRANSACTION}: {:.0} claims/s; the process grew from {} MiB to {} MiB",
        loaded.per_second() * PER_TRANSACTION as f64,
        empty >> 20,
        full >> 20
    ));
    report.note(format!(
        "{per_claim:.0} bytes a claim in {COPIES} copies, each with its key of {key} bytes"
    ));
    report.figure(
        "memory per claim and copy, above the key",
        per_claim / COPIES - key,
        "bytes",
        Bar::AtMost(250.0),
    );
    Ok(())
}

fn start_up(report: &mut ScenarioReport, data: &Path, scratch: &Path, claims: u64) -> Result<()> {
    let mut seconds = Vec::new();
    for _ in 0..3 {
        let server = BenchServer::allod(data, scratch, &[])?;
        seconds.push(server.ready_after.as_secs_f64());
        let mut caller = Caller::connect(server.address)?;
        caller.expect("GET", &format!("/v1/pools/big/claims/{}", held_key(claims - 1)), None)?;
        server.stop()?;
    }
    let per_million = median(seconds) * 1e6 / claims as f64;
    report.figure(
        "start-up from a checkpoint, for a million claims",
        per_million,
        "s",
        Bar::AtMost(3.0),
    );
    Ok(())
}

fn reads(
    report: &mut ScenarioReport,
    effort: Effort,
    data: &Path,
    scratch: &Path,
    claims: u64,
) -> Result<()> {
    let server = BenchServer::allod(data, scratch, &[])?;
    let heavy = beside(effort, &server, claims, WRITERS)?;
    server.stop()?;
    report.note(format!(
        "reads on {READERS} connections beside writes on {WRITERS}: {}",
        heavy.shown()
    ));
    report.figure(
        "read p99 during heavy writes, over that of a quiet server",
        heavy.ratio(),
        "×",
        Bar::AtMost(3.0),
    );

    let server = BenchServer::allod(data, scratch, &ALWAYS_CHECKPOINT)?;
    let before = checkpoints(&server)?;
    let during = beside(effort, &server, claims, 1)?;
    let written = checkpoints(&server)? - before;
    ensure!(written > 0, "no checkpoint was written while reads were measured");
    server.stop()?;
    report.note(format!(
        "reads while checkpoints were written, {written} in all: {}",
        during.shown()
    ));
    report.figure(
        "read p99 during a checkpoint, over that of a quiet server",
        during.ratio(),
        "×",
        Bar::AtMost(3.0),
    );
    Ok(())
}

/// The p99 of reads in milliseconds, by round: alone, and beside writes.
#[derive(Default)]
struct ReadLatencies {
    quiet: Vec<f64>,
    busy: Vec<f64>,
}

impl ReadLatencies {
    fn ratio(&self) -> f64 {
        median(self.busy.iter().zip(&self.quiet).map(|(busy, quiet)| busy / quiet).collect())
    }

    fn shown(&self) -> String {
        let (quiet, busy) = (median(self.quiet.clone()), median(self.busy.clone()));
        format!("p99 {busy:.2} ms, alone {quiet:.2} ms")
    }
}

/// Reads alone, and beside claims on `writers` connections, in alternating rounds.
fn beside(
    effort: Effort,
    server: &BenchServer,
    claims: u64,
    writers: usize,
) -> Result<ReadLatencies> {
    let mut found = ReadLatencies::default();
    for round in 0..effort.rounds() {
        found.quiet.push(read_p99(effort, server, claims)?);
        let stop = AtomicBool::new(false);
        let busy = std::thread::scope(|scope| {
            let write = scope.spawn(|| {
                let scripts = NewClaims::scripts("busy", writers, round + writers * 1000);
                let scripts =
                    scripts.into_iter().map(|script| StopWhen { script, stop: &stop }).collect();
                load::run(server.address, scripts, Length::UntilDone)
            });
            let busy = read_p99(effort, server, claims);
            stop.store(true, Ordering::Relaxed);
            let written = write.join().map_err(|_| anyhow!("the writer panicked"))?;
            ensure!(written?.replies > 0, "no claims were written during the reads");
            busy
        })?;
        found.busy.push(busy);
    }
    Ok(found)
}

fn read_p99(effort: Effort, server: &BenchServer, claims: u64) -> Result<f64> {
    let readers = (0..READERS).map(|reader| Reads { pool: "big", keys: claims, at: reader * 1009 });
    let measured = load::run(server.address, readers.collect(), effort.round())?;
    Ok(measured.latencies.percentile(99.0).as_secs_f64() * 1e3)
}

/// A script that ends when a flag is set.
struct StopWhen<'a, S> {
    script: S,
    stop: &'a AtomicBool,
}

impl<S: Script> Script for StopWhen<'_, S> {
    fn request(&mut self, out: &mut Vec<u8>) -> bool {
        !self.stop.load(Ordering::Relaxed) && self.script.request(out)
    }

    fn reply(&mut self, status: u16, body: &[u8]) -> Result<(), String> {
        self.script.reply(status, body)
    }
}

/// How many checkpoints the server has written since it started.
fn checkpoints(server: &BenchServer) -> Result<u64> {
    let text = Caller::connect(server.address)?.expect("GET", "/metrics", None)?;
    Ok(counter(&text, "allod_checkpoints_total").unwrap_or(0))
}

/// The value of a counter; `None` if it was never incremented.
fn counter(metrics: &str, name: &str) -> Option<u64> {
    let line = metrics.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.context("none").and_then(|number| Ok(number.trim().parse()?)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loaders_send_every_claim_once() {
        let mut loader = ClaimLoader { next: 500, until: 2700 };
        let (mut sent, mut requests) = (0, 0);
        loop {
            let mut out = Vec::new();
            if !loader.request(&mut out) {
                break;
            }
            requests += 1;
            sent += String::from_utf8(out).unwrap().matches("\"key\"").count();
        }
        assert_eq!((sent, requests), (2200, 3));
    }

    #[test]
    fn a_counter_is_found_by_its_exact_name() {
        let metrics = "# TYPE a_total counter\na_total_more 5\na_total 3\n";
        assert_eq!(counter(metrics, "a_total"), Some(3));
        assert_eq!(counter(metrics, "b_total"), None);
    }
}
