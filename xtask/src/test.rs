//! `cargo xtask test`: runs every test and prints the sum of the results.
//!
//! The parts are the workspace's tests (cargo), the Python tests (pytest), the fast part of upstream's Placement tests, and the
//! YANG checks. The last line is always `N passed, N failed`. A runner that fails without a failed test counts as one failure,
//! so the line never contradicts the exit code. A runner without output for [`SILENT_SECONDS_MAX`] is stopped, and the
//! tests that were running are named.

mod tally;

use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::{cargo, conformance, python, tools, yang};
use tally::Tally;

/// The variable that names the Python with the real Placement.
const REAL_PLACEMENT: &str = "ALLOD_TEST_PLACEMENT_PYTHON";

/// Folders with Python tests.
const PYTHON_FOLDERS: [&str; 4] =
    [CLIENT, conformance::PLACEMENT, "conformance/id-manager", conformance::ADAPTERS];

/// The seed of property tests. It is fixed, so that a commit that passed keeps passing; `cargo xtask soak` uses new seeds.
pub const RANDOM_SEED: &str = "PROPTEST_RNG_SEED";
const RANDOM_SEED_DEFAULT: &str = "20261115";

pub const CLIENT: &str = "clients/python";

/// A runner that prints nothing for this long hangs. The slowest test takes about a minute on two cores.
const SILENT_SECONDS_MAX: u64 = 600;

/// The parts to run: all, or the one after `--only`; and of the tests with names those that match a filter.
#[derive(Debug, PartialEq, Eq)]
struct Selection {
    rust: bool,
    python: bool,
    placement: bool,
    yang: bool,
    filter: Vec<String>,
}

impl Selection {
    fn read(args: &[String]) -> Result<Selection> {
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
        let is_selected = |part| only.is_none_or(|only| only == part);
        // A filter selects tests by name; the suites have no test names of ours.
        let is_selected_suite = |part| is_selected(part) && filter.is_empty();
        let (placement, yang) = (is_selected_suite("placement"), is_selected_suite("yang"));
        let (rust, python) = (is_selected("rust"), is_selected("python"));
        Ok(Selection { rust, python, placement, yang, filter })
    }

    /// The filter for pytest; `None` when no Python test can match it.
    fn keyword(&self) -> Option<String> {
        let is_plain = |word: &String| word.chars().all(|c| c.is_alphanumeric() || c == '_');
        let words: Vec<&str> =
            self.filter.iter().filter(|word| is_plain(word)).map(String::as_str).collect();
        (self.filter.is_empty() || !words.is_empty()).then(|| words.join(" or "))
    }
}

