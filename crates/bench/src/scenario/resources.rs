//! The resource-manager over RESTCONF: the cost of a request compared with a native claim, of widening a pool with waiting
//! requests, and of dividing a large network.

use std::fmt::Write;
use std::time::Instant;

use anyhow::{Result, ensure};

use super::claim_script::NewClaims;
use super::pool_script::{POOLS, PoolRequests};
use super::{Effort, HOT_POOL};
use crate::caller::Caller;
use crate::figure::{Bar, ScenarioReport};
use crate::load;
use crate::load::latency::median;
use crate::process::{self, BenchServer};

const CONNECTIONS: usize = 32;

/// Allocations in a large and in a small pool.
const LARGE: u64 = 100_000;
const SMALL: u64 = 1_000;

/// Networks requested at once: many and few.
const MANY: u64 = 10_000;
const FEW: u64 = 1_000;

/// The size of a PATCH that only prepares the scenario.
const BATCH: u64 = 10_000;

/// The second half of the scenario `restconf`, on its own server.
pub fn measure(report: &mut ScenarioReport, effort: Effort) -> Result<()> {
    let scratch = process::scratch()?;
    let server = BenchServer::allod(&scratch.path().join("data"), scratch.path(), &[])?;
    beside_claims(report, effort, &server)?;
    widened(report, effort, &server)?;
    cut_up(report, effort, &server)?;
    server.stop()
}

fn put_ids(caller: &mut Caller, pool: &str, end: u64) -> Result<()> {
    let body = format!(
        "{{\"id-allocator:id-pool\":[{{\"name\":\"{pool}\",\"range\":{{\"start\":0,\"end\":{end}}}}}]}}"
    );
    caller.expect("PUT", &format!("{POOLS}/id-allocator:id-pool={pool}"), Some(&body)).map(drop)
}

/// Requests and native claims in alternating rounds, each in a new pool.
fn beside_claims(report: &mut ScenarioReport, effort: Effort, server: &BenchServer) -> Result<()> {
    let (mut rates, mut native_rates, mut ratios, mut slow) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut caller = Caller::connect(server.address)?;
    caller.put_pool("hot", HOT_POOL)?;
    for round in 0..effort.rounds() {
        let pool = format!("ids-{round}");
        put_ids(&mut caller, &pool, u32::MAX.into())?;
        let asked =
            load::run(server.address, PoolRequests::scripts(&pool, CONNECTIONS), effort.round())?;
        let claims = NewClaims::scripts("hot", CONNECTIONS, round);
        let native = load::run(server.address, claims, effort.round())?;
        rates.push(asked.per_second());
        native_rates.push(native.per_second());
        ratios.push(100.0 * asked.per_second() / native.per_second());
        slow.push(asked.latencies.percentile(99.0).as_secs_f64() * 1e3);
    }
    report.note(format!(
        "{CONNECTIONS} connections: {:.0} PUT of one allocation/s (p99 {:.1} ms), {:.0} native claims/s, {} rounds",
        median(rates),
        median(slow),
        median(native_rates),
        ratios.len()
    ));
    report.figure(
        "PUT of one allocation at 32 connections, share of native claims",
        median(ratios),
        "%",
        Bar::AtLeast(60.0),
    );
    Ok(())
}

/// Half of the allocations have an ID, half wait. Then the range is widened for all.
fn widened(report: &mut ScenarioReport, effort: Effort, server: &BenchServer) -> Result<()> {
    let rounds = match effort {
        Effort::Full => 5,
        Effort::Quick => 2,
    };
    let mut caller = Caller::connect(server.address)?;
    let (mut ratios, mut each_large, mut each_small) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..rounds {
        let large = widen(&mut caller, &format!("large-{round}"), LARGE)?;
        // One small pool alone is too fast to measure.
        let mut small = Vec::new();
        for part in 0..20 {
            small.push(widen(&mut caller, &format!("small-{round}-{part}"), SMALL)?);
        }
        let small = median(small);
        ratios.push(large / small);
        each_large.push(large);
        each_small.push(small);
    }
    report.note(format!(
        "a range that becomes wide enough: {:.1} µs for each of {} that waited, {:.1} µs for each of {}",
        median(each_large),
        LARGE / 2,
        median(each_small),
        SMALL / 2
    ));
    report.figure(
        "a range is widened, time for each that waited: of 100,000 allocations over 1,000",
        median(ratios),
        "×",
        Bar::AtMost(2.0),
    );
    Ok(())
}

