//! Compares allod with the real Placement: the same cloud and the same requests, in alternating rounds. A bare handler that
//! sends as many bytes, or parses the same bodies, shows the upper limit of HTTP on this machine.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::Result;

use super::Effort;
use crate::figure::{Bar, ScenarioReport};
use crate::load::latency::median;
use crate::load::{self, Length};
use crate::placement::cloud::{Cloud, CloudLoader};
use crate::placement::real::RealPlacement;
use crate::placement::script::{MeasuredRequest, PlacementScript};
use crate::process::{self, BenchServer};

/// A request, the number of clients, and the required speed-up.
struct Measurement {
    name: &'static str,
    ask: MeasuredRequest,
    clients: usize,
    least: f64,
    /// Whether our p99 must be below a thirtieth of its median.
    tail: bool,
}

const fn cell(name: &'static str, ask: MeasuredRequest, clients: usize, least: f64) -> Measurement {
    Measurement { name, ask, clients, least, tail: false }
}

/// Reads come first, while both servers have the same cloud.
const FLAT: [Measurement; 12] = [
    Measurement {
        tail: true,
        ..cell("candidates, limit 10", MeasuredRequest::Candidates { limit: 10 }, 8, 300.0)
    },
    Measurement {
        tail: true,
        ..cell("candidates, limit 1000", MeasuredRequest::Candidates { limit: 1000 }, 8, 150.0)
    },
    cell("one provider", MeasuredRequest::CloudProvider, 8, 60.0),
    cell("its inventories", MeasuredRequest::Inventories, 8, 60.0),
    cell("its usages", MeasuredRequest::Usages, 8, 60.0),
    cell("its allocations", MeasuredRequest::Allocations, 8, 60.0),
    cell("PUT allocations", MeasuredRequest::Put, 8, 200.0),
    cell("PUT allocations", MeasuredRequest::Put, 32, 200.0),
    cell("PUT allocations on one hot provider", MeasuredRequest::PutHot(1), 8, 200.0),
    cell("PUT allocations on one hot provider", MeasuredRequest::PutHot(1), 32, 200.0),
    cell("POST moves", MeasuredRequest::Move, 8, 200.0),
    cell("POST moves", MeasuredRequest::Move, 32, 200.0),
];

const NESTED: [Measurement; 1] = [cell(
    "candidates, nested, limit 10",
    MeasuredRequest::NestedCandidates { limit: 10 },
    8,
    300.0,
)];

pub fn run(effort: Effort) -> Result<ScenarioReport> {
    let mut report = ScenarioReport::default();
    let clouds: &[Cloud] = match effort {
        Effort::Full => &[Cloud::Flat(1_000), Cloud::Flat(10_000), Cloud::Nested(200)],
        Effort::Quick => &[Cloud::Flat(1_000), Cloud::Nested(200)],
    };
    let bare = BenchServer::bare(0)?;
    for &cloud in clouds {
        beside(&mut report, effort, cloud, &bare)?;
    }
    Ok(report)
}

fn beside(
    report: &mut ScenarioReport,
    effort: Effort,
    cloud: Cloud,
    bare: &BenchServer,
) -> Result<()> {
    let scratch = process::scratch()?;
    let ours =
        BenchServer::allod(&scratch.path().join("data"), scratch.path(), &["--auth", "noauth2"])?;
    load::run(ours.address, CloudLoader::first(), Length::UntilDone)?;
    load::run(ours.address, CloudLoader::scripts(cloud, 8), Length::UntilDone)?;
    let real = RealPlacement::start(cloud)?;
    let (cells, hosts, where_to): (&[Measurement], u64, String) = match cloud {
        Cloud::Flat(hosts) => (&FLAT, hosts, format!("{hosts} providers")),
        Cloud::Nested(hosts) => (&NESTED, hosts, format!("{hosts} trees of 7")),
    };
    for cell in cells {
        compare(report, effort, cell, hosts, &where_to, &ours, real.address, bare)?;
    }
    real.stop()?;
    ours.stop()
}

