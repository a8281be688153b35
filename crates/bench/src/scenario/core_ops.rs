//! Every way to pick a value, and release, in the core alone: nothing may grow with the range or with the fill.

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
use super::core_bed::{Bed, Fill, Ground};
use crate::figure::{Bar, Report};
use crate::load::latency::median;

/// Claims that are made before they are released again.
const BATCH: u128 = 1000;

/// Commands between two looks at the clock: so few that most of them run without the machine doing something else.
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

/// The pools that are measured. A claim may override the strategy of its pool, so every operation is asked of both: of
/// one that needs to remember little, and of one that remembers every release to give what was released longest ago.
const POOLS: [Strategy; 2] = [Strategy::Lowest, Strategy::LeastRecentlyUsed];

/// One pool with everything that will be asked of it, and how long that took in each round.
struct Column {
    bed: Bed,
    /// The commands of each op but the last.
    claims: Vec<Vec<Command>>,
    releases: Vec<Command>,
    /// Nanoseconds for one command, by op.
    times: Vec<Vec<f64>>,
}

impl Column {
    fn new(bed: Bed) -> Column {
        let mut claims: Vec<Vec<Command>> =
            Strategy::ALL.iter().map(|&strategy| bed.claims(BATCH, strategy)).collect();
        claims.push(bed.claims_by_value(BATCH));
        let releases = bed.releases(BATCH);
        Column { bed, claims, releases, times: vec![Vec::new(); OPS] }
    }

    /// Each way to claim, a batch of it, and the release of that batch, so that the fill stays what it is.
    fn round(&mut self, seed: u64) -> Result<()> {
        let (times, state) = (&mut self.times, &mut self.bed.state);
        for (op, claims) in self.claims.iter().enumerate() {
            time(&mut times[op], state, claims, seed)?;
            time(&mut times[RELEASE], state, &self.releases, seed)?;
        }
        Ok(())
    }
}

/// Adds how long the commands take, chunk by chunk.
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

pub fn run(effort: Effort) -> Result<Report> {
    let (rounds, block_bits) = if effort == Effort::Quick { (5, 14) } else { (21, 14) };
    let mut report = Report::default();

    let grounds = [
        Ground::ids("2^32 ids", Kind::Id32, 32),
        Ground::addresses_of_a_8(),
        Ground::prefixes_of_a_48(),
    ];
    // As many claims in each state as the pool of prefixes needs to be nearly full.
    let claims = 10 << block_bits;
    let cases = grounds.into_iter().flat_map(|ground| Fill::ALL.map(|fill| (ground, fill)));
    let cases: Vec<(Ground, Fill)> = cases.collect();
    let mut pools = POOLS.map(|strategy| {
        let bed = |&(ground, fill)| Bed::new(ground, fill, strategy, block_bits, claims);
        cases.iter().map(bed).map(Column::new).collect::<Vec<_>>()
    });
    measure(pools.iter_mut().flatten(), rounds)?;
    report.note(format!(
        "nanoseconds for one decision; {claims} claims in each state, free values in {} gaps, evenly spread",
        1 << block_bits
    ));
    let title = |column: &Column| format!("{} {}", column.bed.ground.name, column.bed.fill.name());
    let (mut least, mut most) = (f64::INFINITY, 0.0_f64);
    for (strategy, columns) in POOLS.iter().zip(&pools) {
        report.note(format!("in pools whose own strategy is {}:", strategy.name()));
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

    let mut columns: Vec<Column> = [
        Ground::ids("2^16", Kind::Id32, 16),
        Ground::ids("2^32", Kind::Id32, 32),
        Ground::ids("2^64", Kind::Id64, 64),
    ]
    .map(|ground| Column::new(Bed::new(ground, Fill::Half, Strategy::Lowest, 10, 0)))
    .into();
    measure(columns.iter_mut(), rounds)?;
    report.note("the same on ranges of other sizes, half full, with 1024 claims");
    table(&mut report, &columns, |column| column.bed.ground.name.to_string());
    // Each range against the quickest of the smaller ones.
    let growth = |op: usize| {
        let time = |column: &Column| median(column.times[op].clone());
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

/// The columns take turns in every round. The first round is for warming up.
fn measure<'a>(columns: impl Iterator<Item = &'a mut Column>, rounds: u64) -> Result<()> {
    let mut columns: Vec<&mut Column> = columns.collect();
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

/// Notes the times in a table, and says which was the least and which the most.
fn table(report: &mut Report, columns: &[Column], title: impl Fn(&Column) -> String) -> (f64, f64) {
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
