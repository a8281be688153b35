//! Calling cargo from within cargo.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

/// The folder of the workspace, where every command runs.
pub fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_path_buf()
}

/// The cargo that started us, or the one on the path, in the workspace's folder.
pub fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root());
    // What cargo says about xtask itself is no business of the crates that are built: some look at it, and would be built
    // anew each time that it differs from a cargo that was called by hand.
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy();
        if ["CARGO_PKG_", "CARGO_MANIFEST_"].iter().any(|start| name.starts_with(start)) {
            command.env_remove(&*name);
        }
    }
    command
}

/// Runs `cargo` with these arguments, its output going where ours goes.
pub fn run(args: &[&str]) -> Result<()> {
    eprintln!("cargo {}", args.join(" "));
    let status = cargo().args(args).status().context("cargo cannot be started")?;
    if !status.success() {
        bail!("cargo {} failed", args.join(" "));
    }
    Ok(())
}

/// Where cargo puts what it builds, whatever the environment and its configuration say.
pub fn target_dir() -> Result<PathBuf> {
    let out = cargo()
        .args(["metadata", "--no-deps", "--format-version", "1"])
        .output()
        .context("cargo metadata cannot be started")?;
    let text = String::from_utf8_lossy(&out.stdout);
    let found =
        text.split_once("\"target_directory\":\"").and_then(|(_, rest)| rest.split_once('"'));
    let (dir, _) = found.context("cargo metadata names no target directory")?;
    Ok(PathBuf::from(dir))
}

/// The server as the tests in Python want it: built like the tests in Rust, in the same profile.
pub fn build_server() -> Result<PathBuf> {
    // Together with a test, because what the tests need decides how the crates beneath are built; else each of the two
    // would undo the other's work.
    run(&["build", "--locked", "--workspace", "--bin", "allod", "--test", "serve"])?;
    Ok(target_dir()?.join("debug/allod"))
}
