//! Durable claims over HTTP from one pool, compared with the cost of HTTP, JSON and the disk alone.

use anyhow::Result;

use super::claim_script::NewClaims;
use super::{Effort, HOT_POOL};
use crate::caller::Caller;
use crate::disk;
use crate::figure::{Bar, ScenarioReport};
use crate::load::latency::median;
use crate::load::{self, Length};
use crate::process::{self, BenchServer};

const CONNECTIONS: usize = 64;

/// A claim includes one sync and one round trip. A lower ratio means that the baseline is wrong.
const LEAST_POSSIBLE: f64 = 0.7;

pub fn run(effort: Effort) -> Result<ScenarioReport> {
    let scratch = process::scratch()?;
    let ours = BenchServer::allod(&scratch.path().join("data"), scratch.path(), &[])?;
    let mut caller = Caller::connect(ours.address)?;
    caller.put_pool("hot", HOT_POOL)?;
    let sample =
        caller.expect("PUT", "/v1/pools/hot/claims/sample", Some(r#"{"owner":"tenant-00"}"#))?;
    let bare = BenchServer::bare(sample.len())?;

    let mut report = ScenarioReport::default();
    report.note(format!("example answer: {sample}"));
    at_64(&mut report, effort, &ours, &bare)?;
    at_1(&mut report, effort, &ours, &bare, scratch.path())?;
    ours.stop()?;
    Ok(report)
}

fn at_64(
    report: &mut ScenarioReport,
    effort: Effort,
    ours: &BenchServer,
    bare: &BenchServer,
) -> Result<()> {
    let (mut rates, mut bare_rates, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    let mut slow = Vec::new();
    for round in 0..effort.rounds() {
        let measure = |server: &BenchServer| {
            load::run(server.address, NewClaims::scripts("hot", CONNECTIONS, round), effort.round())
        };
        let (claims, parsing) = (measure(ours)?, measure(bare)?);
        rates.push(claims.per_second());
        bare_rates.push(parsing.per_second());
        ratios.push(100.0 * claims.per_second() / parsing.per_second());
        slow.push(claims.latencies.percentile(99.0).as_secs_f64() * 1e3);
    }
    report.note(format!(
        "{CONNECTIONS} connections: {:.0} claims/s (p99 {:.1} ms), bare handler {:.0}/s, {} rounds",
        median(rates),
        median(slow),
        median(bare_rates),
        ratios.len()
    ));
    report.figure(
        "claims at 64 connections, share of a bare handler",
        median(ratios),
        "%",
        Bar::AtLeast(50.0),
    );
    Ok(())
}

fn at_1(
    report: &mut ScenarioReport,
    effort: Effort,
    ours: &BenchServer,
    bare: &BenchServer,
    folder: &std::path::Path,
) -> Result<()> {
    let (mut times, mut syncs, mut trips, mut ratios) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let length = match effort.round() {
        Length::Timed { warm_up, measure } => Length::Timed { warm_up, measure: measure / 2 },
        other => other,
    };
    for round in 0..effort.rounds() {
        let measure = |server: &BenchServer| -> Result<f64> {
            let scripts = NewClaims::scripts("hot", 1, 1000 + round);
            let measured = load::run(server.address, scripts, length)?;
            Ok(measured.latencies.percentile(50.0).as_secs_f64() * 1e6)
        };
        let time = measure(ours)?;
        // The 10th percentile: on a busy machine the median of the syncs includes waiting for a processor, which would
        // make the ratio too good. On an idle machine both are nearly equal.
        let sync = disk::fdatasync(folder, 400)?.percentile(10.0).as_secs_f64() * 1e6;
        let trip = measure(bare)?;
        ratios.push(time / (sync + trip));
        times.push(time);
        syncs.push(sync);
        trips.push(trip);
    }
    report.note(format!(
        "1 connection: median {:.0} µs; one fdatasync of 4 KiB {:.0} µs (10th percentile), bare round trip {:.0} µs",
        median(times),
        median(syncs),
        median(trips)
    ));
    if median(ratios.clone()) < LEAST_POSSIBLE {
        report.note("a claim includes one sync and cannot be this fast: the machine was too busy to measure the sync");
    }
    report.figure(
        "claim at 1 connection, median over one fdatasync plus a bare round trip",
        median(ratios),
        "×",
        Bar::AtMost(2.0),
    );
    Ok(())
}