pub fn run(args: &[String]) -> Result<ExitCode> {
    let selected = Selection::read(args)?;
    let mut tally = Tally::default();
    if selected.rust {
        tally.add(run_rust(&selected.filter)?);
    }
    if let Some(keyword) = selected.keyword().filter(|_| selected.python) {
        let python = run_python(&keyword);
        tally.add(python.unwrap_or_else(|error| not_run("Python tests", &error)));
    }
    if selected.placement {
        tally.add(run_placement().unwrap_or_else(|error| not_run("Placement suite", &error)));
    }
    if selected.yang {
        // The workspace's tests have just left their replies.
        let replies_exist = selected.rust && selected.filter.is_empty();
        let yang = run_yang(replies_exist);
        tally.add(yang.unwrap_or_else(|error| not_run("YANG checks", &error)));
    }
    for name in &tally.names {
        println!("failed: {name}");
    }
    println!("{} passed, {} failed", tally.passed, tally.failed);
    Ok(if tally.is_success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// A part that cannot start is a failure, and does not keep the other parts from running.
fn not_run(part: &str, error: &anyhow::Error) -> Tally {
    Tally::of_failure(format!("{part}: {error:#}"))
}

fn run_rust(filter: &[String]) -> Result<Tally> {
    tools::ensure(&tools::FOR_TESTS)?;
    // Building first, so that the limit on silence applies to tests only.
    if let Err(error) = cargo::run(&["test", "--workspace", "--locked", "--no-run"]) {
        return Ok(not_run("workspace tests", &error));
    }
    let mut cargo = cargo::cargo();
    cargo.args(["test", "--workspace", "--locked", "--no-fail-fast", "--"]).args(filter);
    cargo.env(yang::REPLIES, yang::empty_replies()?);
    if std::env::var_os(RANDOM_SEED).is_none() {
        cargo.env(RANDOM_SEED, RANDOM_SEED_DEFAULT);
    }
    match python::ensure(python::PLACEMENT) {
        Ok(python) => drop(cargo.env(REAL_PLACEMENT, python)),
        // The tests that need it fail with this reason; the others run.
        Err(error) => eprintln!("the real Placement is not available to the tests: {error:#}"),
    }
    let (mut tally, code) = watch(cargo, "cargo test", Tally::read_cargo)?;
    tally.close(code == Some(0), "cargo test");
    Ok(tally)
}

fn run_python(keyword: &str) -> Result<Tally> {
    tools::ensure(&tools::FOR_ADAPTERS)?;
    let mut sum = Tally::default();
    for folder in PYTHON_FOLDERS {
        let mut pytest = pytest(folder)?;
        if !keyword.is_empty() {
            pytest.args(["-k", keyword]);
        }
        let (mut tally, code) = watch(pytest, "pytest", Tally::read_pytest)?;
        // Exit code 5: no test matches the filter.
        let succeeded = code == Some(0) || (code == Some(5) && !keyword.is_empty());
        tally.close(succeeded, "pytest");
        sum.add(tally);
    }
    Ok(sum)
}

fn run_placement() -> Result<Tally> {
    let mut suite = conformance::suite()?;
    suite.arg("--server").arg(cargo::build_server()?).arg("--fast");
    let (mut tally, code) = watch(suite, "Placement suite", Tally::read_suite)?;
    tally.close(code == Some(0), "Placement suite");
    Ok(tally)
}

fn run_yang(replies_exist: bool) -> Result<Tally> {
    let checker = yang::checker(replies_exist)?;
    let (mut tally, code) = watch(checker, "YANG checks", Tally::read_suite)?;
    tally.close(code == Some(0), "YANG checks");
    Ok(tally)
}

/// pytest in one of our folders, with the server to test.
pub fn pytest(folder: &str) -> Result<Command> {
    let mut pytest = pytest_without_server(folder)?;
    pytest.env("ALLOD_TEST_SERVER", cargo::build_server()?);
    Ok(pytest)
}

pub fn pytest_without_server(folder: &str) -> Result<Command> {
    let mut pytest = Command::new(python::ensure(python::CLIENT)?);
    pytest
        .args(["-m", "pytest", "--color=no", "-rfE"])
        .current_dir(cargo::root().join(folder))
        .env("PYTHONDONTWRITEBYTECODE", "1");
    Ok(pytest)
}

/// Runs a test runner, prints its output and counts the results. A runner that hangs is stopped with its children.
fn watch(
    mut command: Command,
    name: &str,
    read: fn(&mut Tally, &str),
) -> Result<(Tally, Option<i32>)> {
    let mut child = command
        .stdout(Stdio::piped())
        .process_group(0)
        .spawn()
        .with_context(|| format!("{command:?} cannot be started"))?;
    let out = child.stdout.take().context("the runner has no output")?;
    let (sender, lines) = mpsc::channel();
    std::thread::spawn(move || {
        BufReader::new(out).lines().map_while(Result::ok).try_for_each(|line| sender.send(line))
    });
    let mut tally = Tally::default();
    loop {
        match lines.recv_timeout(Duration::from_secs(SILENT_SECONDS_MAX)) {
            Ok(line) => {
                println!("{line}");
                read(&mut tally, &line);
            }
            Err(RecvTimeoutError::Disconnected) => return Ok((tally, child.wait()?.code())),
            Err(RecvTimeoutError::Timeout) => {
                tally.close_hung(name, SILENT_SECONDS_MAX);
                let group = format!("-{}", child.id());
                Command::new("kill").args(["-KILL", "--", &group]).status()?;
                child.wait()?;
                return Ok((tally, None));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_and_filters_select_the_parts() {
        let read = |args: &[&str]| {
            let args: Vec<String> = args.iter().map(|&arg| arg.into()).collect();
            Selection::read(&args)
        };
        let selected = read(&["--only", "python", "retry", "watch"]).unwrap();
        assert_eq!((selected.rust, selected.python), (false, true));
        assert_eq!(selected.keyword().as_deref(), Some("retry or watch"));
        let selected = read(&["span::tests"]).unwrap();
        assert!(
            selected.rust && selected.python && selected.keyword().is_none() && !selected.placement
        );
        let selected = read(&[]).unwrap();
        assert!(selected.placement && selected.keyword().as_deref() == Some(""));
        let selected = read(&["--only", "placement"]).unwrap();
        assert_eq!((selected.rust, selected.python, selected.placement), (false, false, true));
        let selected = read(&["--only", "yang"]).unwrap();
        assert!(selected.yang && !selected.rust && !selected.python && !selected.placement);
        assert!(read(&["--only"]).is_err() && read(&["--only", "perl"]).is_err());
    }
}
