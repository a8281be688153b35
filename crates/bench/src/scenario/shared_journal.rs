//! Durable claims on a journal in PostgreSQL, compared with the embedded one.

use anyhow::Result;

use super::claim_script::NewClaims;
use super::{Effort, HOT_POOL};
use crate::caller::Caller;
use crate::figure::{Bar, ScenarioReport};
use crate::load::{self, latency::median};
use crate::postgres;
use crate::process::{self, BenchServer};

const CONNECTIONS: usize = 64;

pub fn run(effort: Effort) -> Result<ScenarioReport> {
    let scratch = process::scratch()?;
    let cluster = postgres::start(scratch.path())?;
    let (one, other) = (scratch.path().join("one"), scratch.path().join("other"));
    std::fs::create_dir(&one)?;
    std::fs::create_dir(&other)?;
    let embedded = BenchServer::allod(&one.join("data"), &one, &[])?;
    let shared = BenchServer::allod(&other.join("data"), &other, &["--journal", &cluster.url()])?;
    let (mut rates, mut slow, mut ratios) =
        ([Vec::new(), Vec::new()], [Vec::new(), Vec::new()], Vec::new());
    for server in [&embedded, &shared] {
        Caller::connect(server.address)?.put_pool("hot", HOT_POOL)?;
    }
    for round in 0..effort.rounds() {
        let mut of_round = Vec::new();
        for (n, server) in [&embedded, &shared].into_iter().enumerate() {
            let scripts = NewClaims::scripts("hot", CONNECTIONS, round);
            let claims = load::run(server.address, scripts, effort.round())?;
            of_round.push(claims.per_second());
            rates[n].push(claims.per_second());
            slow[n].push(claims.latencies.percentile(99.0).as_secs_f64() * 1e3);
        }
        ratios.push(100.0 * of_round[1] / of_round[0]);
    }
    let mut report = ScenarioReport::default();
    let [embedded_rates, shared_rates] = rates;
    let [embedded_slow, shared_slow] = slow;
    report.note(format!(
        "{CONNECTIONS} connections: in PostgreSQL {:.0} claims/s (p99 {:.1} ms), embedded {:.0}/s (p99 {:.1} ms), {} rounds",
        median(shared_rates),
        median(shared_slow),
        median(embedded_rates),
        median(embedded_slow),
        ratios.len()
    ));
    report.figure(
        "claims at 64 connections in PostgreSQL, share of the embedded journal",
        median(ratios),
        "%",
        Bar::AtLeast(50.0),
    );
    embedded.stop()?;
    shared.stop()?;
    Ok(report)
}
