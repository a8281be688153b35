//! `cargo xtask deny`: checks the dependencies by `deny.toml`: licences, bans, duplicate versions, sources.
//!
//! With `--advisories` it checks for known vulnerabilities instead. Their database comes from the network, so CI does not.

use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail};

use crate::cargo;

const CARGO_DENY: &str = "cargo-deny@0.20.2";

/// Warnings that are findings here, so that the lists of exceptions only become shorter.
const DENIED: [&str; 5] = [
    "unnecessary-skip",
    "unmatched-skip",
    "unused-wrapper",
    "license-not-encountered",
    "no-license-field",
];

pub fn run(args: &[String]) -> Result<ExitCode> {
    let checks = checks(args)?;
    let program = cargo::ensure_tool("deny", CARGO_DENY, "it checks the dependencies")?;
    let status = Command::new(program)
        .args(["--all-features", "--locked", "check"])
        .args(DENIED.iter().flat_map(|lint| ["-D", lint]))
        .args(checks)
        .current_dir(cargo::root())
        .status()
        .context("cargo-deny cannot be started")?;
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn checks(args: &[String]) -> Result<&'static [&'static str]> {
    match args.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [] => Ok(&["licenses", "bans", "sources"]),
        ["--advisories"] => Ok(&["advisories"]),
        other => bail!("'{}' is not an option; the only one is --advisories", other.join(" ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advisories_are_checked_on_request_only() {
        assert!(!checks(&[]).unwrap().contains(&"advisories"));
        assert_eq!(checks(&["--advisories".to_owned()]).unwrap(), ["advisories"]);
        assert!(checks(&["advisories".to_owned()]).is_err());
    }
}
