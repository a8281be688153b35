//! `cargo xtask soak`: property tests and the simulation with new seeds, for a given time.
//!
//! `cargo xtask test` runs the same tests with one fixed seed.

use std::process::ExitCode;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Result, bail};

use crate::cargo;
use crate::test::RANDOM_SEED;

const MINUTES_DEFAULT: u64 = 30;

/// Seeds of the simulation in one round, and steps for each seed.
const SIMULATED: u64 = 500;
const STEPS: &str = "60";

/// The crates with property tests.
const RANDOM: [&str; 4] = ["allod-core", "allod-record", "allod-journal", "allod-face-restconf"];

pub fn run(args: &[String]) -> Result<ExitCode> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let (mut minutes, mut seed) = (MINUTES_DEFAULT, now.as_secs());
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        match (arg.as_str(), args.next().and_then(|text| text.parse().ok())) {
            ("--minutes", Some(number)) => minutes = number,
            ("--seed", Some(number)) => seed = number,
            _ => bail!("cargo xtask soak [--minutes N] [--seed N]"),
        }
    }
    let until = Instant::now() + Duration::from_secs(minutes * 60);
    let mut rounds = 0;
    while rounds == 0 || Instant::now() < until {
        println!("round {rounds} with seed {seed}");
        if !round(seed)? {
            println!("failed; to repeat: cargo xtask soak --minutes 0 --seed {seed}");
            return Ok(ExitCode::FAILURE);
        }
        (rounds, seed) = (rounds + 1, seed + SIMULATED);
    }
    println!("{rounds} rounds without a failure");
    Ok(ExitCode::SUCCESS)
}

fn round(seed: u64) -> Result<bool> {
    let mut tests = cargo::cargo();
    tests.args(["test", "--locked", "--no-fail-fast", "--quiet"]);
    tests.args(RANDOM.iter().flat_map(|name| ["-p", name]));
    let tests = tests.env(RANDOM_SEED, seed.to_string()).status()?;
    let seeds = format!("{seed}..{}", seed + SIMULATED);
    let simulation = ["run", "--locked", "--quiet", "-p", "allod-sim", "--", "--seeds", &seeds];
    let simulation = cargo::cargo().args(simulation).args(["--steps", STEPS]).status()?;
    Ok(tests.success() && simulation.success())
}
