//! `cargo xtask ci`: runs `.ci/run`, where the steps are listed.

use std::process::{Command, ExitCode};

use anyhow::{Context, Result};

use crate::cargo;

pub fn run() -> Result<ExitCode> {
    let script = cargo::root().join(".ci/run");
    let status = Command::new("bash").arg(script).status().context("bash cannot be started")?;
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
