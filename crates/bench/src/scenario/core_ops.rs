//! Every strategy, and release, in the core alone: the cost may not grow with the range or the fill level.

use std::hint::black_box;
use std::time::Instant;

use anyhow::{Result, anyhow};

use allod_core::command::{Command, Stamp};
use allod_core::decide;
use allod_core::limits::Limits;
use allod_core::pool::Strategy;
use allod_core::state::State;
use allod_core::value::Kind;

use super::Effort;
use super::core_fixture::{CoreFixture, Fill, PoolShape};
use crate::figure::{Bar, ScenarioReport};
use crate::load::latency::median;

/// Claims in a batch, before they are released.
const BATCH: u128 = 1000;

/// Commands between two clock readings: few enough that most chunks run without a task switch.
const CHUNK: usize = 50;

/// Each strategy, then by value, then release.
const OPS: usize = Strategy::ALL.len() + 2;
const RELEASE: usize = OPS - 1;

fn op_name(op: usize) -> &'static str {
    match Strategy::ALL.get(op) {
        Some(strategy) => strategy.name(),
        None if op == RELEASE => "release",
        None => "by value",
    }
}

/// The strategies of the measured pools. A claim may override the strategy, so every operation is measured in a pool with a
/// simple strategy, and in one that tracks every release.
const POOLS: [Strategy; 2] = [Strategy::Lowest, Strategy::LeastRecentlyUsed];

/// A pool with its commands and their times.
struct MeasuredPool {
    fixture: CoreFixture,
    /// The commands of each op but the last.
    claims: Vec<Vec<Command>>,
    releases: Vec<Command>,
    /// Nanoseconds for one command, by op.
    times: Vec<Vec<f64>>,
}

impl MeasuredPool {
    fn new(fixture: CoreFixture) -> MeasuredPool {
        let mut claims: Vec<Vec<Command>> =
            Strategy::ALL.iter().map(|&strategy| fixture.claims(BATCH, strategy)).collect();
        claims.push(fixture.claims_by_value(BATCH));
        let releases = fixture.releases(BATCH);
        MeasuredPool { fixture, claims, releases, times: vec![Vec::new(); OPS] }
    }

    /// Claims and releases a batch with each operation, so that the fill level stays the same.
    fn round(&mut self, seed: u64) -> Result<()> {
        let (times, state) = (&mut self.times, &mut self.fixture.state);
        for (op, claims) in self.claims.iter().enumerate() {
            time(&mut times[op], state, claims, seed)?;
            time(&mut times[RELEASE], state, &self.releases, seed)?;
        }
        Ok(())
    }
}

/// Adds the time of each chunk of commands.
fn time(times: &mut Vec<f64>, state: &mut State, commands: &[Command], seed: u64) -> Result<()> {
    for chunk in commands.chunks(CHUNK) {
        times.push(timed(state, chunk, seed)?);
    }
    Ok(())
}

/// Nanoseconds for one command.
fn timed(state: &mut State, commands: &[Command], seed: u64) -> Result<f64> {
    let limits = Limits::default();
    let begun = Instant::now();
    for (number, command) in commands.iter().enumerate() {
        let stamp = Stamp { now_ms: 2, seed: seed.wrapping_add(number as u64) };
        let decision = decide(state, &stamp, command, &limits);
        black_box(&decision.map_err(|refused| anyhow!("refused: {}", refused.refusal))?);
    }
    Ok(begun.elapsed().as_nanos() as f64 / commands.len() as f64)
}

