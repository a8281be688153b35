//! The id-manager over RESTCONF: allocations compared with native claims, pools full of expired IDs compared with an empty
//! one, and the effect of a large answer on other clients. Then the resource-manager, in `resources`.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use super::claim_script::NewClaims;
use super::id_script::{AllocatedIds, IdAllocations, SmallRequests};
use super::resources;
use super::{Effort, HOT_POOL};
use crate::caller::Caller;
use crate::figure::{Bar, ScenarioReport};
use crate::load::latency::median;
use crate::load::{self, Length};
use crate::process::{self, BenchServer};

const CONNECTIONS: usize = 32;

/// IDs in the large pools.
const LARGE: u64 = 100_000;

/// Clients beside the one with the large read.
const BESIDE: usize = 8;

pub fn run(effort: Effort) -> Result<ScenarioReport> {
    let scratch = process::scratch()?;
    let server = BenchServer::allod(&scratch.path().join("data"), scratch.path(), &[])?;
    let mut report = ScenarioReport::default();
    beside_claims(&mut report, effort, &server)?;
    expired(&mut report, effort, &server)?;
    large_answer(&mut report, effort, &server)?;
    server.stop()?;
    resources::measure(&mut report, effort)?;
    Ok(report)
}

fn create(server: &BenchServer, pool: &str, ids: u64, enhanced: bool) -> Result<()> {
    let body = format!(
        "{{\"input\":{{\"pool-name\":\"{pool}\",\"low\":0,\"high\":{},\"enhanced-id-allocation\":{enhanced}}}}}",
        ids - 1
    );
    let path = "/restconf/operations/id-manager:createIdPool";
    Caller::connect(server.address)?.expect("POST", path, Some(&body)).map(drop)
}

/// Allocations and native claims in alternating rounds, each from a new pool.
fn beside_claims(report: &mut ScenarioReport, effort: Effort, server: &BenchServer) -> Result<()> {
    let (mut rates, mut native_rates, mut ratios, mut slow) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    Caller::connect(server.address)?.put_pool("hot", HOT_POOL)?;
    for round in 0..effort.rounds() {
        let pool = format!("ids-{round}");
        // The maximum of OpenDaylight's pools, and more than a round can use.
        create(server, &pool, 655_360, false)?;
        let ids = load::run(
            server.address,
            IdAllocations::endless(&pool, CONNECTIONS, "k"),
            effort.round(),
        )?;
        let claims = NewClaims::scripts("hot", CONNECTIONS, round);
        let native = load::run(server.address, claims, effort.round())?;
        rates.push(ids.per_second());
        native_rates.push(native.per_second());
        ratios.push(100.0 * ids.per_second() / native.per_second());
        slow.push(ids.latencies.percentile(99.0).as_secs_f64() * 1e3);
    }
    report.note(format!(
        "{CONNECTIONS} connections: {:.0} allocateId/s (p99 {:.1} ms), {:.0} native claims/s, {} rounds",
        median(rates),
        median(slow),
        median(native_rates),
        ratios.len()
    ));
    report.figure(
        "allocateId at 32 connections, share of native claims",
        median(ratios),
        "%",
        Bar::AtLeast(70.0),
    );
    Ok(())
}

/// A pool without free IDs, where each allocation must find the ID that expired first; and one with free IDs as well.
fn expired(report: &mut ScenarioReport, effort: Effort, server: &BenchServer) -> Result<()> {
    let (rounds, each) = match effort {
        Effort::Full => (3, 20_000),
        Effort::Quick => (2, 5_000),
    };
    create(server, "dry", LARGE, true)?;
    create(server, "mixed", 5 * LARGE, true)?;
    let allocate = |pool: &str, run: &str, count, expires_s| {
        let scripts = IdAllocations::counted(pool, CONNECTIONS, run, count, expires_s);
        load::run(server.address, scripts, Length::UntilDone)
    };
    for (pool, expired) in [("dry", 7 * LARGE / 10), ("mixed", LARGE / 2)] {
        allocate(pool, "expired", expired, Some(1))?;
        allocate(pool, "held", LARGE - expired, Some(1_000_000))?;
    }
    std::thread::sleep(Duration::from_millis(2_100));
    let (mut dry, mut mixed, mut empty) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..rounds {
        let run = format!("r{round}");
        let fresh = format!("empty-{round}");
        create(server, &fresh, LARGE, true)?;
        empty.push(allocate(&fresh, &run, each, None)?.per_second());
        dry.push(allocate("dry", &run, each, None)?.per_second());
        mixed.push(allocate("mixed", &run, each, None)?.per_second());
    }
    report.note(format!(
        "enhanced pools of {LARGE} ids that are held or expired: {:.0} allocateId/s where expired ones must be taken, {:.0}/s where others are free, {:.0}/s in an empty pool",
        median(dry.clone()),
        median(mixed.clone()),
        median(empty.clone())
    ));
    for (name, rates) in [("taking expired ids", dry), ("with free ids beside them", mixed)] {
        let ratios = empty.iter().zip(&rates).map(|(empty, full)| empty / full);
        report.figure(
            format!("allocateId among 100,000 ids of an enhanced pool, {name}, over an empty one"),
            median(ratios.collect()),
            "×",
            Bar::AtMost(2.0),
        );
    }
    Ok(())
}

