//! `cargo xtask test`: every test of the workspace, by plain `cargo test`, those in Python, by pytest, the fast part of
//! upstream's tests of Placement, and the checks of YANG, with the results added up.
//!
//! The last line is always `N passed, N failed`. A test binary that does not build or dies counts as one failure, and so
//! does a pytest that ends without a count, so that the line never says less than the exit code.

use std::io::{BufRead, BufReader};
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context, Result, bail};

use crate::{cargo, conformance, python, tools, yang};

/// Tells our tests which Python has the real Placement.
const REAL_PLACEMENT: &str = "ALLOD_TEST_PLACEMENT_PYTHON";

/// Folders with tests in Python: the client, the tools that hold us against the real Placement, and what a controller does
/// with its ids.
const WITH_PYTHON: [&str; 3] = [CLIENT, conformance::PLACEMENT, "conformance/id-manager"];

/// By which property tests are told where to begin. What is tested is the same each time unless somebody says otherwise:
/// `cargo xtask soak` looks elsewhere.
pub const RANDOM_SEED: &str = "PROPTEST_RNG_SEED";
const RANDOM_SEED_USUAL: &str = "20261115";

pub const CLIENT: &str = "clients/python";

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

    /// Takes in one line of what pytest prints. Its last one is like `2 failed, 119 passed, 1 error in 12.62s`.
    fn read_pytest(&mut self, line: &str) {
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

    /// Takes in one line of what upstream's tests of Placement, or the checks of YANG, print. Their last one is like `412 passed, 2 failed`.
    fn read_suite(&mut self, line: &str) {
        if let Some(name) = line.strip_prefix("failed: ") {
            self.names.push(name.to_string());
        } else if line.contains(" passed, ") && line.contains(" failed") {
            self.passed += number_before(line, " passed");
            self.failed += number_before(line, " failed");
        }
    }

    /// Settles what the exit code of a runner adds: a failure that no test reported is one nevertheless.
    fn close(&mut self, succeeded: bool, what: &str) {
        if !succeeded && self.failed == 0 {
            self.failed = 1;
            self.names.push(what.to_string());
        }
    }

    fn add(&mut self, other: Tally) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.names.extend(other.names);
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

/// What to run: everything unless `--only` says which part, and of our own tests those with one of these words in their name.
#[derive(Debug, PartialEq, Eq)]
struct Asked {
    rust: bool,
    python: bool,
    /// The fast part of upstream's tests of Placement, which know no names of ours.
    placement: bool,
    /// The modules, and the replies of the tests against them.
    yang: bool,
    filter: Vec<String>,
}

impl Asked {
    fn read(args: &[String]) -> Result<Asked> {
        let mut only = None;
        let mut filter = Vec::new();
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            if arg != "--only" {
                filter.push(arg.clone());
                continue;
            }
            match args.next().map(String::as_str) {
                Some(part @ ("rust" | "python" | "placement" | "yang")) => only = Some(part),
                _ => bail!("--only rust, --only python, --only placement or --only yang"),
            }
        }
        let wanted = |part| only.is_none_or(|only| only == part);
        // Upstream's tests and the checks have no names that ours could be meant by.
        let nameless = |part| wanted(part) && filter.is_empty();
        let (placement, yang) = (nameless("placement"), nameless("yang"));
        Ok(Asked { rust: wanted("rust"), python: wanted("python"), placement, yang, filter })
    }

    /// The filter as pytest has it; `None` when no test there can have such a name.
    fn keyword(&self) -> Option<String> {
        let plain = |word: &String| word.chars().all(|c| c.is_alphanumeric() || c == '_');
        let words: Vec<&str> =
            self.filter.iter().filter(|word| plain(word)).map(String::as_str).collect();
        (self.filter.is_empty() || !words.is_empty()).then(|| words.join(" or "))
    }
}

