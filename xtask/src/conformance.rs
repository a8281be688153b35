//! `cargo xtask conformance placement`: upstream's own tests of Placement, unmodified, against our server.
//!
//! The runner is `conformance/placement/suite`. `cargo xtask test` runs the fast part.

use std::process::{Command, ExitCode};

use anyhow::{Result, bail};

use crate::{cargo, python};

/// The folder with the tools that compare our server with the real Placement.
pub const PLACEMENT: &str = "conformance/placement";

pub fn run(args: &[String]) -> Result<ExitCode> {
    let Some(("placement", rest)) = args.split_first().map(|(what, rest)| (what.as_str(), rest))
    else {
        bail!("cargo xtask conformance placement [--only FILE…] [--profile P] [--server real]");
    };
    finish(suite()?, rest)
}

/// The runner of upstream's tests, without its `--server` argument.
pub fn suite() -> Result<Command> {
    tool("suite")
}

/// A tool in the Python environment of the real Placement.
pub fn tool(module: &str) -> Result<Command> {
    let mut tool = Command::new(python::ensure(python::PLACEMENT)?);
    tool.args(["-m", module])
        .current_dir(cargo::root().join(PLACEMENT))
        .env("PYTHONDONTWRITEBYTECODE", "1");
    Ok(tool)
}

/// Runs a tool with these arguments, against our server unless they name another one.
pub fn finish(mut tool: Command, args: &[String]) -> Result<ExitCode> {
    tool.args(args);
    if !args.iter().any(|arg| arg == "--server" || arg == "--help") {
        tool.arg("--server").arg(cargo::build_server()?);
    }
    Ok(if tool.status()?.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
