//! Beside the real Placement: the same cloud in both, the same requests to both, in turns; and to a bare handler that sends
//! as many bytes or parses the same bodies, which is as fast as HTTP goes on this machine.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::Result;

use super::Effort;
use crate::figure::{Bar, Report};
use crate::load::latency::median;
use crate::load::{self, Length};
use crate::placement::cloud::{Cloud, Loader};
use crate::placement::real::Real;
use crate::placement::script::{Ask, Asker};
use crate::process::{self, Server};

/// One thing that is asked, by how many clients, and by which factor we must be faster.
struct Cell {
    name: &'static str,
    ask: Ask,
    clients: usize,
    least: f64,
    /// Whether our slowest answers must be below a thirtieth of its middle ones.
    tail: bool,
}

const fn cell(name: &'static str, ask: Ask, clients: usize, least: f64) -> Cell {
    Cell { name, ask, clients, least, tail: false }
}

/// Reads first, so that both answer from the same cloud.
const FLAT: [Cell; 12] = [
    Cell { tail: true, ..cell("candidates, limit 10", Ask::Candidates { limit: 10 }, 8, 300.0) },
    Cell {
        tail: true,
        ..cell("candidates, limit 1000", Ask::Candidates { limit: 1000 }, 8, 150.0)
    },
    cell("one provider", Ask::Provider, 8, 60.0),
    cell("its inventories", Ask::Inventories, 8, 60.0),
    cell("its usages", Ask::Usages, 8, 60.0),
    cell("its allocations", Ask::Allocations, 8, 60.0),
    cell("PUT allocations", Ask::Put, 8, 200.0),
    cell("PUT allocations", Ask::Put, 32, 200.0),
    cell("PUT allocations on one hot provider", Ask::PutHot(1), 8, 200.0),
    cell("PUT allocations on one hot provider", Ask::PutHot(1), 32, 200.0),
    cell("POST moves", Ask::Move, 8, 200.0),
    cell("POST moves", Ask::Move, 32, 200.0),
];

const NESTED: [Cell; 1] =
    [cell("candidates, nested, limit 10", Ask::NestedCandidates { limit: 10 }, 8, 300.0)];

pub fn run(effort: Effort) -> Result<Report> {
    let mut report = Report::default();
    let clouds: &[Cloud] = match effort {
        Effort::Full => &[Cloud::Flat(1_000), Cloud::Flat(10_000), Cloud::Nested(200)],
        Effort::Quick => &[Cloud::Flat(1_000), Cloud::Nested(200)],
    };
    let bare = Server::bare(0)?;
    for &cloud in clouds {
        beside(&mut report, effort, cloud, &bare)?;
    }
    Ok(report)
}

fn beside(report: &mut Report, effort: Effort, cloud: Cloud, bare: &Server) -> Result<()> {
    let scratch = process::scratch()?;
    let ours = Server::allod(&scratch.path().join("data"), scratch.path(), &["--auth", "noauth2"])?;
    load::run(ours.address, Loader::first(), Length::UntilDone)?;
    load::run(ours.address, Loader::scripts(cloud, 8), Length::UntilDone)?;
    let real = Real::start(cloud)?;
    let (cells, hosts, where_to): (&[Cell], u64, String) = match cloud {
        Cloud::Flat(hosts) => (&FLAT, hosts, format!("{hosts} providers")),
        Cloud::Nested(hosts) => (&NESTED, hosts, format!("{hosts} trees of 7")),
    };
    for cell in cells {
        compare(report, effort, cell, hosts, &where_to, &ours, real.address, bare)?;
    }
    real.stop()?;
    ours.stop()
}

/// What a round of one server showed.
#[derive(Default)]
struct Rounds {
    per_second: Vec<f64>,
    p50: Vec<f64>,
    p99: Vec<f64>,
    bytes: u64,
    conflicts: u64,
}

impl Rounds {
    fn add(
        &mut self,
        server: SocketAddr,
        (ask, hosts, clients): (Ask, u64, usize),
        round: usize,
        length: Length,
        may_conflict: bool,
    ) -> Result<()> {
        let (scripts, seen) = Asker::scripts(ask, hosts, clients, round, may_conflict);
        let measured = load::run(server, scripts, length)?;
        self.per_second.push(measured.per_second());
        self.p50.push(measured.latencies.percentile(50.0).as_secs_f64() * 1e3);
        self.p99.push(measured.latencies.percentile(99.0).as_secs_f64() * 1e3);
        self.bytes = seen.bytes.get() / seen.replies.get().max(1);
        self.conflicts += seen.conflicts.get();
        Ok(())
    }
}

#[expect(clippy::too_many_arguments, reason = "three servers and what to ask them")]
fn compare(
    report: &mut Report,
    effort: Effort,
    cell: &Cell,
    hosts: u64,
    where_to: &str,
    ours: &Server,
    real: SocketAddr,
    bare: &Server,
) -> Result<()> {
    let (rounds, slow, fast) = match effort {
        Effort::Full => (3, lasting(500, 4000), lasting(300, 1500)),
        Effort::Quick => (1, lasting(200, 2000), lasting(200, 800)),
    };
    let what = (cell.ask, hosts, cell.clients);
    let (mut own, mut its, mut limit) = (Rounds::default(), Rounds::default(), Rounds::default());
    // Consumers of this cell have numbers that no other cell has.
    let first = report.figures.len() * 8;
    for round in first..first + rounds {
        own.add(ours.address, what, round, fast, false)?;
        its.add(real, what, round, slow, true)?;
        let ask = match cell.ask {
            Ask::Put | Ask::PutHot(_) | Ask::Move => Ask::Parse,
            _ => Ask::Blob(own.bytes as usize),
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