pub fn run(effort: Effort) -> Result<ScenarioReport> {
    let (rounds, block_bits) = if effort == Effort::Quick { (5, 14) } else { (21, 14) };
    let mut report = ScenarioReport::default();

    let shapes = [
        PoolShape::ids("2^32 ids", Kind::Id32, 32),
        PoolShape::addresses_of_a_8(),
        PoolShape::prefixes_of_a_48(),
    ];
    // As many claims as a nearly full pool of prefixes has.
    let claims = 10 << block_bits;
    let cases = shapes.into_iter().flat_map(|shape| Fill::ALL.map(|fill| (shape, fill)));
    let cases: Vec<(PoolShape, Fill)> = cases.collect();
    let mut pools = POOLS.map(|strategy| {
        let fixture = |&(shape, fill)| CoreFixture::new(shape, fill, strategy, block_bits, claims);
        cases.iter().map(fixture).map(MeasuredPool::new).collect::<Vec<_>>()
    });
    measure(pools.iter_mut().flatten(), rounds)?;
    report.note(format!(
        "nanoseconds for one decision; {claims} claims in each state, free values in {} gaps, evenly spread",
        1 << block_bits
    ));
    let title = |column: &MeasuredPool| {
        format!("{} {}", column.fixture.shape.name, column.fixture.fill.name())
    };
    let (mut least, mut most) = (f64::INFINITY, 0.0_f64);
    for (strategy, columns) in POOLS.iter().zip(&pools) {
        report.note(format!("in pools with the strategy {}:", strategy.name()));
        let (fastest, slowest) = table(&mut report, columns, title);
        (least, most) = (least.min(fastest), most.max(slowest));
    }
    report.figure(
        "slowest operation over the fastest, any strategy, pool and fill",
        most / least,
        "×",
        Bar::AtMost(3.0),
    );
    drop(pools);

    let mut columns: Vec<MeasuredPool> = [
        PoolShape::ids("2^16", Kind::Id32, 16),
        PoolShape::ids("2^32", Kind::Id32, 32),
        PoolShape::ids("2^64", Kind::Id64, 64),
    ]
    .map(|shape| MeasuredPool::new(CoreFixture::new(shape, Fill::Half, Strategy::Lowest, 10, 0)))
    .into();
    measure(columns.iter_mut(), rounds)?;
    report.note("the same on ranges of other sizes, half full, with 1024 claims");
    table(&mut report, &columns, |column| column.fixture.shape.name.to_string());
    // Each range compared with the fastest of the smaller ones.
    let growth = |op: usize| {
        let time = |column: &MeasuredPool| median(column.times[op].clone());
        let [small, middle, large] = [0, 1, 2].map(|size| time(&columns[size]));
        (middle / small).max(large / small.min(middle))
    };
    report.figure(
        "a larger range over a smaller one, the operation that grows most",
        (0..OPS).map(growth).fold(0.0, f64::max),
        "×",
        Bar::AtMost(1.5),
    );
    Ok(report)
}

/// The pools alternate in every round. The first round is a warm-up.
fn measure<'a>(columns: impl Iterator<Item = &'a mut MeasuredPool>, rounds: u64) -> Result<()> {
    let mut columns: Vec<&mut MeasuredPool> = columns.collect();
    for round in 0..=rounds {
        for column in &mut columns {
            column.round(round << 32)?;
            if round == 0 {
                column.times.iter_mut().for_each(Vec::clear);
            }
        }
    }
    Ok(())
}

/// Adds a table of the times to the notes. Returns the minimum and the maximum.
fn table(
    report: &mut ScenarioReport,
    columns: &[MeasuredPool],
    title: impl Fn(&MeasuredPool) -> String,
) -> (f64, f64) {
    let (mut least, mut most) = (f64::INFINITY, 0.0_f64);
    let width = columns.iter().map(|column| title(column).len()).max().unwrap_or(0).max(6);
    let heads: Vec<String> =
        columns.iter().map(|column| format!("{:>width$}", title(column))).collect();
    report.note(format!("{:<20} {}", "", heads.join("  ")));
    for op in 0..OPS {
        let times: Vec<f64> =
            columns.iter().map(|column| median(column.times[op].clone())).collect();
        for &time in &times {
            (least, most) = (least.min(time), most.max(time));
        }
        let cells: Vec<String> = times.iter().map(|time| format!("{time:>width$.0}")).collect();
        report.note(format!("{:<20} {}", op_name(op), cells.join("  ")));
    }
    (least, most)
}
