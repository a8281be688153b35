//! `cargo xtask ci`: what must pass before anything lands. `.ci/run` does the same, for machines.

use std::process::ExitCode;

use anyhow::Result;

use crate::cargo;

pub fn run() -> Result<ExitCode> {
    cargo::run(&["fmt", "--all", "--check"])?;
    cargo::run(&["clippy", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings"])?;
    let tidy = crate::tidy::run()?;
    if tidy != ExitCode::SUCCESS {
        return Ok(tidy);
    }
    crate::test::run(&[])
}
