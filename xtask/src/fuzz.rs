//! `cargo xtask fuzz`: runs the cargo-fuzz targets on what clients send and on what is stored.
//!
//! The targets are in `fuzz`, a separate workspace with its own build flags. They look for panics, hangs and memory use, which
//! needs no sanitizer, so the pinned toolchain builds them. The corpus stays in cargo's target folder and the next run continues
//! with it.

mod seeds;

use std::path::Path;
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail};

use crate::cargo;

const FOLDER: &str = "fuzz";

const CARGO_FUZZ: &str = "cargo-fuzz@0.13.2";

const SECONDS_DEFAULT: u64 = 60;

/// A parser holds its input and its result only; a server in process has the state of a few requests.
const MEMORY_MIB_MAX: u64 = 512;

/// An input that takes longer has met a quadratic algorithm.
const INPUT_SECONDS_MAX: u64 = 5;

pub fn run(args: &[String]) -> Result<ExitCode> {
    let folder = cargo::root().join(FOLDER);
    let known = targets(&folder)?;
    let fuzz_run = FuzzRun::read(args, &known)?;
    let cargo_fuzz = cargo::ensure_tool("fuzz", CARGO_FUZZ, "it runs the fuzz targets")?;
    let mut found = Vec::new();
    for target in &fuzz_run.targets {
        println!("\n{target}, for {} s", fuzz_run.seconds);
        if !run_one(&cargo_fuzz, &folder, target, fuzz_run.seconds)? {
            found.push(target.as_str());
        }
    }
    if found.is_empty() {
        println!("{} targets, no failure found", fuzz_run.targets.len());
        return Ok(ExitCode::SUCCESS);
    }
    println!("failures found by {}; the inputs are named above", found.join(", "));
    Ok(ExitCode::FAILURE)
}

#[derive(Debug, PartialEq, Eq)]
struct FuzzRun {
    targets: Vec<String>,
    seconds: u64,
}

impl FuzzRun {
    fn read(args: &[String], known: &[String]) -> Result<FuzzRun> {
        let mut fuzz_run = FuzzRun { targets: Vec::new(), seconds: SECONDS_DEFAULT };
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            if arg == "--seconds" {
                let seconds = args.next().and_then(|text| text.parse().ok());
                fuzz_run.seconds = seconds.context("--seconds needs a number")?;
            } else if known.contains(arg) {
                fuzz_run.targets.push(arg.clone());
            } else {
                bail!(
                    "'{arg}' is not a target; the targets are {}; an option is --seconds N",
                    known.join(", ")
                );
            }
        }
        if fuzz_run.targets.is_empty() {
            fuzz_run.targets = known.to_vec();
        }
        Ok(fuzz_run)
    }
}

/// The names of the fuzz targets.
fn targets(folder: &Path) -> Result<Vec<String>> {
    let files = std::fs::read_dir(folder.join("fuzz_targets"))
        .context("the folder of fuzz targets cannot be read")?;
    let mut names = Vec::new();
    for file in files {
        let path = file?.path();
        names.extend(path.file_stem().map(|stem| stem.to_string_lossy().into_owned()));
    }
    names.sort();
    Ok(names)
}

/// Runs one target on its seeds and its corpus. Returns whether no failure was found.
fn run_one(cargo_fuzz: &Path, folder: &Path, target: &str, seconds: u64) -> Result<bool> {
    let corpus = cargo::target_dir()?.join("fuzz-corpus").join(target);
    std::fs::create_dir_all(&corpus).context("the corpus folder cannot be created")?;
    let seeds = cargo::target_dir()?.join("fuzz-seeds").join(target);
    seeds::write(&cargo::root(), target, &seeds)?;
    let status = Command::new(cargo_fuzz)
        .args(["fuzz", "run", "--sanitizer", "none", "--fuzz-dir"])
        .arg(folder)
        .arg(target)
        .args([&corpus, &seeds])
        .arg("--")
        .arg(format!("-max_total_time={seconds}"))
        .arg(format!("-rss_limit_mb={MEMORY_MIB_MAX}"))
        .arg(format!("-timeout={INPUT_SECONDS_MAX}"))
        .current_dir(folder)
        .env("CARGO_TARGET_DIR", cargo::target_dir()?.join("fuzz"))
        // Allows unstable compiler flags, which code coverage needs.
        .env("RUSTC_BOOTSTRAP", "1")
        .status()
        .context("cargo-fuzz cannot be started")?;
    Ok(status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_targets_run_unless_some_are_named() {
        let known = ["json".to_owned(), "path".to_owned()];
        let read = |args: &[&str]| {
            let args: Vec<String> = args.iter().map(|&arg| arg.into()).collect();
            FuzzRun::read(&args, &known)
        };
        assert_eq!(read(&[]).unwrap(), FuzzRun { targets: known.to_vec(), seconds: 60 });
        let fuzz_run = read(&["path", "--seconds", "5"]).unwrap();
        assert_eq!((fuzz_run.targets, fuzz_run.seconds), (vec!["path".to_owned()], 5));
        assert!(read(&["xml"]).is_err() && read(&["--seconds"]).is_err());
    }

    #[test]
    fn every_target_has_seeds_and_is_in_the_manifest() {
        let folder = cargo::root().join(FOLDER);
        let manifest = std::fs::read_to_string(folder.join("Cargo.toml")).unwrap();
        let targets = targets(&folder).unwrap();
        assert!(!targets.is_empty());
        for target in targets {
            assert!(manifest.contains(&format!("name = \"{target}\"")), "{target}");
            assert!(!seeds::of(&cargo::root(), &target).unwrap().is_empty(), "{target}");
        }
    }
}
