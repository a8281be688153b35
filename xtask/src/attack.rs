//! `cargo xtask attack`: builds the release and starts `allod-attack` (`crates/attack`) against it.

use std::process::{Command, ExitCode};

use anyhow::{Context, Result};

use crate::cargo;

pub fn run(args: &[String]) -> Result<ExitCode> {
    cargo::run(&["build", "--release", "--locked", "-p", "allod", "-p", "allod-attack"])?;
    let built = cargo::target_dir()?.join("release");
    let status = Command::new(built.join("allod-attack"))
        .args(args)
        .env("ALLOD_ATTACK_SERVER", built.join("allod"))
        .current_dir(cargo::root())
        .status()
        .context("allod-attack cannot be started")?;
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
