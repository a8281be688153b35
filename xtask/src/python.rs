//! A Python environment of our own in cargo's target folder, with what the tests need, pinned.
//!
//! It is made once. A copy of the requirements lies beside it; while that is the same as the file in the tree, nothing is
//! installed and nothing is looked up, so everything works offline once it has worked.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::{cargo, tools};

const REQUIREMENTS: &str = "clients/python/requirements-test.txt";

/// The oldest Python for which the pinned tools are made.
const OLDEST: (u32, u32) = (3, 10);

const NAMES: [&str; 6] =
    ["python3", "python3.14", "python3.13", "python3.12", "python3.11", "python3.10"];

/// The environment's interpreter; made, or made anew when the requirements have changed.
pub fn ensure() -> Result<PathBuf> {
    let folder = cargo::target_dir()?.join("python");
    let python = folder.join("bin/python");
    let stamp = folder.join("requirements.txt");
    let wanted = std::fs::read_to_string(cargo::root().join(REQUIREMENTS))
        .with_context(|| format!("{REQUIREMENTS} cannot be read"))?;
    if std::fs::read_to_string(&stamp).is_ok_and(|made| made == wanted) && is_new_enough(&python) {
        return Ok(python);
    }
    let base = base()?;
    eprintln!("making a Python environment in {}", folder.display());
    if folder.exists() {
        std::fs::remove_dir_all(&folder)
            .with_context(|| format!("{} cannot be removed", folder.display()))?;
    }
    run(Command::new(&base).args(["-m", "venv"]).arg(&folder))?;
    let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "-r"];
    run(Command::new(&python).args(pip).arg(cargo::root().join(REQUIREMENTS)))?;
    // Last, so that an environment that was cut off half way is made anew.
    std::fs::write(&stamp, wanted).context("the stamp of the environment cannot be written")?;
    Ok(python)
}

/// A Python that can make environments; installed where there is none.
fn base() -> Result<PathBuf> {
    if let Some(found) = find() {
        return Ok(found);
    }
    let (major, minor) = OLDEST;
    eprintln!("missing: Python {major}.{minor} or later with venv (the client's tests are in it)");
    tools::install(&["python3", "python3-venv"])?;
    find()
        .context("there is still no Python that will do after installing python3 and python3-venv")
}

fn find() -> Option<PathBuf> {
    let names = NAMES.iter().map(|name| Path::new(name).to_path_buf());
    names.chain(["/usr/bin/python3".into()]).find(|name| is_new_enough(name))
}

/// Whether this is a Python that is new enough and has what an environment is made with.
fn is_new_enough(python: &Path) -> bool {
    let (major, minor) = OLDEST;
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
    fn what_is_no_python_is_not_taken_for_one() {
        assert!(!is_new_enough(Path::new("no-such-program")));
        assert!(!is_new_enough(Path::new("false")));
        assert!(is_new_enough(Path::new("true")), "only its exit code is looked at");
    }

    #[test]
    fn every_requirement_is_pinned() {
        let text = std::fs::read_to_string(cargo::root().join(REQUIREMENTS)).unwrap();
        let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
        let loose: Vec<&str> = lines.filter(|line| !line.contains("==")).collect();
        assert!(loose.is_empty(), "{loose:?}");
    }
}
