//! A seeded simulation of the engine on a faulty journal. Never shipped.
//!
//! One thread, a simulated clock and seeded random numbers: the seed decides everything, so a failure can be reproduced
//! by its seed. `world` runs the nodes, `chaos` injects faults, `workload` generates commands, `contents` reads what the
//! journal actually holds, and `checks` compares.

mod chaos;
mod checks;
mod clock;
mod journal_contents;
mod node;
mod random;
mod workload;
mod world;

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

pub use world::SimReport;

/// A failed run.
#[derive(Debug)]
pub struct FailedRun {
    pub seed: u64,
    pub steps: u32,
    pub what: String,
    /// The complete trace.
    pub trace: Vec<String>,
}

impl std::fmt::Display for FailedRun {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let FailedRun { seed, steps, what, trace } = self;
        for line in trace.iter().skip(trace.len().saturating_sub(12)) {
            writeln!(f, "  {}", line.chars().take(400).collect::<String>())?;
        }
        writeln!(f, "seed {seed} failed: {what}")?;
        write!(f, "reproduce: cargo run -p allod-sim -- --seed {seed} --steps {steps}")
    }
}

/// Runs a seed twice. Both runs must succeed and have the same trace.
pub fn run(seed: u64, steps: u32) -> Result<SimReport, Box<FailedRun>> {
    let first = run_once(seed, steps)?;
    let second = run_once(seed, steps)?;
    let differ = first.trace.iter().zip(&second.trace).position(|(a, b)| a != b);
    if differ.is_some() || first.trace.len() != second.trace.len() {
        let at = differ.unwrap_or(first.trace.len().min(second.trace.len()));
        let line = |report: &SimReport| report.trace.get(at).cloned().unwrap_or_default();
        let what =
            format!("two runs differ at line {at}:\n  {}\n  {}", line(&first), line(&second));
        return Err(Box::new(FailedRun { seed, steps, what, trace: first.trace }));
    }
    Ok(first)
}

/// Runs a seed once.
pub fn run_once(seed: u64, steps: u32) -> Result<SimReport, Box<FailedRun>> {
    let mut trace = Vec::new();
    let ended = catch_unwind(AssertUnwindSafe(|| world::run(seed, steps, &mut trace)));
    let what = match ended {
        Ok(Ok(mut report)) => {
            report.trace = trace;
            return Ok(report);
        }
        Ok(Err(what)) => what,
        Err(panic) => {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).into()));
            format!("it panicked: {}", text.unwrap_or_default())
        }
    };
    Err(Box::new(FailedRun { seed, steps, what, trace }))
}

/// Runs many seeds on all cores and sums up the reports. Stops at the first failure.
pub fn run_many(seeds: Range<u64>, steps: u32) -> Result<Total, Box<FailedRun>> {
    let next = AtomicU64::new(seeds.start);
    let total = Mutex::new(Total::default());
    let failed: Mutex<Option<Box<FailedRun>>> = Mutex::new(None);
    let work = || {
        while failed.lock().is_none() {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= seeds.end {
                break;
            }
            match run(seed, steps) {
                Ok(report) => total.lock().add(&report),
                Err(one) => drop(failed.lock().get_or_insert(one)),
            }
        }
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| (0..cores).for_each(|_| drop(scope.spawn(work))));
    failed.into_inner().map_or_else(|| Ok(total.into_inner()), Err)
}

/// The sum of many reports.
#[derive(Debug, Default)]
pub struct Total {
    pub seeds: u64,
    pub sum: SimReport,
}

impl Total {
    fn add(&mut self, report: &SimReport) {
        let sum = &mut self.sum;
        self.seeds += 1;
        sum.records += report.records;
        sum.entries += report.entries;
        sum.accepted += report.accepted;
        sum.refused += report.refused;
        sum.failed += report.failed;
        sum.halts += report.halts;
        sum.crashes += report.crashes;
        sum.forks += report.forks;
        sum.forks_seen += report.forks_seen;
        sum.checkpoints += report.checkpoints;
        sum.judged += report.judged;
        sum.open += report.open;
    }
}

impl std::fmt::Display for Total {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let SimReport { records, entries, accepted, refused, failed, .. } = &self.sum;
        let SimReport { halts, crashes, forks, forks_seen, checkpoints, judged, open, .. } =
            &self.sum;
        write!(
            f,
            "{} seeds: {records} records, {entries} entries, {accepted} accepted, {refused} refused, {failed} failed, \
             {halts} halts, {crashes} crashes, {forks} forks ({forks_seen} seen by a writer that had published lost records), \
             {checkpoints} checkpoints; the checker verified {judged} answers and could not judge {open}",
            self.seeds
        )
    }
}
