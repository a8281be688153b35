//! `allod-bench`: the benchmarks, run by `cargo xtask bench`.
//!
//! Every figure is a ratio of two measurements of the same run, in alternating rounds, because machines differ and are never
//! idle. The scenarios are in `scenario/`, one file each.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "printing figures is what this program does"
)]

mod bare;
mod caller;
mod disk;
mod figure;
mod load;
mod placement;
mod postgres;
mod process;
mod scenario;

use std::net::TcpListener;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result, bail, ensure};

use scenario::{Effort, SCENARIOS};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const DOCUMENT: &str = "docs/performance.md";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match run(&args) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("allod-bench: {error:#}");
            ExitCode::from(2)
        }
    }
}

/// Returns whether every bar was met.
fn run(args: &[String]) -> Result<bool> {
    if let [first, address, reply_bytes, file @ ..] = args
        && first == "bare"
    {
        let listener = TcpListener::bind(address)?;
        let reply_bytes = reply_bytes.parse().context("not a length")?;
        bare::serve(listener, reply_bytes, file.first().map(Path::new))?;
        return Ok(true);
    }
    let mut effort = Effort::Full;
    let (mut names, mut write, mut only) = (Vec::new(), false, None);
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--only" => only = Some(args.next().context("--only needs a part of a name")?),
            "--quick" => effort = Effort::Quick,
            "--write" => write = true,
            name if SCENARIOS.iter().any(|scenario| scenario.name == name) => names.push(name),
            other => {
                let known: Vec<&str> = SCENARIOS.iter().map(|scenario| scenario.name).collect();
                bail!(
                    "unknown argument '{other}'; expected {}, --quick, --write or --only CASE",
                    known.join(", ")
                );
            }
        }
    }
    if let Some(only) = only {
        ensure!(names == ["stalls"] && !write, "--only chooses cases of stalls, without --write");
        return Ok(scenario::stalls(effort, Some(only))?.met());
    }
    let chosen =
        SCENARIOS.iter().filter(|scenario| names.is_empty() || names.contains(&scenario.name));
    let mut met = true;
    for scenario in chosen {
        println!("\n{}: {}", scenario.name, scenario.what);
        let report =
            (scenario.run)(effort).with_context(|| format!("scenario {}", scenario.name))?;
        met &= report.met();
        if write {
            figure::write_document(Path::new(DOCUMENT), scenario.name, &report)?;
        }
    }
    println!("\n{}", if met { "every bar was met" } else { "a bar was missed" });
    Ok(met)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cases_are_chosen_in_the_scenario_that_has_them() {
        let refused = |args: &[&str]| {
            let args: Vec<String> = args.iter().map(|arg| (*arg).to_owned()).collect();
            format!("{:#}", run(&args).unwrap_err())
        };
        let elsewhere = "--only chooses cases of stalls, without --write";
        assert_eq!(refused(&["claims", "--only", "a backup"]), elsewhere);
        assert_eq!(refused(&["--only", "a backup"]), elsewhere);
        assert_eq!(refused(&["stalls", "--write", "--only", "a backup"]), elsewhere);
        assert_eq!(refused(&["stalls", "--only"]), "--only needs a part of a name");
        let unknown = refused(&["stalls", "--only", "absent"]);
        assert_eq!(unknown, "no case of stalls has 'absent' in its name");
    }
}