/// Microseconds for each waiting request.
fn widen(caller: &mut Caller, pool: &str, allocations: u64) -> Result<f64> {
    put_ids(caller, pool, allocations / 2 - 1)?;
    let path = format!("{POOLS}/id-allocator:id-pool={pool}");
    for first in (0..allocations).step_by(BATCH as usize) {
        let batch = BATCH.min(allocations - first);
        let entries = entries(first..first + batch, "{}");
        let body = format!(
            "{{\"id-allocator:id-pool\":[{{\"name\":\"{pool}\",\"allocation\":[{entries}]}}]}}"
        );
        caller.expect("PATCH", &path, Some(&body))?;
    }
    let last = format!("{path}/allocation=a{:07}/response", allocations - 1);
    let before = caller.expect("GET", &last, None)?;
    ensure!(before.contains("exhausted"), "the last request is not waiting: {before}");
    let begun = Instant::now();
    let body = format!("{{\"id-allocator:end\":{}}}", allocations - 1);
    caller.expect("PUT", &format!("{path}/range/end"), Some(&body))?;
    let taken = begun.elapsed();
    let after = caller.expect("GET", &last, None)?;
    let id = format!("\"id\":{}", allocations - 1);
    ensure!(after.contains(&id), "the last request got another ID: {after}");
    Ok(taken.as_secs_f64() * 1e6 / (allocations / 2) as f64)
}

/// One PATCH that allocates many /30 networks of a /8.
fn cut_up(report: &mut ScenarioReport, effort: Effort, server: &BenchServer) -> Result<()> {
    let mut caller = Caller::connect(server.address)?;
    let (mut rates, mut ratios) = (Vec::new(), Vec::new());
    for round in 0..effort.rounds() {
        let few = cut(&mut caller, &format!("few-{round}"), FEW)?;
        let many = cut(&mut caller, &format!("many-{round}"), MANY)?;
        ratios.push((many / MANY as f64) / (few / FEW as f64));
        rates.push(MANY as f64 / many);
    }
    report.note(format!("a /8 is cut into {MANY} /30 by one PATCH: {:.0}/s", median(rates)));
    report.figure(
        "/30s of a /8 by one PATCH, time for each: of 10,000 over 1,000",
        median(ratios),
        "×",
        Bar::AtMost(2.0),
    );
    Ok(())
}

/// Returns the seconds that it took.
fn cut(caller: &mut Caller, pool: &str, networks: u64) -> Result<f64> {
    let path = format!("{POOLS}/ipaddress-allocator:ip-address-pool={pool}");
    let subnet = "{\"address\":\"10.0.0.0\",\"cidrmask\":8}";
    let name = "ipaddress-allocator:ip-address-pool";
    let body = format!("{{\"{name}\":[{{\"name\":\"{pool}\",\"subnet\":[{subnet}]}}]}}");
    caller.expect("PUT", &path, Some(&body))?;
    let entries = entries(0..networks, "{\"subnet-size\":30}");
    let body = format!("{{\"{name}\":[{{\"name\":\"{pool}\",\"allocation\":[{entries}]}}]}}");
    let begun = Instant::now();
    caller.expect("PATCH", &path, Some(&body))?;
    let taken = begun.elapsed().as_secs_f64();
    let last = format!("{path}/allocation=a{:07}/response", networks - 1);
    let got = caller.expect("GET", &last, None)?;
    let at = 4 * (networks - 1);
    let wanted = format!("10.{}.{}.{}/30", at >> 16, at >> 8 & 255, at & 255);
    ensure!(got.contains(&wanted), "the last network is {got}, expected {wanted}");
    Ok(taken)
}

/// Entries of the list of allocations, in the order of their names.
fn entries(numbers: std::ops::Range<u64>, request: &str) -> String {
    let mut out = String::new();
    for number in numbers {
        let comma = if out.is_empty() { "" } else { "," };
        // Writing into a string cannot fail.
        let _ = write!(
            out,
            "{comma}{{\"id\":\"a{number:07}\",\"username\":\"admin\",\"request\":{request}}}"
        );
    }
    out
}
