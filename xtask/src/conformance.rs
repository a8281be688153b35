//! `cargo xtask conformance placement`: upstream's own tests of Placement, unmodified, against our server.
//! `cargo xtask conformance authorities`: the contract of adapters against real inventories.
//!
//! The runner of the first is `conformance/placement/suite`, the second is pytest in `adapters`. `cargo xtask test` runs the
//! fast part of both.

use std::process::{Command, ExitCode};

use anyhow::{Result, bail};

use crate::{cargo, python, test, tools};

/// The folder with the tools that compare our server with the real Placement.
pub const PLACEMENT: &str = "conformance/placement";

/// The folder with the adapters and their tests.
pub const ADAPTERS: &str = "adapters";

/// The inventories that take minutes to install, as `--inventory` names them.
const SLOW: [&str; 4] = ["neutron", "nautobot-addresses", "nautobot-vlans", "nautobot-prefixes"];

/// The tests that run against any inventory.
const CONTRACT: [&str; 1] = ["tests/test_contract.py"];

pub fn run(args: &[String]) -> Result<ExitCode> {
    match args.split_first().map(|(what, rest)| (what.as_str(), rest)) {
        Some(("placement", rest)) => finish(suite()?, rest),
        Some(("authorities", rest)) => authorities(rest),
        _ => bail!(
            "cargo xtask conformance placement [--only FILE…] [--profile P] [--server real], \
             or cargo xtask conformance authorities [--inventory=NAME…]"
        ),
    }
}

/// The contract of adapters against the inventories that are named, or against all that take minutes to install.
fn authorities(args: &[String]) -> Result<ExitCode> {
    tools::ensure(&tools::FOR_ADAPTERS)?;
    tools::ensure(&tools::FOR_AUTHORITIES)?;
    let mut tests = test::pytest_without_server(ADAPTERS)?;
    tests.env("ALLOD_TEST_NAUTOBOT_PYTHON", python::ensure(python::NAUTOBOT)?);
    tests.env("ALLOD_TEST_NEUTRON_PYTHON", python::ensure(python::NEUTRON)?);
    if !args.iter().any(|arg| arg.starts_with("--inventory")) {
        tests.args(SLOW.map(|name| format!("--inventory={name}")));
    }
    let status = tests.args(CONTRACT).arg("--durations=5").args(args).status()?;
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
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
