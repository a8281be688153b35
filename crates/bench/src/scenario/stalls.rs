//! The longest pause of 32 small clients beside the largest of everything that the limits allow.
//!
//! Each case is measured twice in each round, with the same large requests to the same server: once with the small clients on
//! that server, and once with the small clients on the bare server on the same machine. So both have the same load
//! of processors, disk and network, and the difference is what the small clients notice because they share the server
//! with the large request. The bare server syncs a file for each claim, because a durable claim cannot be faster than the
//! disk.

mod burst;
mod cases;
mod fixture;

use std::time::{Duration, Instant};

use allod_testkit::small_clients::{Noticed, SmallClients};
use anyhow::{Context, Result, ensure};

use super::Effort;
use crate::figure::{Bar, ScenarioReport};
use crate::load::latency::{Latencies, median};
use burst::BurstSeen;
use cases::{CASES, StallCase};
use fixture::Fixture;

const CLIENTS: usize = 32;

/// 32 clients at this pace send 3,200 reads and 3,200 claims a second, which leaves most of two cores to the large requests.
const PACE: Duration = Duration::from_millis(5);

/// How much longer a pause may be than beside a bare server.
const MORE_MS_MAX: f64 = 20.0;

/// The small clients before the large requests begin.
const WARM_UP: Duration = Duration::from_millis(200);

/// How long the small clients are measured after the last large answer: the server may have work left, such as freeing memory.
const COOL_DOWN: Duration = Duration::from_millis(300);

/// Runs the cases whose name contains a text, or all.
pub fn run(effort: Effort, only: Option<&str>) -> Result<ScenarioReport> {
    let chosen = |case: &&StallCase| only.is_none_or(|only| case.name.contains(only));
    ensure!(
        CASES.iter().any(|case| chosen(&case)),
        "no case of stalls has '{}' in its name",
        only.unwrap_or_default()
    );
    let mut fixture = Fixture::new(effort)?;
    let mut report = ScenarioReport::default();
    report.note(format!(
        "{CLIENTS} small clients, each with a request every {} ms, half of them read; {} rounds; milliseconds: the median of the longest pauses, and of the p99.9",
        PACE.as_millis(),
        rounds(effort)
    ));
    let mut rows = Vec::new();
    let mut run = 0;
    for case in CASES.iter().filter(chosen) {
        if case.checkpoints {
            fixture.restart_with_checkpoints()?;
        }
        let measured = measure(&mut fixture, case, effort, &mut run)
            .with_context(|| format!("case: {}", case.name))?;
        for (what, pauses) in [("reading", &measured.reads), ("writing", &measured.writes)] {
            report.figure(
                format!("{}: {what}, longest pause more than beside a bare server", case.name),
                pauses.more(),
                "ms",
                Bar::AtMost(MORE_MS_MAX),
            );
        }
        rows.push((case.name, measured));
    }
    table(&mut report, &rows);
    fixture.stop()?;
    Ok(report)
}

fn rounds(effort: Effort) -> usize {
    match effort {
        Effort::Full => 5,
        Effort::Quick => 3,
    }
}

/// The pauses of one kind of client in milliseconds, by round.
#[derive(Default)]
struct Pauses {
    longest: Vec<f64>,
    tail: Vec<f64>,
    beside_longest: Vec<f64>,
    beside_tail: Vec<f64>,
}

impl Pauses {
    fn add(&mut self, times: &[Duration], is_beside: bool) {
        let mut latencies = Latencies::default();
        times.iter().for_each(|time| latencies.add(*time));
        let millis = |percent| latencies.percentile(percent).as_secs_f64() * 1e3;
        let (longest, tail) = match is_beside {
            true => (&mut self.beside_longest, &mut self.beside_tail),
            false => (&mut self.longest, &mut self.tail),
        };
        longest.push(millis(100.0));
        tail.push(millis(99.9));
    }

    /// How much longer the pause is than beside the bare server.
    fn more(&self) -> f64 {
        median(self.longest.clone()) - median(self.beside_longest.clone())
    }

    fn shown(&self) -> String {
        format!(
            "{:>7.1} {:>7.1} {:>7.1} {:>7.1} {:>7.1}",
            median(self.longest.clone()),
            median(self.tail.clone()),
            median(self.beside_longest.clone()),
            median(self.beside_tail.clone()),
            self.more()
        )
    }
}

/// The result of one case.
#[derive(Default)]
struct CaseMeasured {
    reads: Pauses,
    writes: Pauses,
    /// The large requests of the last round.
    seen: BurstSeen,
    seconds: Vec<f64>,
}

fn measure(
    fixture: &mut Fixture,
    case: &StallCase,
    effort: Effort,
    run: &mut u64,
) -> Result<CaseMeasured> {
    let mut measured = CaseMeasured::default();
    for _ in 0..rounds(effort) {
        for is_beside in [false, true] {
            *run += 1;
            let prepared = (case.prepare)(fixture, *run)?;
            let server =
                prepared.server.as_ref().map_or(fixture.address(), |server| server.address);
            let clients = SmallClients {
                address: if is_beside { fixture.bare.address } else { server },
                clients: CLIENTS,
                pace: PACE,
                token: None,
                run: format!("run-{run}"),
            };
            if !is_beside && prepared.server.is_some() {
                clients.prepare()?;
            }
            let running = clients.start()?;
            std::thread::sleep(WARM_UP);
            running.count();
            let begun = Instant::now();
            let seen = prepared.burst.run(server);
            let seconds = begun.elapsed().as_secs_f64();
            std::thread::sleep(COOL_DOWN);
            let Noticed { reads, writes, errors, described, .. } = running.finish()?;
            let seen = seen?;
            ensure!(errors == 0, "{errors} errors of small clients: {}", described.join("; "));
            measured.reads.add(&reads, is_beside);
            measured.writes.add(&writes, is_beside);
            if !is_beside {
                measured.seen = seen;
                measured.seconds.push(seconds);
            }
        }
    }
    Ok(measured)
}

fn table(report: &mut ScenarioReport, rows: &[(&str, CaseMeasured)]) {
    let width = rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let columns =
        format!("{:>7} {:>7} {:>7} {:>7} {:>7}", "pause", "p99.9", "beside", "p99.9", "more");
    report.note(format!("{:width$}  {:^39}  {:^39}", "", "reading", "writing"));
    report.note(format!("{:width$}  {columns}  {columns}  large requests", ""));
    for (name, measured) in rows {
        report.note(format!(
            "{name:width$}  {}  {}  {} in {:.2} s",
            measured.reads.shown(),
            measured.writes.shown(),
            measured.seen.shown(),
            median(measured.seconds.clone())
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_difference_is_that_of_the_medians_of_the_longest_pauses() {
        let mut pauses = Pauses::default();
        let millis =
            |list: &[u64]| list.iter().map(|ms| Duration::from_millis(*ms)).collect::<Vec<_>>();
        for longest in [30, 500, 40] {
            pauses.add(&millis(&[1, 2, longest]), false);
        }
        for longest in [9, 10, 11] {
            pauses.add(&millis(&[1, longest]), true);
        }
        assert!((pauses.more() - 30.0).abs() < 1e-6);
    }
}