pub fn run(args: &[String]) -> Result<ExitCode> {
    let asked = Asked::read(args)?;
    let mut tally = Tally::default();
    if asked.rust {
        tally.add(rust(&asked.filter)?);
    }
    if let Some(keyword) = asked.keyword().filter(|_| asked.python) {
        let python = run_python(&keyword);
        tally.add(python.unwrap_or_else(|error| cut_off("the Python tests", &error)));
    }
    if asked.placement {
        tally.add(run_placement().unwrap_or_else(|error| cut_off("upstream's tests", &error)));
    }
    if asked.yang {
        tally.add(run_yang().unwrap_or_else(|error| cut_off("the checks of YANG", &error)));
    }
    for name in &tally.names {
        println!("failed: {name}");
    }
    println!("{} passed, {} failed", tally.passed, tally.failed);
    Ok(if tally.good() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Whatever keeps an environment from being made is a failure, and must not hide what the other tests said.
fn cut_off(what: &str, error: &anyhow::Error) -> Tally {
    Tally { failed: 1, names: vec![format!("{what}: {error:#}")], ..Tally::default() }
}

fn rust(filter: &[String]) -> Result<Tally> {
    tools::ensure(&tools::FOR_TESTS)?;
    let mut cargo = cargo::cargo();
    cargo.args(["test", "--workspace", "--locked", "--no-fail-fast", "--"]).args(filter);
    if std::env::var_os(RANDOM_SEED).is_none() {
        cargo.env(RANDOM_SEED, RANDOM_SEED_USUAL);
    }
    match python::ensure(python::PLACEMENT) {
        Ok(python) => drop(cargo.env(REAL_PLACEMENT, python)),
        // The tests that need it will say so; the others are run nevertheless.
        Err(error) => eprintln!("there is no real Placement for the tests: {error:#}"),
    }
    let (mut tally, code) = watch(cargo, Tally::read)?;
    tally.close(code == Some(0), "(a test binary did not build, or ended by itself)");
    Ok(tally)
}

fn run_python(keyword: &str) -> Result<Tally> {
    let mut sum = Tally::default();
    for folder in WITH_PYTHON {
        let mut pytest = pytest(folder)?;
        if !keyword.is_empty() {
            pytest.args(["-k", keyword]);
        }
        let (mut tally, code) = watch(pytest, Tally::read_pytest)?;
        // 5: no test has such a name, which is no failure of those that have another.
        let fine = code == Some(0) || (code == Some(5) && !keyword.is_empty());
        tally.close(fine, "(pytest ended by itself)");
        sum.add(tally);
    }
    Ok(sum)
}

fn run_placement() -> Result<Tally> {
    let mut suite = conformance::suite()?;
    suite.arg("--server").arg(cargo::build_server()?).arg("--fast");
    let (mut tally, code) = watch(suite, Tally::read_suite)?;
    tally.close(code == Some(0), "(upstream's tests of Placement ended by themselves)");
    Ok(tally)
}

fn run_yang() -> Result<Tally> {
    let (mut tally, code) = watch(yang::checker()?, Tally::read_suite)?;
    tally.close(code == Some(0), "(the checks of YANG ended by themselves)");
    Ok(tally)
}

/// pytest in one of our folders, with the server that it is to test.
pub fn pytest(folder: &str) -> Result<Command> {
    let python = python::ensure(python::CLIENT)?;
    let mut pytest = Command::new(python);
    pytest
        .args(["-m", "pytest", "--color=no", "-rfE"])
        .current_dir(cargo::root().join(folder))
        .env("ALLOD_TEST_SERVER", cargo::build_server()?)
        .env("PYTHONDONTWRITEBYTECODE", "1");
    Ok(pytest)
}

/// Runs a command, showing what it prints and letting each line be taken in.
fn watch(mut command: Command, read: fn(&mut Tally, &str)) -> Result<(Tally, Option<i32>)> {
    let mut child = command
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("{command:?} cannot be started"))?;
    let out = child.stdout.take().context("it has no output")?;
    let mut tally = Tally::default();
    for line in BufReader::new(out).lines() {
        let line = line.context("its output cannot be read")?;
        println!("{line}");
        read(&mut tally, &line);
    }
    Ok((tally, child.wait()?.code()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(lines: &[&str], cargo_succeeded: bool) -> Tally {
        let mut tally = Tally::default();
        lines.iter().for_each(|line| tally.read(line));
        tally.close(cargo_succeeded, "(did not build)");
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
    fn results_of_upstream_are_added_up() {
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
    fn a_pytest_that_dies_is_a_failure() {
        let mut tally = Tally::default();
        tally.read_pytest("INTERNALERROR> 3 things in 4");
        tally.close(false, "(pytest ended by itself)");
        assert_eq!((tally.passed, tally.failed), (0, 1));
    }

    #[test]
    fn one_language_can_be_asked_for_and_names_of_the_other_are_passed_over() {
        let read = |args: &[&str]| {
            let args: Vec<String> = args.iter().map(|&arg| arg.into()).collect();
            Asked::read(&args)
        };
        let asked = read(&["--only", "python", "retry", "watch"]).unwrap();
        assert_eq!((asked.rust, asked.python), (false, true));
        assert_eq!(asked.keyword().as_deref(), Some("retry or watch"));
        let asked = read(&["span::tests"]).unwrap();
        assert!(asked.rust && asked.python && asked.keyword().is_none() && !asked.placement);
        let asked = read(&[]).unwrap();
        assert!(asked.placement && asked.keyword().as_deref() == Some(""));
        let asked = read(&["--only", "placement"]).unwrap();
        assert_eq!((asked.rust, asked.python, asked.placement), (false, false, true));
        let asked = read(&["--only", "yang"]).unwrap();
        assert!(asked.yang && !asked.rust && !asked.python && !asked.placement);
        assert!(read(&["--only"]).is_err() && read(&["--only", "perl"]).is_err());
    }
}
