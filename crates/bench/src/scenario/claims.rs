//! Durable claims over HTTP from one hot pool, against what HTTP, JSON and the disk cost by themselves.

use anyhow::Result;

use super::claim_script::NewClaims;
use super::{Effort, HOT_POOL};
use crate::caller::Caller;
use crate::disk;
use crate::figure::{Bar, Report};
use crate::load::latency::median;
use crate::load::{self, Length};
use crate::process::{self, Server};

const CONNECTIONS: usize = 64;

/// A claim includes one sync and one round trip; below this the yardstick is wrong and not the server good.
const LEAST_POSSIBLE: f64 = 0.7;

pub fn run(effort: Effort) -> Result<Report> {
    let scratch = process::scratch()?;
    let ours = Server::allod(&scratch.path().join("data"), scratch.path(), &[])?;
    let mut caller = Caller::connect(ours.address)?;
    caller.put_pool("hot", HOT_POOL)?;
    let sample =
        caller.expect("PUT", "/v1/pools/hot/claims/sample", Some(r#"{"owner":"tenant-00"}"#))?;
    let bare = Server::bare(sample.len())?;

    let mut report = Report::default();
    report.note(format!("an answer: {sample}"));
    at_64(&mut report, effort, &ours, &bare)?;
    at_1(&mut report, effort, &ours, &bare, scratch.path())?;
    ours.stop()?;
    Ok(report)
}

fn at_64(report: &mut Report, effort: Effort, ours: &Server, bare: &Server) -> Result<()> {
    let (mut rates, mut bare_rates, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    let mut slow = Vec::new();
    for round in 0..effort.rounds() {
        let measure = |server: &Server| {
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
    report: &mut Report,
    effort: Effort,
    ours: &Server,
    bare: &Server,
    folder: &std::path::Path,
) -> Result<()> {
    let (mut times, mut syncs, mut trips, mut ratios) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let length = match effort.round() {
        Length::Timed { warm_up, measure } => Length::Timed { warm_up, measure: measure / 2 },
        other => other,
    };
    for round in 0..effort.rounds() {
        let measure = |server: &Server| -> Result<f64> {
            let scripts = NewClaims::scripts("hot", 1, 1000 + round);
            let measured = load::run(server.address, scripts, length)?;
            Ok(measured.latencies.percentile(50.0).as_secs_f64() * 1e6)
        };
        let time = measure(ours)?;
        // The quick tenth and not the median: on a busy machine most syncs also wait for a turn of the processor, and a
        // yardstick that is too long would make us look good. On a quiet one the two are nearly the same.
        let sync = disk::fdatasync(folder, 400)?.percentile(10.0).as_secs_f64() * 1e6;
        let trip = measure(bare)?;
        ratios.push(time / (sync + trip));
        times.push(time);
        syncs.push(sync);
        trips.push(trip);
    }
    report.note(format!(
        "1 connection: median {:.0} µs; one fdatasync of 4 KiB {:.0} µs (the quick tenth), bare round trip {:.0} µs",
        median(times),
        median(syncs),
        median(trips)
    ));
    if median(ratios.clone()) < LEAST_POSSIBLE {
        report.note("a claim has one sync in it and cannot be this quick: the machine was too busy to measure the sync");
    }
    report.figure(
        "claim at 1 connection, median over one fdatasync plus a bare round trip",
        median(ratios),
        "×",
        Bar::AtMost(2.0),
    );
    Ok(())
}
