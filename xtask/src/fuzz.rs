//! `cargo xtask fuzz`: random bytes to everything that reads what a client sent, with cargo-fuzz.
//!
//! The targets are in `crates/face-restconf/fuzz`, a workspace of its own, because nothing else is built like it. It is built
//! by the toolchain of the project: what is looked for are panics, hangs and memory, for which no sanitizer is needed, and
//! so no nightly compiler. What was found interesting stays in cargo's target folder and is where the next run begins.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail};

use crate::cargo;

const FOLDER: &str = "crates/face-restconf/fuzz";

/// Also told to whoever installs it by hand.
const CARGO_FUZZ: &str = "cargo-fuzz@0.13.2";

const SECONDS_USUAL: u64 = 60;

/// A reader keeps in memory what it has read and no more, so this is plenty.
const MEMORY_MIB_MAX: u64 = 512;

/// Beyond this, one input has found something quadratic.
const INPUT_SECONDS_MAX: u64 = 5;

pub fn run(args: &[String]) -> Result<ExitCode> {
    let folder = cargo::root().join(FOLDER);
    let known = targets(&folder)?;
    let asked = Asked::read(args, &known)?;
    let cargo_fuzz = ensure()?;
    let mut found = Vec::new();
    for target in &asked.targets {
        println!("\n{target}, for {} s", asked.seconds);
        if !run_one(&cargo_fuzz, &folder, target, asked.seconds)? {
            found.push(target.as_str());
        }
    }
    if found.is_empty() {
        println!("{} targets, nothing found", asked.targets.len());
        return Ok(ExitCode::SUCCESS);
    }
    println!("something was found by {}; the input is named above", found.join(", "));
    Ok(ExitCode::FAILURE)
}

#[derive(Debug, PartialEq, Eq)]
struct Asked {
    targets: Vec<String>,
    seconds: u64,
}

impl Asked {
    fn read(args: &[String], known: &[String]) -> Result<Asked> {
        let mut asked = Asked { targets: Vec::new(), seconds: SECONDS_USUAL };
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            if arg == "--seconds" {
                let seconds = args.next().and_then(|text| text.parse().ok());
                asked.seconds = seconds.context("--seconds has no number after it")?;
            } else if known.contains(arg) {
                asked.targets.push(arg.clone());
            } else {
                bail!("'{arg}' is no target; there are {}, and --seconds N", known.join(", "));
            }
        }
        if asked.targets.is_empty() {
            asked.targets = known.to_vec();
        }
        Ok(asked)
    }
}

/// The names of the files that are targets.
fn targets(folder: &Path) -> Result<Vec<String>> {
    let files = std::fs::read_dir(folder.join("fuzz_targets")).context("there are no targets")?;
    let mut names = Vec::new();
    for file in files {
        let path = file?.path();
        names.extend(path.file_stem().map(|stem| stem.to_string_lossy().into_owned()));
    }
    names.sort();
    Ok(names)
}

/// One target, from the seeds in the tree and what earlier runs have kept; whether nothing was found.
fn run_one(cargo_fuzz: &Path, folder: &Path, target: &str, seconds: u64) -> Result<bool> {
    let kept = cargo::target_dir()?.join("fuzz-kept").join(target);
    std::fs::create_dir_all(&kept).context("there is no place for what is found")?;
    let seeds = folder.join("seeds").join(target);
    let status = Command::new(cargo_fuzz)
        .args(["fuzz", "run", "--sanitizer", "none", "--fuzz-dir"])
        .arg(folder)
        .arg(target)
        .args([&kept, &seeds])
        .arg("--")
        .arg(format!("-max_total_time={seconds}"))
        .arg(format!("-rss_limit_mb={MEMORY_MIB_MAX}"))
        .arg(format!("-timeout={INPUT_SECONDS_MAX}"))
        .current_dir(folder)
        .env("CARGO_TARGET_DIR", cargo::target_dir()?.join("fuzz"))
        // The compiler's own way to be told that unstable flags are meant: coverage of the code is one.
        .env("RUSTC_BOOTSTRAP", "1")
        .status()
        .context("cargo-fuzz cannot be started")?;
    Ok(status.success())
}

/// cargo-fuzz on the path, or one of our own in the target folder; installed where there is none.
fn ensure() -> Result<PathBuf> {
    let works = |program: &Path| {
        let version = Command::new(program).args(["fuzz", "--version"]).output();
        version.is_ok_and(|output| output.status.success())
    };
    let place = cargo::target_dir()?.join("cargo-fuzz");
    let own = place.join("bin/cargo-fuzz");
    if let Some(found) = [PathBuf::from("cargo-fuzz"), own.clone()].into_iter().find(|it| works(it))
    {
        return Ok(found);
    }
    eprintln!("missing: cargo-fuzz (it runs the fuzz targets)");
    let place = place.to_string_lossy().into_owned();
    cargo::run(&["install", "--locked", "--root", &place, CARGO_FUZZ])?;
    Ok(own)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_targets_are_meant_unless_some_are_named() {
        let known = ["json".to_owned(), "path".to_owned()];
        let read = |args: &[&str]| {
            let args: Vec<String> = args.iter().map(|&arg| arg.into()).collect();
            Asked::read(&args, &known)
        };
        assert_eq!(read(&[]).unwrap(), Asked { targets: known.to_vec(), seconds: 60 });
        let asked = read(&["path", "--seconds", "5"]).unwrap();
        assert_eq!((asked.targets, asked.seconds), (vec!["path".to_owned()], 5));
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
            assert!(folder.join("seeds").join(&target).read_dir().unwrap().next().is_some());
        }
    }
}
