//! Counts results from the output of test runners: cargo, pytest, and the suites that print `N passed, N failed`.

/// What libtest prints about a slow test after its name.
const RUNNING_LONG: &str = " has been running for over ";

#[derive(Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub passed: u64,
    pub failed: u64,
    /// Names of failed tests, as the runner prints them.
    pub names: Vec<String>,
    /// Tests that were reported as slow and have not ended yet.
    slow: Vec<String>,
}

impl Tally {
    /// One failure that is not a test, for example an environment that could not be created.
    pub fn of_failure(name: String) -> Tally {
        Tally { failed: 1, names: vec![name], ..Tally::default() }
    }

    /// Reads one line of `cargo test`.
    pub fn read_cargo(&mut self, line: &str) {
        if let Some(counts) = line.strip_prefix("test result: ") {
            self.passed += number_before(counts, " passed");
            self.failed += number_before(counts, " failed");
            return;
        }
        let Some(test) = line.strip_prefix("test ") else { return };
        if let Some((name, _)) = test.split_once(RUNNING_LONG) {
            self.slow.push(name.to_string());
        } else if let Some((name, result)) = test.rsplit_once(" ... ") {
            self.slow.retain(|slow| slow != name);
            if result == "FAILED" {
                self.names.push(name.to_string());
            }
        }
    }

    /// Reads one line of pytest. Its last line is like `2 failed, 119 passed, 1 error in 12.62s`.
    pub fn read_pytest(&mut self, line: &str) {
        let failed = ["FAILED ", "ERROR "].iter().find_map(|word| line.strip_prefix(word));
        if let Some(name) = failed {
            self.names.push(name.split(" - ").next().unwrap_or(name).to_string());
        }
        let Some((counts, _)) = line.trim_matches(['=', ' ']).rsplit_once(" in ") else { return };
        let parts = counts.split(", ").map(|part| {
            let (number, word) = part.split_once(' ')?;
            Some((number.parse::<u64>().ok()?, word))
        });
        for (number, word) in parts.collect::<Option<Vec<_>>>().unwrap_or_default() {
            match word {
                "passed" => self.passed += number,
                "failed" | "error" | "errors" => self.failed += number,
                _ => {}
            }
        }
    }

    /// Reads one line of a suite in `conformance`. Its last line is like `412 passed, 2 failed`.
    pub fn read_suite(&mut self, line: &str) {
        if let Some(name) = line.strip_prefix("failed: ") {
            self.names.push(name.to_string());
        } else if line.contains(" passed, ") && line.contains(" failed") {
            self.passed += number_before(line, " passed");
            self.failed += number_before(line, " failed");
        }
    }

    /// Adds one failure if the runner failed although no test did.
    pub fn close(&mut self, succeeded: bool, runner: &str) {
        if !succeeded && self.failed == 0 {
            self.failed = 1;
            self.names.push(format!("({runner} ended without a result)"));
        }
    }

    /// Counts the tests that were running when their runner was stopped.
    pub fn close_hung(&mut self, runner: &str, seconds: u64) {
        let mut hung = std::mem::take(&mut self.slow);
        if hung.is_empty() {
            hung.push(format!("({runner})"));
        }
        self.failed += hung.len() as u64;
        let stopped = |name| format!("{name}: stopped after {seconds} s without output");
        self.names.extend(hung.into_iter().map(stopped));
    }

    pub fn add(&mut self, other: Tally) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.names.extend(other.names);
    }

    pub fn is_success(&self) -> bool {
        self.failed == 0 && self.passed > 0
    }
}

fn number_before(text: &str, word: &str) -> u64 {
    let before = text.split_once(word).map_or("", |(before, _)| before);
    let digits = before.rsplit(|c: char| !c.is_ascii_digit()).next().unwrap_or("");
    digits.parse().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(lines: &[&str], cargo_succeeded: bool) -> Tally {
        let mut tally = Tally::default();
        lines.iter().for_each(|line| tally.read_cargo(line));
        tally.close(cargo_succeeded, "cargo test");
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
        assert!(!tally.is_success());
    }

    #[test]
    fn a_binary_that_does_not_build_is_a_failure() {
        let tally = tally(&["test result: ok. 2 passed; 0 failed; 0 ignored"], false);
        assert_eq!((tally.passed, tally.failed), (2, 1));
    }

    #[test]
    fn a_run_without_tests_is_not_a_success() {
        assert!(!tally(&["test result: ok. 0 passed; 0 failed; 0 ignored"], true).is_success());
        assert!(tally(&["test result: ok. 1 passed; 0 failed; 0 ignored"], true).is_success());
    }

    #[test]
    fn results_of_pytest_are_added_up() {
        let mut tally = Tally::default();
        for line in [
            "........F...E                       [100%]",
            "FAILED tests/test_faults.py::test_a_cut[sync] - OSError: 3 in 4",
            "ERROR tests/test_calls.py::test_a_claim",
            "=== 2 failed, 119 passed, 1 skipped, 1 error in 12.62s (0:00:12) ===",
        ] {
            tally.read_pytest(line);
        }
        assert_eq!((tally.passed, tally.failed), (119, 3));
        assert_eq!(
            tally.names,
            ["tests/test_faults.py::test_a_cut[sync]", "tests/test_calls.py::test_a_claim"]
        );
    }

    #[test]
    fn results_of_a_suite_are_added_up() {
        let mut tally = Tally::default();
        for line in [
            "traits: 52 of 53",
            "expected to fail: basic-http: bad content length not int: the client refuses",
            "failed: traits: create a trait",
            "AssertionError: '200' not found in ['201']",
            "76 passed, 1 failed, 1 expected to fail",
        ] {
            tally.read_suite(line);
        }
        assert_eq!((tally.passed, tally.failed), (76, 1));
        assert_eq!(tally.names, ["traits: create a trait"]);
    }

    #[test]
    fn a_pytest_that_crashes_is_a_failure() {
        let mut tally = Tally::default();
        tally.read_pytest("INTERNALERROR> 3 things in 4");
        tally.close(false, "pytest");
        assert_eq!((tally.passed, tally.failed), (0, 1));
    }

    #[test]
    fn a_test_that_hangs_is_named() {
        let mut tally = Tally::default();
        for line in [
            "test slow::one has been running for over 60 seconds",
            "test slow::two has been running for over 60 seconds",
            "test slow::one ... ok",
        ] {
            tally.read_cargo(line);
        }
        tally.close_hung("cargo test", 600);
        assert_eq!(tally.failed, 1);
        assert_eq!(tally.names, ["slow::two: stopped after 600 s without output"]);
        let mut tally = Tally::default();
        tally.close_hung("pytest", 600);
        assert_eq!(tally.names, ["(pytest): stopped after 600 s without output"]);
    }
}