/// One client reads a whole large pool repeatedly, while others send small requests.
fn large_answer(report: &mut ScenarioReport, effort: Effort, server: &BenchServer) -> Result<()> {
    let held = AllocatedIds { pool: "large", run: "k", connections: CONNECTIONS, count: LARGE };
    create(server, held.pool, 2 * LARGE, false)?;
    create(server, "small", 655_360, false)?;
    let fill = IdAllocations::counted(held.pool, CONNECTIONS, held.run, LARGE, None);
    load::run(server.address, fill, Length::UntilDone)?;
    let (mut times, mut sizes) = (Vec::new(), 0);
    let (mut slow, mut slow_beside, mut ratios, mut stalls) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for round in 0..effort.rounds() {
        let small = |half: &str| {
            let scripts = SmallRequests::scripts(held, "small", &format!("{half}{round}"), BESIDE);
            load::run(server.address, scripts, effort.round())
        };
        let without = small("without")?;
        let done = Arc::new(AtomicBool::new(false));
        let reader = std::thread::spawn({
            let (done, address) = (Arc::clone(&done), server.address);
            move || read_while(address, &done)
        });
        let with = small("with");
        done.store(true, Ordering::Relaxed);
        let read = reader.join().ok().context("the reader panicked")??;
        let with = with?;
        let millis = |measured: &load::Measured, percent| {
            measured.latencies.percentile(percent).as_secs_f64() * 1e3
        };
        let total = median(read.times.iter().map(|time| time.as_secs_f64() * 1e3).collect());
        slow.push(millis(&without, 99.0));
        slow_beside.push(millis(&with, 99.0));
        ratios.push(millis(&with, 99.0) / millis(&without, 99.0));
        stalls.push(100.0 * millis(&with, 100.0) / total);
        times.push(total);
        sizes = read.bytes;
    }
    report.note(format!(
        "a pool of {LARGE} entries, {:.1} MB: {:.0} ms, again and again; {BESIDE} others beside it: p99 {:.2} ms, without it {:.2} ms",
        sizes as f64 / 1e6,
        median(times),
        median(slow_beside),
        median(slow)
    ));
    report.figure(
        "small requests beside a GET of 100,000 entries, p99 over p99 without",
        median(ratios),
        "×",
        Bar::AtMost(5.0),
    );
    report.figure(
        "the slowest of them, share of the time that the GET takes",
        median(stalls),
        "%",
        Bar::AtMost(50.0),
    );
    Ok(())
}

/// The results of the client that reads the whole pool.
struct ReadWhole {
    times: Vec<Duration>,
    bytes: usize,
}

fn read_while(address: SocketAddr, done: &AtomicBool) -> Result<ReadWhole> {
    let mut read = ReadWhole { times: Vec::new(), bytes: 0 };
    let mut answer = Vec::new();
    while !done.load(Ordering::Relaxed) || read.times.is_empty() {
        let begun = Instant::now();
        let mut stream = TcpStream::connect(address)?;
        write!(
            stream,
            "GET /restconf/config/id-manager:id-pools/id-pool/large HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n"
        )?;
        answer.clear();
        stream.read_to_end(&mut answer)?;
        ensure!(
            answer.starts_with(b"HTTP/1.1 200 "),
            "{}",
            String::from_utf8_lossy(&answer[..answer.len().min(300)])
        );
        read.times.push(begun.elapsed());
        read.bytes = answer.len();
    }
    Ok(read)
}
