//! Runs cargo from within cargo.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

/// The root of the workspace.
pub fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_path_buf()
}

/// The cargo that started xtask, or the one in PATH, in the workspace's folder.
pub fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root());
    // Cargo sets these for xtask. Some build scripts depend on them and would run again when cargo is called directly.
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy();
        if ["CARGO_PKG_", "CARGO_MANIFEST_"].iter().any(|start| name.starts_with(start)) {
            command.env_remove(&*name);
        }
    }
    command
}

/// Runs `cargo` with these arguments; its output is not captured.
pub fn run(args: &[&str]) -> Result<()> {
    eprintln!("cargo {}", args.join(" "));
    let status = cargo().args(args).status().context("cargo cannot be started")?;
    if !status.success() {
        bail!("cargo {} failed", args.join(" "));
    }
    Ok(())
}

/// The target directory, as the environment and the configuration set it.
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

/// A subcommand of cargo, from PATH or from the target folder; installed there, in the version given, if missing.
pub fn ensure_tool(subcommand: &str, package: &str, why: &str) -> Result<PathBuf> {
    let works = |program: &Path| {
        let version = Command::new(program).args([subcommand, "--version"]).output();
        version.is_ok_and(|output| output.status.success())
    };
    let name = format!("cargo-{subcommand}");
    let folder = target_dir()?.join(&name);
    let own = folder.join("bin").join(&name);
    if let Some(found) = [PathBuf::from(&name), own.clone()].into_iter().find(|it| works(it)) {
        return Ok(found);
    }
    eprintln!("missing: {name} ({why})");
    run(&["install", "--locked", "--root", &folder.to_string_lossy(), package])?;
    Ok(own)
}

/// Builds the server that the Python tests start, in the profile of the Rust tests.
pub fn build_server() -> Result<PathBuf> {
    // With a test target, so that dependencies get the same features as in `cargo test` and are not built twice.
    run(&["build", "--locked", "--workspace", "--bin", "allod", "--test", "seeds"])?;
    Ok(target_dir()?.join("debug/allod"))
}
