//! Python environments with pinned packages, in cargo's target folder.
//!
//! An environment is created when it is first needed and again when its requirements change. Otherwise nothing is looked up,
//! so later runs work offline.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::{cargo, tools};

#[derive(Debug, Clone, Copy)]
pub struct Environment {
    /// Its name in cargo's target folder.
    folder: &'static str,
    requirements: &'static str,
    /// The oldest Python that the pinned packages support.
    oldest: (u32, u32),
    why: &'static str,
}

/// For the Python client and all Python tests.
pub const CLIENT: Environment = Environment {
    folder: "python",
    requirements: "clients/python/requirements-test.txt",
    oldest: (3, 10),
    why: "the Python tests run in it",
};

/// The real Placement, with its own tests.
pub const PLACEMENT: Environment = Environment {
    folder: "python-placement",
    requirements: "conformance/placement/requirements.txt",
    oldest: (3, 11),
    why: "the real Placement runs in it",
};

/// The real Placement as it runs in production, for the benchmark.
pub const PLACEMENT_BENCH: Environment = Environment {
    folder: "python-placement-bench",
    requirements: "crates/bench/placement-requirements.txt",
    oldest: (3, 11),
    why: "the benchmark runs the real Placement in it",
};

/// pyang, which checks the YANG modules.
pub const YANG: Environment = Environment {
    folder: "python-yang",
    requirements: "conformance/restconf/requirements.txt",
    oldest: (3, 10),
    why: "pyang runs in it",
};

/// The real Nautobot, and beside it the database that its migration has made.
pub const NAUTOBOT: Environment = Environment {
    folder: "python-nautobot",
    requirements: "adapters/tests/requirements-nautobot.txt",
    oldest: (3, 10),
    why: "the real Nautobot runs in it",
};

/// The real Neutron.
pub const NEUTRON: Environment = Environment {
    folder: "python-neutron",
    requirements: "adapters/tests/requirements-neutron.txt",
    oldest: (3, 11),
    why: "the real Neutron runs in it",
};

const NAMES: [&str; 6] =
    ["python3", "python3.14", "python3.13", "python3.12", "python3.11", "python3.10"];

/// The interpreter of the environment, which is created if it is missing or its requirements have changed.
pub fn ensure(environment: Environment) -> Result<PathBuf> {
    let Environment { requirements, oldest, .. } = environment;
    let folder = cargo::target_dir()?.join(environment.folder);
    let python = folder.join("bin/python");
    let stamp = folder.join("requirements.txt");
    let wanted = std::fs::read_to_string(cargo::root().join(requirements))
        .with_context(|| format!("{requirements} cannot be read"))?;
    if std::fs::read_to_string(&stamp).is_ok_and(|made| made == wanted)
        && is_suitable(&python, oldest)
    {
        return Ok(python);
    }
    let base = base(environment)?;
    eprintln!("creating a Python environment in {}", folder.display());
    if folder.exists() {
        std::fs::remove_dir_all(&folder)
            .with_context(|| format!("{} cannot be removed", folder.display()))?;
    }
    run(Command::new(&base).args(["-m", "venv"]).arg(&folder))?;
    let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "-r"];
    run(Command::new(&python).args(pip).arg(cargo::root().join(requirements)))?;
    // Written last, so that an interrupted installation is repeated.
    std::fs::write(&stamp, wanted).context("the stamp of the environment cannot be written")?;
    Ok(python)
}

/// A Python that can create environments, installed if missing.
fn base(Environment { oldest, why, .. }: Environment) -> Result<PathBuf> {
    if let Some(found) = find(oldest) {
        return Ok(found);
    }
    let (major, minor) = oldest;
    eprintln!("missing: Python {major}.{minor} or later with venv ({why})");
    tools::install(&["python3", "python3-venv"])?;
    find(oldest).context("no suitable Python after installing python3 and python3-venv")
}

fn find(oldest: (u32, u32)) -> Option<PathBuf> {
    let names = NAMES.iter().map(|name| Path::new(name).to_path_buf());
    names.chain(["/usr/bin/python3".into()]).find(|name| is_suitable(name, oldest))
}

/// Whether this Python is new enough and has the venv module.
fn is_suitable(python: &Path, (major, minor): (u32, u32)) -> bool {
    let probe =
        format!("import sys, venv, ensurepip; sys.exit(sys.version_info < ({major}, {minor}))");
    let quiet = Command::new(python)
        .args(["-c", &probe])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    quiet.is_ok_and(|status| status.success())
}

fn run(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("{command:?} cannot be started"))?;
    if !status.success() {
        bail!("{command:?} failed");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_is_not_python_is_not_suitable() {
        let is_suitable = |name| is_suitable(Path::new(name), CLIENT.oldest);
        assert!(!is_suitable("no-such-program"));
        assert!(!is_suitable("false"));
        assert!(is_suitable("true"), "only the exit code counts");
    }

    #[test]
    fn every_requirement_is_pinned() {
        for environment in [CLIENT, PLACEMENT, YANG, NAUTOBOT, NEUTRON] {
            let path = cargo::root().join(environment.requirements);
            let text = std::fs::read_to_string(path).unwrap();
            let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
            let loose: Vec<&str> = lines.filter(|line| !line.contains("==")).collect();
            assert!(loose.is_empty(), "{loose:?}");
        }
    }
}