/// The results of one server, by round.
#[derive(Default)]
struct ServerRounds {
    per_second: Vec<f64>,
    p50: Vec<f64>,
    p99: Vec<f64>,
    bytes: u64,
    conflicts: u64,
}

impl ServerRounds {
    fn add(
        &mut self,
        server: SocketAddr,
        (ask, hosts, clients): (MeasuredRequest, u64, usize),
        round: usize,
        length: Length,
        may_conflict: bool,
    ) -> Result<()> {
        let (scripts, seen) = PlacementScript::scripts(ask, hosts, clients, round, may_conflict);
        let measured = load::run(server, scripts, length)?;
        self.per_second.push(measured.per_second());
        self.p50.push(measured.latencies.percentile(50.0).as_secs_f64() * 1e3);
        self.p99.push(measured.latencies.percentile(99.0).as_secs_f64() * 1e3);
        self.bytes = seen.bytes.get() / seen.replies.get().max(1);
        self.conflicts += seen.conflicts.get();
        Ok(())
    }
}

#[expect(clippy::too_many_arguments, reason = "three servers and the request")]
fn compare(
    report: &mut ScenarioReport,
    effort: Effort,
    cell: &Measurement,
    hosts: u64,
    where_to: &str,
    ours: &BenchServer,
    real: SocketAddr,
    bare: &BenchServer,
) -> Result<()> {
    let (rounds, slow, fast) = match effort {
        Effort::Full => (3, lasting(500, 4000), lasting(300, 1500)),
        Effort::Quick => (1, lasting(200, 2000), lasting(200, 800)),
    };
    let what = (cell.ask, hosts, cell.clients);
    let (mut own, mut its, mut limit) =
        (ServerRounds::default(), ServerRounds::default(), ServerRounds::default());
    // The consumer numbers of each measurement are unique.
    let first = report.figures.len() * 8;
    for round in first..first + rounds {
        own.add(ours.address, what, round, fast, false)?;
        its.add(real, what, round, slow, true)?;
        let ask = match cell.ask {
            MeasuredRequest::Put | MeasuredRequest::PutHot(_) | MeasuredRequest::Move => {
                MeasuredRequest::Parse
            }
            _ => MeasuredRequest::Blob(own.bytes as usize),
        };
        limit.add(bare.address, (ask, hosts, cell.clients), round, fast, false)?;
    }
    let (p99, middle) = (median(own.p99.clone()), median(its.p50.clone()));
    let (rate, its_rate) = (median(own.per_second.clone()), median(its.per_second.clone()));
    let (clients, name) = (cell.clients, cell.name);
    report.note(format!(
        "{name}, {clients} clients, {where_to}: {rate:.0}/s (p50 {:.2} ms, p99 {p99:.2} ms, {} bytes); the real one {its_rate:.1}/s (p50 {middle:.0} ms, p99 {:.0} ms, {} conflicts left to its clients); {:.0} % of a bare handler's {:.0}/s",
        median(own.p50.clone()),
        own.bytes,
        median(its.p99.clone()),
        its.conflicts,
        100.0 * rate / median(limit.per_second.clone()),
        median(limit.per_second.clone()),
    ));
    let ratios = own.per_second.iter().zip(&its.per_second).map(|(own, its)| own / its);
    let label = format!("{name}, {clients} clients, {where_to}: over the real Placement");
    report.figure(label, median(ratios.collect()), "×", Bar::AtLeast(cell.least));
    if cell.tail {
        let label = format!("{name}, {where_to}: the real one's p50 over our p99");
        report.figure(label, middle / p99, "×", Bar::AtLeast(30.0));
    }
    Ok(())
}

fn lasting(warm_up: u64, measure: u64) -> Length {
    Length::Timed {
        warm_up: Duration::from_millis(warm_up),
        measure: Duration::from_millis(measure),
    }
}
