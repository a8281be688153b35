//! `cargo xtask test`: every test of the workspace, by plain `cargo test`, with the results added up.
//!
//! The last line is always `N passed, N failed`. A test binary that does not build or dies counts as one failure, so
//! that the line never says less than the exit code.

use std::io::{BufRead, BufReader};
use std::process::{ExitCode, Stdio};

use anyhow::{Context, Result};

use crate::{cargo, tools};

#[derive(Debug, Default, PartialEq, Eq)]
struct Tally {
    passed: u64,
    failed: u64,
    /// Names of tests that failed, as cargo prints them.
    names: Vec<String>,
}

impl Tally {
    /// Takes in one line of what `cargo test` prints.
    fn read(&mut self, line: &str) {
        if let Some(counts) = line.strip_prefix("test result: ") {
            self.passed += number_before(counts, " passed");
            self.failed += number_before(counts, " failed");
        } else if let Some(name) =
            line.strip_prefix("test ").and_then(|rest| rest.strip_suffix(" ... FAILED"))
        {
            self.names.push(name.to_string());
        }
    }

    /// Settles what the exit code of cargo adds: a failure that no test reported is one nevertheless.
    fn close(&mut self, cargo_succeeded: bool) {
        if !cargo_succeeded && self.failed == 0 {
            self.failed = 1;
            self.names.push("(a test binary did not build, or ended by itself)".to_string());
        }
    }

    fn good(&self) -> bool {
        self.failed == 0 && self.passed > 0
    }
}

fn number_before(text: &str, word: &str) -> u64 {
    let before = text.split_once(word).map_or("", |(before, _)| before);
    let digits = before.rsplit(|c: char| !c.is_ascii_digit()).next().unwrap_or("");
    digits.parse().unwrap_or(0)
}

/// `filter` goes to the tests as it is: `cargo xtask test chain` runs those with "chain" in their name.
pub fn run(filter: &[String]) -> Result<ExitCode> {
    tools::ensure(&tools::FOR_TESTS)?;
    let mut child = cargo::cargo()
        .args(["test", "--workspace", "--locked", "--no-fail-fast", "--"])
        .args(filter)
        .stdout(Stdio::piped())
        .spawn()
        .context("cargo cannot be started")?;
    let out = child.stdout.take().context("cargo has no output")?;
    let mut tally = Tally::default();
    for line in BufReader::new(out).lines() {
        let line = line.context("the output of cargo cannot be read")?;
        println!("{line}");
        tally.read(&line);
    }
    tally.close(child.wait()?.success());
    for name in &tally.names {
        println!("failed: {name}");
    }
    println!("{} passed, {} failed", tally.passed, tally.failed);
    Ok(if tally.good() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(lines: &[&str], cargo_succeeded: bool) -> Tally {
        let mut tally = Tally::default();
        lines.iter().for_each(|line| tally.read(line));
        tally.close(cargo_succeeded);
        tally
    }

    #[test]
    fn results_of_several_binaries_are_added_up() {
        let tally = tally(
            &[
                "test result: ok. 12 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s",
                "test span::tests::normalise ... FAILED",
                "test result: FAILED. 3 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 2.50s",
            ],
            false,
        );
        assert_eq!((tally.passed, tally.failed), (15, 1));
        assert_eq!(tally.names, ["span::tests::normalise"]);
        assert!(!tally.good());
    }

    #[test]
    fn a_binary_that_does_not_build_is_a_failure() {
        let tally = tally(&["test result: ok. 2 passed; 0 failed; 0 ignored"], false);
        assert_eq!((tally.passed, tally.failed), (2, 1));
    }

    #[test]
    fn no_test_at_all_is_not_good() {
        assert!(!tally(&["test result: ok. 0 passed; 0 failed; 0 ignored"], true).good());
        assert!(tally(&["test result: ok. 1 passed; 0 failed; 0 ignored"], true).good());
    }
}
