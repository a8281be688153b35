//! `cargo xtask bench`: installs what the benchmarks need, builds the release and starts `allod-bench` (`crates/bench`).

use std::process::{Command, ExitCode};

use anyhow::{Context, Result};

use crate::{cargo, python, tools};

pub fn run(args: &[String]) -> Result<ExitCode> {
    tools::ensure(&tools::FOR_BENCH)?;
    cargo::run(&["build", "--release", "--locked", "-p", "allod", "-p", "allod-bench"])?;
    let built = cargo::target_dir()?.join("release");
    let mut bench = Command::new(built.join("allod-bench"));
    // The real Placement is installed only for the scenario that compares with it.
    if args.iter().any(|arg| arg == "placement") || args.iter().all(|arg| arg.starts_with("--")) {
        tools::ensure(&tools::FOR_PLACEMENT_BENCH)?;
        bench.env("ALLOD_BENCH_PLACEMENT", python::ensure(python::PLACEMENT_BENCH)?);
    }
    let status = bench
        .args(args)
        .env("ALLOD_BENCH_SERVER", built.join("allod"))
        .current_dir(cargo::root())
        .status()
        .context("allod-bench cannot be started")?;
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
