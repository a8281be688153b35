//! `cargo xtask bench`: builds the release, then lets `allod-bench` measure it.
//!
//! What is measured and how is `crates/bench`; here is only what has to be there beforehand.

use std::process::{Command, ExitCode};

use anyhow::{Context, Result};

use crate::{cargo, python, tools};

pub fn run(args: &[String]) -> Result<ExitCode> {
    tools::ensure(&tools::FOR_BENCH)?;
    cargo::run(&["build", "--release", "--locked", "-p", "allod", "-p", "allod-bench"])?;
    let built = cargo::target_dir()?.join("release");
    let mut bench = Command::new(built.join("allod-bench"));
    // The real one is made only for those who compare with it.
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
